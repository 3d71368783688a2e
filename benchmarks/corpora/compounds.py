"""German words with their splits, and lattices of all the ways to split a word."""

from benchmarks.corpora.folder import data_file
from margrave.data import Lattice
from margrave.datasets import from_plf
from margrave.datasets.opening import read_lines

LINKS = ("", "s", "es", "n", "en", "e", "er")  # letters between the parts of a compound, which answers leave out
SHORTEST = 3  # letters of a part
_SEEN = 6  # lengths from here on count as one


def compounds() -> dict[str, list[str]]:
    """The right splits of each word, in both files together; parts are separated by blanks."""
    found: dict[str, list[str]] = {}
    for name in ("train.in-ref", "dev.nouns"):
        for _, line in read_lines(data_file("lattice-compound-split-de", name)):
            word, bars, answer = line.partition(" ||| ")
            if not bars:
                continue
            answers = _paths(from_plf(answer)) if answer.startswith("(") else [answer]
            for each in answers:
                split = " ".join(part for part in each.split() if part != "#")
                if split not in found.setdefault(word, []):
                    found[word].append(split)
    return found


def _paths(lattice: Lattice) -> list[str]:
    """The strings of all paths."""
    strings: list[list[str]] = [[""]] + [[] for _ in range(lattice.nodes - 1)]
    for edge in lattice.edges:
        strings[edge.head] += [f"{before} {edge.word}" for before in strings[edge.tail]]
    return strings[-1]


def split_lattice(word: str) -> Lattice:
    """All ways to split a word into parts with optional linking letters between them."""
    n = len(word)
    edges = []
    for begin in range(n):
        for end in range(begin + min(SHORTEST, n), n + 1):
            part = word[begin:end]
            for link in LINKS:
                after = end + len(link)
                if word[end:after] == link and (not link or after < n) and (after <= n - SHORTEST or after == n):
                    edges.append((begin, after, part, _features(word, part, begin, link)))
    return Lattice.of(edges, start=0, end=n, id=word)


def _features(word: str, part: str, begin: int, link: str) -> dict[str, float]:
    names = ["part", f"length={min(len(part), 12)}", f"first={part[:3]}", f"last={part[-3:]}", f"last2={part[-2:]}"]
    if len(part) < len(word):
        names += [f"link={link}", f"last+link={part[-2:]}+{link}", "inside" if begin else "begin"]
    if len(part) >= _SEEN:
        names += [f"first5={part[:5]}", f"last5={part[-5:]}"]
    return dict.fromkeys(names, 1.0)
