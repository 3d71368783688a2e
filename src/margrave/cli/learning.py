"""The options of `margrave train` that choose a loss and a learner, and what becomes of them.

The settings of a learner are the fields that it declares (`Learner.options`): `--set NAME=VALUE` sets any of them.
"""

import os
import re
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import margrave
from margrave.cli.options import THREADS, Option
from margrave.errors import MargraveError, unknown

if TYPE_CHECKING:
    from margrave.learners import Learner
    from margrave.losses import LossFamily

# Settings of one learner that have an option of their own: (learner, option).
_OF_LEARNERS = (
    ("lp", Option("solver", "The solver of --learner lp: extragradient, simplex or pdlp.", metavar="NAME")),
    ("lp", Option("free_sign", "Let weights of --learner lp be negative.", bool)),
    (
        "lp",
        Option(
            "program",
            "Where several outputs are good, whether --learner lp places all of them above a wrong one, or only the "
            "closest: all or closest.",
            metavar="NAME",
        ),
    ),
)


def learner_names() -> list[str]:
    """The names of the library's learners, from their files: importing these would take numpy, and help is fast."""
    named = re.compile(r'^    name(?:: ClassVar\[str\])? = "([a-z0-9-]+)"$', re.MULTILINE)
    folder = os.path.join(os.path.dirname(margrave.__file__), "learners")
    names = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py"):
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                names += named.findall(source.read())
    return sorted(names, key=lambda name: (name != "auto", name))


def learning_options(default_loss: str) -> list[Option]:
    """The options that all tasks share; the default loss is the task's."""
    names = learner_names()
    return [
        Option(
            "C",
            "How much the losses weigh against |w|^2 / 2, or against |w|_1 with lp.",
            float,
            "NUMBER",
            default=1.0,
            low=0.0,
        ),
        Option(
            "loss",
            "log, hinge, softmax-margin, perceptron, ramp, expected-cost, latent-log or latent-hinge.",
            metavar="NAME",
            default=default_loss,
        ),
        Option(
            "rescale",
            "What the cost re-scales in the hinge loss: margin or slack.",
            metavar="NAME",
            default="margin",
        ),
        Option(
            "slack",
            "How violated margins enter the hinge loss: 1 as they are, 2 squared, 0 not at all, since none may be "
            "violated.",
            int,
            "N",
            default=1,
            low=0,
            high=2,
        ),
        Option(
            "learner",
            f"{', '.join(names[:-1])} or {names[-1]}; auto chooses by the loss and the size of the data. With --help, "
            "shows the settings of the learner.",
            metavar="NAME",
            default="auto",
        ),
        Option("set", "Set a setting of the learner, such as rate=0.5; may be repeated.", list, "NAME=VALUE"),
        *(each for _, each in _OF_LEARNERS),
        Option("max_iter", "The most iterations; the learner's own limit if not given.", int, "N", low=1),
        Option("tol", "The relative gap to stop at.", float, "NUMBER", default=1e-4, low=0.0),
        THREADS,
        Option(
            "seed",
            "Decides in which order learners that take one example at a time do so.",
            int,
            "N",
            default=0,
            low=0,
        ),
    ]


def settings_help(learner: str) -> str:
    """What `--set` can set of a learner, for help; this imports the learners."""
    from margrave.learners import LEARNERS, learner_named

    learner_named(learner)
    options = LEARNERS[learner].options()
    if not options:
        return f"The learner {learner} has no settings."
    lines = [f"Settings of --learner {learner}, for --set NAME=VALUE:"]
    for each in options:
        choices = f" One of {', '.join(map(str, each.choices))}." if each.choices else ""
        lines.append(f"{each.name}={_written(each.default)}: {each.help}{choices}")
    return "\n\n".join(lines)


def chosen_loss(
    values: Mapping[str, Any], default: str, cost: str | None, settings: Mapping[str, Any]
) -> "str | LossFamily":
    """The name of the loss, or the loss with what was chosen besides; `settings` are those of the task."""
    from margrave.losses import LOSSES, loss_named

    name = values["loss"] or default
    loss_named(name)
    own = {key: values[key] for key in ("rescale", "slack") if values[key] is not None}
    if name != "hinge" and own:
        raise MargraveError(f"--{next(iter(own))} belongs to --loss hinge, and this is --loss {name}.")
    if name in ("log", "perceptron") and cost is not None:
        raise MargraveError(f"--cost plays no part in --loss {name}: choose another, such as hinge or softmax-margin.")
    own = {**settings, **own}
    return LOSSES[name](**own) if own else name


def chosen_learner(values: Mapping[str, Any], cost: str | None) -> "str | Learner":
    """The name of the learner, or the learner with its settings; a cost that is given is the margin of lp."""
    from margrave.learners import LEARNERS, learner_named

    name = values["learner"] or "auto"
    learner_named(name)
    settings: dict[str, Any] = {}
    for learner, option in _OF_LEARNERS:
        value = values[option.name]
        if value is not None and value is not False:
            if name != learner:
                raise MargraveError(f"{option.flag} belongs to --learner {learner}, and this is --learner {name}.")
            settings[option.name] = value
    for text in values["set"] or ():
        key, value = _setting(name, text)
        if key in settings:
            raise MargraveError(f"the setting {key} of the learner is given twice.")
        settings[key] = value
    if name == "lp" and cost is not None:
        settings.setdefault("margin", "cost")
    chosen = LEARNERS[name](**settings)
    return name if chosen == LEARNERS[name]() else chosen


def _setting(learner: str, text: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, if the learner declares such a setting."""
    from margrave.learners import LEARNERS

    key, equals, value = text.partition("=")
    declared = {each.name: each for each in LEARNERS[learner].options()}
    if not equals:
        raise MargraveError(f"--set takes NAME=VALUE, not {text!r}.")
    if not declared:
        hint = ": name one with --learner" if learner == "auto" else ""
        raise MargraveError(f"--set {text}: learner '{learner}' has no settings{hint}.")
    if key not in declared:
        raise unknown(f"{learner} setting", key, declared)
    option = declared[key]
    if option.choices and value not in map(str, option.choices):
        raise unknown(key, value, map(str, option.choices))
    for kind in _alternatives(option.type):
        parsed = _parsed(value, kind)
        if parsed is not _NO_VALUE:
            return key, parsed
    raise MargraveError(f"--set {text}: {key} cannot be {value!r}. {option.help}")


_NO_VALUE = object()
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def _alternatives(annotation: Any) -> Sequence[Any]:
    """The types of a declared setting, texts last: any text is one."""
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return sorted(kinds, key=lambda kind: kind is str)


def _parsed(text: str, kind: Any) -> Any:
    """The value of this type that a text writes, if it writes one."""
    if kind is NoneType and text.lower() == "none":
        return None
    if kind is bool:
        return _FLAGS.get(text.lower(), _NO_VALUE)
    if kind is str:
        return text
    if get_origin(kind) is tuple:
        parts = [_parsed(part, get_args(kind)[0]) for part in text.split(",")]
        return _NO_VALUE if _NO_VALUE in parts else tuple(parts)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return _NO_VALUE
    return _NO_VALUE


def _written(value: Any) -> str:
    """A default as `--set` takes it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
