"""The settings of `DependencyParser`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import C_HELP, LOSS_HELP, LOSS_OBJECTS, TOL_HELP, LearningSettings

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.losses import LossFamily


@dataclass(eq=False, repr=False)
class ParserSettings(LearningSettings):
    """What a `DependencyParser` can be told."""

    loss: "str | LossFamily" = option(
        "log",
        LOSS_HELP,
        python=f"{LOSS_OBJECTS} The cost of a tree is its number of wrong heads, or of words with a wrong head or "
        "label if labels are predicted jointly.",
    )
    _: KW_ONLY
    # The defaults of C, tol, order and decode were measured on training data (docs/choosing.md).
    C: float = option(0.1, C_HELP, above=0)
    tol: float = option(1e-2, TOL_HELP, at_least=0)
    order: int = option(
        1,
        "1 scores single arcs. 2 also scores pairs of children of a head, and a head with its own head: more accurate "
        "and slower. Trees must then be projective, or inference is approximate.",
        python="In projective trees, pairs are neighboring children. In crossing trees, they are any two children, and "
        "inference is belief propagation, and AD3 for the best tree (`margrave.structures.ArcPairTree`).",
        at_least=1,
        at_most=2,
    )
    projective: bool | str = option(
        "auto",
        "Whether arcs must not cross.",
        choices={
            "auto": "if fewer than 1 % of the arcs of the training data cross, and always with order 2",
            True: "they must not cross",
            False: "they may cross",
        },
    )
    crossing: str = option(
        "projectivize",
        "What a projective parser does with crossing trees in training.",
        choices={
            "projectivize": "attach crossing arcs to a higher head, the deepest first",
            "drop": "leave the sentence out",
            "refuse": "stop with an error",
        },
    )
    labels: bool | str = option(
        "auto",
        "How the labels of arcs are predicted.",
        choices={
            "auto": "in a second stage, if the training data have several labels",
            True: "in a second stage, given the tree",
            False: "not at all",
            "joint": "together with the tree",
        },
    )
    prune: bool | str = option(
        "auto",
        "Which arcs are considered.",
        choices={
            "auto": "as lengths for order 1, and as posterior for order 2",
            "lengths": "those no longer than arcs with the same tags in the training data",
            "posterior": "those that a simpler parser finds probable, which is learned first, by cross-fitting",
            False: "all",
        },
    )
    decode: str = option(
        "auto",
        "Which tree is predicted.",
        choices={
            "auto": "mbr for losses of probabilities, such as log, with exact inference, and otherwise best",
            "best": "the tree with the highest score",
            "mbr": "the tree with the highest expected number of correct heads, or of correct pairs of head and label "
            "if labels are joint",
        },
    )
    fallback: str = option(
        "none",
        "With order 2 and crossing trees, what training does with a sentence if approximate inference gives its tree a "
        "probability above 1.",
        choices={"none": "make no step", "reweighted": "use an upper bound in place of the estimate"},
    )
    max_words: int = option(80, "Longer sentences are left out of the training.", at_least=1, at_most=2**31 - 1)
    weights: Any = option(
        "auto",
        'Which features have weights: "observed", those of the training trees; "hash:BITS", all, hashed; "auto", '
        '"hash:22" if there are many words, and otherwise "observed".',
        python='Without `features`: "all" or "hash:BITS".',
    )
    features: "Features | str | None" = option(
        "default",
        'How sentences become features: `margrave.features.ArcTemplates`, "default" for its built-in templates, or '
        "None if X already has the features of the n * n arcs of each sentence of n words, word by word and head by "
        "head.",
    )
    single_root: bool = option(True, "Whether the root must have exactly one child.")
