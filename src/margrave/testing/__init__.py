"""Contracts for structures, learners and estimators of your own, each checked by one call.

What a contract finds is a `ContractError`, which names the contract and the smallest example that breaks it. Nothing
here needs pytest.
"""

from margrave.testing.estimators import check_estimator
from margrave.testing.failures import ContractError
from margrave.testing.learners import check_learner
from margrave.testing.problems import check_problem
from margrave.testing.structures import check_structure

__all__ = ["ContractError", "check_estimator", "check_learner", "check_problem", "check_structure"]
