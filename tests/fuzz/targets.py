"""What is tried: targets by kind, each of which makes cases from seeds and runs them."""

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

from margrave.errors import MargraveError

Case = dict[str, Any]  # as JSON can hold it

# The kinds of targets, each a module here with a function `targets`; with the cases of each that `make test` runs.
KINDS = {
    "readers": 4000,
    "models": 1500,
    "layouts": 500,
    "checkpoints": 700,
    "commands": 500,
    "arguments": 800,
    "core": 2000,
}
_TRIAL = "broken"  # a kind whose targets fail in every way, to test what watches them
_LONGEST = 2000  # characters of a message: what it quotes of the input must be cut


class RefusedError(Exception):
    """A refusal in one sentence that is no exception of the library, such as that of a command."""


class WrongError(Exception):
    """What a target found wrong with an answer, in one sentence."""


@dataclass
class Outcome:
    """How a case ended."""

    end: str  # answer, refusal or failure
    what: str = ""  # the message of a refusal, or what is wrong
    site: str = ""  # of a failure: cases with the same site have the same cause, as far as one can tell
    trace: str = ""
    passed: list[str] = field(default_factory=list)  # the checks that the case got past, such as the checksum

    @property
    def failed(self) -> bool:
        return self.end == "failure"


@dataclass(frozen=True)
class Target:
    """One thing to try.

    Parameters
    ----------
    kind, name : what it is called, `kind:name`.
    make : a case from random numbers.
    run : what is tried; it returns after an answer, and `passed` is told which checks the case got past.
    accepts : whether an exception that is no MargraveError is a refusal here.
    """

    kind: str
    name: str
    make: Callable[[Random], Case]
    run: Callable[[Case, Callable[[str], None]], None]
    accepts: Callable[[BaseException], bool] = lambda error: False

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def case(self, seed: int) -> Case:
        """The case of a seed. It is read back from JSON, so that a kept case is the same."""
        return json.loads(json.dumps(self.make(Random(f"{self}:{seed}"))))

    def outcome(self, case: Case) -> Outcome:
        """How the case ends."""
        passed: list[str] = []
        try:
            self.run(case, passed.append)
        except MargraveError as error:
            return _refusal(str(error), error, passed)
        except RefusedError as error:
            return _refusal(str(error), error, passed)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except MemoryError as error:
            return _failure("memory: more than a worker may take", error, passed)
        except BaseException as error:
            if self.accepts(error):
                return Outcome("refusal", str(error), passed=passed)
            failure = _failure(f"{type(error).__name__}: {error}", error, passed)
            if failure.site.endswith("<string>:<module>"):  # raised by a bound function
                failure.site = failure.site.replace("<string>:<module>", self.name)
            return failure
        return Outcome("answer", passed=passed)


def _refusal(message: str, error: BaseException, passed: list[str]) -> Outcome:
    """A refusal, if it is one sentence, and was not only found when there was no more memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return _failure(f"memory: {message}", cause, passed)
        cause = cause.__cause__ or cause.__context__
    if not message.strip():
        return _failure("a refusal without a message", error, passed)
    if "\n" in message or "\r" in message:
        return _failure(f"several lines: {message!r}", error, passed)
    if len(message) > _LONGEST:
        return _failure(f"a sentence of {len(message)} characters: {message[:200]!r}", error, passed)
    return Outcome("refusal", message, passed=passed)


def _failure(what: str, error: BaseException, passed: list[str]) -> Outcome:
    """A failure, with the innermost place in the library as its site."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/margrave/" in frame.filename] or list(frames)
    place = f"{inside[-1].filename.rpartition('/margrave/')[2]}:{inside[-1].name}" if inside else ""
    kind = type(error).__name__ if not isinstance(error, WrongError) else str(error).partition(":")[0]
    return Outcome(
        "failure",
        " ".join(what.split())[:1000],
        f"{kind} in {place}",
        "".join(traceback.format_exception(error)),
        passed,
    )


@cache
def targets(kind: str) -> Mapping[str, Target]:
    """The targets of a kind, by name."""
    made: list[Target] = import_module(f"tests.fuzz.{kind}").targets()
    return {each.name: each for each in made}


def target_named(name: str) -> Target:
    """The target `kind:name`."""
    kind, _, rest = name.partition(":")
    if kind not in (*KINDS, _TRIAL) or rest not in targets(kind):
        known = KINDS if kind not in KINDS else targets(kind)
        raise MargraveError(f"unknown target {name!r}; valid are {', '.join(known)}.")
    return targets(kind)[rest]
