"""The estimators, which follow scikit-learn's conventions, and `load` for their model files."""

from os import PathLike
from typing import Any

from margrave.errors import DataError
from margrave.estimators.dependency_parser import DependencyParser
from margrave.estimators.files import SavedEstimator
from margrave.estimators.format1 import upgraded
from margrave.estimators.hierarchical_multilabel import HierarchicalMultiLabelClassifier
from margrave.estimators.hmm_tagger import HMMTagger
from margrave.estimators.reranker import Reranker
from margrave.estimators.sequence_tagger import SequenceTagger
from margrave.estimators.sequence_tagger_cv import SequenceTaggerCV
from margrave.estimators.structured_classifier import StructuredClassifier
from margrave.estimators.taxonomy_classifier import TaxonomyClassifier
from margrave.files import model as model_file
from margrave.files.stored import import_modules

__all__ = [
    "DependencyParser",
    "HMMTagger",
    "HierarchicalMultiLabelClassifier",
    "Reranker",
    "SequenceTagger",
    "SequenceTaggerCV",
    "StructuredClassifier",
    "TaxonomyClassifier",
    "load",
]

import_modules(__name__)  # A new estimator needs no entry here.


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` wrote; damaged and foreign files, and files of a newer version, are an error.

    Parameters
    ----------
    path : the file. Nothing in it is executed: it contains only numbers, texts and the names of Margrave's classes.
    """
    header, arrays = model_file.read(path)
    name = str(header.get("estimator"))
    if name not in SavedEstimator.registered:
        raise DataError(path, None, f"it holds a {name}, which this Margrave does not know: upgrade Margrave.")
    try:
        if "structure" in header:  # This is a file of format 1.
            header = upgraded(header, arrays)
        return SavedEstimator.registered[name]._from_file(header, arrays)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # The checksum is right, so the file was written this way: report the inconsistency on one line.
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            path, None, f"it is not a model that Margrave wrote ({type(error).__name__}: {reason})."
        ) from None
