// Python bindings of output features.
#include "features/outputs.h"

#include <memory>
#include <utility>

#include "bindings/binding.h"
#include "protocol/checks.h"
#include "protocol/features.h"

namespace margrave {

static void bind(nb::module_& m) {
  after<Features>();
  nb::class_<OutputFeatures, Features>(m, "OutputFeatures");
  m.def(
      "output_features",
      [](std::shared_ptr<Features> features, int64_t width, const In<int64_t>& begin, const In<int32_t>& column,
         const In<double>& value, double spread) -> std::shared_ptr<OutputFeatures> {
        if (!features) throw InputError("output features need features to score them.");
        return std::make_shared<OutputFeatures>(std::move(features), checked_count(width, "columns"), to_vector(begin),
                                                to_vector(column), to_vector(value), spread);
      },
      "features"_a, "width"_a, "begin"_a, "column"_a, "value"_a, "spread"_a = 0.0,
      "Features of classes described by output features: theta = M theta', with a sparse matrix M, by rows.");
}

static const Registration registration(bind);

}  // namespace margrave
