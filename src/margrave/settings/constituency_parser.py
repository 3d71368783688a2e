"""The settings of `ConstituencyParser` and `PCFG`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import LOSS_HELP, LOSS_OBJECTS, TOL_HELP, JobSettings, LearningSettings

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.losses import LossFamily
    from margrave.maps import Kernel


_DECODE = "Which tree is predicted."
_DECODERS = {
    "best": "the tree with the highest score",
    "mbr": "the tree with the largest sum of probability minus threshold over its constituents",
}


@dataclass(eq=False, repr=False, kw_only=True)
class GrammarSettings(JobSettings):
    """How trees become rules, and how trees are predicted."""

    terminals: str = option(
        "tags",
        "The terminals of the grammar.",
        choices={"tags": "part-of-speech tags", "words": "words, whose tags are predicted; rare ones become classes"},
        python="Without a grammar, words and tags matter only to templates.",
        what="kind of terminals",
    )
    binarize: str = option(
        "right",
        "Which child is split off when nodes with many children become binary.",
        choices={"right": "the first", "left": "the last", "head": "the outermost that is not the head"},
        what="binarization",
    )
    horizontal: int | None = option(
        2,
        "Horizontal markovization: the number of siblings that a binarized symbol contains.",
        at_least=0,
        at_most=1000,
        if_none="all",
    )
    vertical: int = option(1, "Vertical markovization: 1 label, 2 adds the parent's label.", at_least=1, at_most=1000)
    rare: int = option(
        1,
        "With words as terminals, those that occur at most this often are replaced by their classes.",
        at_least=0,
        at_most=2**31 - 1,
    )
    decode: str = option("best", _DECODE, choices=_DECODERS)
    threshold: float = option(
        0.3, 'The threshold of "mbr"; higher values predict fewer constituents.', at_least=0, at_most=1
    )
    max_words: int = option(80, "Longer sentences are left out of the training.", at_least=1, at_most=2**31 - 1)


@dataclass(eq=False, repr=False)
class ConstituencySettings(GrammarSettings, LearningSettings):
    """What a `ConstituencyParser` can be told."""

    loss: "str | LossFamily" = option(
        "log",
        LOSS_HELP,
        python=f'{LOSS_OBJECTS} The cost of a tree is its number of wrong constituents, "zero-one", or "f1", one '
        "minus the F1 score of its constituents.",
    )
    _: KW_ONLY
    grammar: str = option(
        "spans",
        "Which trees there are.",
        choices={
            "spans": "all, so any label may be over any span; features are templates over spans",
            "rules": "those of the grammar of the training trees",
        },
    )
    # The defaults of grammar, tol and decode were measured on training data (docs/choosing.md).
    tol: float = option(1e-2, TOL_HELP, at_least=0)
    decode: str = option(
        "auto",
        _DECODE,
        choices={"auto": "mbr for losses of probabilities, such as log, and otherwise best", **_DECODERS},
    )
    prune: float | None = option(
        None,
        "Consider only spans with at least this probability under a counted grammar of the same trees, such as 1e-4. "
        "This saves time only with very large grammars.",
        python="Inference is exact over the trees that are left. The grammar, a `PCFG`, is a part of the model, and in "
        "training it has not seen the sentences that it prunes.",
        if_none="all spans",
        above=0,
        below=1,
    )
    weights: Any = option("hash:20", '"hash:BITS", the size of the hash table of features of spans.')
    kernel: "Kernel | None" = option(
        None,
        "`Kernel` between the features of spans. Rules still have weights of their own, and templates cannot be about "
        "splits.",
    )
    features: "Features | str | None" = option(
        "default",
        'Templates over spans and splits, `margrave.features.SpanTemplates`. "default" chooses its built-in templates '
        'with grammar="spans" or a kernel, and otherwise none: only rules have weights then. None: none.',
    )


@dataclass(eq=False, repr=False)
class PCFGSettings(GrammarSettings):
    """What a `PCFG` can be told."""

    smoothing: float = option(
        0.0,
        "What is added to the count of every rule, so rare rules are not overrated; 0 is the maximum of the "
        "likelihood. Rules that do not occur in the training data have no probability.",
        at_least=0,
    )
    _: KW_ONLY
    horizontal: int | None = option(
        None,
        "Horizontal markovization: the number of siblings that a binarized symbol contains.",
        at_least=0,
        at_most=1000,
        if_none="all",
    )
    max_words: int = option(400, "Longer sentences are left out of the training.", at_least=1, at_most=2**31 - 1)
