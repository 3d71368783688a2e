"""Kernels between inputs (003, Eq. 14): scores are kernels with support inputs, instead of one weight an attribute.

The weights of such features are representer coefficients a[support input, label], with the inner product a'K b; label
tuples, start, stop and transition attributes keep ordinary weights. The support inputs are the distinct inputs of the
training data, of which a model keeps those that have a coefficient.
"""

from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, unknown
from margrave.features.table import AttributeTable

KERNELS = ("linear", "polynomial", "rbf", "precomputed")

_RANK = 1e-12  # of the largest eigenvalue: directions of the landmarks below it are none


@dataclass
class Kernel(AttributeTable):
    """A kernel on the inputs of classes or on the tokens of sequences, given as `features=` to an estimator.

    `name`: "linear", <x, z>; "polynomial", (gamma <x, z> + coef0)^degree; "rbf", exp(-gamma |x - z|^2); "precomputed",
    for classes alone: X holds the kernel of each input with all training inputs. Of named attributes <x, z> counts
    those that two tokens share; names not seen in training are left out. `gamma` None is 1, and for "rbf" one over the
    mean squared length of the training inputs. `single` keeps the Gram matrix in half the memory. It is computed row by
    row as needed, within `memory` megabytes. `nystroem` approximates by so many of the training inputs, drawn with
    `seed`: weights are then ordinary ones, which every learner takes.

    >>> Kernel("polynomial", degree=3).degree
    3
    """

    pairs: str = field(default="all", init=False, repr=False)  # of label tuples and transition attributes
    hash_bits: int = field(default=0, init=False, repr=False)

    name: str = "linear"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    single: bool = False
    nystroem: int | None = None
    memory: float = 1000.0
    seed: int = 0

    support: _core.Inputs | None = field(default=None, init=False, repr=False)  # or the landmarks
    columns: NDArray[np.int64] | None = field(default=None, init=False, repr=False)  # of them, if precomputed
    projection: NDArray[np.float64] | None = field(default=None, init=False, repr=False)  # of kernels with landmarks
    learned_gamma: float = field(default=1.0, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in KERNELS:
            raise unknown("kernel", self.name, KERNELS)
        self.degree = whole("the degree of a kernel", self.degree, 1, 100)
        if self.gamma is not None:
            rule = "be positive and finite"
            self.gamma = real("the gamma of a kernel", self.gamma, rule, lambda gamma: 0 < gamma < inf)
        rule = "be finite and not negative"
        self.coef0 = real("the coef0 of a kernel", self.coef0, rule, lambda coef0: 0 <= coef0 < inf)
        self.single = flag("single", self.single)
        rule = "be positive and at most 10^9"
        self.memory = real("the megabytes of a kernel", self.memory, rule, lambda memory: 0 < memory <= 1e9)
        self.seed = whole("the seed of a kernel", self.seed, 0, 2**63)
        if self.nystroem is not None:
            self.nystroem = whole("the number of landmarks", self.nystroem, 1, 10**6)
            if self.name == "precomputed":
                raise MargraveError("landmarks need the inputs themselves, and a precomputed kernel has none.")

    @property
    def n_support(self) -> int:
        """How many kernels the prediction of one input takes."""
        if self.columns is not None:
            return len(self.columns)
        return 0 if self.support is None else len(self.support)

    @property
    def token_rows(self) -> int:
        """The number of rows of the table of tokens: none, but for the directions that landmarks span."""
        return 0 if self.projection is None else self.projection.shape[1]

    @property
    def token_weights(self) -> int:
        """How many coefficients there are; of landmarks, how many weights."""
        if self.projection is not None or self.token_pairs is None:
            return super().token_weights
        return self.n_support * self.token_pairs.labels

    def fresh(self) -> "Kernel":
        """The same settings, nothing learned."""
        return Kernel(**self._settings())

    def learn_tokens(
        self, rows: _core.Tokens, width: int, seen_begin: NDArray[np.int64], seen: NDArray[np.int32]
    ) -> None:
        """The support inputs: the distinct ones of the training data."""
        inputs = _core.Inputs(rows)
        if self.name == "precomputed":
            self._check_gram(inputs, rows)
            self.columns = inputs.origin
        else:
            self.learned_gamma = self._gamma_for(inputs)
            self.support = inputs
            if self.nystroem is not None:
                self._learn_landmarks(inputs)
        self.token_pairs = _core.Pairs(self.token_rows, width)

    def map(
        self,
        rows: _core.Tokens,
        *,
        training: bool,
        order: int = 0,
        tied: bool = True,
        scale: float = 1.0,
        start: bool = False,
        stop: bool = False,
        edges: _core.Tokens | None = None,
    ) -> _core.Features:
        """The feature map of these rows; those of new inputs can only score."""
        settings: dict[str, Any] = {
            "training": training, "order": order, "tied": tied, "scale": scale, "start": start, "stop": stop,
        }  # fmt: skip
        if self.projection is not None:
            return super().map(self._explicit(rows), edges=edges, **settings)
        assert self.token_pairs is not None
        nothing = np.zeros(rows.tokens + 1, dtype=np.int64)
        bare = _core.Tokens(rows.example_begin, nothing, np.zeros(0, dtype=np.int32), None)
        rest = super().map(bare, edges=edges, **settings)
        bytes_allowed, width = int(self.memory * 1e6), self.token_pairs.labels
        if self.columns is not None:
            return _core.given_kernel_features(self.columns, rows, training, self.single, bytes_allowed, width, rest)
        assert self.support is not None
        return _core.kernel_features(*self._function(), self.support, rows, self.single, bytes_allowed, width, rest)

    def compact(self, w: NDArray[np.float64]) -> tuple["Kernel", NDArray[np.float64]]:
        """The features and weights without the support inputs whose coefficients are all zero."""
        if self.projection is not None:
            return self, w
        assert self.token_pairs is not None
        coefficients = w[: self.token_weights].reshape(-1, self.token_pairs.labels)
        kept = np.flatnonzero(coefficients.any(axis=1))
        smaller = copy(self)
        if self.columns is not None:
            smaller.columns = self.columns[kept]
        elif self.support is not None:
            smaller.support = self.support.subset(kept)
        return smaller, np.concatenate([coefficients[kept].ravel(), w[self.token_weights :]])

    def without_zeros(self, w: NDArray[np.float64]) -> tuple["Kernel", NDArray[np.float64]]:
        """The same: `compact` has left out the support inputs without a coefficient, and rows of others stay whole."""
        return self, w

    def to_file(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """What a model file keeps of it: settings by name, and arrays."""
        if self.support is not None:
            arrays |= dict(zip(_SUPPORT, self.support.arrays(), strict=True))
        if self.columns is not None:
            arrays["support.columns"] = self.columns
        if self.projection is not None:
            arrays["support.projection"] = self.projection
        return super().to_file(arrays) | {"kernel": self._settings(), "gamma": self.learned_gamma}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What `to_file` kept; some error where it does not fit together."""
        kernel = cls(**header["kernel"])
        kernel.learned_gamma = real("gamma", header["gamma"], "be positive and finite", lambda gamma: 0 < gamma < inf)
        if kernel.name == "precomputed":
            kernel.columns = np.array(arrays["support.columns"])
            if kernel.columns.ndim != 1 or kernel.columns.dtype != np.int64:
                raise MargraveError("the columns of support inputs must be whole numbers.")
            return kernel
        begin, index, value = (np.ascontiguousarray(arrays[name]) for name in _SUPPORT)
        examples = np.arange(len(begin), dtype=np.int64)
        kernel.support = _core.Inputs(_core.Tokens(examples, begin, index, value))
        if len(kernel.support) != len(begin) - 1:
            raise MargraveError("a support input occurs twice.")
        if kernel.nystroem is not None:
            kernel.projection = np.array(arrays["support.projection"])
            ok = kernel.projection.ndim == 2 and kernel.projection.dtype == np.float64
            if not ok or len(kernel.projection) != len(kernel.support) or not np.isfinite(kernel.projection).all():
                raise MargraveError("the projection of landmarks must be finite numbers, a row for each.")
        return kernel

    def _settings(self) -> dict[str, Any]:
        names = ("name", "degree", "gamma", "coef0", "single", "nystroem", "memory", "seed")
        return {name: getattr(self, name) for name in names}

    def _function(self) -> tuple[str, float, float, int]:
        return self.name, self.learned_gamma, self.coef0, self.degree

    def _gamma_for(self, inputs: _core.Inputs) -> float:
        if self.gamma is not None:
            return self.gamma
        mean = float(inputs.squares.mean()) if self.name == "rbf" else 1.0
        return 1.0 / mean if mean > 0 else 1.0

    def _check_gram(self, inputs: _core.Inputs, rows: _core.Tokens) -> None:
        """A precomputed kernel must be a square matrix, symmetric, with a diagonal that is not negative."""
        from scipy.sparse import csr_array

        n = rows.tokens
        if self.tokens.kind != "columns" or self.tokens.columns != n:
            raise MargraveError(
                f"a precomputed kernel must be a square matrix of the {n} training inputs with one another."
            )
        begin, index, value = inputs.arrays()
        gram = csr_array((value, index, begin), shape=(len(inputs), n))[:, inputs.origin].toarray()
        size = np.abs(gram).max(initial=0.0)
        if np.abs(gram - gram.T).max(initial=0.0) > 1e-8 * size or (gram.diagonal() < -1e-8 * size).any():
            raise MargraveError("a precomputed kernel must be symmetric, with a diagonal that is not negative.")

    def _learn_landmarks(self, inputs: _core.Inputs) -> None:
        """Some inputs, and the map from kernels with them to vectors whose inner products are the kernel's."""
        assert self.nystroem is not None
        chosen = np.arange(len(inputs))
        if self.nystroem < len(inputs):
            chosen = np.sort(np.random.default_rng(self.seed).choice(len(inputs), self.nystroem, replace=False))
        self.support = inputs.subset(chosen)
        gram = _core.kernel_matrix(*self._function(), self.support, self.support, 1)
        values, vectors = np.linalg.eigh(gram.reshape(len(chosen), len(chosen)))
        kept = values > _RANK * values.max(initial=0.0)
        self.projection = np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))

    def _explicit(self, rows: _core.Tokens) -> _core.Tokens:
        """The vectors of tokens in the space that the landmarks span."""
        assert self.support is not None and self.projection is not None
        inputs = _core.Inputs(rows)
        kernels = _core.kernel_matrix(*self._function(), inputs, self.support, 1)
        vectors = kernels.reshape(len(inputs), len(self.support)) @ self.projection
        return _core.dense_rows(np.ascontiguousarray(vectors[inputs.numbers(rows)]), rows.example_begin, False)


_SUPPORT = ("support.begin", "support.index", "support.value")
