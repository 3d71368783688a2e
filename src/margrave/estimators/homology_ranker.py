"""Recognizing the homologue of a sequence among decoys by the scores of alignments."""

from dataclasses import replace
from typing import Any

from margrave.estimators.models.homology_ranker import HomologyModel
from margrave.estimators.sequence_aligner import AlignmentEstimator, matrix_to_start_from
from margrave.examples import Examples
from margrave.losses import loss_named
from margrave.structures.alignment import Homology


class HomologyRanker(HomologyModel, AlignmentEstimator):
    """Chooses the homologue of a native sequence among candidates, by the score of the best alignment of each.

    An example of X is (native, [candidate, ...]). y has, for each of them, the number of the homologue and its
    alignment with the native sequence: matched positions (i, j), or a pair of aligned texts. In training, the known
    alignment must score higher than every alignment of every other candidate, which cost 1; other alignments of the
    homologue are left out. Predictions consider all alignments of all candidates.

    Attributes
    ----------
    coef_ : the weights.
    matrix_ : the learned substitution matrix.
    start_ : the matrix that the weights are measured from, or None; it is not saved.

    >>> X = [("ACGT", ["ACT", "GGG"]), ("TTAC", ["CCC", "TAC"])]
    >>> y = [(0, ("ACGT", "AC-T")), (1, ("TTAC", "-TAC"))]
    >>> HomologyRanker().fit(X, y).predict([("GTAC", ["GGG", "GTA"])])
    array([1])
    """

    def _check_structure(self) -> None:
        Homology(self.mode, self.gaps)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        X = self._inputs(examples.X)
        start = matrix_to_start_from(self.start, X, loss_named(self.loss))
        return replace(examples, X=X, Y=self._outputs(examples.Y, X)), {"start_": start}
