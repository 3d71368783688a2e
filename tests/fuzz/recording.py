"""Real calls of the core, recorded while small models are trained, asked and saved.

A case must not change what other cases use. Arrays are therefore copied, and an object that calls change is kept as a
recipe: the call that made it, and the calls that it has been part of since. A case makes such objects again. Everything
else is shared.
"""

import inspect
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from margrave import _core
from margrave.errors import MargraveError
from tests.fuzz.calls import call, verbs
from tests.fuzz.readers import ARPA, CONLLU

# Objects that calls change: a case makes its own.
CHANGING = {
    *("Blocks", "Cuts", "OutputCache", "Sharing", "StoredParts", "DoubleNumbers", "CompactNumbers", "Vocabulary"),
    *("KeyTable", "TagPairs", "FingerprintTable", "ArpaReader", "KneserNey", "PhraseTable", "SynchronousGrammar"),
    *("TemplateNames", "KeyedAttributes", "KeyedNames", "TreeTemplates", "SegmentTemplates", "TemplateAttributes"),
    *("PhraseSearch", "PhraseFeatures"),
}
# A function that is put in place of a method of these would count as one that a Python class defines.
_OVERRIDDEN = {"Problem"}
_ALIKE = 2  # calls of one function whose arguments have the same types
_CALLS = 8  # recorded calls of one function
_HISTORY = 40  # calls that an object is followed through
KEPT = 5  # objects of a class


@dataclass(frozen=True, eq=False)
class Call:
    """A call that ended in an answer."""

    name: str  # of a function, a class or, with a dot, a method
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: str = ""  # the class of the core that the answer or the first such member of it has
    place: int | None = None  # of that member


@dataclass(eq=False)
class Recipe:
    """How to make an object again."""

    kind: str
    maker: Call
    history: list[Call] = field(default_factory=list)
    seen: int = 0  # calls in all


@dataclass(frozen=True)
class Made:
    """The object of a recipe as it was after some of its calls: an argument of a recorded call."""

    recipe: Recipe
    calls: int


class Again:
    """The values of a recorded call, made again; what two of its arguments share is made once."""

    def __init__(self) -> None:
        self.known: dict[Recipe, Any] = {}

    def value(self, value: Any) -> Any:
        """The value with objects and arrays of its own."""
        if isinstance(value, Made):
            return self._object(value)
        return _copied(value, self.value)

    def run(self, call: Call) -> Any:
        """The answer of a call."""
        arguments = [self.value(each) for each in call.arguments]
        return function_named(call.name)(*arguments, **{key: self.value(of) for key, of in call.named.items()})

    def _object(self, made: Made) -> Any:
        if made.recipe not in self.known:
            found = self.run(made.recipe.maker)
            place = made.recipe.maker.place
            self.known[made.recipe] = found if place is None else found[place]
            for call in made.recipe.history[: made.calls]:
                try:
                    self.run(call)
                except MargraveError:  # it was part of a call that an earlier one has made impossible
                    break
        return self.known[made.recipe]


@dataclass
class Recorded:
    """Calls and objects by their names, and problems."""

    calls: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    objects: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    problems: list[Any] = field(default_factory=list)

    def note(self, value: Any) -> None:
        """Keeps an object that calls do not change."""
        name = kind_of(value)
        if name and name not in CHANGING and len(self.objects[name]) < KEPT:
            self.objects[name].append(value)


def kind_of(value: Any) -> str:
    """The class of an object of the core; empty for others."""
    return type(value).__name__ if type(value).__module__ == "margrave._core" else ""


def function_named(name: str) -> Any:
    """What a recorded call names."""
    found: Any = _core
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _copied(value: Any, copy: Callable[[Any], Any]) -> Any:
    """The value with arrays, which calls may write to, of its own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (tuple, list):
        return type(value)(map(copy, value))
    return {key: copy(of) for key, of in value.items()} if type(value) is dict else value


class _UnknownError(Exception):
    """An argument is an object that calls change, and nobody saw how it was made."""


class _Recorder:
    """Records calls while it is asked to watch."""

    def __init__(self) -> None:
        self.found = Recorded()
        self.alike: dict[tuple[str, ...], int] = defaultdict(int)
        self.recipes: dict[int, tuple[Any, Recipe]] = {}  # by the id of an object, which is kept alive

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, recorded under a name."""

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                kept = Call(name, tuple(map(self._kept, arguments)), {key: self._kept(of) for key, of in named.items()})
            except _UnknownError:
                return function(*arguments, **named)
            result = function(*arguments, **named)
            self._add(kept, arguments, named, result)
            return result

        return call

    def _add(self, call: Call, arguments: tuple[Any, ...], named: dict[str, Any], result: Any) -> None:
        members = list(result) if isinstance(result, tuple) else []
        for each in (*arguments, *named.values(), result, *members):
            self.found.note(each)
        place = next((k for k, each in enumerate(members) if kind_of(each)), None)
        made = result if place is None else members[place]
        kept = Call(call.name, call.arguments, call.named, kind_of(made), place)
        values = [*call.arguments, *call.named.values()]
        shape = (call.name, *(f"{key}" for key in call.named), *(type(each).__name__ for each in values))
        whole = all(each.calls == each.recipe.seen for each in values if isinstance(each, Made))
        if whole and self.alike[shape] < _ALIKE and len(self.found.calls[call.name]) < _CALLS:
            self.alike[shape] += 1
            self.found.calls[call.name].append(kept)
        for each in {each.recipe: each for each in values if isinstance(each, Made)}:
            each.seen += 1
            if len(each.history) < _HISTORY:
                each.history.append(kept)
        if kept.result in CHANGING and id(made) not in self.recipes:
            self.recipes[id(made)] = made, Recipe(kept.result, kept)

    def _kept(self, value: Any) -> Any:
        if kind_of(value) in CHANGING:
            if id(value) not in self.recipes:
                raise _UnknownError
            recipe = self.recipes[id(value)][1]
            return Made(recipe, len(recipe.history))
        return _copied(value, self._kept)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within this context, functions, constructors and methods of the core are recorded."""
        before: list[tuple[Any, str, Any]] = []

        def replace(of: Any, name: str, new: Any) -> None:
            before.append((of, name, vars(of)[name]))
            setattr(of, name, new)

        try:
            for name, thing in list(vars(_core).items()):
                if type(thing).__name__ == "nb_func":
                    replace(_core, name, self.watched(name, thing))
                elif inspect.isclass(thing) and name not in _OVERRIDDEN:
                    for method, function in list(vars(thing).items()):
                        if type(function).__name__ == "nb_method" and not method.startswith("__"):
                            replace(thing, method, self.watched(f"{name}.{method}", function))
                    if hasattr(thing.__init__, "__nb_signature__"):
                        replace(_core, name, self._class(name, thing))
            yield
        finally:
            for of, name, old in reversed(before):
                setattr(of, name, old)

    def _class(self, name: str, real: Any) -> Any:
        """A class that makes recorded objects of the real one, and is otherwise taken for it."""
        make = self.watched(name, real)
        watched = self.watched

        class Watched(type):
            def __instancecheck__(cls, value: Any) -> bool:
                return isinstance(value, real)

            def __subclasscheck__(cls, kind: Any) -> bool:
                return issubclass(kind, real)

            def __call__(cls, *arguments: Any, **named: Any) -> Any:
                return make(*arguments, **named)

            def __getattr__(cls, attribute: str) -> Any:
                found = getattr(real, attribute)
                static = type(vars(real).get(attribute)).__name__ == "nb_func"
                return watched(f"{name}.{attribute}", found) if static else found

        return Watched(name, (), {})


@cache
def recorded() -> Recorded:
    """What small models of all estimators and learners, and the registered problems, do with the core."""
    from tests.estimators import options
    from tests.learners.test_checkpoints import CASES, problem_of, run
    from tests.registry import APPROXIMATE, KINDS

    recorder = _Recorder()
    found = recorder.found
    cases = options.cases()
    with recorder.watching(), warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for kind in [*KINDS, *APPROXIMATE]:
            problem = kind(0, size=3).problem
            found.problems.append(problem)
            found.note(problem)
        for number, case in enumerate(cases.values()):
            model = case.fit()
            model.save(Path(folder) / f"{number}.margrave")
            _use(model, case)
        for one in CASES:
            for kind, losses in zip(one.kinds, one.losses, strict=False):
                run(one.make(), problem_of(kind, *losses), one.loss(*losses), max_iter=2)
        structures = [each for of in found.objects.values() for each in of if isinstance(each, _core.Structure)]
        _call_what_no_model_calls(found.problems, structures)
    return found


# Methods that fit other models.
_SLOW = {"fit", "path", "partial_fit", "prune", "calibrate"}


def _use(model: Any, case: Any) -> None:
    """Asks a model everything that its methods answer."""
    for name in verbs(type(model)):
        if name in _SLOW:
            continue
        try:
            call(model, name, {"X": case.X, "y": case.y, "Cs": [1.0], **case.more})
        except (MargraveError, TypeError, ValueError, AttributeError):  # it needs more than examples
            continue


def _call_what_no_model_calls(problems: list[Any], structures: list[Any]) -> None:
    """Calls of the core that only large or unusual tasks make."""
    for problem in problems:
        with suppress(MargraveError):
            _pass_over(problem)
    for structure in structures:
        _ask(structure)
    reader = _core.ArpaReader()
    reader.feed(ARPA.encode())
    counts = _core.KneserNey(2)
    counts.add(["a", "b"])
    for model in (reader.finish(), counts.estimate()):
        model.score(["a", "b"]), model.conditional("a", ["b"]), model.state(["a", "a"]), model.lines(1, 0, 2)
    grammar = _core.SynchronousGrammar()
    grammar.begin("p", 1.0, 10)
    grammar.feed(b"[X] ||| haus ||| house ||| 0.5\n[X] ||| das [X,1] ||| the [X,1] ||| Glue=1\n")
    decoder = _core.SynchronousDecoder(grammar, model, "X", "X", True, -1.0, "lm", "words", "unknown")
    weights = np.ones(len(decoder.features))
    decoder.decode(["das", "haus"], weights, 2, 10, False), decoder.forest(["das", "haus"], weights, 10)
    decoder.forced(["das", "haus"], ["the", "house"], weights, 2)
    one, two = np.array([0, 1]), np.array([0, 1], dtype=np.int32)
    _core.PhraseTable(
        *_core.extract_phrases(one, two[:1], one, two[:1], one, two[:1], two[:1], one[1:] > 0, 3, 3).arrays()
    )
    table = _core.parse_columns(b"a b\nc d\n\ne f\n", None, 2, False)[0]
    table.column(0), table.slice(0, 1), table.some([1, 0]), table.without_column(1)
    table.lines(" ", ["x", "y"], np.zeros(3, dtype=np.int32), None)
    text = _core.parse_conllu(CONLLU.encode(), [(3, "")])[0]
    text.lines([((3, ""), ["A"], np.zeros(5, dtype=np.int32))], None)
    tokens = _core.Tokens(np.array([0, 2]), np.array([0, 1, 2]), two, np.ones(2))
    inputs = _core.Inputs(tokens)
    _core.kernel_matrix("rbf", 1.0, 0.0, 2, inputs, inputs, 1), tokens.renumbered(two[::-1].copy())
    _core.Question("kbest", k=2), _core.own_rule(object(), 2, 4), _core.Pairs(2, 3).union(_core.Pairs(4, 3))
    _core.joint_qp(
        np.ones(2), np.eye(2).ravel(), np.zeros(2, dtype=np.int64), np.zeros(1), np.ones(1), np.zeros(2), 0.0
    )
    words = _core.Vocabulary(np.frombuffer(b"ab", np.uint8).copy(), np.array([0, 1, 2]))
    words.merge(_core.Vocabulary(*words.arrays()))


def _pass_over(problem: Any) -> None:
    """What passes and their states do with a problem."""
    w, order, gap = np.zeros(problem.dim), np.arange(problem.size), np.zeros(problem.size)
    family = _core.LossFamily(np.inf, 1.0)
    _core.most_violated(problem, w, 0, "slack", 1, "parts"), _core.Sharing(problem, 2)
    _core.pairwise_pass(problem, w, family, order, 1, None, _core.Blocks(problem), gap, 10, 10, 0.1)
    cuts = _core.Cuts(problem)
    cuts.one_pass(problem, w, family, "margin", 1, "parts", order, 0.1, 10, False, 0.1)
    (
        cuts.slacks(problem, w),
        cuts.dual(problem, w, family, "margin", 1, "parts"),
        cuts.optimize(problem, w, family, "margin", 1, "parts", 0.1, 10),
    )
    cut = _core.one_cut(problem, w, family, "margin", "parts", _core.OutputCache(problem, 2), False, [], 1)
    (
        _core.known_slacks(problem, w, "margin", [(cut[3], cut[4], cut[5], cut[6])], 1),
        _core.closest_good(problem, None, 1),
    )
    _core.Cuts.from_arrays(problem, *cuts.arrays()), _core.Blocks.from_arrays(problem, *_core.Blocks(problem).arrays())
    cache = _core.OutputCache(problem, 2)
    cache.fill(problem, *cache.arrays())
    _core.StoredParts(problem, _core.LossFamily(1.0, 1.0), 1)


def _ask(structure: Any) -> None:
    """What only some structures answer."""
    n = structure.parts(0)
    for method in ("part_tuples", "spans", "segments", "choice", "gold", "sets"):
        if hasattr(structure, method):
            with suppress(MargraveError):
                getattr(structure, method)(0)
    for method, more in (("upper_bound", ()), ("max_product", ()), ("values", (2,)), ("kbest_strings", (2,))):
        if hasattr(structure, method):
            getattr(structure, method)(0, np.zeros(n), *more)
