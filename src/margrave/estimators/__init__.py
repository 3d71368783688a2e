"""What people import: estimators with scikit-learn's conventions, and `load` for their model files."""

from os import PathLike

from margrave.errors import DataError
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.hierarchical_multilabel import HierarchicalMultiLabelClassifier
from margrave.estimators.hmm_tagger import HMMTagger
from margrave.estimators.reranker import Reranker
from margrave.estimators.sequence_tagger import SequenceTagger
from margrave.estimators.sequence_tagger_cv import SequenceTaggerCV
from margrave.estimators.structured_classifier import StructuredClassifier
from margrave.estimators.taxonomy_classifier import TaxonomyClassifier
from margrave.files import model as model_file

__all__ = [
    "HMMTagger",
    "HierarchicalMultiLabelClassifier",
    "Reranker",
    "SequenceTagger",
    "SequenceTaggerCV",
    "StructuredClassifier",
    "TaxonomyClassifier",
    "load",
]

_ESTIMATORS: dict[str, type[StructuredEstimator] | type[HMMTagger]] = {
    "HMMTagger": HMMTagger,
    "HierarchicalMultiLabelClassifier": HierarchicalMultiLabelClassifier,
    "Reranker": Reranker,
    "SequenceTagger": SequenceTagger,
    "StructuredClassifier": StructuredClassifier,
    "TaxonomyClassifier": TaxonomyClassifier,
}


def load(path: str | PathLike[str]) -> StructuredEstimator | HMMTagger:
    """The model that `save` wrote; a damaged, foreign or newer file is refused in one sentence."""
    header, arrays = model_file.read(path)
    name = str(header.get("estimator"))
    if name not in _ESTIMATORS:
        raise DataError(path, None, f"it holds a {name}, which this Margrave does not know: upgrade Margrave.")
    try:
        return _ESTIMATORS[name]._from_file(header, arrays)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # the checksum is right, so the file was made this way: say what does not fit, on one line
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(path, None, f"it is no model that Margrave wrote ({type(error).__name__}: {reason}).") from None
