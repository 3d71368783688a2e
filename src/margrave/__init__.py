"""Margrave learns to predict structured outputs from examples, and certifies how far it is from the optimum."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The module of each public name. They are imported on first use, so that `import margrave` is fast.
_HOMES = {
    "ConstituencyParser": "margrave.estimators.constituency_parser",
    "PCFG": "margrave.estimators.pcfg",
    "DependencyParser": "margrave.estimators.dependency_parser",
    "GraphLabeler": "margrave.estimators.graph_labeler",
    "HMMTagger": "margrave.estimators.hmm_tagger",
    "GenerativeAligner": "margrave.estimators.generative_aligner",
    "HomologyRanker": "margrave.estimators.homology_ranker",
    "SequenceAligner": "margrave.estimators.sequence_aligner",
    "SequenceTagger": "margrave.estimators.sequence_tagger",
    "PathCV": "margrave.estimators.path_cv",
    "StructuredClassifier": "margrave.estimators.structured_classifier",
    "TaxonomyClassifier": "margrave.estimators.taxonomy_classifier",
    "HierarchicalMultiLabelClassifier": "margrave.estimators.hierarchical_multilabel",
    "MultiLabelClassifier": "margrave.estimators.multi_label_classifier",
    "LatticeDecoder": "margrave.estimators.lattice_decoder",
    "Reranker": "margrave.estimators.reranker",
    "Translator": "margrave.estimators.translator",
    "Taxonomy": "margrave.labels",
    "Problem": "margrave._core",
    "CustomProblem": "margrave.custom",
    "Kernel": "margrave.features.mercer",
    "LossFamily": "margrave.losses",
    "Log": "margrave.losses",
    "Hinge": "margrave.losses",
    "SoftmaxMargin": "margrave.losses",
    "Perceptron": "margrave.losses",
    "DifferenceOfLosses": "margrave.losses",
    "Ramp": "margrave.losses",
    "ExpectedCostBound": "margrave.losses",
    "LatentHinge": "margrave.losses",
    "LatentLog": "margrave.losses",
    "MargraveError": "margrave.errors",
    "load": "margrave.estimators",
}

__all__ = [
    "PCFG",
    "ConstituencyParser",
    "CustomProblem",
    "DependencyParser",
    "DifferenceOfLosses",
    "ExpectedCostBound",
    "GenerativeAligner",
    "GraphLabeler",
    "HMMTagger",
    "HierarchicalMultiLabelClassifier",
    "Hinge",
    "HomologyRanker",
    "Kernel",
    "LatentHinge",
    "LatentLog",
    "LatticeDecoder",
    "Log",
    "LossFamily",
    "MargraveError",
    "MultiLabelClassifier",
    "PathCV",
    "Perceptron",
    "Problem",
    "Ramp",
    "Reranker",
    "SequenceAligner",
    "SequenceTagger",
    "SoftmaxMargin",
    "StructuredClassifier",
    "Taxonomy",
    "TaxonomyClassifier",
    "Translator",
    "load",
]

if TYPE_CHECKING:
    from margrave._core import Problem
    from margrave.custom import CustomProblem
    from margrave.errors import MargraveError
    from margrave.estimators import (
        PCFG,
        ConstituencyParser,
        DependencyParser,
        GraphLabeler,
        HierarchicalMultiLabelClassifier,
        HMMTagger,
        HomologyRanker,
        LatticeDecoder,
        MultiLabelClassifier,
        Reranker,
        SequenceAligner,
        SequenceTagger,
        StructuredClassifier,
        TaxonomyClassifier,
        Translator,
        load,
    )
    from margrave.estimators.generative_aligner import GenerativeAligner
    from margrave.estimators.path_cv import PathCV
    from margrave.features.mercer import Kernel
    from margrave.labels import Taxonomy
    from margrave.losses import (
        DifferenceOfLosses,
        ExpectedCostBound,
        Hinge,
        LatentHinge,
        LatentLog,
        Log,
        LossFamily,
        Perceptron,
        Ramp,
        SoftmaxMargin,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'margrave' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
