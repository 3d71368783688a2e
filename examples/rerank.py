"""Learns where a diner likes to eat from evenings on which some restaurants pleased them and others did not.

Compares the weights found with the log loss, the hinge loss and a linear program, which ignores features that do not
matter. Run it with `python examples/rerank.py`; it draws demo/taste.png. The diner and the restaurants are invented.
"""

from pathlib import Path

import numpy as np

from margrave import Reranker
from margrave.learners import LP

PICTURE = Path("demo/taste.png")
TASTE = {"distance": -1.0, "price": -0.6, "rating": 0.9, "thai": 0.7, "bakery": -0.5}  # the diner never reveals it
CUISINES = ["bakery", "french", "greek", "thai"]
COLORS = [f"chair {k}" for k in range(20)]  # the colors of the chairs, which do not matter to anybody

Restaurant = dict[str, float]
Evening = tuple[list[Restaurant], list[int], list[float]]


def evening(rng: np.random.Generator) -> Evening:
    """Returns the open restaurants, the indices of the good ones, best first, and how much worse the others are."""
    restaurants: list[Restaurant] = []
    for distance, price, rating in rng.normal(size=(rng.integers(5, 15), 3)):
        furniture = dict.fromkeys(rng.choice(COLORS, 4, replace=False).tolist(), 1.0)
        measured = {"distance": float(distance), "price": float(price), "rating": float(rating)}
        restaurants.append({**measured, **furniture, str(rng.choice(CUISINES)): 1.0})
    pleasure = [sum(TASTE.get(name, 0.0) * value for name, value in one.items()) for one in restaurants]
    moody = pleasure + rng.normal(scale=0.3, size=len(restaurants))
    regret = max(moody) - moody
    good = [int(k) for k in np.argsort(regret) if regret[k] < 0.2]
    return restaurants, good, [0.0 if k in good else float(regret[k]) for k in range(len(restaurants))]


def main() -> None:
    rng = np.random.default_rng(0)
    X, y, costs = zip(*(evening(rng) for _ in range(300)), strict=True)
    X_test, y_test, costs_test = zip(*(evening(rng) for _ in range(1000)), strict=True)
    given = {
        "the nearest": Reranker.of_weights({"distance": -1.0}),
        "the best rated": Reranker.of_weights({"rating": 1.0}),
    }
    # The linear program penalizes |w|_1 instead of |w|^2, so most weights are exactly zero.
    learned = {
        "log loss": Reranker(loss="log", C=0.1).fit(X, y, costs=costs),
        "hinge loss": Reranker(loss="hinge", C=0.1).fit(X, y, costs=costs),
        "linear program": Reranker(loss="hinge", C=0.05, learner=LP(free_sign=True)).fit(X, y, costs=costs),
    }
    print(f"trained on {len(X)} evenings, tested on {len(X_test)}:     good   regret   weights")
    for name, ranker in {**given, **learned}.items():
        chosen = ranker.predict(X_test)
        regret = np.mean([cost[k] for cost, k in zip(costs_test, chosen, strict=True)])
        print(f"  {name:38s}  {ranker.score(X_test, y_test):7.1%} {regret:8.3f} {len(ranker.feature_weights()):9d}")
    draw({"the diner's own": TASTE, **{name: ranker.feature_weights() for name, ranker in learned.items()}})
    print(f"picture of the learned weights: {PICTURE}")


def draw(tastes: dict[str, dict[str, float]]) -> None:
    """Draws, for each feature of a restaurant, its share of the total weight in each of the tastes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = ["distance", "price", "rating", *CUISINES, *COLORS]
    figure, axes = plt.subplots(figsize=(11, 4), layout="constrained")
    for k, (whose, weights) in enumerate(tastes.items()):
        total = sum(map(abs, weights.values()))
        heights = [weights.get(name, 0.0) / total for name in names]
        axes.bar(np.arange(len(names)) + 0.2 * k - 0.3, heights, 0.2, label=whose)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axes.set(ylabel="share of all weight", title="The diner's taste, and the learned weights")
    axes.legend()
    axes.grid(axis="y", alpha=0.3)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
