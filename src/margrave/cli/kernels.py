"""The options of tasks whose features may be a kernel: those fields of `margrave.maps.mercer.Kernel`."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from margrave.cli.options import option
from margrave.errors import MargraveError, unknown

if TYPE_CHECKING:
    from margrave.maps.mercer import Kernel

_FUNCTIONS = ("linear", "polynomial", "rbf")


@dataclass(eq=False, repr=False)
class KernelOptions:
    """A kernel between inputs instead of a weight per attribute; values that are not given are the kernel's own."""

    kernel: str | None = option(
        None,
        "Score by a kernel between inputs instead of weights of attributes: linear, polynomial or rbf.",
        "NAME",
    )
    degree: int | None = option(None, "The degree of --kernel polynomial; 2 if not given.", "N", low=1)
    gamma: float | None = option(
        None,
        "The factor in --kernel polynomial, 1 if not given, and in --kernel rbf, one over the mean squared length of "
        "the training inputs if not given.",
        "NUMBER",
        low=0.0,
    )
    coef0: float | None = option(None, "The constant of --kernel polynomial; 1 if not given.", "NUMBER", low=0.0)
    nystroem: int | None = option(
        None, "Approximate the kernel by N of the training inputs, which every learner can train.", "N", low=1
    )

    def chosen_kernel(self) -> "Kernel | None":
        """The kernel, if one was asked for."""
        settings = {
            each.name: value
            for each in fields(KernelOptions)
            if each.name != "kernel" and (value := getattr(self, each.name)) is not None
        }
        if self.kernel is None:
            if settings:
                raise MargraveError(f"--{next(iter(settings))} belongs to --kernel, which is not given.")
            return None
        if self.kernel not in _FUNCTIONS:
            raise unknown("--kernel", self.kernel, _FUNCTIONS)
        from margrave.maps.mercer import Kernel

        return Kernel(self.kernel, **settings)
