"""Protein pairs with known alignments: by structure (TM-align), and rows of BAliBASE families."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.corpora.folder import corpus, data_file

ALPHABET = "ARNDCQEGHILKMFPSTWYVBZX*"
Match = tuple[int, int]


@dataclass
class KnownPair:
    """Two sequences, their alignment, what of it is scored, and the family that they belong to."""

    x: str
    y: str
    matches: list[Match]
    family: str
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
    parent: dict[str, str] = {}

    def root(a: str) -> str:
        while parent.setdefault(a, a) != a:
            a = parent[a]
        return a

    for row in rows:
        parent[root(row[0])] = root(row[1])
    found = []
    for row in rows:
        i = j = 0
        matches = []
        for operation in row[7]:
            if operation in ":.":
                matches.append((i, j))
            i += operation != "2"
            j += operation != "1"
        found.append(KnownPair(_letters(row[5]), _letters(row[6]), matches, root(row[0]), matches))
    return found


def balibase_pairs(
    sets: tuple[str, ...] = ("RV11", "RV12"), per_family: int = 10, longest: int = 250
) -> list[KnownPair]:
    """Pairs of rows of families, cut to the homologous region; scored are the core columns; families weigh the same."""
    found = []
    rng = np.random.default_rng(0)
    for name in sets:
        for family in "\n".join(_lines(corpus("balibase3") / f"{name}.BBS.afa")).split("//")[1:]:
            head, *records = family.split("\n>")
            title = head.split()[0]
            rows = dict(record.split("\n", 1) for record in records)
            core = rows.pop("CORE").replace("\n", "").strip()
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
    return found


def _row_pair(a: str, b: str, core: str, family: str) -> KnownPair:
    x, y, matches, gold, scored = [], [], [], [], set()
    for one, other, mark in zip(a, b, core, strict=True):
        if one != "-" and other != "-":
            matches.append((len(x), len(y)))
            if mark == "#":
                gold.append((len(x), len(y)))
        if mark == "#":
            scored |= ({(0, len(x))} if one != "-" else set()) | ({(1, len(y))} if other != "-" else set())
        x += [one] if one != "-" else []
        y += [other] if other != "-" else []
    return KnownPair(_letters("".join(x)), _letters("".join(y)), matches, family, gold, scored)


def split(pairs: list[KnownPair], seed: int = 0) -> tuple[list[KnownPair], list[KnownPair], list[KnownPair]]:
    """Training, development and test pairs, about 60, 15 and 25 per cent, with no family in two of them."""
    families = sorted({pair.family for pair in pairs})
    order = np.random.default_rng(seed).permutation(len(families))
    parts: tuple[list[KnownPair], list[KnownPair], list[KnownPair]] = ([], [], [])
    goals, weights = (0.6, 0.15, 0.25), [0.0, 0.0, 0.0]
    sizes = {family: sum(pair.family == family for pair in pairs) for family in families}
    for k in sorted(order.tolist(), key=lambda k: -sizes[families[k]] if sizes[families[k]] > 0.05 * len(pairs) else 0):
        which = min(range(3), key=lambda p: weights[p] / goals[p])
        weights[which] += sizes[families[k]]
        parts[which].extend(pair for pair in pairs if pair.family == families[k])
    return parts
