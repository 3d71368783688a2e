"""Margrave trains structured predictors, and proves how close each model is to the best possible one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The module of each public name. They are imported on first use, so `import margrave` is fast. Type checkers cannot
# read this table: they need the same names below, and a test compares the two.
_HOMES = {
    "ArcLabeler": "margrave.estimators.arc_labeler",
    "ConstituencyParser": "margrave.estimators.constituency_parser",
    "CustomProblem": "margrave.custom",
    "DependencyParser": "margrave.estimators.dependency_parser",
    "DifferenceOfLosses": "margrave.losses",
    "ExpectedCostBound": "margrave.losses",
    "GenerativeAligner": "margrave.estimators.generative_aligner",
    "GraphLabeler": "margrave.estimators.graph_labeler",
    "HMMTagger": "margrave.estimators.hmm_tagger",
    "HierarchicalMultiLabelClassifier": "margrave.estimators.hierarchical_multilabel",
    "Hinge": "margrave.losses",
    "HomologyRanker": "margrave.estimators.homology_ranker",
    "Kernel": "margrave.maps.mercer",
    "LatentHinge": "margrave.losses",
    "LatentLog": "margrave.losses",
    "LatticeDecoder": "margrave.estimators.lattice_decoder",
    "Log": "margrave.losses",
    "LossFamily": "margrave.losses",
    "MargraveError": "margrave.errors",
    "MultiLabelClassifier": "margrave.estimators.multi_label_classifier",
    "PCFG": "margrave.estimators.pcfg",
    "PathCV": "margrave.estimators.path_cv",
    "Perceptron": "margrave.losses",
    "Problem": "margrave._core",
    "Ramp": "margrave.losses",
    "Reranker": "margrave.estimators.reranker",
    "SegmentTagger": "margrave.estimators.segment_tagger",
    "SequenceAligner": "margrave.estimators.sequence_aligner",
    "SequenceTagger": "margrave.estimators.sequence_tagger",
    "SoftmaxMargin": "margrave.losses",
    "LinearClassifier": "margrave.estimators.linear_classifier",
    "Taxonomy": "margrave.data",
    "TaxonomyClassifier": "margrave.estimators.taxonomy_classifier",
    "Translator": "margrave.translation.translator",
    "load": "margrave.estimators",
}

if TYPE_CHECKING:
    from margrave._core import Problem as Problem
    from margrave.custom import CustomProblem as CustomProblem
    from margrave.data import Taxonomy as Taxonomy
    from margrave.errors import MargraveError as MargraveError
    from margrave.estimators import load as load
    from margrave.estimators.arc_labeler import ArcLabeler as ArcLabeler
    from margrave.estimators.constituency_parser import ConstituencyParser as ConstituencyParser
    from margrave.estimators.dependency_parser import DependencyParser as DependencyParser
    from margrave.estimators.generative_aligner import GenerativeAligner as GenerativeAligner
    from margrave.estimators.graph_labeler import GraphLabeler as GraphLabeler
    from margrave.estimators.hierarchical_multilabel import (
        HierarchicalMultiLabelClassifier as HierarchicalMultiLabelClassifier,
    )
    from margrave.estimators.hmm_tagger import HMMTagger as HMMTagger
    from margrave.estimators.homology_ranker import HomologyRanker as HomologyRanker
    from margrave.estimators.lattice_decoder import LatticeDecoder as LatticeDecoder
    from margrave.estimators.linear_classifier import LinearClassifier as LinearClassifier
    from margrave.estimators.multi_label_classifier import MultiLabelClassifier as MultiLabelClassifier
    from margrave.estimators.path_cv import PathCV as PathCV
    from margrave.estimators.pcfg import PCFG as PCFG
    from margrave.estimators.reranker import Reranker as Reranker
    from margrave.estimators.segment_tagger import SegmentTagger as SegmentTagger
    from margrave.estimators.sequence_aligner import SequenceAligner as SequenceAligner
    from margrave.estimators.sequence_tagger import SequenceTagger as SequenceTagger
    from margrave.estimators.taxonomy_classifier import TaxonomyClassifier as TaxonomyClassifier
    from margrave.losses import DifferenceOfLosses as DifferenceOfLosses
    from margrave.losses import ExpectedCostBound as ExpectedCostBound
    from margrave.losses import Hinge as Hinge
    from margrave.losses import LatentHinge as LatentHinge
    from margrave.losses import LatentLog as LatentLog
    from margrave.losses import Log as Log
    from margrave.losses import LossFamily as LossFamily
    from margrave.losses import Perceptron as Perceptron
    from margrave.losses import Ramp as Ramp
    from margrave.losses import SoftmaxMargin as SoftmaxMargin
    from margrave.maps.mercer import Kernel as Kernel
    from margrave.translation.translator import Translator as Translator

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'margrave' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
