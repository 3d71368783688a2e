"""Small models of every estimator, which are written once per release and opened by every later version.

    python -m tests.files.old_models

writes them to tests/files/old/VERSION, each with a file of inputs and of what the model predicts for them. Nothing else
is needed to open them again: what the tests of estimators are made of may change.
"""

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from margrave import HMMTagger, PathCV, Translator, __version__, load
from margrave.data import Lattice
from margrave.data.candidates import Candidates
from margrave.data.constituents import Tree
from margrave.estimators.arc_labeler import ArcLabeler
from margrave.estimators.generative_aligner import GenerativeAligner
from margrave.estimators.pcfg import PCFG
from tests.estimators.registry import BRACKETS, ENTRIES, HEADS, MATCHES, PAIRS, ROWS, TAGS, VARIANTS, WORDS, Hypotheses

FOLDER = Path(__file__).parent / "old"
ARCS = [["det", "nsubj", "root"], ["det", "nsubj", "root"], ["nsubj", "root"], ["det", "nsubj", "root"]]
FOREIGN = ["lo kanu vidas", "lo tavo vidas", "un kanu laudas", "lo rimi laudas"]
ENGLISH = ["the boat sees", "the harbor sees", "a boat leaves", "the gull leaves"]
LINKS = ["0-0 1-1 2-2"] * 4


@dataclass(frozen=True)
class Old:
    """A fitted model, inputs, and what its methods take besides them."""

    model: Callable[[], Any]
    X: Any
    more: dict[str, Any]


def cases() -> dict[str, Old]:
    """One model of every estimator, and some in other forms."""
    found = {}
    for name, entry in (ENTRIES | VARIANTS).items():
        raw = entry.features is not None
        settings = {"features": entry.features()} if entry.features is not None else {}
        X = entry.raw if raw else entry.X

        def model(entry: Any = entry, X: Any = X, settings: Any = settings) -> Any:
            return entry.make(**settings, n_jobs=1).fit(X, entry.y, **entry.more)

        found[name] = Old(model, X, {})
    return found | {
        "ArcLabeler": Old(lambda: ArcLabeler(n_jobs=1).fit(ROWS, ARCS, heads=HEADS), ROWS, {"heads": HEADS}),
        "GenerativeAligner": Old(lambda: GenerativeAligner(alphabet="ACGT").fit(PAIRS, MATCHES), PAIRS, {}),
        "HMMTagger": Old(lambda: HMMTagger().fit(WORDS, TAGS), WORDS, {}),
        "PCFG": Old(lambda: PCFG().fit(None, BRACKETS), [["N", "V", "N"], ["D", "N", "V", "N"]], {}),
        "PathCV": Old(
            lambda: PathCV(ENTRIES["SequenceTagger"].make(n_jobs=1), Cs=[0.1, 1.0], cv=2).fit(
                ENTRIES["SequenceTagger"].X, TAGS
            ),
            ENTRIES["SequenceTagger"].X,
            {},
        ),
        "Translator": Old(
            lambda: Translator(rounds=1, k=5, folds=2, beam=5, n_jobs=1).fit(FOREIGN, ENGLISH, alignments=LINKS),
            FOREIGN,
            {},
        ),
    }


def write(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, old in cases().items():
        path = folder / f"{name.replace(' ', '-')}.margrave"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Some are far from their optimum, which is no harm here.
            old.model().save(path)
        inputs = {"X": as_json(old.X), "more": as_json(old.more)}
        predicted = as_json(load(path).predict(from_json(inputs["X"]), **from_json(inputs["more"])))
        text = json.dumps(inputs | {"predicted": predicted}, indent=1, ensure_ascii=False)
        path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def predicted_again(path: Path) -> tuple[Any, Any]:
    """What the model of a file predicts, and what it predicted when it was written."""
    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = load(path).predict(from_json(stored["X"]), **from_json(stored["more"]))
    return as_json(found), stored["predicted"]


def as_json(value: Any) -> Any:
    """Inputs and outputs in the form of JSON; what JSON does not have has one key, which begins with a dollar sign."""
    if isinstance(value, Lattice):
        edges = [[edge.tail, edge.head, edge.word, dict(edge.features)] for edge in value.edges]
        return {"$lattice": edges}
    if isinstance(value, Hypotheses):
        return {"$hypotheses": [value.hypotheses, value.features]}
    if isinstance(value, Tree):
        return {"$tree": str(value)}
    if isinstance(value, np.ndarray):
        return {"$array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, Candidates):
        return {"$candidates": as_json(list(value))}
    if isinstance(value, tuple):
        return {"$tuple": as_json(list(value))}
    if isinstance(value, set | frozenset):
        return {"$set": sorted(as_json(each) for each in value)}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    assert value is None or isinstance(value, bool | int | float | str), type(value)
    return value


def from_json(value: Any) -> Any:
    """The inputs from which `as_json` made this."""
    if isinstance(value, list):
        return [from_json(each) for each in value]
    match value:
        case {"$lattice": edges}:
            return Lattice.of([tuple(edge) for edge in edges])
        case {"$hypotheses": [hypotheses, features]}:
            return Hypotheses(hypotheses, features)
        case {"$array": numbers, "dtype": dtype}:
            return np.array(numbers, dtype=dtype)
        case {"$candidates": sequences}:
            return Candidates(from_json(sequences))
        case {"$tuple": items}:
            return tuple(from_json(items))
        case dict():
            return {key: from_json(each) for key, each in value.items()}
    return value


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / __version__)
