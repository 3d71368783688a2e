"""Every learner that clique trees allow runs on them, and those with a certificate agree on the optimum."""

import warnings

import pytest
from numpy.testing import assert_allclose

from margrave import MargraveError
from margrave.learners import LP, learner_named
from margrave.learners.objective import Objective
from margrave.losses import Hinge, Log, LossFamily, Ramp, SoftmaxMargin
from tests.registry import BUILT_IN_LEARNERS, KINDS, Case

GRAPHS = {kind.name: kind for kind in KINDS}
graphs = pytest.mark.parametrize("name", ["graph, tree", "graph, loops", "graph, hard factors", "graph, tied weights"])
SMOOTH = ("bcfw", "eg", "printed-eg", "eg-batch", "lbfgs", "cg", "svrg", "auto")
EG = {"eg": 1e-3, "eg-batch": 1e-3, "printed-eg": 1e-3}
MARGIN = {"bcfw": 1e-6, "cutting-plane": 1e-6, "one-slack": 1e-6, "auto": 1e-6, **EG}
OF_PARTS = {"smo": 1e-6, "smo-eg": 1e-6}  # which need untied parts: every clique is the scope of a factor
NO_CERTIFICATE = {"perceptron": Hinge(), "mira": Hinge(), "kbest-mira": Hinge(), "sgd": Hinge(), "cccp": Ramp()}
RUN = NO_CERTIFICATE | {"printed-eg": Log()}


def case_of(name: str) -> Case:
    return GRAPHS[name](3, size=5)


def solved(case: Case, learner: str, loss: LossFamily, accuracy: float) -> float:
    """P, which is no further than this from the optimum."""
    objective = Objective(case.problem, loss, C=1.0, tol=accuracy, max_iter=3000, n_jobs=1)
    solution = learner_named(learner).solve(objective)
    assert solution.converged and solution.exact
    assert solution.certificate.relative_gap is not None and solution.certificate.relative_gap <= accuracy
    assert solution.certificate.primal is not None
    return solution.certificate.primal


@graphs
@pytest.mark.parametrize("loss", [Log(), SoftmaxMargin(), LossFamily(3.0, 2.0)], ids=lambda loss: loss.name)
def test_learners_of_smooth_losses_agree(name: str, loss: LossFamily) -> None:
    case = case_of(name)
    best = solved(case, "lbfgs", loss, 1e-9)
    for learner in SMOOTH:
        assert_allclose(solved(case, learner, loss, 1e-6), best, rtol=1e-6)


@graphs
def test_learners_of_the_hinge_loss_agree(name: str) -> None:
    case = case_of(name)
    best = solved(case, "cutting-plane", Hinge(), 1e-9)
    untied = "untied" in case.problem.offers
    assert untied == (name == "graph, tree")
    for learner, accuracy in (MARGIN | (OF_PARTS if untied else {})).items():
        assert_allclose(solved(case, learner, Hinge(), accuracy), best, rtol=accuracy)
    for learner in () if untied else OF_PARTS:
        with pytest.raises(MargraveError, match="needs 'untied'"):
            solved(case, learner, Hinge(), 1e-6)


@graphs
def test_the_other_learners_run(name: str) -> None:
    case = case_of(name)
    for learner, loss in RUN.items():
        solution = learner_named(learner).solve(Objective(case.problem, loss, C=1.0, max_iter=5, n_jobs=1))
        assert solution.w.any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one graph the optimum is w = 0
        assert LP(free_sign=True).solve(Objective(case.problem, Hinge(), C=10.0, tol=1e-6, n_jobs=1)).converged
    assert set(BUILT_IN_LEARNERS) == {*SMOOTH, *MARGIN, *OF_PARTS, *RUN, "lp"}
