// Python bindings of candidate lists.
#include "structures/candidates.h"

#include <memory>

#include "bindings/binding.h"
#include "protocol/structure.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Structure>();
  nb::class_<CandidateStructure, Structure>(m, "CandidateStructure");
  m.def(
      "candidates",
      [](const In<int64_t>& begin, const std::optional<In<int64_t>>& good_begin, const std::optional<In<int32_t>>& good,
         const std::optional<In<double>>& cost) -> std::shared_ptr<CandidateStructure> {
        return std::make_shared<CandidateStructure>(to_vector(begin), to_vector(good_begin), to_vector(good),
                                                    to_vector(cost));
      },
      "begin"_a, "good_begin"_a.none(), "good"_a.none(), "cost"_a.none(),
      "A list of candidates for each example. Several may be good, best first.");
}

static const Registration registration(bind);

}  // namespace margrave
