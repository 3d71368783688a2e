"""Models of probabilistic context-free grammars."""

from typing import Any, ClassVar

from margrave.estimators.models.constituency_parser import ConstituencyModel
from margrave.examples import Examples
from margrave.settings.constituency_parser import PCFGSettings
from margrave.structures.constituents import ContextFreeTree


class PCFGModel(PCFGSettings, ConstituencyModel, saved_as="PCFG"):
    """A probabilistic context-free grammar: what `load` makes of the file of a `PCFG`."""

    features = None
    _more: ClassVar[tuple[str, ...]] = ("n_long_",)

    n_long_: int

    def _structure(self, examples: Examples) -> ContextFreeTree:
        return ContextFreeTree(False, self.binarize, self.horizontal, self.vertical, self.terminals, self.rare)

    def _check_parameters(self) -> Any:
        checked = super()._check_parameters()
        self._structure(Examples([]))
        return checked
