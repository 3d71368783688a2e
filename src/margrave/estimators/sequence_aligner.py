"""Aligning pairs of sequences with scores that are learned from known alignments."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length
from margrave.data.substitution import BLOSUM62, SubstitutionMatrix, are_amino_acids, matrix_named
from margrave.errors import MargraveError, quoted
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.model import check_choice
from margrave.estimators.models.sequence_aligner import AlignerModel, AlignmentScores
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.features.sequences import LETTERS, EncodedSequence, Sequences, each_sequence, sequence_columns
from margrave.learners import Objective
from margrave.losses import Cost, LossFamily, loss_named
from margrave.losses.costs import F1
from margrave.maps.alignment import AlignmentMap
from margrave.structures.alignment import Alignment

Weights = NDArray[np.float64]
# The default C. Weights that are measured from a good matrix need to move less (docs/choosing.md has the measurements).
_C_FROM_ZERO, _C_FROM_MATRIX = 1.0, 0.1
_LONGEST_F1 = 40  # letters of a sequence for which the F1 cost is counted


class AlignmentEstimator(AlignmentScores, StructuredEstimator, saved_as=""):
    """What estimators of alignments share: letters, features, and weights that are measured from a given matrix."""

    mode: str
    gaps: str
    symmetric: bool
    gap_residues: bool
    end_gaps: bool
    start: str | SubstitutionMatrix | None

    start_: SubstitutionMatrix | None = None  # what `start` stands for with the training data

    def _default_features(self) -> Features:
        return Sequences(also=() if self.start_ is None else self.start_.letters)

    def _map(self, outputs: Any) -> AlignmentMap:
        return AlignmentMap(
            symmetric=self.symmetric,
            gap_residues=self.gap_residues,
            end_gaps=self.end_gaps,
            affine=self.gaps == "affine",
        )

    def _check_parameters(self) -> LossFamily:
        loss: LossFamily = super()._check_parameters()
        self._check_structure()
        if self.start is not None and not (isinstance(self.start, str) and self.start == "auto"):
            matrix_named(self.start)
            if not _takes_offset(loss):
                raise MargraveError(
                    "a matrix to start from needs a convex loss of the family with a cost that decomposes over parts: "
                    "'log', 'hinge' or 'softmax-margin'."
                )
        return loss

    def _check_structure(self) -> None:
        """Refuse wrong modes and gaps."""
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    # With a matrix w0 to start from, a learner sees the weights u = w - w0 and penalizes |u|^2; the scores of w0 are in
    # the costs (losses/offset.h), which enter with gamma = 1 for losses that have no cost of their own.

    def _costs(self, loss: LossFamily, outputs: Any, examples: Examples) -> Cost | None:
        return None if self.start_ is not None and loss.gamma == 0 else loss.costs

    def _training(self, examples: Examples, loss: LossFamily) -> Training:
        training = super()._training(examples, loss)
        if training.model.start_ is None:
            return training
        w0 = self._start_weights(training)
        problem = _core.offset(training.bound.problem, w0 / (loss.gamma or 1.0))
        return replace(training, bound=replace(training.bound, problem=problem))

    def _start_weights(self, training: Training) -> Weights:
        assert isinstance(training.feature_map, AlignmentMap)
        natural = training.model.start_.measured_in(1.0)
        return training.feature_map.from_matrix(natural, training.bound.problem.dim)

    def _objective(
        self, training: Training, loss: LossFamily, kind: type[Objective] = Objective, **more: Any
    ) -> Objective:
        if training.model.start_ is not None and loss.gamma == 0:
            loss = LossFamily(loss.beta, 1.0)
        return super()._objective(training, loss, kind, **more)

    def _dev_score(self, examples: Examples, training: Training) -> Callable[[Weights], float]:
        score = super()._dev_score(examples, training)
        w0 = None if training.model.start_ is None else self._start_weights(training)
        return score if w0 is None else lambda u: score(u + w0)

    def _set_fitted(self, training: Training, w: Weights) -> None:
        super()._set_fitted(training, w if training.model.start_ is None else w + self._start_weights(training))


def matrix_to_start_from(
    start: str | SubstitutionMatrix | None, X: Any, loss: LossFamily, features: Any = None
) -> SubstitutionMatrix | None:
    """What `start` stands for; "auto" is BLOSUM62 if the sequences are proteins and the loss can start from a matrix.

    Parameters
    ----------
    start : the setting.
    X : pairs of sequences, or natives with candidates.
    loss : the loss.
    features : what reads the sequences, which may take letters as others.
    """
    if start == "auto":
        letters = _letters(X)
        if isinstance(features, Sequences):
            letters = {features.letter(each) for each in letters}
        return BLOSUM62 if _takes_offset(loss) and are_amino_acids(letters) else None
    return None if start is None else matrix_named(start)


def _takes_offset(loss: LossFamily) -> bool:
    """Whether weights can be measured from a matrix with this loss.

    The scores of w0 enter with gamma, and what a difference of losses subtracts has gamma = 0.
    """
    return loss.of_family and not loss.zero_one and loss.convex


def _letters(X: Any) -> set[str]:
    """The letters of sequences; none if their positions have attributes."""
    found: set[str] = set()
    for where, sequence in each_sequence(X):
        if isinstance(sequence, EncodedSequence):
            letters = sequence.views.values[LETTERS] if sequence.views.single else ()
        else:
            letters = sequence_columns(sequence, where)[LETTERS]
        if isinstance(letters, int) or not (isinstance(letters, str) or all(isinstance(a, str) for a in letters)):
            return set()
        found.update(letters)
    return found


class SequenceAligner(AlignerModel, AlignmentEstimator):  # type: ignore[misc]
    """Aligns pairs of sequences; minimizes 1/2 |w - start|^2 + C sum_i L_i(w).

    An example of X is a pair (x, y) of sequences: texts, Biopython's Seq or SeqRecord, lists of tokens, lists of lists
    of attribute strings, or dictionaries of columns, such as {"letters": "ACD", "helix": "HHC"}; columns that are
    matrices are profiles. An output is the list of matched positions (i, j), from 0, or a pair of aligned texts of the
    same length, with "-" for gaps.

    Attributes
    ----------
    coef_ : the weights.
    matrix_ : the learned substitution matrix.
    start_ : the matrix that the weights are measured from, or None; it is not saved.
    C_ : the C of the objective; it is not saved.

    >>> pairs = [("ACGT", "AGT"), ("TTACG", "TACG"), ("GATTA", "GTTA")]
    >>> known = [("ACGT", "A-GT"), ("TTACG", "-TACG"), ("GATTA", "G-TTA")]
    >>> SequenceAligner(C=10.0).fit(pairs, known).predict([("CGAT", "CGT")])
    [[(0, 0), (1, 1), (3, 2)]]
    """

    C_: float

    def _used_C(self, training: Training) -> float:  # noqa: N802
        if self.C is not None:
            return self.C
        return _C_FROM_ZERO if training.model.start_ is None else _C_FROM_MATRIX

    def _set_fitted(self, training: Training, w: Weights) -> None:
        super()._set_fitted(training, w)
        self.C_ = self._used_C(training)

    def _structure(self, examples: Examples) -> Alignment:
        edges = self.edges and examples.training
        return Alignment(self.mode, self.gaps, self._tied(examples), edges=edges)

    def _check_structure(self) -> None:
        Alignment(self.mode, self.gaps)

    def _tied(self, examples: Examples) -> bool:
        """Whether parts are tied: for losses without costs, and for prediction, if scores depend on letters alone."""
        if not examples.training:
            return super()._tied(examples)
        if self.tied != "auto":
            return bool(self.tied)
        if self.edges or loss_named(self.loss).gamma != 0:
            return False
        return self.window == 0 and self.gap_context == 0 and _only_letters(examples.X)

    def _map(self, outputs: Any) -> AlignmentMap:
        feature_map = super()._map(outputs)
        feature_map.window, feature_map.gap_context = self.window, self.gap_context
        feature_map.__post_init__()
        return feature_map

    def _check_parameters(self) -> LossFamily:
        loss: LossFamily = super()._check_parameters()
        if not isinstance(self.tied, bool):
            check_choice("tied", self.tied, ("auto",))
        elif self.tied and loss.gamma > 0:
            raise MargraveError(
                f"the loss {quoted(loss.name)} counts wrong pairs by their places, which tied parts do not tell: pass "
                "tied=False."
            )
        if flag("edges", self.edges) and self.tied is True:
            raise MargraveError("parts of edges are not tied: pass tied=False.")
        return loss

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        start = matrix_to_start_from(self.start, examples.X, loss_named(self.loss), self.features)
        return replace(examples, Y=self._outputs(examples.Y, examples.X)), {"start_": start}

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        examples = super()._completed(examples, outputs)
        if examples.training and isinstance(loss_named(self.loss).costs, F1):
            x, y = examples.extra("x").lengths, examples.extra("y").lengths
            for i, length in enumerate(np.maximum(x, y).tolist()):
                if length > _LONGEST_F1:
                    raise MargraveError(
                        f"example {i} has {length} letters, and the F1 cost is counted for up to {_LONGEST_F1}: use "
                        "the cost 'hamming'."
                    )
        return examples


def _only_letters(X: Any) -> bool:
    """Whether all that is known of sequences is their letters."""
    for pair in X:
        for sequence in pair if has_length(pair) and len(pair) == 2 else ():
            views = getattr(sequence, "views", None)
            if views is not None:
                return bool(views.single and list(views.values) == ["letters"])
            if isinstance(sequence, Mapping) and len(sequence) > 1:
                return False
            if isinstance(sequence, list | tuple) and sequence and not isinstance(sequence[0], str):
                return False
    return True
