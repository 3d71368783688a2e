"""One class an example: no structure at all; parts are the classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.outputs import with_output
from margrave.features.table import AttributeTable
from margrave.losses import LossFamily

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
        output: "csr_array | None" = None,
    ) -> _core.Problem:
        """The problem of these examples; labels are numbers of classes.

        The first bind with labels learns the features. With `output`, a matrix of classes by output features, the table
        has a column for each of those instead of one for each class.
        """
        learn = not features.learned
        if learn and labels is None:
            raise MargraveError("features are learned from labelled examples, and there are no labels.")
        rows = features.tokens.encode(X, single=True, learn=learn)
        n, width = rows.examples, len(classes)
        if labels is not None and len(labels) != n:
            raise MargraveError(f"there are {n} examples and {len(labels)} labels.")
        begin = np.arange(n + 1, dtype=np.int64)
        columns = width if output is None else output.shape[1]
        if learn:
            assert labels is not None
            seen_begin, seen = begin, labels
            if output is not None:
                of_labels = output[labels]
                seen_begin, seen = of_labels.indptr.astype(np.int64), of_labels.indices.astype(np.int32)
            features.learn_tokens(rows, columns, seen_begin, seen)
        cost = None if loss is None else _core.matrix_cost(width, loss.cost_matrix(classes).ravel())
        structure = _core.multiclass(width, begin, labels, cost, None)
        features.check_fit(columns, 0)
        bound = features.map(rows, training=learn)
        return _core.join(structure, bound if output is None else with_output(bound, output))
