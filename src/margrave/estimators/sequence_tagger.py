"""Tags for the tokens of sequences: conditional random fields, structural SVMs, perceptrons."""

from collections.abc import Callable, Collection, Hashable, Sequence
from itertools import chain as flatten
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margrave import _core
from margrave.errors import MargraveError, unknown
from margrave.estimators.base import Show, StructuredEstimator, check_classes, check_path, label_numbers, solve_path
from margrave.features.table import AttributeTable
from margrave.learners import Checkpoint, Learner
from margrave.learners.checkpoint import as_checkpoint
from margrave.losses import LossFamily
from margrave.structures import Chain


class SequenceTagger(StructuredEstimator):
    """Predicts a label for every token of a sequence; minimises 1/2 |w|^2 + C sum_i L_i(w).

    A token is a list of attribute strings, or a dictionary from names to numbers (or strings), or, for whole sequences
    at once, a row of a two-dimensional array.

    Parameters: `loss` ("log", "hinge", "softmax-margin", "perceptron" or an object of `margrave.losses`), `C`,
    `learner` ("auto", "lbfgs", "cg", "sgd", "perceptron", "eg", "eg-batch", "smo", "smo-eg", "mira", "kbest-mira",
    "bcfw" or an object of `margrave.learners`), `features` ("observed", "all", "hash:BITS", or a `Kernel`), `order` of
    the chain (1, 2 or 3), `forbidden` pairs of neighbouring labels, `start` and `stop` scores, `transition_scale`,
    `tied` transition parts, `max_iter` (None: the learner's own), `tol` on the relative gap, `n_threads` (None: all
    processors), `seed` and `verbose`.

    >>> X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> tagger = SequenceTagger(C=10.0).fit(X, y)
    >>> tagger.predict([[["the"], ["cat"], ["barks"]]])
    [['D', 'N', 'V']]
    >>> tagger.history_[-1].relative_gap <= tagger.tol
    True
    """

    def __init__(
        self,
        loss: str | LossFamily = "log",
        *,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "observed",
        order: int = 1,
        forbidden: Collection[tuple[Any, Any]] = (),
        start: bool = False,
        stop: bool = False,
        transition_scale: float = 1.0,
        tied: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.learner = learner
        self.features = features
        self.order = order
        self.forbidden = forbidden
        self.start = start
        self.stop = stop
        self.transition_scale = transition_scale
        self.tied = tied
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        *,
        sample_weight: Any = None,
        edges: Sequence[Any] | None = None,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Learns from sequences of tokens and their labels.

        `sample_weight`: one factor a sequence. `edges`: attributes of the transition into each token, like X.
        `dev`: other data (X, y), or (X, y, edges), by which sgd chooses its rate. `checkpoint`: a file that follows the
        learner, from which the same call goes on after it was killed or interrupted.
        """
        loss, features = self._settings()
        kept = as_checkpoint(checkpoint)
        problem, classes = self._learning_problem(X, y, edges, loss, features)
        if dev is not None and (not isinstance(dev, tuple | list) or len(dev) not in (2, 3)):
            raise MargraveError("dev must be a pair (X, y), or (X, y, edges).")
        dev_score = None if dev is None else self._dev_score(features, classes, *dev)
        show = _shown(classes, [len(labels) for labels in y])
        w = self._solve(problem, loss, sample_weight, dev_score=dev_score, checkpoint=kept, show=show)
        self._set_fitted(classes, features, w)
        return self

    def fit_path(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        Cs: Sequence[float],
        *,
        sample_weight: Any = None,
        edges: Sequence[Any] | None = None,
    ) -> list["SequenceTagger"]:
        """One tagger for each C, in the order given, each begun from where the one before ended.

        From small C to large is the cheapest. Ctrl-C ends the path with the taggers so far.
        """
        taggers = [self._at(C) for C in check_path(Cs)]
        loss, features = taggers[0]._settings()
        problem, classes = self._learning_problem(X, y, edges, loss, features)
        show = _shown(classes, [len(labels) for labels in y])
        path = []
        for tagger, w in solve_path(taggers, problem, loss, sample_weight, show):
            tagger._set_fitted(classes, features, w)
            path.append(tagger)
        return path

    def _set_fitted(self, classes: NDArray[Any], features: AttributeTable, w: NDArray[np.float64]) -> None:
        self.classes_ = classes
        kept, self.coef_ = features.compact(w)
        self._set_features(kept)

    def _at(self, C: float) -> "SequenceTagger":
        """An unfitted tagger with this C."""
        tagger: SequenceTagger = clone(self).set_params(C=C)
        return tagger

    def _learning_problem(
        self, X: Sequence[Any], y: Sequence[Sequence[Any]], edges: Any, loss: LossFamily, features: AttributeTable
    ) -> tuple[_core.Problem, NDArray[Any]]:
        """The problem that data with labels make, and the classes."""
        chain = self._chain()
        lengths = check_labels(y)
        if hasattr(X, "__len__") and len(X) != len(y):
            raise MargraveError(f"there are {len(X)} sequences in X and {len(y)} in y.")
        labels = list(flatten.from_iterable(y))
        if not labels:
            raise MargraveError("example 0 is an empty sequence; every sequence needs a token.")
        classes = check_classes(labels)
        problem = chain.bind(
            X,
            label_numbers(labels, classes),
            features=features,
            classes=classes.tolist(),
            lengths=lengths,
            loss=loss,
            edges=edges,
        )
        return problem, classes

    def predict(
        self, X: Sequence[Any], *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[list[Any]]:
        """The best labels of every sequence.

        `allowed`: for each sequence, for each position, None or the labels that may stand there.
        """
        problem, lengths = self._bind(X, edges, allowed)
        labels = _flat_labels(problem, self.coef_, self.classes_, lengths, self._threads())
        ends = np.cumsum(lengths).tolist()
        return [labels[end - n : end] for end, n in zip(ends, lengths, strict=True)]

    def predict_marginals(
        self, X: Sequence[Any], *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[NDArray[np.float64]]:
        """The probability of every label at every position: one (tokens, classes) array a sequence.

        Under the model p(y) ~ exp(beta <theta, y>) with the loss's beta; 1 where that is infinite.
        """
        problem, lengths = self._bind(X, edges, allowed)
        begin, _, mu = _core.marginals_all(problem, self.coef_, self._temperature(), self._threads())
        width = len(self.classes_)
        return [mu[at : at + n * width].reshape(n, width) for at, n in zip(begin[:-1], lengths, strict=True)]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[Any]], *, edges: Sequence[Any] | None = None) -> float:
        """The share of tokens whose label is right."""
        from margrave.metrics import token_accuracy

        check_labels(y)
        return float(token_accuracy([list(labels) for labels in y], self.predict(X, edges=edges)))

    def _dev_score(
        self,
        features: AttributeTable,
        classes: NDArray[Any],
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        edges: Sequence[Any] | None = None,
    ) -> Callable[[NDArray[np.float64]], float]:
        """Token accuracy on other data, as a function of the weights."""
        try:
            lengths = check_labels(y)
            problem = self._chain().bind(X, features=features, classes=classes.tolist(), lengths=lengths, edges=edges)
        except MargraveError as error:
            raise MargraveError(f"dev: {error}") from None
        gold = list(flatten.from_iterable(y))

        def score(w: NDArray[np.float64]) -> float:
            best = _flat_labels(problem, w, classes, lengths, self._threads())
            return float(sum(a == b for a, b in zip(best, gold, strict=True)) / len(gold))

        return score

    def _chain(self) -> Chain:
        return Chain(self.order, self.forbidden, self.start, self.stop, self.transition_scale, self.tied)

    def _bind(self, X: Sequence[Any], edges: Any, allowed: Any) -> tuple[_core.Problem, list[int]]:
        self._check_fitted()
        if not hasattr(X, "__len__"):
            raise MargraveError(f"X must be a sequence of examples, not {type(X).__name__}.")
        lengths = [_length(x) for x in X]
        mask = None if allowed is None else _allowed_mask(allowed, lengths, self.classes_.tolist())
        classes = self.classes_.tolist()
        problem = self._chain().bind(X, features=self.features_, classes=classes, edges=edges, allowed=mask)
        return problem, lengths

    def _empty_problem(self) -> _core.Problem:
        edges: list[Any] | None = None if self.features_.edge_pairs is None else []
        return self._chain().bind([], features=self.features_, classes=self.classes_.tolist(), edges=edges)

    def _structure_settings(self) -> dict[str, Any]:
        chain = self._chain()
        return {
            "order": chain.order,
            "forbidden": [list(pair) for pair in chain.forbidden],
            "start": chain.start,
            "stop": chain.stop,
            "transition_scale": chain.scale,
            "tied": chain.tied,
        }


def check_labels(y: Sequence[Sequence[Any]]) -> list[int]:
    """The number of labels of every sequence; refuses data without sequences, and labels that are no lists."""
    if not hasattr(y, "__len__"):
        raise MargraveError(f"y must be a list of lists of labels, not {type(y).__name__}.")
    if len(y) == 0:
        raise MargraveError("there are no sequences.")
    for i, labels in enumerate(y):
        if not _is_list(labels):
            raise MargraveError(f"example {i}: its labels must be a list, not {type(labels).__name__}.")
    return [len(labels) for labels in y]


def _shown(classes: NDArray[Any], lengths: Sequence[int]) -> Show:
    """Outputs as their labels."""
    return lambda i, parts: list(classes[parts[: lengths[i]] % len(classes)])  # the parts of positions come first


def _length(x: Any) -> int:
    """The number of tokens of a sequence; what has no length is refused when it is encoded."""
    if hasattr(x, "shape"):
        return int(x.shape[0])
    return len(x) if hasattr(x, "__len__") else 0


def _is_list(x: Any) -> bool:
    """Whether it has an order and a length, and is no text."""
    ordered = hasattr(x, "__len__") and hasattr(x, "__getitem__") and hasattr(x, "__iter__")
    return ordered and not isinstance(x, str | bytes | bytearray | dict)


def _flat_labels(
    problem: _core.Problem, w: NDArray[np.float64], classes: NDArray[Any], lengths: Sequence[int], threads: int
) -> list[Any]:
    begin, parts = _core.argmax_all(problem, w, threads)
    numbers = Chain().decode(begin, parts, np.asarray(lengths, dtype=np.int64), len(classes))
    return np.array(classes.tolist(), dtype=object)[numbers].tolist()  # type: ignore[no-any-return]


def _allowed_mask(allowed: Sequence[Any], lengths: Sequence[int], classes: list[Any]) -> NDArray[np.bool_]:
    """(tokens, classes): whether a label may stand at a position."""
    if not _is_list(allowed):
        raise MargraveError(f"allowed must be a list with an entry for each sequence, not {type(allowed).__name__}.")
    if len(allowed) != len(lengths):
        raise MargraveError(f"there are {len(lengths)} sequences and allowed labels for {len(allowed)}.")
    number = {label: k for k, label in enumerate(classes)}
    mask = np.ones((sum(lengths), len(classes)), dtype=np.bool_)
    row = 0
    for i, (positions, n) in enumerate(zip(allowed, lengths, strict=True)):
        if positions is not None and not _is_list(positions):
            raise MargraveError(f"example {i}: its allowed labels must be a list, not {type(positions).__name__}.")
        if positions is not None and len(positions) != n:
            raise MargraveError(f"example {i} has {n} tokens and allowed labels for {len(positions)}.")
        for t in range(n):
            labels = None if positions is None else positions[t]
            if labels is not None:
                if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
                    raise MargraveError(
                        f"example {i}, position {t}: allowed labels must be a set, not {type(labels).__name__}."
                    )
                mask[row] = False
                for label in labels:
                    if not isinstance(label, Hashable) or label not in number:
                        raise unknown("label among the allowed ones", label, map(str, classes))
                    mask[row, number[label]] = True
            row += 1
    return mask
