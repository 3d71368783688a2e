"""Trains a dependency parser on the built-in treebank, and draws the test sentence that it is least sure about.

Run it with `python examples/parse_harbor.py`; it draws demo/tree.png.
"""

from pathlib import Path

import numpy as np

from margrave import DependencyParser
from margrave.datasets import load_harbor
from margrave.metrics import attachment_report, punctuation
from margrave.plots import arc_diagram, save_figure

PICTURE = Path("demo/tree.png")
LONGEST = 16  # words of a sentence to draw


def main() -> None:
    sentences = {part: load_harbor(part) for part in ("train", "test")}
    X = {part: [[(w.form, w.upos, w.feats) for w in s.words] for s in of] for part, of in sentences.items()}
    y = {part: [[(w.head, w.deprel) for w in s.words] for s in of] for part, of in sentences.items()}
    print(f"training on {len(X['train'])} sentences:        UAS     LAS   whole trees   (without punctuation)")
    test = sentences["test"]
    ignored = punctuation([[word.form for word in sentence.words] for sentence in test])
    gold = [s.heads for s in test], [[w.deprel for w in s.words] for s in test]
    for order in (1, 2):
        parser = DependencyParser(order=order).fit(X["train"], y["train"])
        trees = parser.predict(X["test"])
        heads, labels = [[head for head, _ in tree] for tree in trees], [[label for _, label in tree] for tree in trees]
        report = attachment_report(gold[0], heads, gold[1], labels, ignored)
        print(f"  order {order:<32d} {report.uas:7.1%} {report.las or 0:7.1%} {report.whole_trees:13.1%}")
        print(f"    certificate: relative gap {parser.certificate_.relative_gap:.1e}, {parser.stop_reason_}")
    sure = parser.predict_proba(X["test"], trees)
    short = [k for k in range(len(test)) if len(test[k].words) <= LONGEST]
    k = min(short, key=lambda k: float(np.min(sure[k])))
    words, tags = [word.form for word in test[k].words], [word.upos for word in test[k].words]
    figure = arc_diagram(
        words,
        heads[k],
        labels[k],
        tags=tags,
        gold_heads=gold[0][k],
        gold_labels=gold[1][k],
        probabilities=sure[k].tolist(),
    )
    PICTURE.parent.mkdir(exist_ok=True)
    save_figure(PICTURE, figure)
    print(f"picture of the sentence with the least certain head: {PICTURE}")


if __name__ == "__main__":
    main()
