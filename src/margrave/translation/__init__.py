"""Translation by phrases or grammars: the estimator, its decoders and language model, readers, and tuning."""

from margrave.translation.grammar_decoder import GrammarDecoder
from margrave.translation.graph_tuning import GraphMargins
from margrave.translation.language_model import NGramModel
from margrave.translation.parallel import read_parallel, read_sentences
from margrave.translation.phrase_decoder import PhraseDecoder
from margrave.translation.phrases import AlignedText, PhraseTable
from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar
from margrave.translation.translator import Translator
from margrave.translation.tuning import HopeFearMIRA, Mert, PseudoReferences, tune_decoders
from margrave.translation.weighted_forest import WeightedForest

__all__ = [
    "AlignedText",
    "GrammarDecoder",
    "GraphMargins",
    "HopeFearMIRA",
    "Mert",
    "NGramModel",
    "PhraseDecoder",
    "PhraseTable",
    "PseudoReferences",
    "SynchronousDecoder",
    "SynchronousGrammar",
    "Translator",
    "WeightedForest",
    "read_parallel",
    "read_sentences",
    "tune_decoders",
]
