"""The options of tasks whose features may be a kernel: those fields of `margrave.maps.mercer.Kernel`."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from margrave.errors import MargraveError
from margrave.options import option

if TYPE_CHECKING:
    from margrave.maps.mercer import Kernel


@dataclass(eq=False, repr=False, kw_only=True)
class KernelOptions:
    """A kernel between inputs instead of a weight per feature; values that are not given are the kernel's own."""

    kernel: str | None = option(
        None,
        "Score by a kernel between inputs instead of weights of features.",
        choices=("linear", "polynomial", "rbf"),
    )
    degree: int | None = option(None, "Degree of --kernel polynomial.", at_least=1, if_none="2")
    kernel_gamma: float | None = option(
        None,
        "Factor in --kernel polynomial and --kernel rbf.",
        at_least=0,
        if_none="1 for polynomial, one over the mean squared length of the training inputs for rbf",
    )
    coef0: float | None = option(None, "Constant of --kernel polynomial.", at_least=0, if_none="1")
    nystroem: int | None = option(
        None, "Approximate the kernel by N of the training inputs, so every learner can train it.", at_least=1
    )

    def chosen_kernel(self) -> "Kernel | None":
        """The kernel, if one was asked for."""
        given = {
            each.name: value
            for each in fields(KernelOptions)
            if each.name != "kernel" and (value := getattr(self, each.name)) is not None
        }
        if self.kernel is None:
            if given:
                flag = next(iter(given)).replace("_", "-")
                raise MargraveError(f"--{flag} applies to --kernel only, which is not given.")
            return None
        from margrave.maps.mercer import Kernel

        return Kernel(self.kernel, **{name.removeprefix("kernel_"): value for name, value in given.items()})
