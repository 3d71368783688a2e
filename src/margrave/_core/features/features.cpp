// Python bindings common to all feature maps.
#include "protocol/features.h"

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) { nb::class_<Features>(m, "Features").def_prop_ro("dim", &Features::dim); }

static const Registration registration(bind);

}  // namespace margrave
