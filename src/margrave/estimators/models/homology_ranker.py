"""Models that recognize the homologue of a sequence among decoys by the scores of alignments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from margrave import _core
from margrave.checks import has_length, whole
from margrave.data.alignments import matched_pairs
from margrave.data.candidates import Candidates
from margrave.errors import MargraveError
from margrave.estimators.models.sequence_aligner import AlignmentScores, check_aligned
from margrave.examples import Examples
from margrave.features.sequences import EncodedSequence, sequence_columns
from margrave.maps.alignment import letters_of, sequences_of
from margrave.settings.aligners import HomologySettings
from margrave.structures.alignment import Alignment, Homology
from margrave.structures.base import NoOutputs


class HomologyModel(HomologySettings, AlignmentScores, saved_as="HomologyRanker"):
    """Chooses the homologue of a native sequence: what `load` makes of the file of a `HomologyRanker`.

    `predict_marginals` has the probability of every candidate, summed over its alignments.
    """

    def predict_kbest(self, X: Any, k: int = 10) -> list[list[tuple[float, int]]]:
        """Rank the candidates of every native sequence by their best alignments; return the k best with their scores.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of candidates.
        """
        k = whole("k", k, 1, 2**31 - 1)
        bound = self._bind(self._given(X))
        ranked = []
        for i, (x, candidates) in enumerate(bound.examples.attributes):
            theta = bound.problem.score(i, self._weights())[: bound.core.shared_parts]
            same, others = letters_of([x] * len(candidates)), letters_of(candidates)
            of_pairs = Examples(None, extras={"x": same, "y": others, "letters": x.views.size("letters")})
            pairs = Alignment(self.mode, self.gaps).bind(NoOutputs(), of_pairs)
            assert isinstance(pairs, _core.AlignmentStructure)
            begins = (pairs.parts(c) - len(theta) for c in range(pairs.size))  # which score nothing
            scores = [pairs.best_score(c, np.concatenate([theta, np.zeros(n)])) for c, n in enumerate(begins)]
            if not np.isfinite(scores).all():
                raise MargraveError(
                    f"example {i}: the scores of its candidates overflow, so the weights are too large."
                )
            order = np.argsort(-np.array(scores), kind="stable")[:k]
            ranked.append([(float(scores[c]), int(c)) for c in order])
        return ranked

    def _structure(self, examples: Examples) -> Homology:
        return Homology(self.mode, self.gaps)

    def _inputs(self, X: Any) -> Any:
        return with_candidates(X)

    def _outputs(self, Y: Any, X: Any) -> Any:
        return known_homologues(X, Y)

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        rows = sequences_of(examples.attributes)
        first = rows.first if rows.first is not None else np.zeros(1, dtype=np.int64)
        letters = max((s.views.size("letters") for s in rows.x[:1]), default=1)
        return examples.having(x=letters_of(rows.x), candidates=letters_of(rows.y), first=first, letters=letters)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        good = [y[0] if isinstance(y, tuple | list) else y for y in Y]
        return float(np.mean(np.asarray(good) == np.asarray(predicted))) if len(good) else 1.0


def with_candidates(X: Any) -> list[tuple[Any, Candidates]]:
    """Natives with their candidates; an error if X has another form."""
    if isinstance(X, str | Mapping) or not hasattr(X, "__iter__"):
        raise MargraveError(f"X must be a list of (native, candidates), not {type(X).__name__}.")
    found = []
    for i, example in enumerate(X):
        if isinstance(example, str | Mapping) or not has_length(example) or len(example) != 2:
            raise MargraveError(f"example {i} must be a pair of a native sequence and a list of candidates.")
        native, candidates = example
        if isinstance(candidates, str | Mapping) or not hasattr(candidates, "__iter__"):
            raise MargraveError(f"example {i}: its candidates must be a list of sequences.")
        found.append((native, Candidates(candidates)))
        if not found[-1][1]:
            raise MargraveError(f"example {i} has no candidates.")
    return found


def known_homologues(X: Any, Y: Any) -> list[tuple[int, Any]]:
    """The homologues and their alignments, checked: a decoy must differ from the homologue."""
    if isinstance(Y, str | Mapping) or not has_length(Y):
        raise MargraveError("y must have, for each native sequence, the number of its homologue and their alignment.")
    if len(Y) != len(X):
        raise MargraveError(f"there are {len(X)} natives in X and {len(Y)} in y.")
    known = []
    for i, (y, (native, candidates)) in enumerate(zip(Y, X, strict=True)):
        if not isinstance(y, tuple | list) or len(y) != 2 or isinstance(y[0], str) or not has_length(y[1]):
            raise MargraveError(f"example {i}: y must be the number of the homologue and its alignment.")
        good, pairs = y
        good = whole(f"example {i}: the number of the homologue", good, -(2**31), 2**31 - 1)
        if not 0 <= good < len(candidates):
            raise MargraveError(f"example {i}: there is no candidate {good} among its {len(candidates)}.")
        for k, decoy in enumerate(candidates):
            if k != good and _same(decoy, candidates[good], f"example {i}, candidate {k}"):
                raise MargraveError(f"example {i}: decoy {k} is equal to the homologue: leave it out.")
        if len(pairs) == 2 and all(isinstance(each, str) for each in pairs):
            texts, pairs = pairs, matched_pairs(pairs[0], pairs[1], f"example {i}")
            check_aligned(texts[0], native, f"example {i}, the native sequence")
            check_aligned(texts[1], candidates[good], f"example {i}, candidate {good}")
        known.append((int(good), pairs))
    return known


def _same(a: Any, b: Any, where: str) -> bool:
    if isinstance(a, EncodedSequence) and isinstance(b, EncodedSequence):
        one, other = a.columns, b.columns
    else:
        one, other = sequence_columns(a, where), sequence_columns(b, where)
    return set(one) == set(other) and all(_same_column(one[name], other[name]) for name in one)


def _same_column(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return list(a) == list(b)
