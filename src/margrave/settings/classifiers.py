"""The settings of the classifiers: one class, a class of a taxonomy, or several classes per example."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import LOSS_HELP, LOSS_OBJECTS, LearningSettings, TableSettings

if TYPE_CHECKING:
    from margrave.data import Taxonomy
    from margrave.features.base import Features
    from margrave.losses import CostLike, LossFamily

_EXAMPLES = "How raw examples become features, such as `margrave.features.TfIdf` for texts."
_IF_NONE = "if X has features already"


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierSettings(TableSettings):
    """What a `LinearClassifier` can be told."""

    features: "Features | str | None" = option(None, _EXAMPLES, if_none=_IF_NONE)


@dataclass(eq=False, repr=False)
class TaxonomySettings(ClassifierSettings):
    """What a `TaxonomyClassifier` can be told."""

    loss: "str | LossFamily" = option("hinge", LOSS_HELP, python=f"{LOSS_OBJECTS} It has no cost of its own.")
    _: KW_ONLY
    taxonomy: "Taxonomy | Mapping[Any, Any] | Sequence[Any] | str | None" = option(
        None,
        "`Taxonomy`, the parents of its nodes, or the separator of class names such as a.b.c. The class itself and all "
        "its ancestors are output features; without a taxonomy, the class alone.",
    )
    node_weights: Mapping[Any, float] | None = option(
        None, "Values of the features of nodes; 1 for nodes that it lacks."
    )
    descriptions: Mapping[Any, str] | None = option(
        None, "A text for each class; the tf-idf values of its words are output features."
    )
    similarity: Any = option(
        None,
        "Inner products of the features of the sorted classes, a positive semidefinite matrix; without a taxonomy, "
        "they replace the features of the classes themselves.",
    )
    cost: "CostLike" = option(
        "tree",
        '"tree", the height of the first common ancestor (`Taxonomy.tree_loss`; without a taxonomy every mistake costs '
        'one), "zero-one", one number per class, or a matrix over the sorted classes.',
    )
    classes: Sequence[Any] | None = option(
        None,
        "All classes that can be predicted, including those without examples. Learning compares only the classes of "
        "the examples; the others are scored by the output features that they share with them.",
    )


@dataclass(eq=False, repr=False)
class HierarchySettings(ClassifierSettings):
    """What a `HierarchicalMultiLabelClassifier` can be told."""

    loss: "str | LossFamily" = option("hinge", LOSS_HELP, python=f'{LOSS_OBJECTS} Its cost is "hamming" or "zero-one".')
    _: KW_ONLY
    taxonomy: "Taxonomy | Mapping[Any, Any] | Sequence[Any] | str | None" = option(
        None,
        "`Taxonomy`, the parents of its nodes, the separator of node names such as a.b.c, or None for labels that are "
        "unrelated.",
    )
    intercept: bool = option(
        True, "Give each node a weight that does not depend on features, regularized like all others."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class GraphInferenceSettings(LearningSettings):
    """How graphs of labels are inferred."""

    inference: str = option(
        "exact",
        "How labels are inferred.",
        choices={
            "exact": "by clique trees, for trees, chains and narrow graphs",
            "bp": "by belief propagation, which is approximate",
            "trw": "by tree-reweighted belief propagation, whose sums are upper bounds",
            "relaxed": "by belief propagation and, for the hinge loss, the linear relaxation",
            "lp": "as relaxed, with a solver of linear programs",
        },
        python="See `margrave.structures.FactorGraph`.",
    )
    memory: float = option(
        1024.0, "Exact inference is refused if its tables take more than this many MB per graph.", above=0, metavar="MB"
    )
    weights: Any = option("all", 'Which features have weights: "all", or "hash:BITS" for hashed features.')


@dataclass(eq=False, repr=False)
class MultiLabelSettings(GraphInferenceSettings):
    """What a `MultiLabelClassifier` can be told."""

    loss: "str | LossFamily" = option("log", LOSS_HELP, python=f'{LOSS_OBJECTS} Its cost is "hamming" or "zero-one".')
    _: KW_ONLY
    graph: Any = option(
        "tree",
        '"independent", as if each label were a problem of its own; "tree", the tree of labels with the highest mutual '
        'information in the training data (Chow and Liu 1968); "full", all pairs; or a list of pairs of labels.',
    )
    pair_attributes: bool = option(
        False, "Give pairs of labels weights for all features, and not only one weight per case."
    )
    features: "Features | str | None" = option(None, _EXAMPLES, if_none=_IF_NONE)


@dataclass(eq=False, repr=False, kw_only=True)
class GraphSettings(GraphInferenceSettings):
    """What a `GraphLabeler` can be told."""

    pairs: str = option(
        "auto",
        "Which pairs of labels have weights for the features of edges.",
        choices={
            "auto": "as directed if edges have features, and otherwise as symmetric",
            "directed": "every pair of labels of the source and the target of an edge",
            "symmetric": "every pair of labels, regardless of the order",
            "equal": "one weight for all pairs of equal labels",
        },
    )
    intercept: bool = option(True, "Give nodes and edges one more feature that is always present.")
    states: int | Mapping[Any, int] = option(
        1,
        "Hidden states of each label: nodes with the same label can then differ. They need the log loss.",
        python="Also a mapping from labels to numbers.",
        at_least=1,
        at_most=1000,
    )
    starts: int = option(
        3,
        "Number of starting points where labels are unknown or have hidden states; the model with the lowest objective "
        "wins.",
        python="All are random (`random_state`).",
        at_least=1,
        at_most=1000,
    )
    iterations: int = option(
        500,
        "With approximate inference, the most iterations of the search for the best labeling of a graph (AD3). A "
        "labeling that is not proved to be best by then is the best one found.",
        python="`inference_report` tells the share of graphs where it is proved.",
        at_least=1,
        at_most=10**6,
    )
    # The default was measured on training data (docs/choosing.md).
    decode: str = option(
        "auto",
        "Which labels are predicted.",
        choices={
            "auto": "marginals for losses of probabilities, such as log, with approximate inference, and otherwise "
            "best; graphs with rules always have the best, which follows them",
            "best": "the labeling of the whole graph with the highest score",
            "marginals": "the most probable label of each node",
        },
        what="way to decode",
    )
    neighbors: int = option(4, "Neighbors of each cell of a grid, or each pixel of an image.", choices=(4, 8))
    window: Any = option(1, "The features of a pixel are the values in a square of this size around it.")
