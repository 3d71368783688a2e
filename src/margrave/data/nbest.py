"""N-best lists: the hypotheses of one input, with their features and scores."""

from dataclasses import dataclass

from margrave.errors import MargraveError, shortened


@dataclass(frozen=True, slots=True)
class NBestList:
    """The hypotheses of one input, in the order in which the system wrote them.

    Parameters
    ----------
    id : the number of the input.
    hypotheses : the texts, with one blank between two words.
    features : the features of each hypothesis, by name.
    scores : the scores that the system gave to the hypotheses; None if it wrote none.
    """

    id: int
    hypotheses: list[str]
    features: list[dict[str, float]]
    scores: list[float] | None = None

    def __post_init__(self) -> None:
        n = len(self.hypotheses)
        for what, values in (("features", self.features), ("scores", self.scores)):
            if values is not None and len(values) != n:
                raise MargraveError(
                    f"list {self.id}: the number of hypotheses is {n}, but that of {what} is {len(values)}."
                )

    @property
    def first(self) -> int:
        """The index of the hypothesis with the highest score, or of the first one if there are no scores."""
        return 0 if self.scores is None else max(range(len(self.scores)), key=self.scores.__getitem__)

    def __repr__(self) -> str:
        first = f": {shortened(self.hypotheses[0])}" if self.hypotheses else ""
        return f"<NBestList {self.id}, {len(self.hypotheses)} hypotheses{first}>"
