"""Every bound function, constructor, method and property of the core, listed from the module and its signatures.

A case is a few lines of Python. Arguments come from the types in the signatures: objects are made by whatever the
module has that returns them, or are those of real problems; arrays have sizes of the problem, or nearly. More than
half of the calls are real ones (recording.py) with an argument or two changed, and other real calls take the answer.
"""

import inspect
import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np

from margrave import _core
from tests.fuzz.expressions import evaluated
from tests.fuzz.readers import SAMPLES
from tests.fuzz.recording import KEPT, Again, Call, Made, function_named, kind_of, recorded
from tests.fuzz.targets import Case, Target

_INTS = ["0", "1", "2", "3", "4", "7"]
_ODD_INTS = [
    *("-1", "8", "100", "255", "65536", "10**6", "2**31 - 1", "2**31", "2**32", "2**40", "2**62", "2**63 - 1"),
    *("-(2**31)", "-(2**63)"),
]
_FLOATS = [
    *("0.0", "1.0", "0.5", "2.0", "-1.0", "1e-3", "100.0", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320"),
]
_WORDS = [
    *("margin", "slack", "parts", "zero-one", "argmax", "kbest", "logsum", "relaxed_argmax", "most_violated", "linear"),
    *("rbf", "polynomial", "precomputed", "hamming", "global", "local", "semi-global", "baseline", "avx2", "bp", "trw"),
    *("a", "", "X", "S", "a b", "all", "unknown", "w[0]", "h[0]|w[0]", "label", "end", "begin", " ", "\\n", "\\0"),
    *("\u00e9", "x" * 300),
]
# How long arrays of these names are, as attributes of the problem.
_SIZES = {"w": "dim", "g": "dim", "u": "dim", "theta": "parts(0)", "mu": "parts(0)", "delta": "parts(0)"}
_DEEP = 4  # how deep objects are made of others
_FOLLOWED = 3  # calls that take the answer of another one, one after another


# ---- signatures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    optional: bool


@dataclass(frozen=True)
class Signature:
    """One overload of something that can be called."""

    name: str  # dotted, after the module
    parameters: tuple[Parameter, ...]
    returns: str
    of: str = ""  # the class, of a method


def _split(text: str, separator: str = ",") -> list[str]:
    """The parts between separators that are in no bracket."""
    parts, depth, begin = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append(text[begin:k].strip())
            begin = k + 1
    return [*parts, text[begin:].strip()]


def _parsed(name: str, text: str, of: str = "") -> Signature:
    """The signature that a function of nanobind states about itself."""
    inside, _, returns = text.partition("(")[2].rpartition(") -> ")
    parameters = []
    for part in _split(inside):
        if part in ("", "self", "*", "/") or part.startswith(("self:", "*")):
            continue
        declared, _, default = part.partition(" = ")
        label, _, kind = declared.partition(": ")
        parameters.append(Parameter(label, kind or "object", bool(default)))
    return Signature(name, tuple(parameters), returns, of)


@cache
def signatures() -> dict[str, list[Signature]]:
    """Everything in the module that can be called, with its overloads."""
    found: dict[str, list[Signature]] = {}
    for name, thing in vars(_core).items():
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                stated = getattr(getattr(thing, method, None), "__nb_signature__", None)
                if stated is None or method == "__new__":
                    continue
                dotted = name if method == "__init__" else f"{name}.{method}"
                static = type(function).__name__ == "nb_func"
                of = "" if method == "__init__" or static else name
                overloads = [_parsed(dotted, text, of) for text, *_ in stated]
                if method == "__init__":
                    overloads = [Signature(dotted, each.parameters, f"margrave._core.{name}") for each in overloads]
                found[dotted] = overloads
        elif hasattr(thing, "__nb_signature__"):
            found[name] = [_parsed(name, text) for text, *_ in thing.__nb_signature__]
    return found


@cache
def _properties() -> dict[str, list[str]]:
    return {
        name: [label for label, of in vars(thing).items() if isinstance(of, property)]
        for name, thing in vars(_core).items()
        if inspect.isclass(thing)
    }


@cache
def _makers(wanted: str) -> list[tuple[Signature, str]]:
    """What returns an object of a class or of one derived from it, and where in its result the object is."""
    kind = getattr(_core, wanted)
    names = {name for name, thing in vars(_core).items() if inspect.isclass(thing) and issubclass(thing, kind)}
    found = []
    for each in (each for overloads in signatures().values() for each in overloads):
        head, _, rest = each.returns.partition("[")
        parts = _split(rest[:-1]) if head in ("tuple", "list") else [each.returns]
        for k, part in enumerate(parts):
            if part.removeprefix("margrave._core.").partition(" ")[0] in names and each.of not in names:
                found.append((each, f"[{k}]" if rest else ""))
    return found


# ---- what lines of a case can name -----------------------------------------------------------------------------------


def _problem(k: int) -> Any:
    return recorded().problems[k % len(recorded().problems)]


def _object(name: str, k: int) -> Any:
    of = recorded().objects.get(name, [None])  # in a case that is being made smaller, a name can be anything
    return of[k % len(of)]


def _call(name: str, k: int, changes: dict[int | str, Callable[[Any], Any]]) -> Any:
    """A real call with some arguments changed."""
    calls = recorded().calls.get(name) or [Call(name, (), {})]
    call, again = calls[k % len(calls)], Again()
    arguments = [again.value(each) for each in call.arguments]
    named = {key: again.value(of) for key, of in call.named.items()}
    for key, change in changes.items():
        if isinstance(key, int) and key < len(arguments):
            arguments[key] = change(arguments[key])
        elif key in named:
            named[key] = change(named[key])
    return function_named(name)(*arguments, **named)


def _ints(seed: int, n: int, low: int, high: int, dtype: str) -> Any:
    return np.random.default_rng(seed).integers(low, high, min(n, 10**6), endpoint=True).astype(dtype)


def _floats(seed: int, n: int) -> Any:
    return np.random.default_rng(seed).normal(size=min(n, 10**6))


def _put(array: Any, place: int, value: Any) -> Any:
    """The array with another number; what is no array is replaced."""
    if not isinstance(array, np.ndarray):
        return value
    if not array.size:
        return array
    copied = array.copy()
    if copied.dtype.kind in "iu":
        limits = np.iinfo(copied.dtype)
        value = int(np.clip(0 if value - value != 0 else value, limits.min, limits.max))
    copied.reshape(-1)[place % copied.size] = value
    return copied


def _resized(array: Any, change: int) -> Any:
    if not isinstance(array, np.ndarray):
        return array[:-1] if isinstance(array, list | tuple | str | bytes) and array else array
    size = max(0, array.size + change)
    return np.resize(array, size) if array.size else np.zeros(size, array.dtype)


def _member(values: Any, place: int, change: Callable[[Any], Any]) -> Any:
    """The list or tuple with one of its members changed."""
    if type(values) not in (list, tuple) or not values:
        return change(values)
    place %= len(values)
    return type(values)([*values[:place], change(values[place]), *values[place + 1 :]])


def _few(size: int) -> int:
    """A size that fits into memory."""
    return min(size, 10**6)


def _rows(array: Any, columns: int) -> Any:
    return np.resize(array, (len(array) // columns, columns))


_NAMES = {
    **{"problem": _problem, "given": _object, "call": _call, "ints": _ints, "floats": _floats, "put": _put},
    **{"resized": _resized, "rows": _rows, "member": _member, "few": _few},
}


# ---- cases -----------------------------------------------------------------------------------------------------------


def targets() -> list[Target]:
    """One for each thing that can be called, and for the properties of each class."""
    found = [Target("core", name, partial(_make_call, name), _run, accepts=_is_type_check) for name in signatures()]
    for name, labels in _properties().items():
        if labels:
            found.append(
                Target("core", f"{name}:properties", partial(_make_properties, name), _run, accepts=_is_type_check)
            )
    return found


def _is_type_check(error: BaseException) -> bool:
    """Whether the binding found an argument of a wrong type, or a problem written in Python raised an error itself."""
    text = str(error)
    if isinstance(error, TypeError) and ("incompatible function arguments" in text or "no constructor defined" in text):
        return True
    if isinstance(error, TypeError) and re.match(r"\w+\.\w+\(\) (got|takes|missing)", text):
        return True  # a method of a problem in Python, which need not take what those of the core do
    if isinstance(error, IndexError) and not text:  # how __getitem__ ends a loop
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "/tests/registry/" in last.filename or (last.filename, last.name) == ("<string>", "<lambda>"):
        return True  # raised by a function of the case, which the core passes on
    if isinstance(error, KeyError) and last.name == "function_results":
        return True  # the function of other templates, which does not know the name of a changed one
    # Where a case has no object of a class, it has None.
    return isinstance(error, AttributeError) and "'NoneType'" in text


class Program:
    """Lines that are being written."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.problem = ""  # the variable, once there is one

    def variable(self, expression: str) -> str:
        name = f"x{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def a_problem(self) -> str:
        if not self.problem or self.rng.random() < 0.05:
            self.problem = self.variable(f"problem({self.rng.randrange(len(recorded().problems))})")
        return self.problem

    def arguments(self, parameters: tuple[Parameter, ...], depth: int) -> str:
        # Objects come first, because the sizes of arrays follow them.
        order = sorted(range(len(parameters)), key=lambda k: "_core." not in parameters[k].type)
        values: dict[int, str] = {}
        for k in order:
            each = parameters[k]
            if each.optional and self.rng.random() < 0.6:
                continue
            values[k] = (
                f"{each.name}={self.value(each.type, each.name, depth)}"
                if each.name
                else self.value(each.type, "", depth)
            )
        ordered = [values[k] for k in sorted(values)]
        return ", ".join(sorted(ordered, key=lambda text: "=" in text.partition("(")[0]))

    def value(self, kind: str, name: str, depth: int) -> str:
        """An expression for a type; rarely one of another type."""
        rng = self.rng
        if rng.random() < 0.01:
            return rng.choice(["None", "'a'", "-1", "[]", "np.zeros(2)", "b'a'", "object()"])
        options = [each.strip() for each in _split(kind, "|")]
        if len(options) > 1:
            kind = rng.choice([*options, options[0]])
        if kind == "None":
            return "None"
        if kind.startswith("ndarray"):
            return self.array(kind, name)
        if kind.startswith("margrave._core."):
            return self.object(kind.removeprefix("margrave._core."), depth)
        if kind == "int":
            if name == "i" and rng.random() < 0.7:
                return "0"
            if name in ("threads", "n_jobs"):
                return rng.choice(["1", "1", "2", "0", "-1"])
            if rng.random() < 0.15:
                return rng.choice(_ODD_INTS)
            return rng.choice([*_INTS, *([f"{self.problem}.size", f"{self.problem}.dim"] if self.problem else [])])
        if kind == "float":
            return rng.choice(_FLOATS)
        if kind == "bool":
            return rng.choice(["True", "False"])
        if kind == "str":
            return "'" + rng.choice(_WORDS) + "'"
        if kind == "bytes":
            text = rng.choice([*[text for texts in SAMPLES.values() for text in texts], "", "a b\n", "\xff"])
            return repr(text.encode()[: rng.choice([10**4, rng.randrange(len(text) + 1)])])
        head, _, rest = kind.partition("[")
        inside = _split(rest[:-1]) if rest else []
        if head in ("collections.abc.Sequence", "list", "Sequence"):
            return "[" + ", ".join(self.value(inside[0], "", depth) for _ in range(rng.choice([0, 1, 1, 2, 3]))) + "]"
        if head == "tuple":
            return "(" + "".join(self.value(each, "", depth) + ", " for each in inside) + ")"
        if head.endswith("Callable"):
            return rng.choice(["lambda *a: []", "lambda *a: 1", "lambda *a: list(a[-1])", "lambda *a: 1 / 0"])
        return rng.choice(["None", "[]", "np.zeros(3)", "[[1, 2]]", "[('a', 'b')]", "{}", "lambda *a: 0.0", "'a'", "3"])

    def array(self, kind: str, name: str) -> str:
        rng = self.rng
        dtype = re.search(r"dtype=(\w+)", kind)
        code = dtype[1].removesuffix("_") if dtype else "float64"
        axes = kind.partition("shape=(")[2].partition(")")[0].count("*") or 1
        size = f"few({self.problem}.{_SIZES[name]})" if self.problem and name in _SIZES else self.size()
        size = size if rng.random() < 0.9 else self.size()
        if code.startswith("float"):
            text = rng.choice([f"np.zeros({size})", f"np.ones({size})", f"floats({rng.randrange(99)}, {size})"])
            if rng.random() < 0.1:
                text = f"np.where(np.arange({size}) % 2, {rng.choice(_FLOATS)}, {rng.choice(_FLOATS)})"
            text = text if rng.random() < 0.85 else f"put({text}, {rng.randrange(9)}, {rng.choice(_FLOATS)})"
            text = text if code == "float64" else f"{text}.astype('{code}')"
        elif code == "bool":
            text = f"ints({rng.randrange(99)}, {size}, 0, 1, 'bool')"
        else:
            low, high = rng.choice([(0, 0), (0, 1), (0, 2), (0, 5), (-1, 3), (0, 100)])
            seed = rng.randrange(99)
            numbers = [
                f"np.arange({size})",
                f"ints({seed}, {size}, {low}, {high}, 'int64')",
                f"np.sort(ints({seed}, {size}, {max(0, low)}, {high}, 'int64'))",
            ]
            text = f"{rng.choice(numbers)}.astype('{code}')"
            if rng.random() < 0.15:
                text = f"put({text}, {rng.randrange(9)}, {rng.choice(_ODD_INTS)})"
        return f"rows({text}, {rng.choice(['1', '2', '3'])})" if axes == 2 else text

    def size(self) -> str:
        rng = self.rng
        p = self.problem
        if p and rng.random() < 0.75:
            sizes = (
                [f"{p}.size"] * 3
                + [f"few({p}.dim)"] * 4
                + [f"{p}.parts(0)", f"sum(map({p}.parts, range({p}.size)))", f"{p}.size + 1"]
            )
            return rng.choice([*sizes, f"max(0, few({p}.dim) - 1)", f"few({p}.dim) + 1"])
        return rng.choice(["0", "1", "2", "3", "3", "4", "5", "6", "10", "64"])

    def object(self, wanted: str, depth: int) -> str:
        """An expression for an object of a class: a real one, or one that is made."""
        rng = self.rng
        kind = getattr(_core, wanted)
        if issubclass(kind, _core.Problem) and wanted in ("Problem", "BoundProblem") and rng.random() < 0.95:
            return self.a_problem()
        names = [
            name for name in recorded().objects if issubclass(getattr(_core, name), kind) and recorded().objects[name]
        ]
        makers = _makers(wanted) if depth > 0 else [each for each in _makers(wanted) if not each[0].parameters]
        if names and (rng.random() < 0.8 or not makers):
            name = rng.choice(sorted(names))
            made = self.variable(f"given({name!r}, {rng.randrange(KEPT)})")
        elif makers:
            maker, place = rng.choice(makers)
            home = f"_core.{maker.name}"
            if maker.of:
                home = f"{self.object(maker.of, depth - 1)}.{maker.name.partition('.')[2]}"
            made = self.variable(f"{home}({self.arguments(maker.parameters, depth - 1)}){place}")
        else:
            return "None"
        if issubclass(kind, _core.Problem):
            self.problem = made
        return made


def _make_call(name: str, rng: Random) -> Case:
    calls = recorded().calls.get(name)
    program = Program(rng)
    if calls and rng.random() < 0.6:
        _add_real_call(program, name, rng.randrange(len(calls)))
        return {"lines": program.lines}
    overload = rng.choice(signatures()[name])
    if overload.of:
        method = name.partition(".")[2]
        if able := [k for k, problem in enumerate(recorded().problems) if method in problem.offers]:
            program.problem = program.variable(f"problem({rng.choice(able)})")
        it = program.object(overload.of, _DEEP)
        for _ in range(rng.choice([1, 1, 2])):
            program.lines.append(f"{it}.{method}({program.arguments(overload.parameters, _DEEP - 1)})")
            method = rng.choice(_methods(overload.of))
            overload = rng.choice(signatures()[f"{overload.of}.{method}"])
    else:
        program.lines.append(f"_core.{name}({program.arguments(overload.parameters, _DEEP - 1)})")
    return {"lines": program.lines}


def _add_real_call(program: Program, name: str, k: int) -> None:
    """A real call with few changes, and others that take its answer."""
    rng = program.rng
    call = recorded().calls[name][k]
    keys: list[int | str] = [*range(1 if signatures()[name][0].of else 0, len(call.arguments)), *call.named]
    changes = []
    for key in rng.sample(keys, min(len(keys), rng.choice([0, 0, 1, 1, 2]))):
        value = call.arguments[key] if isinstance(key, int) else call.named[key]
        changes.append(f"{key!r}: lambda arg: {_change(rng, value)}")
    line = f"call({name!r}, {k}, {{{', '.join(changes)}}})"
    for _ in range(_FOLLOWED):
        if not call.result or rng.random() < 0.3:
            break
        made = program.variable(line if call.place is None else f"{line}[{call.place}]")
        if issubclass(getattr(_core, call.result), _core.Problem):
            program.problem = made
            method = rng.choice(_methods("Problem"))
            line = f"{made}.{method}({program.arguments(signatures()[f'Problem.{method}'][0].parameters, _DEEP - 1)})"
            break
        uses = _uses().get(call.result)
        if not uses:
            return
        name, k, key = rng.choice(uses)
        call = recorded().calls[name][k]
        line = f"call({name!r}, {k}, {{{key!r}: lambda arg: {made}}})"
    program.lines.append(line)


@cache
def _uses() -> dict[str, list[tuple[str, int, int | str]]]:
    """By the class of an argument, the recorded calls that have it: name, number, and the key of the argument."""
    found: dict[str, list[tuple[str, int, int | str]]] = defaultdict(list)
    for name, calls in recorded().calls.items():
        for k, call in enumerate(calls):
            for key, value in [*enumerate(call.arguments), *call.named.items()]:
                if kind := value.recipe.kind if isinstance(value, Made) else kind_of(value):
                    found[kind].append((name, k, key))
    return found


@cache
def _methods(name: str) -> list[str]:
    return [key.partition(".")[2] for key, of in signatures().items() if of[0].of == name]


def _change(rng: Random, value: Any) -> str:
    """An expression for a changed argument, `arg`."""
    if isinstance(value, np.ndarray):
        number = rng.choice(_FLOATS if value.dtype.kind == "f" else [*_INTS, *_ODD_INTS])
        return rng.choice(
            [f"put(arg, {rng.randrange(50)}, {number})"] * 3
            + [f"resized(arg, {rng.choice([-1, 1, -(10**6), 3, 1000])})", "arg[::-1].copy()", "np.zeros_like(arg)"]
        )
    if isinstance(value, bool):
        return "not arg"
    if isinstance(value, int):
        return rng.choice([*_INTS, *_ODD_INTS, "arg + 1", "arg - 1", "2 * arg"])
    if isinstance(value, float):
        return rng.choice([*_FLOATS, "-arg"])
    if isinstance(value, str):
        return "'" + rng.choice(_WORDS) + "'"
    if isinstance(value, list | tuple) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return f"member(arg, {place}, lambda arg: {_change(rng, value[place])})"
    if isinstance(value, list | tuple | bytes):
        return rng.choice(["resized(arg, -1)", "arg * 2", "arg[:0]", "[None]", "[arg]"])
    name = type(value).__name__
    if name in recorded().objects:
        others = [each for each in recorded().objects if isinstance(value, getattr(_core, each)) or each == name]
        return rng.choice([f"given({rng.choice(sorted(others))!r}, {rng.randrange(KEPT)})", "None"])
    return rng.choice(["None", "3", "'a'", "[]"])


def _make_properties(name: str, rng: Random) -> Case:
    program = Program(rng)
    it = program.object(name, _DEEP)
    program.lines += [f"{it}.{label}" for label in _properties()[name]]
    return {"lines": program.lines}


def _run(case: Case, passed: Callable[[str], None]) -> None:
    known: dict[str, Any] = dict(_NAMES)
    for line in case["lines"]:
        name, assigned, expression = line.partition(" = ")
        if assigned and name.isidentifier():
            known[name] = evaluated(expression, **known)
        else:
            found = evaluated(line, **known)
            if isinstance(found, Iterator):
                next(found, None)
    passed("read")
