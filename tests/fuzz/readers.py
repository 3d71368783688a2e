"""Readers of files: every public function or method that reads a format gets changed files of all formats.

A reader is found by its name, which begins with `read` or `from_plf`, so a new one is tried without any entry here;
with samples of its own format it is tried better.
"""

import inspect
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import margrave.datasets
import margrave.features
import margrave.translation
from margrave.errors import MargraveError
from tests.fuzz.expressions import evaluated, odd
from tests.fuzz.targets import Case, Target, WrongError
from tests.fuzz.texts import as_bytes, as_json, changed

_ITEMS = 100_000  # of a reader that gives them one by one

CONLLU = (
    "# sent_id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tIN\tA=1|B=2\t2\tcase\t_\tNER=O\n"
    "2\tle\tle\tDET\t_\t_\t0\troot\t2:x\tNER=B-X|Space=No\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    "1\ta\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n3\tc\t_\tX\t_\t_\t2\tdep\t_\t_\n\n"
)
CONLLX = "1\ta\ta\tN\tN\t_\t2\tsubj\t_\t_\n2\tb\tb\tV\tV\tx=1\t0\troot\t_\t_\n\n1\tc\tc\tN\tN\t_\t0\troot\t_\t_\n"
ARPA = (
    "\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-1.0\t<s>\t-0.5\n-0.9\t</s>\n-0.7\ta\t-0.2\n-1.5\t<unk>\n\n"
    "\\2-grams:\n-0.2\t<s> a\n-0.4\ta a\n-0.3\ta </s>\n\n\\end\\\n"
)
SVMLIGHT = "1 qid:1 1:0.5 3:-2 # a\n2 qid:1 2:1e-3\n-1 qid:2 1:1 2:2 3:3\n"
FOREST = (
    '{"rules": [1, "[X] ||| a", 2, "[X] ||| [1] b"], "features": ["p"], "edges": [{"tail": [], "feats": [0, -0.5], '
    '"rule": 1}], "node": {"in_edges": [0]}, "edges": [{"tail": [0], "feats": ["p", -0.2], "rule": 2}], "node": '
    '{"in_edges": [1]}}\n'
)
LATTICE = (
    '{"edges": [{"from": 0, "to": 1, "word": "a", "features": {"x": -1.5}}, {"from": 0, "to": 1, "word": "b"}, '
    '{"from": 1, "to": "end"}], "good": ["a"], "id": "7", "start": 0, "end": "end"}\n'
)
GRAPH = (
    '{"nodes": [["red"], [], {"blue": 2}], "edges": [[0, 1], [2, 1]], "labels": ["r", null, "b"]}\n'
    '{"nodes": [[1, 2], [0, 1], [1, 0], [0, 0]], "shape": [2, 2], "edge_features": [], "labels": ["a", "b", "a", 1]}\n'
)
RULES = (
    '{"nodes": [["a"], ["b"]], "edges": [], "rules": [{"xor": [[0, "r"], [1, "r", false]]}, {"implies": [[0, "r"]], '
    '"then": [1, "b"]}, {"budget": [[0, "r"]], "most": 1}, {"allowed": [["r", "b"]], "nodes": [0, 1]}]}\n'
)
CYCLE = "1\ta\t_\tX\t_\t_\t2\tx\t_\t_\n2\tb\t_\tX\t_\t_\t1\tx\t_\t_\n3\tc\t_\tX\t_\t_\t0\tx\t_\t_\n\n"
# Samples of each format, by the name of its reader.
SAMPLES: dict[str, list[str]] = {
    "read_columns": ["the D\ndog N\n\n-DOCSTART- X\n\na\tD\nb  N\n", "w\tB-X\nv\tI-X\n\n"],
    "read_conllu": [CONLLU, CYCLE],
    "read_conllx": [CONLLX, CYCLE],
    "read_brackets": ["(S (NP (N we)) (VP (V see) (NP-SBJ=1 (N cats) (-NONE- *))))\n( (X (Y a)\n (Z b)))\n"],
    "read_svmlight": [SVMLIGHT, "a,b 1:1\nc 2:1\n,d 3:2\n"],
    "read_svmlight_paths": ["a/b 1:1\na/c;d 2:1 # x\n", "4/6/2 1:0.5 2:1\n"],
    "read_ranking": [SVMLIGHT.replace("-1 ", "0 ")],
    "read_texts": ["a/b\tthe cat\nc\tthe dog\n", "a;b\ttext\n"],
    "read_descriptions": ["a/b\tthe cat\na\tanimals\n"],
    "read_hierarchy": ["a b\na c\nc d\n", "a\tb\nb\tc\n", "a/b\na/c/d\n"],
    "read_taxonomy": ["a b\na c\nc d\n", "1 2\n1 3\n3 4\n"],
    "read_fasta": [">one\nACGT\nAC\n>two x\nAC-T\n\n"],
    "read_pairs": ["ACGT\tA-GT\nGATC\tG-TC\n", "AC GT\n"],
    "read_matrix": [
        "# in 1/2 Bit Units\n# gap_open=-10 gap_extend=-1\n   A  C  G\nA  4 -1 -2\nC -1  5 0\nG -2 0 6\n",
        "# scale = 0.5\n A C\nA 1 0\nC 0 1\n",
    ],
    "read_nbest": [
        "0 ||| a b ||| d: -1.5 0 lm: -20.1 ||| -3.4\n0 ||| a ||| d: -1 0 lm: -2 ||| 0 ||| x\n1 ||| b ||| d: 1 2 lm: 3",
        "0 ||| a ||| Distortion0= -1.5 0 LM0= -20.1 wt_a~b= 1\n",
        "0 ||| a ||| Distortion=-1.5 LM=-20.1\n1 ||| b c ||| LM=1\n",
    ],
    "read_references": ["the house\na dog\n\n"],
    "read_alternatives": ["the D|N\ndog N\n\n", "0 1 2 a\n", "1|0 2|a b\n2|1 1|c\n"],
    "read_graphs": [GRAPH, RULES],
    "read_forests": [FOREST],
    "read_lattices": [LATTICE, "((('a',1.0,1),('b',-2.5,2),),(('*EPS*',0.5,1),),)\n"],
    "from_plf": ["((('a',1.0,1),('b',-2.5,2),),(('*EPS*',0.5,1),),)"],
    "read_parallel": ["a b ||| x y ||| 0-0 1-1\nc ||| z ||| 0-0\n", "a b ||| x\n", "0-0 1-1\n\n"],
    "read_sentences": ["a  b\n\nc\n"],
    "NGramModel.read_arpa": [ARPA],
    "SynchronousGrammar.read": [
        "[X] ||| haus ||| house ||| p=-0.1 q=2\n[X] ||| das [X,1] von [Y,2] ||| the [1] of [2] ||| 0.5 1 ||| 0-0\n"
        "[S] ||| [S,1] [X,2] ||| [S,1] [X,2] |||\n"
    ],
    "read_templates": ["0[0]\n1[-1]|1[0]  # pairs\nlower(0[1])\nsuffix3(0[0])|1[0]\nbegin\nend\n", "w[0]|w[1]\n"],
}
# Arguments besides the source, as expressions: those that a reader needs, and values for those that it can do without.
_NEEDED = {"Y": ["[['D', 'N'], ['D']]", "[['B-X', 'I-X'], []]", "[]"]}
_OFFERED = {
    "encoding": ["'utf-8'", "'latin-1'", "'utf-16'", "'ascii'", "'no such'"],
    "columns": ["None", "[0]", "[1, 0]", "[-1]", "[5]", "[2**63]", "[]"],
    "separator": ["None", "'\\t'", "' '", "'|'", "''", "'\\n'"],
    "alphabet": ["None", "'ACGT'", "''", "['A', 'C']"],
    "n_features": ["None", "3", "1", "0", "-1", "2**31", "2**63"],
    "neighbors": ["4", "8", "5", "'4'"],
    "span_limit": ["None", "10", "0", "2**31 - 1", "2**40"],
    "sign": ["1.0", "-1.0", "nan", "0"],
    "prefix": ["'p'", "''"],
    "good": ["()", "['a']", "'a'"],
    "id": ["''", "'7'"],
}


_KEPT_WHEN_READ_AGAIN = {"clean", "single_root"}  # with others, a file has more or less than what was read


@cache
def scratch() -> Path:
    """A folder of this process: the worker's, if it is one."""
    return Path(os.environ.get("MARGRAVE_FUZZ_FOLDER") or tempfile.mkdtemp(prefix="margrave-fuzz-"))


def _found() -> Iterator[tuple[str, Any, Any]]:
    """The name of each reader, the function, and the module that has a writer for it."""
    for module in (margrave.datasets, margrave.translation, margrave.features):
        for name in module.__all__:
            thing = getattr(module, name)
            if name.startswith("read_") or name == "from_plf":
                yield name, thing, module
            elif inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, callable):
                    if method == "read" or method.startswith("read_"):
                        yield f"{name}.{method}", function, thing


def function_named(name: str) -> Any:
    """The reader that a target tries."""
    return next(function for known, function, _ in _found() if known == name)


def targets() -> list[Target]:
    """Every reader."""
    return [_target(*each) for each in _found()]


def _target(name: str, function: Any, home: Any) -> Target:
    parameters = list(inspect.signature(function).parameters.values())
    method = parameters[0].name == "self"
    parameters = parameters[method:]
    samples = [text.encode() for text in SAMPLES.get(name, [])]
    others = [text.encode() for texts in SAMPLES.values() for text in texts]
    writer = getattr(home, name.replace("read_", "write_"), None) if inspect.ismodule(home) else None

    def make(rng: Random) -> Case:
        case: Case = {
            "text": as_json(changed(rng, samples or others, others)),
            "how": rng.choice(["path"] * 4 + ["stream"]),
        }
        more = {}
        for each in parameters[1:]:
            if each.name in _NEEDED:
                more[each.name] = rng.choice(_NEEDED[each.name])
            elif each.default is not each.empty and rng.random() < 0.15:
                if each.name in ("target", "alignments"):
                    case[each.name] = as_json(changed(rng, samples or others, others))
                elif isinstance(each.default, bool):
                    more[each.name] = str(not each.default)
                else:
                    more[each.name] = rng.choice(_OFFERED.get(each.name) or [repr(each.default), odd(rng)])
        return {**case, "more": more}

    def run(case: Case, passed: Callable[[str], None]) -> None:
        call = getattr(home(), name.rpartition(".")[2]) if method else function
        more = {key: evaluated(value) for key, value in case["more"].items()}
        for key in ("target", "alignments"):
            if key in case:
                more[key] = _file(key, as_bytes(case[key]))
        text = as_bytes(case["text"])
        if name == "from_plf":
            source: Any = text.decode("utf-8", "replace")
        elif case["how"] == "stream" and "IO[bytes]" in str(parameters[0].annotation):
            source = io.BytesIO(text)
        elif case["how"] == "stream" and "IO[str]" in str(parameters[0].annotation):
            source = io.StringIO(text.decode("utf-8", "surrogateescape"))
        else:
            source = _file("file", text)
        found = call(source, **more)
        items = list(islice(found, _ITEMS)) if isinstance(found, Iterator) else found
        passed("read")
        if writer is not None and isinstance(items, list) and set(more) <= _KEPT_WHEN_READ_AGAIN:
            _check_written(name, function, writer, items, more)

    return Target("readers", name, make, run)


def _file(name: str, text: bytes) -> str:
    path = scratch() / name
    path.write_bytes(text)
    return os.fspath(path)


def _check_written(name: str, read: Any, write: Any, items: list[Any], more: dict[str, Any]) -> None:
    """What was read can be written, or is refused in one sentence, and what was written reads the same."""
    items = [getattr(item, "fields", item) if name == "read_graphs" else item for item in items]
    path = scratch() / "written"
    try:
        write(path, items)
    except MargraveError:
        return
    try:
        again = list(read(path, **more))
    except MargraveError as error:
        if items:
            raise WrongError(f"{name} cannot read what was written of its own: {error}") from error
        return
    again = [getattr(item, "fields", item) if name == "read_graphs" else item for item in again]
    if _plain(again) != _plain(items):
        raise WrongError(f"{name} reads something else than what was written: {items!r:.300} became {again!r:.300}")


def _plain(value: Any) -> str:
    """The value as a text, in which NaN is equal to itself."""
    with np.printoptions(threshold=10**6, precision=17):
        return repr(value)
