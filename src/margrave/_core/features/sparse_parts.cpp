// Python bindings of sparse vectors per part.
#include "features/sparse_parts.h"

#include <memory>
#include <optional>
#include <utility>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<SparseParts, Features>(m, "SparseParts");
  m.def(
      "sparse_parts",
      [](int64_t dim, std::shared_ptr<Tokens> rows, const In<int64_t>& choice,
         const std::optional<In<int64_t>>& repeats) -> std::shared_ptr<SparseParts> {
        if (!rows) throw InputError("sparse parts need rows.");
        return std::make_shared<SparseParts>(checked_count(dim, "weights"), std::move(rows), to_vector(choice),
                                             to_vector(repeats));
      },
      "dim"_a, "rows"_a, "choice"_a, "repeats"_a.none() = nb::none(),
      "A sparse vector for every part. choice, repeats: those of the structure, for the radius.");
}

static const Registration registration(bind);

}  // namespace margrave
