"""Problems that users write in Python."""

from margrave.custom.kernel import KernelProblem
from margrave.custom.problem import CustomProblem

__all__ = ["CustomProblem", "KernelProblem"]
