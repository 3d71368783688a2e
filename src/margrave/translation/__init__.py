"""Translation by phrases or grammars: the estimator, its decoders and language model, readers, and tuning.

A module is imported when one of its names is used: the command line needs the settings alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margrave.translation.grammar_decoder import GrammarDecoder as GrammarDecoder
    from margrave.translation.graph_tuning import GraphMargins as GraphMargins
    from margrave.translation.language_model import NGramModel as NGramModel
    from margrave.translation.parallel import read_parallel as read_parallel
    from margrave.translation.parallel import read_sentences as read_sentences
    from margrave.translation.phrase_decoder import PhraseDecoder as PhraseDecoder
    from margrave.translation.phrases import AlignedText as AlignedText
    from margrave.translation.phrases import PhraseTable as PhraseTable
    from margrave.translation.synchronous import SynchronousDecoder as SynchronousDecoder
    from margrave.translation.synchronous import SynchronousGrammar as SynchronousGrammar
    from margrave.translation.translator import Translator as Translator
    from margrave.translation.tuning import HopeFearMIRA as HopeFearMIRA
    from margrave.translation.tuning import Mert as Mert
    from margrave.translation.tuning import PseudoReferences as PseudoReferences
    from margrave.translation.tuning import tune_decoders as tune_decoders
    from margrave.translation.weighted_forest import WeightedForest as WeightedForest

# The module of each public name; type checkers need the same names above, and a test compares the two.
_HOMES = {
    "AlignedText": "margrave.translation.phrases",
    "GrammarDecoder": "margrave.translation.grammar_decoder",
    "GraphMargins": "margrave.translation.graph_tuning",
    "HopeFearMIRA": "margrave.translation.tuning",
    "Mert": "margrave.translation.tuning",
    "NGramModel": "margrave.translation.language_model",
    "PhraseDecoder": "margrave.translation.phrase_decoder",
    "PhraseTable": "margrave.translation.phrases",
    "PseudoReferences": "margrave.translation.tuning",
    "SynchronousDecoder": "margrave.translation.synchronous",
    "SynchronousGrammar": "margrave.translation.synchronous",
    "Translator": "margrave.translation.translator",
    "WeightedForest": "margrave.translation.weighted_forest",
    "read_parallel": "margrave.translation.parallel",
    "read_sentences": "margrave.translation.parallel",
    "tune_decoders": "margrave.translation.tuning",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'margrave.translation' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
