"""Choosing the best of a list of candidates: n-best lists of other systems, learning to rank."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError, Message, setting, the_first
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.models.reranker import RerankingModel, counts_of
from margrave.examples import Examples
from margrave.losses import Cost, LossFamily, loss_named
from margrave.losses.costs import GivenCosts
from margrave.maps import SparseMap, table_named
from margrave.structures import CandidateLists
from margrave.structures.base import NoOutputs
from margrave.structures.candidates import candidate_lists, cost_lists, good_lists


class Reranker(RerankingModel, StructuredEstimator):
    """Chooses one candidate from each list; minimizes 1/2 |w|^2 + C sum_i L_i(w), with one weight per name.

    An example of X is a list of candidates, which are dictionaries from names to numbers or lists of names, or a dense
    or sparse matrix with one row per candidate. y has the index of the good candidate, or the indices of all good ones,
    best first. If several are good, learners use the first as the right one, and the others cost nothing; "latent-log"
    maximizes the probability of all good ones together, and "latent-hinge" separates the best of them from the others.

    Attributes
    ----------
    coef_ : one weight per name.
    n_skipped_ : the number of examples that were left out; it is not saved.

    >>> lists = [[{"lm": -2.0}, {"lm": -1.0}], [{"lm": -1.0}, {"lm": -3.0}, {"lm": -2.0, "oov": 1.0}]]
    >>> Reranker().fit(lists, [1, 0]).predict([[{"lm": -4.0}, {"lm": -2.0}]])
    array([1])
    """

    n_skipped_: int

    @classmethod
    def of_weights(cls, weights: Mapping[str, float]) -> Self:
        """Make a reranker with given weights, for example from another tuning method.

        Its certificate is that of an empty data set.

        Parameters
        ----------
        weights : the weight of each name.

        >>> Reranker.of_weights({"lm": 0.5, "tm": 1.0}).predict([[{"lm": 3.0}, {"tm": 2.0}]])
        array([1])
        """
        model = cls()
        model._set_given_weights(weights, "candidate", None)
        model.n_skipped_ = 0
        return model

    def _check_parameters(self) -> LossFamily:
        loss: LossFamily = super()._check_parameters()
        CandidateLists().check_cost(loss.costs)
        self._map(NoOutputs())
        return loss

    def _structure(self, examples: Examples) -> CandidateLists:
        return CandidateLists(divided=examples.training and loss_named(self.loss).latent)

    def _map(self, outputs: NoOutputs) -> SparseMap:
        table = table_named(self.weights)
        if type(table).name != "table" or table.pairs != "all":
            raise MargraveError("the weights of candidates are 'all' or 'hash:BITS': one weight per attribute.")
        return SparseMap(table.hash_bits, "candidate")

    def _costs(self, loss: LossFamily, outputs: NoOutputs, examples: Examples) -> Cost:
        costs = examples.extra("costs")
        return loss.costs if costs is None else GivenCosts(costs, loss.costs)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        """The examples that have a good candidate."""
        lists = candidate_lists(examples.X) if self._chosen_features() is None else examples.X
        X = [x.tocsr() if hasattr(x, "tocsr") else x for x in lists]
        if not X:
            raise MargraveError("there are no examples to learn from.")
        counts = counts_of(X)
        good, costs = good_lists(examples.Y, counts), examples.extra("costs")
        examples = replace(examples, X=X, Y=good)
        if costs is not None:
            examples = examples.having(costs=cost_lists(costs, good, counts))
        kept = [i for i, numbers in enumerate(good) if numbers]
        n_skipped = len(X) - len(kept)
        if n_skipped:
            if self.no_good == "stop" or not kept:
                raise _without_good([i for i, numbers in enumerate(good) if not numbers], len(X))
            examples = examples.some(kept)
        return examples, {"n_skipped_": n_skipped}

    def _decoder(self, training: Training) -> Callable[[int, NDArray[np.int32]], Any]:
        return lambda i, parts: training.examples.X[i][parts[0]]  # candidates of X


def _without_good(examples: list[int], of: int) -> MargraveError:
    count = f"{len(examples)} of {of} examples {'have' if len(examples) > 1 else 'has'} no good candidate"
    advice = "" if len(examples) == of else Message(": use ", setting(no_good="skip"), " to leave them out")
    return MargraveError(f"{count} (number {the_first(examples)})", advice, ".")
