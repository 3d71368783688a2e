"""The problems that every contract is tested on: registering one in a file of this folder is enough.

An entry makes a small random problem from a seed, together with all that the core must agree with: the outputs of each
example by enumeration, the gold output, the cost of every output and the linear map A.
"""

from importlib import import_module
from pkgutil import iter_modules

from tests.registry.cases import APPROXIMATE, BUILT_IN_LEARNERS, KINDS, Case, Kind

__all__ = ["APPROXIMATE", "BUILT_IN_LEARNERS", "KINDS", "Case", "Kind"]

for _, name, _ in iter_modules(__path__):
    import_module(f"{__name__}.{name}")
