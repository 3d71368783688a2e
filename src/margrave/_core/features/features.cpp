// Python bindings of what all feature maps have in common.
#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) { nb::class_<Features>(m, "Features").def_prop_ro("dim", &Features::dim); }

static const Registration registration(bind);

}  // namespace margrave
