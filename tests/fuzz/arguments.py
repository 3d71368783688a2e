"""Arguments of estimators: parameters, examples, outputs and extras of `fit`, and arguments of all other methods."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from random import Random
from typing import Any

from margrave.options import options_of
from tests.estimators import options
from tests.fuzz.calls import call, verbs
from tests.fuzz.expressions import HostileError, evaluated, odd
from tests.fuzz.models import bases
from tests.fuzz.targets import Case, Target

# Numbers of repetitions: what is asked for may take as long as it takes.
_FEW = ["0", "-1", "2", "nan", "None", "'a'", "1.5"]
_REPEATED = {
    **{name: _FEW for name in ("starts", "max_iter", "rounds", "iterations", "folds")},
    "max_seconds": ["0", "-1", "nan", "inf", "0.001", "'a'"],
    "n_jobs": ["0", "-1", "2", "None", "nan", "'a'", "-2", "1.0", "2**63"],
}
_COUNTS = ["n", "k", "paths", "n_samples"]
_NUMBERS = ["0", "1", "-1", "3", "1.5", "None", "'a'", "nan", "True", "2**63", "2**31 - 1", "10**400"]


def targets() -> list[Target]:
    """One for each estimator."""
    return [
        Target("arguments", name, partial(_make, names), _run, accepts=lambda error: isinstance(error, HostileError))
        for name, names in bases().items()
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of nested lists, tuples and dictionaries."""
    yield path
    if len(path) < 5:
        if isinstance(value, list | tuple):
            for k, of in enumerate(value[:6]):
                yield from places(of, (*path, k))
        elif isinstance(value, dict):
            for key, of in list(value.items())[:6]:
                yield from places(of, (*path, key))


@cache
def _places(base: str, which: str) -> list[tuple[Any, ...]]:
    return list(places(getattr(options.cases()[base], which)))


def _edits(rng: Random, base: str, which: str) -> list[list[Any]]:
    """Changes of examples or outputs: [operation, place, expression]."""
    found = []
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        place = rng.choice(_places(base, which))
        kind = rng.randrange(8)
        if kind == 0 and place:
            found.append(["drop", list(place)])
        elif kind == 1 and place:
            found.append(["double", list(place)])
        elif kind == 2:
            other = rng.choice(sorted(options.cases()))
            found.append(["set", list(place), f"cases[{other!r}].{rng.choice('Xy')}"])
        elif kind == 3:
            found.append(
                [
                    "set",
                    list(place),
                    f"cases[{base!r}].{which}" + "".join(f"[{k!r}]" for k in rng.choice(_places(base, which))),
                ]
            )
        else:
            found.append(["set", list(place), odd(rng)])
    return found


def changed(value: Any, changes: Sequence[Sequence[Any]]) -> Any:
    """The value after the changes; a place that an earlier change has removed is left alone."""
    for operation, place, *rest in changes:
        new = evaluated(rest[0], cases=options.cases()) if rest else None
        try:
            value = _changed(value, place, operation, new)
        except (LookupError, TypeError):
            continue
    return value


def _changed(value: Any, place: Sequence[Any], operation: str, new: Any) -> Any:
    if not place:
        return new
    key, *rest = place
    if not isinstance(value, list | tuple | dict):
        raise TypeError
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    if rest or operation == "set":
        copied[key] = _changed(copied[key], rest, operation, new)
    elif operation == "drop":
        del copied[key]
    elif isinstance(copied, list):
        copied.insert(key, copied[key])
    return tuple(copied) if type(value) is tuple else copied


def _make(names: list[str], rng: Random) -> Case:
    base = rng.choice(names)
    case = options.cases()[base]
    declared = {each.name: each for each in options_of(type(case.estimator))}
    parameters = {}
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        name = rng.choice(sorted(case.estimator.get_params(deep=False)))
        choices = declared[name].choices if name in declared else ()
        if name in _REPEATED:
            parameters[name] = rng.choice(_REPEATED[name])
        elif choices and rng.random() < 0.5:
            parameters[name] = repr(rng.choice(choices))
        else:
            parameters[name] = odd(rng)
    methods = verbs(type(case.estimator))
    fitting = {each.name for each in methods["fit"]} - {"X", "y", "checkpoint", "observers"}
    wrong = rng.random() < 0.5  # in what is learned from; else in what is asked for
    asked = []
    for _ in range(rng.choice([1, 2])):
        name = rng.choice([*methods])
        more = {}
        for each in methods[name]:
            if each.name in _COUNTS and rng.random() < 0.5:
                more[each.name] = rng.choice(_NUMBERS)
            elif each.name not in ("X", "y", "Y") and each.kind is not each.VAR_KEYWORD and rng.random() < 0.2:
                more[each.name] = odd(rng)
        asked.append(
            [name, more, _edits(rng, base, "X") if not wrong else [], _edits(rng, base, "y") if not wrong else []]
        )
    return {
        "base": base,
        "parameters": parameters,
        "X": _edits(rng, base, "X") if wrong else [],
        "y": _edits(rng, base, "y") if wrong and rng.random() < 0.6 else [],
        "more": {key: odd(rng) for key in sorted(fitting) if wrong and rng.random() < 0.06},
        "asked": asked,
    }


def _run(case: Case, passed: Callable[[str], None]) -> None:
    base = options.cases()[case["base"]]
    settings = {key: evaluated(value) for key, value in case["parameters"].items()}
    known = base.estimator.get_params(deep=False)
    quick = {key: value for key, value in {"max_iter": 5, "starts": 1, "rounds": 1}.items() if key in known}
    model = base.estimator.unfitted().set_params(**{**quick, **settings})
    more = {**base.more, **{key: evaluated(value) for key, value in case["more"].items()}}
    X, y = changed(base.X, case["X"]), changed(base.y, case["y"])
    model.fit(X, y, **more)
    passed("read")
    for name, given, of_x, of_y in case["asked"]:
        if not hasattr(model, name):
            continue
        arguments = {key: evaluated(value) for key, value in given.items()}
        data = {"X": changed(base.X, of_x), "y": changed(base.y, of_y), "Cs": [1.0], **base.more}
        call(model, name, data, arguments)
