"""A sequence tagger that chooses C by cross-validation along a regularisation path."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain as flatten
from math import isfinite
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margrave.checks import real, whole
from margrave.errors import MargraveError, unknown
from margrave.estimators.base import check_path
from margrave.estimators.sequence_tagger import SequenceTagger
from margrave.features import AttributeTable
from margrave.inputs.base import Inputs
from margrave.inputs.segments import SegmentTemplates
from margrave.learners import Checkpoint, Learner
from margrave.learners.checkpoint import as_checkpoint
from margrave.losses import LossFamily
from margrave.structures.chain import check_labels

_Score = Callable[[SequenceTagger, Sequence[Any], Sequence[Any], Sequence[Any] | None], float]

_TIE = 1e-12  # Means that differ by less than this are equal except for rounding.


class SequenceTaggerCV(SequenceTagger):
    """A `SequenceTagger` that chooses C by cross-validation.

    It uses the C with the best mean score over the held-out folds, or the smallest of several. For each fold, one path
    is learned from the remaining data, in ascending order of C, with each model starting from the solution of the
    previous one (`fit_path`). The learner must therefore be able to continue from one C to the next: "auto", "lbfgs",
    "cg", "eg", "smo", "smo-eg" or "bcfw". Finally, the model is learned from all data with the chosen C. `save` writes
    the file of a `SequenceTagger`.

    Parameters
    ----------
    Cs : the values of C to compare.
    cv : the number of folds, or an object with `split(X)`, such as those of scikit-learn.
    scoring : None for the fraction of right tokens; "f1" for the F1 of spans, if labels are IOB or BIOES tags; or a
        function of a tagger, X and y.
    loss, learner, features, inputs, segments, max_length, order, forbidden, start, stop, transition_scale, tied,
        starts, max_iter, tol, n_threads, seed, verbose : as in `SequenceTagger`.

    Attributes
    ----------
    C_ : the chosen C.
    Cs_ : the values of C in ascending order.
    scores_ : the scores, (folds, Cs).
    classes_, coef_, history_, certificate_, n_iter_, converged_, stop_reason_ : as in `SequenceTagger`.

    >>> X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]] * 2
    >>> tagger = SequenceTaggerCV(Cs=[0.1, 10.0], cv=2).fit(X, [["D", "N", "V"]] * 4)
    >>> tagger.C_, tagger.scores_.tolist()
    (0.1, [[1.0, 1.0], [1.0, 1.0]])
    """

    Cs_: NDArray[np.float64]
    C_: float
    scores_: NDArray[np.float64]

    def __init__(
        self,
        loss: str | LossFamily = "log",
        *,
        Cs: Iterable[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        cv: Any = 5,
        scoring: str | Callable[[SequenceTagger, Any, Any], float] | None = None,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "observed",
        inputs: Inputs | None = None,
        segments: bool | SegmentTemplates = False,
        max_length: int | Mapping[str, int] | None = None,
        order: int = 1,
        forbidden: Collection[tuple[Any, Any]] = (),
        start: bool = False,
        stop: bool = False,
        transition_scale: float = 1.0,
        tied: bool = True,
        starts: int = 3,
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.learner = learner
        self.features = features
        self.inputs = inputs
        self.segments = segments
        self.max_length = max_length
        self.order = order
        self.forbidden = forbidden
        self.start = start
        self.stop = stop
        self.transition_scale = transition_scale
        self.tied = tied
        self.starts = starts
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    @property
    def C(self) -> float:  # type: ignore[override]  # noqa: N802
        """The chosen C, which is a parameter of a `SequenceTagger` and is learned here."""
        return self.C_

    def fit(  # type: ignore[override]
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        *,
        sample_weight: Any = None,
        edges: Sequence[Any] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Choose C, then learn from all sequences.

        Parameters
        ----------
        X, y, edges : as in `SequenceTagger.fit`.
        sample_weight : one factor per sequence on its C; the scores ignore it.
        checkpoint, observers : as in `SequenceTagger.fit`. They concern the last run, which learns from all sequences
            with the chosen C; the folds are repeated after an interruption.
        """
        Cs = sorted(set(check_path(self.Cs)))
        self._at(Cs[0])._settings()
        checkpoint = as_checkpoint(checkpoint)  # which is checked before any work is done
        n = len(check_labels(y))
        columns = {"X": X, "y": y, "edges": edges, "sample_weight": sample_weight}
        for name, column in columns.items():
            if column is not None and (not hasattr(column, "__len__") or len(column) != n):
                raise MargraveError(f"{name} must be a list with an entry for each of the {n} sequences.")
        score = _score_named(self.scoring, y, edges)
        scores = []
        for k, (train, test) in enumerate(_folds(self.cv, X)):
            of_train, of_test = ({name: _rows(column, of) for name, column in columns.items()} for of in (train, test))
            try:
                path = self.fit_path(Cs=Cs, **of_train)
                if len(path) < len(Cs) or path[-1].stop_reason_.startswith("interrupted"):
                    raise KeyboardInterrupt
                scores.append([score(tagger, of_test["X"], of_test["y"], of_test["edges"]) for tagger in path])
            except MargraveError as error:
                raise MargraveError(f"fold {k}: {error}") from None
        if not scores:
            raise MargraveError("cv must have at least one fold.")
        self.Cs_, self.scores_ = np.array(Cs), np.array(scores)
        mean = self.scores_.mean(axis=0)
        self.C_ = Cs[int(np.argmax(mean >= mean.max() - _TIE))]
        # Learning with the chosen C from the beginning takes fewer passes than following the path again.
        return super().fit(X, y, sample_weight=sample_weight, edges=edges, checkpoint=checkpoint, observers=observers)

    def _at(self, C: float) -> SequenceTagger:
        """An unfitted tagger with this C."""
        own = ("Cs", "cv", "scoring")
        params = {name: value for name, value in clone(self).get_params(deep=False).items() if name not in own}
        return SequenceTagger(C=C, **params)

    def _kind_in_files(self) -> str:
        return "SequenceTagger"

    def _stored_parameters(self) -> dict[str, Any]:
        return self._at(self.C_)._stored_parameters()


def _rows(column: Any, of: NDArray[np.int64]) -> Any:
    return None if column is None else [column[i] for i in of]


def _folds(cv: Any, X: Sequence[Any]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each fold, the indices of the training sequences and of those held out."""
    if hasattr(cv, "split") and not isinstance(cv, str | bytes):
        return iter(cv.split(X))
    from sklearn.model_selection import KFold

    return KFold(whole("cv", cv, 2, len(X))).split(X)  # type: ignore[no-any-return]


def _score_named(scoring: Any, y: Sequence[Sequence[Any]], edges: Sequence[Any] | None) -> _Score:
    """The function that scores taggers; invalid settings are an error before any work is done."""
    if scoring is None:
        return lambda tagger, X, y, edges: tagger.score(X, y, edges=edges)
    if callable(scoring):
        if edges is not None:
            raise MargraveError(
                "a scoring function is called with X and y only, but there are edges: use scoring=None or 'f1'."
            )
        return lambda tagger, X, y, _: real("a score", scoring(tagger, X, y), "be finite", isfinite)
    if scoring != "f1":
        raise unknown("scoring", scoring, ("f1", "None", "a function"))

    from margrave.labels.tags import spans
    from margrave.metrics import span_scores

    labels = sorted({str(label) for label in flatten.from_iterable(y)})
    scheme = "BIOES" if any(label.startswith(("E-", "S-")) for label in labels) else "IOB2"  # This also reads IOB1.
    for label in labels:
        try:
            spans([label], scheme)
        except MargraveError:
            raise MargraveError(f"scoring='f1' needs labels that are tags of spans, but {label!r} is not.") from None
    return lambda tagger, X, y, edges: span_scores(y, tagger.predict(X, edges=edges), scheme).f1
