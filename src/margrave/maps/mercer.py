"""Kernels between inputs (003, Eq. 14): scores are sums of kernels with support inputs.

The weights of such features are representer coefficients a[support input, label], with the inner product a'K b; label
tuples, start, stop and transition attributes have ordinary weights. The support inputs are the distinct inputs of the
training data; a model stores those with a nonzero coefficient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, unknown
from margrave.maps.base import Ranked, Weights
from margrave.maps.named import Block
from margrave.maps.table import FeatureTable, Transitions
from margrave.memory import check_memory
from margrave.room import take_room

KERNELS = ("linear", "polynomial", "rbf", "precomputed")

_RANK = 1e-12  # Eigenvalues below this fraction of the largest are treated as zero.


@dataclass
class Kernel(FeatureTable):
    """A kernel on the inputs of classes, the tokens of sequences or the spans of trees, given as `kernel=`.

    Parameters
    ----------
    function : "linear", <x, z>; "polynomial", (gamma <x, z> + coef0)^degree; "rbf", exp(-gamma |x - z|^2); or
        "precomputed", for classes only, where X contains the kernel of each input with all training inputs. If
        attributes have names, <x, z> counts those that two inputs share; names that training did not have are ignored.
    degree : the degree of the polynomial.
    gamma : the factor in the formulas above. None means 1, or, for "rbf", one over the mean squared length of the
        training inputs.
    coef0 : the constant of the polynomial.
    single : store the Gram matrix in single precision, which takes half the memory. Its rows are computed on demand.
    nystroem : approximate the kernel by this many training inputs (landmarks), drawn with `seed`. The model then has
        ordinary weights, which every learner accepts.
    memory : megabytes for rows of the Gram matrix.
    random_state : decides which inputs `nystroem` draws.

    >>> Kernel("polynomial", degree=3).degree
    3
    """

    name = "kernel"  # the name of the class; objects are named after their function

    pairs: str = field(default="all", init=False, repr=False)  # for label tuples and transition attributes
    hash_bits: int = field(default=0, init=False, repr=False)

    function: str = "linear"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    single: bool = False
    nystroem: int | None = None
    memory: float = 1000.0
    random_state: int = 0

    support: _core.Inputs | None = field(default=None, init=False, repr=False)  # or the landmarks
    columns: NDArray[np.int64] | None = field(default=None, init=False, repr=False)  # their columns, if precomputed
    projection: NDArray[np.float64] | None = field(default=None, init=False, repr=False)  # for kernels with landmarks
    learned_gamma: float = field(default=1.0, init=False, repr=False)
    _inputs: _core.Inputs | None = field(default=None, init=False, repr=False)  # all training inputs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function not in KERNELS:
            raise unknown("kernel", self.function, KERNELS)
        self.name = self.function  # type: ignore[misc]
        self.degree = whole("the degree of a kernel", self.degree, 1, 100)
        if self.gamma is not None:
            rule = "be positive and finite"
            self.gamma = real("the gamma of a kernel", self.gamma, rule, lambda gamma: 0 < gamma < inf)
        rule = "be finite and not negative"
        self.coef0 = real("the coef0 of a kernel", self.coef0, rule, lambda coef0: 0 <= coef0 < inf)
        self.single = flag("single", self.single)
        rule = "be positive and at most 10^9"
        self.memory = real("the megabytes of a kernel", self.memory, rule, lambda memory: 0 < memory <= 1e9)
        self.random_state = whole("the random_state of a kernel", self.random_state, 0, 2**63)
        if self.nystroem is not None:
            self.nystroem = whole("the number of landmarks", self.nystroem, 1, 10**6)
            if self.function == "precomputed":
                raise MargraveError("nystroem needs the inputs themselves, which a precomputed kernel does not have.")

    @property
    def n_support(self) -> int:
        """The number of kernel evaluations that the prediction of one input takes."""
        if self.columns is not None:
            return len(self.columns)
        return 0 if self.support is None else len(self.support)

    @property
    def height(self) -> int:
        """The number of rows of the table of inputs: the dimension that the landmarks span, otherwise zero."""
        return 0 if self.projection is None else self.projection.shape[1]

    @property
    def size(self) -> int:
        """The number of coefficients or, with landmarks, of weights."""
        if self.projection is not None or self.weighted is None:
            return super().size
        return self.n_support * self.weighted.labels

    def merge(self, other: Self) -> NDArray[np.int32] | None:
        """Add the other shard's names and inputs."""
        numbers = self.encoder.merge(other.encoder)
        if other.weighted is not None:
            if other._inputs is None:
                raise MargraveError("a precomputed kernel cannot be learned from shards: it needs all inputs at once.")
            self._add_inputs(other._inputs)
            self.weighted = _core.Pairs(self.height, other.weighted.labels)
        return numbers

    def learn_columns(
        self, rows: _core.Tokens, width: int, seen_begin: NDArray[np.int64], seen: NDArray[np.int32]
    ) -> None:
        """Learn the support inputs, which are the distinct inputs of the training data."""
        inputs = _core.Inputs(rows)
        if self.function == "precomputed":
            if self.learned:
                raise MargraveError("a precomputed kernel cannot be learned from shards: it needs all inputs at once.")
            self._check_gram(inputs, rows)
            self.columns = inputs.origin
        else:
            self._add_inputs(inputs)
        self.weighted = _core.Pairs(self.height, width)

    def _add_inputs(self, inputs: _core.Inputs) -> None:
        """Learn from these inputs as well: update the distinct inputs, gamma, and the landmarks."""
        if self._inputs is not None:
            (begin, index, value), (more, index2, value2) = self._inputs.arrays(), inputs.arrays()
            begins = np.concatenate([begin, begin[-1] + more[1:]])
            rows = _core.Tokens(
                np.arange(len(begins), dtype=np.int64),
                begins,
                np.concatenate([index, index2]),
                np.concatenate([value, value2]),
            )
            inputs = _core.Inputs(rows)
        self._inputs = self.support = inputs
        self.learned_gamma = self._gamma_for(inputs)
        if self.nystroem is not None:
            self._learn_landmarks(inputs)

    def map_columns(
        self, rows: _core.Tokens, *, training: bool = False, transitions: Transitions | None = None
    ) -> _core.Features:
        """The feature map of these rows; a map of new inputs can only compute scores."""
        if self.projection is not None:
            return super().map_columns(self._explicit(rows), training=training, transitions=transitions)
        assert self.weighted is not None
        nothing = np.zeros(rows.tokens + 1, dtype=np.int64)
        bare = _core.Tokens(rows.example_begin, nothing, np.zeros(0, dtype=np.int32), None)
        rest = super().map_columns(bare, training=training, transitions=transitions)
        bytes_allowed, width = int(self.memory * 1e6), self.weighted.labels
        if self.columns is not None:
            return _core.given_kernel_features(self.columns, rows, training, self.single, bytes_allowed, width, rest)
        return self.beside(rows, rest)

    def beside(
        self, rows: _core.Tokens, rest: _core.Features, first_parts: NDArray[np.int64] | None = None
    ) -> _core.Features:
        """The feature map of these rows, whose scores are added to those of the rest of the features.

        Parameters
        ----------
        rows : the inputs, one per position.
        rest : features of the same examples.
        first_parts : the number of parts of each example before those of its positions and labels; None: zero.
        """
        assert self.support is not None and self.weighted is not None
        settings = self.single, int(self.memory * 1e6), self.weighted.labels
        return _core.kernel_features(*self._function(), self.support, rows, *settings, rest, first_parts)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """Raise an error, because a kernel has coefficients of inputs instead of weights of features."""
        raise MargraveError("a kernel has coefficients for training inputs, so that features do not have weights.")

    def block(self, group: str, columns: Sequence[Any]) -> Block:
        """Raise an error for the same reason."""
        raise MargraveError("a kernel has coefficients for training inputs, so that features do not have weights.")

    def compact(self, w: NDArray[np.float64]) -> tuple[Self, NDArray[np.float64]]:
        """The features and weights without the support inputs whose coefficients are all zero."""
        if self.projection is not None:
            return self.copied(_inputs=None), w
        assert self.weighted is not None
        coefficients = w.reshape(-1, self.weighted.labels)
        kept = np.flatnonzero(coefficients.any(axis=1))
        smaller = self.copied(_inputs=None)
        if self.columns is not None:
            smaller.columns = self.columns[kept]
        elif self.support is not None:
            smaller.support = self.support.subset(kept)
        return smaller, coefficients[kept].ravel()

    def without_zeros(self, w: NDArray[np.float64]) -> tuple[Self, NDArray[np.float64]]:
        """The same features: `compact` has already removed the support inputs without a coefficient."""
        return self, w

    def state(self) -> dict[str, Any]:
        """The names, the labels, and the support inputs or landmarks."""
        state = super().state() | {"gamma": self.learned_gamma, "columns": self.columns, "projection": self.projection}
        if self.support is not None:
            state["support"] = dict(zip(_SUPPORT, self.support.arrays(), strict=True))
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned; raises an error if it is inconsistent."""
        super().restore(state)
        if not self.learned:
            return
        self.learned_gamma = real("gamma", state["gamma"], "be positive and finite", lambda gamma: 0 < gamma < inf)
        if self.function == "precomputed":
            self.columns = np.array(state["columns"])
            if self.columns.ndim != 1 or self.columns.dtype != np.int64:
                raise MargraveError("the columns of support inputs must be whole numbers.")
            return
        begin, index, value = (np.ascontiguousarray(state["support"][name]) for name in _SUPPORT)
        examples = np.arange(len(begin), dtype=np.int64)
        take_room(8 * (1 + int(index.max(initial=0))), "the index of its support inputs by attribute")
        self.support = _core.Inputs(_core.Tokens(examples, begin, index, value))
        if len(self.support) != len(begin) - 1:
            raise MargraveError("a support input occurs twice.")
        if self.nystroem is not None:
            self.projection = np.array(state["projection"])
            ok = self.projection.ndim == 2 and self.projection.dtype == np.float64
            if not ok or len(self.projection) != len(self.support) or not np.isfinite(self.projection).all():
                raise MargraveError("the projection of landmarks must be finite numbers, one row per landmark.")

    def _function(self) -> tuple[str, float, float, int]:
        return self.function, self.learned_gamma, self.coef0, self.degree

    def _gamma_for(self, inputs: _core.Inputs) -> float:
        if self.gamma is not None:
            return self.gamma
        mean = float(inputs.squares.mean()) if self.function == "rbf" else 1.0
        return 1.0 / mean if mean > 0 else 1.0

    def _check_gram(self, inputs: _core.Inputs, rows: _core.Tokens) -> None:
        """Check that a precomputed kernel is a square, symmetric matrix without negative numbers on its diagonal."""
        from scipy.sparse import csr_array

        n = rows.tokens
        if self.encoder.form != "columns" or self.encoder.columns != n:
            raise MargraveError(
                f"a precomputed kernel must be a square matrix of the {n} training inputs with one another."
            )
        begin, index, value = inputs.arrays()
        gram = csr_array((value, index, begin), shape=(len(inputs), n))[:, inputs.origin].toarray()
        size = np.abs(gram).max(initial=0.0)
        if np.abs(gram - gram.T).max(initial=0.0) > 1e-8 * size or (gram.diagonal() < -1e-8 * size).any():
            raise MargraveError("a precomputed kernel must be symmetric, with a diagonal that is not negative.")

    def _learn_landmarks(self, inputs: _core.Inputs) -> None:
        """Draw landmarks, and compute the map from kernels with them to vectors whose inner product is the kernel."""
        assert self.nystroem is not None
        chosen = np.arange(len(inputs))
        if self.nystroem < len(inputs):
            chosen = np.sort(np.random.default_rng(self.random_state).choice(len(inputs), self.nystroem, replace=False))
        self.support = inputs.subset(chosen)
        self._check_memory(len(chosen), len(chosen))
        gram = _core.kernel_matrix(*self._function(), self.support, self.support, 1)
        values, vectors = np.linalg.eigh(gram.reshape(len(chosen), len(chosen)))
        kept = values > _RANK * values.max(initial=0.0)
        self.projection = np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))

    def _check_memory(self, inputs: int, landmarks: int) -> None:
        """Refuse more kernels of inputs with landmarks than fit into memory, with their eigenvectors or projections."""
        what = f"the kernels of {inputs} inputs with {landmarks} landmarks"
        check_memory(3 * 8 * inputs * landmarks, what, "lower nystroem, or use fewer examples")

    def _explicit(self, rows: _core.Tokens) -> _core.Tokens:
        """The vectors of tokens in the space that the landmarks span."""
        assert self.support is not None and self.projection is not None
        inputs = _core.Inputs(rows)
        self._check_memory(len(inputs), len(self.support))
        kernels = _core.kernel_matrix(*self._function(), inputs, self.support, 1)
        vectors = kernels.reshape(len(inputs), len(self.support)) @ self.projection
        return _core.dense_rows(np.ascontiguousarray(vectors[inputs.numbers(rows)]), rows.example_begin, False)


_SUPPORT = ("begin", "index", "value")
