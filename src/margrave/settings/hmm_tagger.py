"""The settings of `HMMTagger`."""

from dataclasses import KW_ONLY, dataclass

from margrave.options import option


@dataclass(eq=False, repr=False)
class HMMSettings:
    """What an `HMMTagger` can be told."""

    order: int = option(
        1,
        "Number of preceding tags on which a tag depends: 1, 2 or 3.",
        at_least=1,
        at_most=3,
        what="the order of a hidden Markov model",
    )
    _: KW_ONLY
    smoothing: float = option(0.3, "How many counts the more general estimate is worth.", above=0)
    suffix_length: int = option(
        3, "Length of the longest suffixes of unknown words; 0 uses only their shapes.", at_least=0, at_most=100
    )
    rare: int = option(
        10,
        "Suffixes are learned from words that occur at most this often, or from all words if there are none.",
        at_least=1,
        at_most=2**31,
    )
