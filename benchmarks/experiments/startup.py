"""Seconds from the start of a process until Margrave is imported, its help is printed, a model is open."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.tables import markdown
from margrave import SequenceTagger
from margrave.datasets import load_town
from margrave.features import Templates

Result = dict[str, Any]

CORPORA = ()
RESULT = "startup"
REPEATS = 15  # of all commands in turn, so that a busy minute slows every one of them
OPENING = "open a model, imports not counted"
_OPEN = """
import sys
from time import perf_counter
from margrave.estimators import load
started = perf_counter()
load(sys.argv[1])
print(perf_counter() - started)
"""


def measure() -> Result:
    """Wall seconds of fresh processes, and in the last of them those of opening a tagger for the built-in corpus."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "town.margrave"
        save_tagger(model)
        commands = {
            "python alone": ["-c", "pass"],
            "import margrave": ["-c", "import margrave"],
            "from margrave import SequenceTagger": ["-c", "from margrave import SequenceTagger"],
            "margrave --help": ["-m", "margrave", "--help"],
            "margrave train --help": ["-m", "margrave", "train", "--help"],
            "open a model": ["-c", _OPEN, str(model)],
        }
        seconds: dict[str, list[float]] = {name: [] for name in (*commands, OPENING)}
        environment = compiled_into(Path(folder) / "bytecode")
        for _ in range(1 + REPEATS):
            for name, arguments in commands.items():
                started = perf_counter()
                done = subprocess.run(
                    [sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True
                )
                seconds[name].append(perf_counter() - started)
            seconds[OPENING].append(float(done.stdout))
        size = model.stat().st_size / 2**20
    kept = {name: values[1:] for name, values in seconds.items()}  # the first round compiles
    return {
        "repeats": REPEATS,
        "model_mb": size,
        "seconds": {name: {"median": median(of), "fastest": min(of)} for name, of in kept.items()},
    }


def compiled_into(folder: Path) -> dict[str, str]:
    """The environment of processes that keep their bytecode in this folder.

    Without it, modules from a source tree would be compiled again by every process wherever the user or the system does
    not let Python write bytecode, and installed ones would not.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


def save_tagger(path: Path) -> None:
    """Trains on the built-in corpus, and writes the model."""
    sentences = load_town("train")
    X = [[(word, part_of_speech) for word, part_of_speech, _ in rows] for rows in sentences]
    y = [[tag for _, _, tag in rows] for rows in sentences]
    SequenceTagger(features=Templates(), n_jobs=1).fit(X, y).save(path)


def table(result: Result) -> str:
    """Seconds of each command."""
    rows = [[name, f"{of['median']:.3f}", f"{of['fastest']:.3f}"] for name, of in result["seconds"].items()]
    title = f"Seconds of {result['repeats']} fresh processes; the model has {result['model_mb']:.1f} MB"
    return f"{title}\n\n{markdown(['process', 'median', 'fastest'], rows)}"


def plot(result: Result) -> None:
    """There is none."""
