"""Learns to align sequences from pairs that it generates, and compares the learned scores with counted ones.

A sequence changes as it is passed on: some letters are replaced by their neighbor in the alphabet, and whole runs of
letters are lost or added. Prints the F1 of alignments that were not learned from, by equal letters alone, by counting,
and by learned scores; draws the posterior probabilities of one pair in demo/alignment.png, and the learned matrix in
demo/substitutions.png.
"""

from pathlib import Path

import numpy as np

from margrave import GenerativeAligner, SequenceAligner
from margrave.data import SubstitutionMatrix
from margrave.estimators.generative_aligner import aligner_of
from margrave.features import Sequences
from margrave.plots import posterior_diagram, save_figure, substitution_diagram

FOLDER = Path("demo")
LETTERS = "abcdefgh"
Pair = tuple[str, str]
Matches = list[tuple[int, int]]


def descend(rng: np.random.Generator, length: int = 40) -> tuple[Pair, Matches]:
    """A sequence, what has become of it, and which letters belong together."""
    old = rng.integers(0, len(LETTERS), length)
    new: list[int] = []
    matches: Matches = []
    i = 0
    while i < length:
        chance = rng.random()
        run = int(rng.integers(1, 6))
        if chance < 0.06:  # a run is lost
            i += run
        elif chance < 0.12:  # a run is added
            new += rng.integers(0, len(LETTERS), run).tolist()
        else:
            matches.append((i, len(new)))
            new.append(int(old[i] + (rng.random() < 0.5)) % len(LETTERS))
            i += 1
    x, y = ("".join(LETTERS[k] for k in sequence) for sequence in (old, new))
    return (x, y), matches


def main() -> None:
    rng = np.random.default_rng(0)
    made = [descend(rng) for _ in range(120)]
    X, y = [pair for pair, _ in made], [matches for _, matches in made]
    train, test = slice(0, 60), slice(60, 120)

    equal = aligner_of(SubstitutionMatrix(LETTERS, 2 * np.eye(len(LETTERS)) - 1, -2.0, -0.5))
    counted = GenerativeAligner(mode="global", alphabet=LETTERS).fit(X[train], y[train])
    learned = SequenceAligner(C=1.0, symmetric=False, features=Sequences(LETTERS)).fit(X[train], y[train])
    for name, model in (("equal letters", equal), ("counted", counted), ("learned", learned)):
        print(f"{name:<14} F1 {100 * model.score(X[test], y[test]):.1f} %")
    print("\n".join(learned.aligned(X[test])[0]))

    FOLDER.mkdir(exist_ok=True)
    pair, known = X[test][:1], y[test][0]
    table, predicted = learned.predict_marginals(pair)[0], learned.predict(pair)[0]
    save_figure(FOLDER / "alignment.png", posterior_diagram(table, *pair[0], predicted, gold=known))
    titles = ("learned", "counted")
    save_figure(FOLDER / "substitutions.png", substitution_diagram(learned.matrix_, counted.matrix_, titles=titles))
    print(f"Pictures are in {FOLDER / 'alignment.png'} and {FOLDER / 'substitutions.png'}.")


if __name__ == "__main__":
    main()
