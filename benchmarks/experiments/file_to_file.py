"""Tokens per second from a column file to a tagged file, beside python-crfsuite; and training from a file to a model.

Both taggers have the same attributes, the built-in templates of Margrave for CoNLL-2003. For CRFsuite they are made by
plain Python, written by hand for these columns. One thread; processor seconds of the fastest of several runs in turn;
loading the model is not counted, but every run of Margrave begins without any value numbered. Training is a process of
its own: the fastest of several, after a first one that compiles the modules and reads them from the disk.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.corpora.folder import data_file
from benchmarks.experiments.startup import compiled_into
from benchmarks.plots import finished, panels
from benchmarks.tables import markdown
from margrave.features.templates import Templates, default_templates

Result = dict[str, Any]

CORPORA = ("conll2003-en",)
RESULT = "file_to_file"
REPEATS = 5
TRAININGS = 3
CRFSUITE_ITERATIONS = 10  # How well it tags does not matter here, and the speed hardly depends on it.
TRAINING = ["eng.train"]
FILES = {"test (testb)": ["eng.testb"], "all (train, testa, testb)": ["eng.train", "eng.testa", "eng.testb"]}


def measure() -> Result:
    """Trains both on the training part, and tags a short and a longer file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        training = _plain(TRAINING, root / "train.conll")
        trained = train_margrave(training, root / "margrave.model")
        train_crfsuite(training, root / "crfsuite.model")
        margrave, crfsuite = margrave_tagger(root / "margrave.model"), crfsuite_tagger(root / "crfsuite.model")
        tagged = {}
        for name, parts in FILES.items():
            data = _plain(parts, root / "data.conll")
            tokens = sum(1 for line in data.read_text(encoding="utf-8").splitlines() if line.strip())
            seconds: dict[str, list[float]] = {"margrave": [], "crfsuite": []}
            for _ in range(REPEATS):
                for tagger, run in (("margrave", margrave), ("crfsuite", crfsuite)):
                    started = process_time()
                    run(data, root / "tagged.conll")
                    seconds[tagger].append(process_time() - started)
            tagged[name] = {"tokens": tokens} | {
                tagger: {"seconds": min(of), "tokens_per_second": tokens / min(of)} for tagger, of in seconds.items()
            }
    return {"repeats": REPEATS, "tagged": tagged, "trained": trained}


def _plain(parts: Sequence[str], path: Path) -> Path:
    """Parts of the corpus as one plain file."""
    texts = []
    for part in parts:
        source = data_file("conll2003-en", part)
        texts.append(gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes())
    path.write_bytes(b"\n".join(texts))
    return path


# ---- Margrave --------------------------------------------------------------------------------------------------------


def train_margrave(data: Path, model: Path) -> Result:
    """The command `margrave train` with one thread: all seconds of its process, and those of the learner.

    `start_seconds` are those of the same command with almost no data: interpreter, imports and command line.
    """
    little = data.with_name("little.conll")
    little.write_bytes(data.read_bytes()[:1000].rpartition(b"\n\n")[0] + b"\n\n")
    environment = compiled_into(data.with_name("bytecode"))

    def run(source: Path) -> tuple[float, Result]:
        started = perf_counter()
        command = [sys.executable, "-m", "margrave", "train", str(source), "-o", str(model), "--threads", "1", "--json"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return perf_counter() - started, json.loads(done.stdout)

    run(little)
    start_seconds = min(run(little)[0] for _ in range(TRAININGS))
    seconds, report = min((run(data) for _ in range(TRAININGS)), key=lambda of: of[0])
    return {
        "tokens": report["n_tokens"],
        "weights": report["n_weights"],
        "learner": report["learner"],
        "seconds": seconds,
        "learner_seconds": report["seconds"],
        "start_seconds": start_seconds,
    }


def margrave_tagger(model: Path) -> Callable[[Path, Path], None]:
    """What `margrave predict` does with a model that is loaded."""
    from margrave.cli.tasks import load_model
    from margrave.datasets.opening import write_lines

    loaded = load_model(str(model), threads=1)
    return lambda data, output: write_lines(output, chain.from_iterable(loaded.predicted_lines(str(data), False)))


# ---- CRFsuite --------------------------------------------------------------------------------------------------------


def read_sentences(path: Path) -> Iterator[list[list[str]]]:
    """Rows of columns, sentence by sentence."""
    rows: list[list[str]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if fields := line.split():
                rows.append(fields)
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def attributes(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The attributes of Margrave's built-in templates for a word and two more columns, in plain Python."""
    n = len(rows)
    words, shapes = [row[0] for row in rows], [shape(row[0]) for row in rows]
    found = []
    for t, word in enumerate(words):
        of = [f"0[{o}]={words[t + o]}" for o in (-2, -1, 0, 1, 2) if 0 <= t + o < n]
        if t > 0:
            of.append(f"0[-1]|0[0]={words[t - 1]}|{word}")
        if t + 1 < n:
            of.append(f"0[0]|0[1]={word}|{words[t + 1]}")
        of.append(f"0[0].lower={word.lower()}")
        of += [f"0[0].prefix{k}={word[:k]}" for k in (2, 3, 4) if len(word) >= k]
        of += [f"0[0].suffix{k}={word[-k:]}" for k in (1, 2, 3, 4) if len(word) >= k]
        of += [f"0[{o}].shape={shapes[t + o]}" for o in (-1, 0, 1) if 0 <= t + o < n]
        of.append(f"0[0].short_shape={short(shapes[t])}")
        for c in range(1, len(rows[0])):
            for o in (-2, -1, 0, 1, 2):
                if 0 <= t + o < n:
                    of.append(f"{c}[{o}]={rows[t + o][c]}")
            for o in (-2, -1, 0, 1):
                if t + o >= 0 and t + o + 1 < n:
                    of.append(f"{c}[{o}]|{c}[{o + 1}]={rows[t + o][c]}|{rows[t + o + 1][c]}")
            for o in (-2, -1, 0):
                if t + o >= 0 and t + o + 2 < n:
                    values = f"{rows[t + o][c]}|{rows[t + o + 1][c]}|{rows[t + o + 2][c]}"
                    of.append(f"{c}[{o}]|{c}[{o + 1}]|{c}[{o + 2}]={values}")
        found.append(of)
    found[0].append("begin")
    found[-1].append("end")
    return found


_SHAPES: dict[str, str] = {}


def shape(word: str) -> str:
    """Letters as X or x, digits as d; remembered, as anyone would who wants speed."""
    if word not in _SHAPES:
        _SHAPES[word] = "".join(
            ("X" if c.isupper() else "x") if c.isalpha() else "d" if c.isdigit() else c for c in word
        )
    return _SHAPES[word]


def short(text: str) -> str:
    """A shape with one character per run."""
    return "".join(c for k, c in enumerate(text) if k == 0 or text[k - 1] != c)


def train_crfsuite(data: Path, model: Path) -> None:
    """A model with the same attributes; they are compared with Margrave's on the way."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 1.0, "max_iterations": CRFSUITE_ITERATIONS})
    templates: Templates | None = None
    for rows in read_sentences(data):
        X, y = [row[:-1] for row in rows], [row[-1] for row in rows]
        templates = templates or default_templates(len(X[0]))
        made = attributes(X)
        if made != templates.attributes(X):
            raise AssertionError(f"the attributes of {X} differ.")
        trainer.append(made, y)
    trainer.train(str(model))


def crfsuite_tagger(model: Path) -> Callable[[Path, Path], None]:
    """The same for CRFsuite."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))

    def run(data: Path, output: Path) -> None:
        with open(output, "w", encoding="utf-8") as file:
            for rows in read_sentences(data):
                labels = tagger.tag(attributes([row[:-1] for row in rows]))
                lines = [f"{' '.join(row)} {label}" for row, label in zip(rows, labels, strict=True)]
                file.write("\n".join(lines) + "\n\n")

    return run


# ---- what was found --------------------------------------------------------------------------------------------------


def table(result: Result) -> str:
    """Tokens per second, their ratio, and the seconds of training."""
    rows = [
        [
            name,
            f"{of['tokens']:,}",
            f"{of['margrave']['tokens_per_second']:,.0f}",
            f"{of['crfsuite']['tokens_per_second']:,.0f}",
            f"{of['margrave']['tokens_per_second'] / of['crfsuite']['tokens_per_second']:.1f}",
        ]
        for name, of in result["tagged"].items()
    ]
    tagging = markdown(["file", "tokens", "Margrave, tokens/s", "python-crfsuite, tokens/s", "ratio"], rows)
    trained = result["trained"]
    ratio = trained["seconds"] / trained["learner_seconds"]
    training = (
        f"Training on {trained['tokens']:,} tokens took {trained['seconds']:.2f} s from file to model, and the learner "
        f"({trained['learner']}) alone {trained['learner_seconds']:.2f} s: {ratio:.2f} times."
    )
    if "start_seconds" in trained:  # which older results do not have
        training += f" The same command with almost no data took {trained['start_seconds']:.2f} s."
    return f"Tokens per second from file to file, one thread\n\n{tagging}\n\n{training}"


def plot(result: Result) -> Any:
    """Tokens per second of both."""
    figure, (panel,) = panels()
    names = list(result["tagged"])
    for k, (tagger, label) in enumerate((("margrave", "Margrave"), ("crfsuite", "python-crfsuite"))):
        heights = [result["tagged"][name][tagger]["tokens_per_second"] for name in names]
        panel.bar([at + 0.4 * k for at in range(len(names))], heights, width=0.4, label=label)
    panel.set_xticks([at + 0.2 for at in range(len(names))], names)
    panel.set_ylabel("tokens per second, from file to file")
    return finished(figure)
