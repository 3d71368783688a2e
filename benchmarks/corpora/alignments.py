"""Protein pairs with known alignments: by structure (TM-align), and rows of BAliBASE families."""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.corpora.folder import corpus, data_file

ALPHABET = "ARNDCQEGHILKMFPSTWYVBZX*"
Match = tuple[int, int]


@dataclass
class KnownPair:
    """Two sequences, their alignment, what of it is scored, their family, and the group of families related to it."""

    x: str
    y: str
    matches: list[Match]
    family: str
    group: str  # families that share a sequence, which are never in different folds
    gold: list[Match]  # the pairs that are scored
    scored: set[Match] | None = None  # the letters that count, as (0, i) and (1, j); None: all
    weight: float = 1.0


def _letters(text: str) -> str:
    return "".join(a if a in ALPHABET else "X" for a in text.upper())


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def tm_pairs(least: float = 0.5, longest: int = 250) -> list[KnownPair]:
    """Pairs with at least this TM score, by either length; the family is the connected component of the PDB ids."""
    rows = []
    for name in ("pairs.a.tsv", "pairs.b.tsv"):
        rows += [line.split("\t") for line in _lines(data_file("protein-pairs-tmalign", name)) if line]
    rows = [
        row for row in rows if max(float(row[2]), float(row[3])) >= least and max(len(row[5]), len(row[6])) <= longest
    ]
    root = _components((row[0], row[1]) for row in rows)
    found = []
    for row in rows:
        i = j = 0
        matches = []
        for operation in row[7]:
            if operation in ":.":
                matches.append((i, j))
            i += operation != "2"
            j += operation != "1"
        family = root[row[0]]
        found.append(KnownPair(_letters(row[5]), _letters(row[6]), matches, family, family, matches))
    return found


def _components(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For every name the one that stands for all that are connected with it."""
    parent: dict[str, str] = {}

    def root(a: str) -> str:
        while parent.setdefault(a, a) != a:
            a = parent[a]
        return a

    for a, b in links:
        parent[root(a)] = root(b)
    return {name: root(name) for name in list(parent)}


def balibase_pairs(
    sets: tuple[str, ...] = ("RV11", "RV12"), per_family: int = 10, longest: int = 250
) -> list[KnownPair]:
    """Pairs of rows of families, cut to the homologous region; scored are the core columns; families weigh the same."""
    found = []
    links = []
    rng = np.random.default_rng(0)
    for name in sets:
        for family in "\n".join(_lines(corpus("balibase3") / f"{name}.BBS.afa")).split("//")[1:]:
            head, *records = family.split("\n>")
            title = head.split()[0]
            rows = dict(record.split("\n", 1) for record in records)
            core = rows.pop("CORE").replace("\n", "").strip()
            links += [(title, _structure(sequence)) for sequence in rows]
            texts = [row.replace("\n", "").strip() for row in rows.values()]
            pairs = [(a, b) for a in range(len(texts)) for b in range(a)]
            own = []
            for k in rng.permutation(len(pairs)).tolist():
                one = _row_pair(texts[pairs[k][0]], texts[pairs[k][1]], core, title)
                if one.gold and max(len(one.x), len(one.y)) <= longest:
                    own.append(one)
                if len(own) == per_family:
                    break
            for one in own:
                one.weight = 1 / len(own)
            found += own
    root = _components(links)
    for one in found:
        one.group = root[one.family]
    return found


def _structure(name: str) -> str:
    """The PDB id of a sequence, without its chain; or the name of a sequence without a structure."""
    return name.split("_")[0] if name[:1].isdigit() else name.strip()


def _row_pair(a: str, b: str, core: str, family: str) -> KnownPair:
    x, y, matches, gold, scored = list[str](), list[str](), [], [], set()
    for one, other, mark in zip(a, b, core, strict=True):
        if one != "-" and other != "-":
            matches.append((len(x), len(y)))
            if mark == "#":
                gold.append((len(x), len(y)))
        if mark == "#":
            scored |= ({(0, len(x))} if one != "-" else set()) | ({(1, len(y))} if other != "-" else set())
        x += [one] if one != "-" else []
        y += [other] if other != "-" else []
    return KnownPair(_letters("".join(x)), _letters("".join(y)), matches, family, family, gold, scored)


def folds_by_group(pairs: list[KnownPair], folds: int, seed: int = 0) -> list[list[KnownPair]]:
    """Parts of about the same weight, with no group in two of them."""
    groups = sorted({pair.group for pair in pairs})
    order = np.random.default_rng(seed).permutation(len(groups))
    own = {group: [pair for pair in pairs if pair.group == group] for group in groups}
    weight = {group: sum(pair.weight for pair in own[group]) for group in groups}
    parts: list[list[KnownPair]] = [[] for _ in range(folds)]
    weights = [0.0] * folds
    for group in sorted((groups[k] for k in order), key=lambda group: -weight[group]):
        lightest = int(np.argmin(weights))
        weights[lightest] += weight[group]
        parts[lightest].extend(own[group])
    return parts
