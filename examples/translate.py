"""Learns to translate an invented language, whose adjectives follow their nouns, from word-aligned sentence pairs.

Prints the BLEU of each round of tuning and translations of new sentences, and draws a search graph in
demo/translation.png.
"""

from itertools import product
from pathlib import Path

from margrave import Translator
from margrave.plots import lattice_diagram, save_figure

PICTURE = Path("demo/translation.png")
IMPROBABLE = 0.01  # edges below this probability are not drawn

ARTICLES = {"lo": "the", "un": "a"}
NOUNS = {"kanu": "boat", "tavo": "harbor", "rimi": "gull"}
ADJECTIVES = {"suri": "grey", "mela": "old", "pika": "small"}
VERBS = {"vidas": "sees", "laudas": "leaves"}
NEW = ["lo rimi pika vidas un kanu mela", "un tavo vidas lo gunta suri"]  # nobody knows what a gunta is


def corpus() -> tuple[list[str], list[str], list[str]]:
    """Sentences, their translations, and the links between their words."""
    X, y, links = [], [], []
    for k, (article, noun, adjective, verb) in enumerate(product(ARTICLES, NOUNS, ADJECTIVES, VERBS)):
        other = list(NOUNS)[k % 3]
        X.append(f"{article} {noun} {adjective} {verb} lo {other}")
        y.append(f"{ARTICLES[article]} {ADJECTIVES[adjective]} {NOUNS[noun]} {VERBS[verb]} the {NOUNS[other]}")
        links.append("0-0 1-2 2-1 3-3 4-4 5-5")
    return X, y, links


def main() -> None:
    translator = Translator("mert", rounds=2, k=20, beam=20).fit(*corpus())
    scores = ", ".join(f"{100 * each.bleu:.1f}" for each in translator.rounds_)
    print(f"BLEU of {len(translator.rounds_)} decodings: {scores}")
    for sentence, translation in zip(NEW, translator.predict(NEW), strict=True):
        print(f"{sentence} -> {translation}")
    print(f"unknown words: {translator.n_unknown_}")
    (lattice,), (marginals,) = translator.lattices(NEW[:1]), translator.predict_marginals(NEW[:1])
    improbable = marginals < IMPROBABLE
    PICTURE.parent.mkdir(exist_ok=True)
    shown = marginals[~improbable].clip(0.0, 1.0).tolist()
    save_figure(PICTURE, lattice_diagram(lattice.without(improbable), shown, title=NEW[0]))
    print(f"The search graph of the first sentence is in {PICTURE}.")


if __name__ == "__main__":
    main()
