"""Contracts for structures, learners, estimators and other pieces of your own, each checked by one call.

What a contract finds is a `ContractError`, which names the contract and the smallest example that breaks it. Nothing
here needs pytest.
"""

from margrave.testing.estimators import check_estimator
from margrave.testing.failures import ContractError
from margrave.testing.features import check_feature_map, check_features
from margrave.testing.learners import check_learner
from margrave.testing.losses import check_loss
from margrave.testing.problems import check_problem
from margrave.testing.structures import check_structure

__all__ = [
    "ContractError",
    "check_estimator",
    "check_feature_map",
    "check_features",
    "check_learner",
    "check_loss",
    "check_problem",
    "check_structure",
]
