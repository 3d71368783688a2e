"""Compares the CPU time of two installations of Margrave on the same commands, run in turn.

    python tools/interleave.py OLD/bin/margrave NEW/bin/margrave [REPEATS]

The commands go from file to file, with one thread, on the corpora of MARGRAVE_DATA. Each runs once unmeasured; the
medians of REPEATS runs, 9 unless given, are printed with their ratio, new to old.
"""

import gzip
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

COMMANDS = {
    "tag, eg": "train chunks -o tagger --learner eg --tol 0.01",
    "tag, lbfgs": "train chunks -o other --learner lbfgs --tol 0.1",
    "tag, bcfw": "train chunks -o other --loss hinge --learner bcfw --tol 0.2",
    "tag a file": "predict tagger new_chunks -o tagged",
    "parse": "train trees --task parse -o parser --tol 0.01",
    "parse, order 2": "train trees --task parse --order 2 -o parser2 --tol 0.1",
    "parse a file": "predict parser trees -o parsed",
    "parse a file, order 2": "predict parser2 trees -o parsed",
}
CORPORA = {
    "chunks": "conll2000/train.txt",
    "new_chunks": "conll2000/test.txt",
    "trees": "ud-english-ewt/en_ewt-ud-dev.conllu",
}


def corpus(name: str) -> bytes:
    """The bytes of a file of MARGRAVE_DATA, which may be packed."""
    path = Path(os.environ.get("MARGRAVE_DATA", "../shared/data"), name)
    return path.read_bytes() if path.exists() else gzip.decompress(path.with_name(path.name + ".gz").read_bytes())


def seconds(program: str, words: list[str]) -> float:
    """The CPU seconds of one process."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    process = os.posix_spawn(program, [program, *words, "--threads", "1"], os.environ, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{program} {' '.join(words)} failed.")
    return used.ru_utime + used.ru_stime


def main(old: str, new: str, repeats: str = "9") -> None:
    """Print one line per command."""
    data = {name: corpus(path) for name, path in CORPORA.items()}
    with tempfile.TemporaryDirectory() as root:
        # Each has a folder of its own, since one may not read the models of the other.
        homes = {os.path.abspath(program): Path(root, str(k)) for k, program in enumerate((old, new))}
        for home in homes.values():
            home.mkdir()
            for name, text in data.items():
                (home / name).write_bytes(text)
        for name, command in COMMANDS.items():
            runs: dict[str, list[float]] = {program: [] for program in homes}
            for k in range(int(repeats) + 1):
                for program in sorted(homes, reverse=k % 2 == 0):
                    os.chdir(homes[program])
                    runs[program].append(seconds(program, command.split()))
            before, after = (median(times[1:]) for times in runs.values())
            print(f"{name:<22} {before:8.3f} s {after:8.3f} s   ratio {after / before:.3f}", flush=True)
        os.chdir(os.sep)


if __name__ == "__main__":
    main(*sys.argv[1:])
