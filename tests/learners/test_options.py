"""What learners say of themselves: their settings with help texts, the words of `needs` and `offers`, and the table."""

from dataclasses import MISSING, dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave import Hinge, Log, LossFamily, MargraveError, Perceptron, Problem, Ramp
from margrave.learners import (
    BCFW,
    CCCP,
    EG,
    LEARNERS,
    MIRA,
    SGD,
    Checkpoint,
    Learner,
    Objective,
    OneSlack,
    all_learners,
    base,
    learner_named,
    learner_table,
)
from margrave.learners.checks import NEEDS, OFFERS, check_loss
from margrave.maps import FeatureTable
from margrave.options import Option, option
from margrave.structures import Chain
from tests.learners.test_learners import chain, chain_data, matching
from tests.references.problems import bind
from tests.registry import BUILT_IN_LEARNERS

OPERATIONS = {"argmax", "logsum", "kbest", "untied", "entropy", "argmax_by_cost"}

every_learner = pytest.mark.parametrize("kind", BUILT_IN_LEARNERS.values(), ids=BUILT_IN_LEARNERS)


@every_learner
def test_every_setting_has_a_help_text_that_is_a_sentence(kind: type[Learner]) -> None:
    assert [each.name for each in kind.options()] == [each.name for each in fields(kind)]
    for each in kind.options():
        assert len(each.help.split()) > 3, each
        assert each.help.endswith(".") and each.help.count(". ") == 0, each
        assert each.help[0].isupper() or each.help[0] == '"', each
        assert "\n" not in each.help and "  " not in each.help, each


@every_learner
def test_options_are_the_defaults_and_choices_can_all_be_chosen(kind: type[Learner]) -> None:
    learner = kind()
    for each in kind.options():
        assert each.default is not MISSING and getattr(learner, each.name) == each.default
        for choice in each.choices:
            assert getattr(kind(**{each.name: choice}), each.name) == choice
        if each.choices:
            assert each.default in each.choices
            with pytest.raises(MargraveError, match=r"unknown .* 'neither'"):
                kind(**{each.name: "neither"})


@every_learner
def test_words_of_needs_and_offers_are_known(kind: type[Learner]) -> None:
    assert set(kind.needs) <= set(NEEDS) | OPERATIONS
    assert set(kind.offers) <= set(OFFERS)
    assert not set(NEEDS) & OPERATIONS


def test_a_setting_without_help_is_an_option_without_help() -> None:
    @dataclass
    class Bare(Learner):
        rate: float = 0.5
        memory: int = option(3, "How much is remembered.", choices=(3, 4))

    assert Bare.options() == [
        Option("rate", float, 0.5, ""),
        Option("memory", int, 3, "How much is remembered.", (3, 4)),
    ]


def test_an_unknown_word_in_offers_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match="unknown word 'diferences'; did you mean 'differences'"):

        class Misspelt(Learner):
            offers = ("diferences",)


def test_a_learner_is_registered_by_its_own_name_alone() -> None:
    class Named(Learner):
        name = "named in a test"

    class Unnamed(Named):
        pass

    assert LEARNERS is Learner.registered
    assert LEARNERS["named in a test"] is Named
    assert Unnamed not in LEARNERS.values()
    assert type(learner_named("named in a test")) is Named
    with pytest.raises(TypeError, match=r"the learner 'eg' is already margrave\.learners\.eg\.EG"):

        class Second(Learner):
            name = "eg"

    assert LEARNERS["eg"] is EG


@every_learner
def test_the_file_of_a_learner_has_its_name(kind: type[Learner]) -> None:
    package, _, module = kind.__module__.rpartition(".")
    assert package in base.PACKAGES
    assert module == kind.name.replace("-", "_")
    assert Learner.find(kind.name) is kind


def test_the_list_of_learners_imports_every_file_of_them() -> None:
    before = set(BUILT_IN_LEARNERS.values())
    assert {kind for kind in all_learners().values() if kind.__module__.startswith("margrave.")} == before


def test_a_learner_is_imported_by_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "more_learners"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "other.py").write_text("raise AssertionError('this file was not asked for')")
    (folder / "late_comer.py").write_text(
        "from margrave.learners import Learner\n\nclass LateComer(Learner):\n    name = 'late-comer'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(base, "PACKAGES", ("more_learners",))
    assert "late-comer" not in LEARNERS
    assert type(learner_named("late-comer")).__name__ == "LateComer"
    for wrong in ("no-such-learner", "late comer", "..", "os.path", ""):
        assert Learner.find(wrong) is None


def test_the_table_has_a_row_with_every_setting_of_every_learner() -> None:
    header, rule, *rows = learner_table().splitlines()
    assert header.count(" | ") == rule.count(" | ") == 4
    assert len(rows) == len(BUILT_IN_LEARNERS)
    for name, kind in BUILT_IN_LEARNERS.items():
        [row] = [row for row in rows if row.startswith(f"| `{name}` | `{kind.__name__}` |")]
        for each in fields(kind):
            assert f"`{each.name}={each.default!r}`" in row


def suiting(kind: type[Learner], beta: float) -> LossFamily | None:
    """A loss with a finite or an infinite beta that the learner minimizes, if there is any."""
    for loss in (Log(), Hinge(), Perceptron(), Ramp()):
        try:
            check_loss(kind(), loss)
        except MargraveError:
            continue
        if loss.smooth == (beta < inf):
            return loss
    return None


@every_learner
@pytest.mark.parametrize("beta", [1.0, inf])
def test_what_is_said_of_certificates_is_true(kind: type[Learner], beta: float) -> None:
    loss = suiting(kind, beta)
    if loss is None:
        pytest.skip("the learner minimizes no loss with this beta")
    X, y = chain_data(0)
    bound = bind(
        Chain(tied="untied" not in kind.needs),
        X,
        np.concatenate(y).astype(np.int32),
        feature_map=FeatureTable(),
        classes=[0, 1, 2],
        loss=loss,
    )
    solution = kind().solve(Objective(bound, loss, max_iter=3, tol=0.0, n_jobs=1))
    said = {"tol", "certificate"} & set(kind.offers) or (beta < inf and "certificate at finite beta" in kind.offers)
    if "choice" not in kind.offers:
        assert (solution.history[-1].gap is not None) == bool(said)


@pytest.mark.parametrize(
    ("learner", "loss", "message"),
    [
        (EG(single=True), Hinge(), "single precision needs a finite beta"),
        (MIRA(prediction=True), Log(), "updates against the prediction need a loss with beta = inf"),
        (OneSlack(), Hinge(slack=2), "learner 'one-slack' needs linear slack"),
        (CCCP(inner="perceptron"), Ramp(), "learner 'perceptron' cannot be the inner learner of cccp with ramp"),
        (BCFW(exact_entropy=True), Hinge(), "exact_entropy needs a finite beta"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_conditions_of_one_learner_are_checked_before_any_work(
    learner: Learner, loss: LossFamily, message: str, tmp_path: Any
) -> None:
    problem: Problem = chain(0)[0]
    with pytest.raises(MargraveError, match=message):
        learner.check(loss, problem)
    with pytest.raises(MargraveError, match=message):
        learner.solve(Objective(problem, loss, checkpoint=Checkpoint(tmp_path / "run.checkpoint")))
    assert not list(tmp_path.iterdir())


def test_what_a_problem_lacks_is_named_after_what_the_loss_lacks() -> None:
    @dataclass
    class Demanding(Learner):
        name = "demanding"
        needs = ("finite beta", "samples of outputs")

    problem, _ = matching()
    with pytest.raises(MargraveError, match="needs a smooth loss"):
        Demanding().check(Hinge(), problem)
    with pytest.raises(MargraveError, match="needs 'samples of outputs', and this problem offers only"):
        Demanding().check(Log(), problem)
    SGD().check(Log(), problem)
