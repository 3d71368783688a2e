"""Learns to split compound words, of which some may be split in several right ways, from lattices of all their splits.

Prints the splits of words that were not learned from with their probabilities, and draws the lattice of one of them in
demo/lattice.png.
"""

from math import exp
from pathlib import Path

from margrave import LatticeDecoder
from margrave.data import Lattice
from margrave.features import EdgeFeatures
from margrave.plots import lattice_diagram, save_figure

PICTURE = Path("demo/lattice.png")
SHORTEST = 3  # letters of a part

# Words and their right splits; a linking s between two parts is left out.
WORDS = {
    "doorbell": ["door bell"],
    "bellrope": ["bell rope"],
    "ropedoor": ["rope door"],
    "salesroom": ["sale room", "sales room"],
    "roomdoor": ["room door"],
    "saleroom": ["sale room"],
    "bell": ["bell"],
    "door": ["door"],
    "rope": ["rope"],
    "room": ["room"],
}
UNSEEN = ["bellroom", "ropesale", "salesbell"]


def splits(word: str) -> Lattice:
    """All ways to split a word, with an optional s between two parts."""
    edges = []
    for begin in range(len(word)):
        for end in range(begin + SHORTEST, len(word) + 1):
            for link in ("", "s"):
                after = end + len(link)
                if word[end:after] == link and (not link or after < len(word)):
                    features = {"part": 1.0, f"length {end - begin}": 1.0}
                    edges.append((begin, after, word[begin:end], features | ({"linking s": 1.0} if link else {})))
    return Lattice.of(edges, start=0, end=len(word), id=word)


def main() -> None:
    X = [splits(word) for word in WORDS]
    decoder = LatticeDecoder(C=10.0, features=EdgeFeatures(words=True)).fit(X, list(WORDS.values()))
    starts = ", ".join(f"{start['objective']:.3f}" for start in decoder.starts_)
    print(f"objectives of {len(decoder.starts_)} starts: {starts}")
    unseen = [splits(word) for word in UNSEEN]
    predicted = decoder.predict(unseen)
    for word, split, p in zip(UNSEEN, predicted, decoder.log_probability(unseen, predicted), strict=True):
        print(f"{word:<10} {split:<12} {exp(p):.2f}")
    marginals = decoder.predict_marginals(unseen)[-1]
    PICTURE.parent.mkdir(exist_ok=True)
    save_figure(PICTURE, lattice_diagram(unseen[-1], marginals.clip(0.0, 1.0).tolist(), title=UNSEEN[-1]))
    print(f"The lattice of {UNSEEN[-1]} is in {PICTURE}.")


if __name__ == "__main__":
    main()
