"""One class an example: no structure at all; parts are the classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.table import AttributeTable
from margrave.losses import LossFamily


@dataclass
class Multiclass:
    """Classes without structure: logistic regression and multiclass support vector machines."""

    def bind(
        self,
        X: Any,
        labels: NDArray[np.int32] | None = None,
        *,
        features: AttributeTable,
        classes: Sequence[Any],
        loss: LossFamily | None = None,
    ) -> _core.Problem:
        """The problem of these examples; labels are numbers of classes.

        The first bind with labels learns the features.
        """
        learn = not features.learned
        if learn and labels is None:
            raise MargraveError("features are learned from labelled examples, and there are no labels.")
        rows = features.tokens.encode(X, single=True, learn=learn)
        n, width = rows.examples, len(classes)
        if labels is not None and len(labels) != n:
            raise MargraveError(f"there are {n} examples and {len(labels)} labels.")
        begin = np.arange(n + 1, dtype=np.int64)
        if learn:
            assert labels is not None
            features.token_pairs = features.learn_pairs(rows, features.tokens, width, begin, labels)
        cost = None if loss is None else loss.cost_matrix(classes).ravel()
        structure = _core.multiclass(width, begin, labels, cost, None)
        features.check_fit(width, 0)
        assert features.token_pairs is not None
        table = _core.table(rows, features.token_pairs, features.gram_weight, 0, 0, True, 1.0, False, False, None, None)
        return _core.join(structure, table)
