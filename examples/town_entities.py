"""Trains a conditional random field on the entities of the built-in corpus, and shows its certificate.

Run it with `make demo`; it draws the learning curve in demo/learning-curve.png.
"""

from pathlib import Path

from margrave import SequenceTagger
from margrave.datasets import load_town
from margrave.inputs.templates import default_templates
from margrave.learners import Record
from margrave.metrics import span_scores

PICTURE = Path("demo/learning-curve.png")


def main() -> None:
    templates = default_templates(2)  # column 0 is the word, column 1 its part of speech

    def examples(part: str) -> tuple[list[list[list[str]]], list[list[str]]]:
        sentences = load_town(part)
        return [templates.attributes(rows) for rows in sentences], [[row[2] for row in rows] for rows in sentences]

    X, y = examples("train")
    X_test, y_test = examples("test")
    # L-BFGS computes P at every iteration, which the learning curve needs. eg computes it only near the end.
    tagger = SequenceTagger(loss="log", C=1.0, learner="lbfgs", tol=1e-6, verbose=True).fit(X, y)
    scores = span_scores(y_test, tagger.predict(X_test))
    last = tagger.history_[-1]
    assert last.dual is not None and last.gap is not None

    print(f"trained on {len(X)} sentences: {len(tagger.coef_)} weights, {last.passes:g} passes, {last.seconds:.2f} s")
    print(f"entities in {len(X_test)} test sentences: precision {scores.precision:.1%}, recall {scores.recall:.1%}")
    print(f"test F1          {100 * scores.f1:8.2f}")
    print(f"primal P         {last.primal:14.6f}")
    print(f"dual D           {last.dual:14.6f}")
    print(f"gap P - D        {last.gap:14.6f}   so P is within {last.relative_gap:.1e} of the optimum, for certain")
    draw(tagger.history_)
    print(f"learning curve   {PICTURE}")


def draw(history: list[Record]) -> None:
    """Draws P and D, which approach the optimum from both sides, and the relative gap between them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    passes = [record.passes for record in history]
    best = max(record.dual or 0.0 for record in history)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(passes, [record.primal for record in history], label="primal P")
    left.plot(passes, [record.dual for record in history], label="dual D")
    left.set_ylim(0.6 * best, 1.8 * best)
    left.set(xlabel="passes over the data", ylabel="objective", title="The optimum lies between P and D")
    left.legend()
    right.semilogy(passes, [record.relative_gap for record in history], color="tab:green")
    right.set(xlabel="passes over the data", ylabel="relative gap", title="The certificate")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
