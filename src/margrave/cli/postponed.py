"""Modules that other libraries import and a command does not need: they are imported on first use instead.

scikit-learn imports scipy.stats for one function that no estimator here calls. That takes half of the time in which
estimators are imported, and a command runs in a process of its own, which begins anew every time.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

POSTPONED = ("scipy.stats",)


class Postponed(ModuleType):
    """Stands for a module in `sys.modules` until somebody asks for one of its attributes."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def postpone_imports() -> None:
    """Postpone the import of these modules, unless they are there already."""
    for name in POSTPONED:
        sys.modules.setdefault(name, Postponed(name))
