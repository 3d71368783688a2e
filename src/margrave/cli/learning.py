"""The options of `margrave train` that choose a loss and a learner, and what becomes of them.

The settings of a learner are the fields that it declares (`Learner.options`): `--set NAME=VALUE` sets any of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from margrave.cli.options import (
    CommandOption,
    WrongValueError,
    command_option,
    parse_value,
    settings_options,
    written,
)
from margrave.errors import MargraveError, quoted, unknown
from margrave.settings.learning import LearningSettings

if TYPE_CHECKING:
    from margrave.learners import Learner
    from margrave.losses import LossFamily

# The settings of every estimator that are options, and what the command line calls them.
SHARED = {
    "C": "C",
    "loss": "loss",
    "learner": "learner",
    "max_iter": "max_iter",
    "max_seconds": "max_seconds",
    "tol": "tol",
    "n_jobs": "threads",
    "random_state": "seed",
}


def _inverse_temperature(what: str, value: Any) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not number > 0:
        raise MargraveError(f"{what} must be a positive number or inf, and it is {quoted(value)}.")
    return number


_BETA = command_option(
    "beta",
    Any,
    "Inverse temperature of the loss: between 1 (log) and inf (hinge), or any other positive number.",
    if_none="that of --loss",
    check=_inverse_temperature,
    metavar="NUMBER",
)
_GAMMA = command_option("gamma", float, "Factor on the cost in the loss.", if_none="that of --loss: 0 or 1", at_least=0)
_RESCALE = command_option(
    "rescale",
    str,
    "Margin re-scaling or slack re-scaling (hinge loss).",
    default="margin",
    choices=("margin", "slack"),
)
_SLACK = command_option(
    "slack",
    int,
    "Slack penalty (hinge loss).",
    default=1,
    choices=(1, 2, 0),
    meanings=("linear", "squared", "hard margin"),
)
_SET = command_option(
    "set",
    tuple[str, ...],
    "Set a setting of the learner, such as rate=0.5; may be repeated.",
    default=(),
    metavar="NAME=VALUE",
)
# Settings of one learner that have an option of their own: (learner, option).
_OF_LEARNERS = (
    (
        "lp",
        command_option("solver", str, "The solver of --learner lp.", choices=("extragradient", "simplex", "pdlp")),
    ),
    ("lp", command_option("free_sign", bool, "Allow negative weights with --learner lp.", default=False)),
    (
        "lp",
        command_option(
            "program",
            str,
            "Where several outputs are good, which of them --learner lp places above a wrong one.",
            choices=("all", "closest"),
        ),
    ),
)


def learning_options(settings: type[LearningSettings]) -> list[CommandOption]:
    """The options that all tasks share; their defaults are those of the task's settings."""
    declared = settings_options(settings, SHARED)
    help = f"{declared['learner'].help} With --help, shows the settings of the learner."
    declared["learner"] = replace(declared["learner"], help=help)
    shared = {name: CommandOption(declared[name], name=flag) for name, flag in SHARED.items()}
    after = {"loss": [_BETA, _GAMMA, _RESCALE, _SLACK], "learner": [_SET, *(each for _, each in _OF_LEARNERS)]}
    return [each for name, first in shared.items() for each in (first, *after.get(name, ()))]


def settings_help(learner: str) -> str:
    """What `--set` can set of a learner, for help; this imports the learners."""
    from margrave.learners import learner_named

    options = learner_named(learner).options()
    if not options:
        return f"The learner {learner} has no settings."
    lines = [f"Settings of --learner {learner}, for --set NAME=VALUE:"]
    lines += [f"{each.name}={written(each.default)}: {each.described(written)}" for each in options]
    return "\n\n".join(lines)


def chosen_loss(values: Mapping[str, Any], default: Any, cost: Any, settings: Mapping[str, Any]) -> "str | LossFamily":
    """The name of the loss, or the loss with what was chosen besides; `settings` are those of the task."""
    from margrave.losses import LOSSES, loss_named

    name = values["loss"] or default
    named = loss_named(name)
    own = {key: values[key] for key in ("rescale", "slack") if values[key] is not None}
    if name != "hinge" and own:
        raise MargraveError(f"--{next(iter(own))} applies to --loss hinge only, and this is --loss {name}.")
    member = {key: values[key] for key in ("beta", "gamma") if values[key] is not None}
    if cost is not None and not member.get("gamma", named.gamma):
        others = "latent-hinge" if named.latent else "hinge or softmax-margin"
        remedy = "use a larger --gamma" if member else f"choose another loss, such as {others}"
        given = next((each for each in ("label_cost", "cost_matrix") if values.get(each)), "cost")
        raise MargraveError(f"--loss {name} does not use --{given.replace('_', '-')}: {remedy}.")
    settings = {**settings, **own}
    if member:
        return _member(name, named, member, settings)
    return LOSSES[name](**settings) if settings else str(name)


def _member(name: str, named: "LossFamily", member: Mapping[str, float], settings: Mapping[str, Any]) -> "LossFamily":
    """The member of the loss family that has these coordinates, and otherwise those of the named loss."""
    from margrave.losses import DifferenceOfLosses, LossFamily

    if named.latent:
        raise MargraveError(
            f"--{next(iter(member))} applies to losses with one correct output, and --loss {name} has several: use "
            "--loss log or hinge."
        )
    coordinates: dict[str, Any] = {"beta": named.beta, "gamma": named.gamma, **member, **settings}
    if isinstance(named, DifferenceOfLosses):
        return DifferenceOfLosses(**coordinates)
    return LossFamily(**coordinates)


def chosen_learner(values: Mapping[str, Any], name: Any, cost: Any) -> "str | Learner":
    """The name of the learner, or the learner with its settings; a cost that is given is the margin of lp."""
    from margrave.learners import learner_named

    usual = learner_named(name)
    settings: dict[str, Any] = {}
    for learner, option in _OF_LEARNERS:
        value = values[option.name]
        if value is not None:
            if name != learner:
                raise MargraveError(f"{option.flag} applies to --learner {learner} only, and this is --learner {name}.")
            settings[option.name] = value
    for text in values["set"] or ():
        key, value = _setting(usual, text)
        if key in settings:
            raise MargraveError(f"the setting {key} of the learner is given twice.")
        settings[key] = value
    if name == "lp" and cost is not None:
        settings.setdefault("margin", "cost")
    chosen = type(usual)(**settings)
    return name if chosen == usual else chosen


def _setting(learner: "Learner", text: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, if the learner declares such a setting."""
    key, equals, value = text.partition("=")
    declared = {each.name: each for each in learner.options()}
    if not equals:
        raise MargraveError(f"--set takes NAME=VALUE, not {quoted(text)}.")
    if not declared:
        hint = ": name one with --learner" if learner.name == "auto" else ""
        raise MargraveError(f"--set {text}: learner '{learner.name}' has no settings{hint}.")
    if key not in declared:
        raise unknown(f"{learner.name} setting", key, declared)
    try:
        return key, parse_value(declared[key], value, key)
    except WrongValueError:
        raise MargraveError(f"--set {text}: {key} cannot be {quoted(value)}. {declared[key].help}") from None
