"""Counts the files and functions of the package that a call enters, to see how far the code walks and what it repeats.

Usage: python tools/walk.py [--list] [tag] [parse] [translate]

    tag        SequenceTagger.fit on the built-in town corpus, from lists of attributes
    parse      margrave train --task parse --order 2, from files of the built-in treebank to a model
    translate  Translator.fit on sentences of an invented language

Each walk runs in a process of its own. Only the command imports modules on its way, whose bodies are not counted.
Comprehensions, lambdas and bodies of classes count as functions. With --list, every function is printed with the number
of its calls, the most frequent one first.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.resources import files
from inspect import signature
from io import BytesIO, TextIOWrapper
from itertools import product
from pathlib import Path
from typing import Any
from warnings import simplefilter

# New names and old ones, of which the package has either.
OLD = {"features": "inputs", "n_jobs": "n_threads", "harbor": "harbour"}


def named(name: str, *modules: str) -> Any:
    """What has this name in the first of the modules that has it."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise ImportError(f"there is no {name} in {' or '.join(modules)}")


def made(kind: Any, *values: Any, **settings: Any) -> Any:
    """An object of the class, with the names of parameters that it knows."""
    known = signature(kind).parameters
    return kind(*values, **{OLD[key] if OLD.get(key) in known else key: value for key, value in settings.items()})


def tag() -> Callable[[], Any]:
    """A tagger on lists of attributes."""
    rows = named("load_town", "margrave.datasets")("train")
    words = [[row[:-1] for row in sentence] for sentence in rows]
    templates = named("Templates", "margrave.features", "margrave.inputs")().learn(words)
    X, y = [templates.attributes(sentence) for sentence in words], [[row[-1] for row in sentence] for sentence in rows]
    tagger = made(named("SequenceTagger", "margrave"), learner="lbfgs", n_jobs=1)
    return lambda: tagger.fit(X, y)


def parse() -> Callable[[], Any]:
    """The command, with development data."""
    datasets = files("margrave") / "datasets"
    corpus = next(path for name in ("harbor", "harbor") if (path := datasets / name).is_dir())

    def command() -> None:
        from margrave.__main__ import main

        with tempfile.TemporaryDirectory() as folder:
            copies = {part: Path(folder, f"{part}.conllu") for part in ("train", "dev")}
            for part, copy in copies.items():
                copy.write_text((corpus / f"{part}.conllu").read_text(encoding="utf-8"), encoding="utf-8")
            model = Path(folder, "model")
            options = ["--task", "parse", "--order", "2", "--dev", str(copies["dev"]), "-o", str(model)]
            sys.argv = ["margrave", "train", *options, str(copies["train"])]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise
            assert model.exists()

    return command


def translate() -> Callable[[], Any]:
    """A translator by phrases, whose weights are learned by linear programs."""
    parts = (
        {"lo": "the", "un": "a"},
        {"kanu": "boat", "tavo": "harbor", "rimi": "gull"},
        {"suri": "gray", "mela": "old", "pika": "small"},
        {"vidas": "sees", "laudas": "leaves"},
    )
    nouns, X, y = list(parts[1].items()), [], []
    for k, (article, noun, adjective, verb) in enumerate(product(*(part.items() for part in parts))):
        other = nouns[k % len(nouns)]
        X.append(f"{article[0]} {noun[0]} {adjective[0]} {verb[0]} lo {other[0]}")
        y.append(f"{article[1]} {adjective[1]} {noun[1]} {verb[1]} the {other[1]}")
    kind = named("Translator", "margrave.translation", "margrave")
    translator = made(kind, "learner", rounds=2, k=20, beam=20, n_jobs=1)
    return lambda: translator.fit(X, y, ["0-0 1-2 2-1 3-3 4-4 5-5"] * len(X))


WALKS: dict[str, Callable[[], Callable[[], Any]]] = {"tag": tag, "parse": parse, "translate": translate}


def walked(call: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """The functions of the package that the call enters, as (file, name), and how often."""
    import margrave

    root = f"{Path(margrave.__file__).parent}/"
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
            found[code.co_filename[len(root) :], code.co_qualname] += 1

    threading.setprofile(note)  # some decoders have a thread even if it is only one
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def report(name: str, every: bool) -> None:
    """Prints the numbers of files and functions of one walk, and with `every` each function with its calls."""
    simplefilter("ignore", UserWarning)  # of linear programs without a solution on so small data
    with redirect_stdout(TextIOWrapper(BytesIO())):
        found = walked(WALKS[name]())
    print(f"{name}: {len({file for file, _ in found})} files, {len(found)} functions, {found.total()} calls")
    if every:
        for (file, function), calls in sorted(found.items(), key=lambda each: (-each[1], each[0])):
            print(f"{calls:8} {file}: {function}")


def main() -> None:
    """Runs each walk in a new process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="WALK", help=f"which: {', '.join(WALKS)} (default: all)")
    parser.add_argument("--list", action="store_true", help="show every function with the number of its calls")
    given = parser.parse_args()
    names = given.names or list(WALKS)
    if unknown := [name for name in names if name not in WALKS]:
        parser.error(f"unknown walk {unknown[0]!r} (valid: {', '.join(WALKS)})")
    if len(names) == 1:
        report(names[0], given.list)
        return
    for name in names:
        subprocess.run([sys.executable, __file__, name, *(["--list"] if given.list else [])], check=True)


if __name__ == "__main__":
    main()
