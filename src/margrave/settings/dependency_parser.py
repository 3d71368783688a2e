"""The settings of `DependencyParser`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import LearningSettings

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.losses import LossFamily


@dataclass(eq=False, repr=False)
class ParserSettings(LearningSettings):
    """What a `DependencyParser` can be told."""

    loss: "str | LossFamily" = option(
        "log",
        '"log", "hinge", "softmax-margin", "perceptron", or an object of `margrave.losses`. The cost of a tree '
        "is its number of wrong heads, or of words with a wrong head or label if labels are predicted jointly.",
    )
    _: KW_ONLY
    order: int = option(
        1,
        "1 scores single arcs. 2 also scores pairs of children of a head, and a head with its head. In projective "
        "trees these are neighboring children, and inference is exact. In crossing trees they are any two children, "
        "and inference is approximate: belief propagation, and AD3 for the best tree "
        "(`margrave.structures.ArcPairTree`).",
        at_least=1,
        at_most=2,
    )
    projective: bool | str = option(
        "auto",
        'Whether arcs must not cross. "auto": if fewer than 1 % of the arcs of the training data cross, and always '
        "with order=2.",
        choices=("auto", True, False),
    )
    crossing: str = option(
        "projectivise",
        'What a projective parser does with crossing trees in training: "projectivise" lifts the deepest crossing '
        'arcs, "drop" leaves the sentence out, and "refuse" is an error.',
        choices=("projectivise", "drop", "refuse"),
    )
    labels: bool | str = option(
        "auto",
        '"auto" predicts labels if y has them; False does not. True predicts them in a second stage, given the tree, '
        'and "joint" predicts trees and labels together.',
        choices=("auto", True, False, "joint"),
    )
    prune: bool | str = option(
        "auto",
        'Which arcs are considered: "lengths", those no longer than arcs with the same tags in the training data; '
        '"posterior", those that a simpler parser finds probable, which is learned first, by cross-fitting; False, '
        'all; "auto", "lengths" for order 1 and "posterior" for order 2.',
        choices=("auto", "lengths", "posterior", False),
    )
    decode: str = option(
        "best",
        '"best" predicts the tree with the highest score; "mbr" the tree with the highest expected number of correct '
        "heads, or of correct pairs (head, label) with joint labels.",
        choices=("best", "mbr"),
    )
    fallback: Any = option(
        "none",
        "What a training sentence does with `order=2` and `projective=False` if belief propagation gives its tree a "
        'probability above 1: "none" makes no step, "reweighted" uses an upper bound in place of the estimate.',
    )
    max_words: int = option(80, "Longer sentences are left out of the training.", at_least=1, at_most=2**31 - 1)
    weights: Any = option(
        "auto",
        '"observed" stores the features of the training trees with their names, "hash:BITS" hashes them, and "auto" '
        'hashes them if there are many words. Without `features`: "all" or "hash:BITS".',
    )
    features: "Features | str | None" = option(
        "default",
        'How sentences become features: `margrave.features.ArcTemplates`, "default" for its built-in templates, or '
        "None if X already has the features of the n * n arcs of each sentence of n words, word by word and head by "
        "head.",
    )
    single_root: bool = option(True, "Whether the root must have exactly one child.")
