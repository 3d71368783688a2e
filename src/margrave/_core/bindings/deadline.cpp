// Python bindings of the time limit of a run.
#include "bindings/deadline.h"

#include "bindings/binding.h"

namespace margrave {

static void bind(nb::module_& m) {
  m.def("seconds_left", &Deadline::seconds_left,
        "The seconds until the deadline of this thread; infinite if there is none, and negative after it.");
  m.def("set_seconds_left", &Deadline::set_seconds_left, "seconds"_a,
        "Sets the deadline of this thread, after which every pass raises TimeUpError; infinite removes it.");
  m.def("check_signals", &check_signals, "Raises KeyboardInterrupt after Ctrl-C, and TimeUpError after the deadline.");
}

static const Registration registration(bind);

}  // namespace margrave
