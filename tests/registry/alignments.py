"""Alignments, and homologues among decoys."""

from collections import Counter

import numpy as np

from margrave import _core
from margrave.data import Letters
from margrave.examples import Examples
from margrave.losses import Hamming
from margrave.structures import Alignment, Homology, NoOutputs
from margrave.testing.enumeration import Outputs
from tests.references.alignments import AlignmentParts, alignments, edge_parts
from tests.registry.cases import Case, CountedCase, register
from tests.registry.hypergraphs import part_rows


def distinct_letters(rng: np.random.Generator, letters: int, length: int) -> list[int]:
    """Without repeats, so that tied parts of different alignments are different."""
    return [int(a) for a in rng.permutation(letters)[:length]]


@register("alignment, global, tied", mode="global", tied=True)
@register("alignment, local, tied", mode="local", tied=True)
@register("alignment, semi-global, tied", mode="semi-global", tied=True)
@register("alignment, global, tied, linear", mode="global", tied=True, gaps="linear")
@register("alignment, local, tied, linear", mode="local", tied=True, gaps="linear")
@register("alignment, semi-global, tied, linear", mode="semi-global", tied=True, gaps="linear")
@register("alignment, global", mode="global")
@register("alignment, local", mode="local")
@register("alignment, semi-global", mode="semi-global")
@register("alignment, global, linear", mode="global", gaps="linear")
@register("alignment, local, linear", mode="local", gaps="linear")
@register("alignment, semi-global, linear", mode="semi-global", gaps="linear")
@register("alignment, edges", edges=True)
def alignment(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    mode: str = "global",
    gaps: str = "affine",
    tied: bool = False,
    edges: bool = False,
) -> Case:
    letters = 4
    longest = 3 if tied or edges else 4  # tests of the structure itself go up to 5
    outputs, gold, costs, golds, xs, ys, items = [], [], [], [], [], [], []
    for k in range(size):
        n, m = (1, 1) if k == 0 else (int(a) for a in rng.integers(1, longest + 1, 2))
        x, y = distinct_letters(rng, letters, n), distinct_letters(rng, letters, m)
        every = list(alignments(n, m))
        right = every[rng.integers(len(every))]
        parts = AlignmentParts(x, y, mode, gaps == "affine", tied, letters)
        bags = [edge_parts(n, m, each) if edges else parts.of(each) for each in every]
        outputs.append(Outputs(10 * n * m + 1 if edges else len(parts.number), bags))
        gold.append(bags[every.index(right)])
        golds.append(right)
        wrong = [float(len(set(each) ^ set(right))) for each in every]
        costs.append(np.array(wrong) if not tied else np.zeros(len(every)))
        xs.append(x)
        ys.append(y)
        items.append([Counter(each) for each in every])
    structure = Alignment(mode, gaps, tied, edges, letters)
    bound = structure.bind(
        structure.learn(golds),
        Examples.of_sizes(np.zeros(0, dtype=np.int64), golds, x=Letters.of(xs), y=Letters.of(ys)),
        Hamming(),
    )
    rows, matrices = part_rows(rng, [each.n for each in outputs], 5)
    features = _core.sparse_parts(5, rows, bound.choices, bound.repeats)
    return CountedCase(_core.join(bound, features), outputs, gold, costs, matrices, items=items)


@register("homology, local", mode="local")
@register("homology, global, affine", mode="global", gaps="affine")
def homology(rng: np.random.Generator, cost: str, size: int, *, mode: str, gaps: str = "linear") -> Case:
    letters = 4
    outputs, gold, costs, golds, xs, candidates, first = [], [], [], [], [], [], [0]
    for _ in range(size):
        x = distinct_letters(rng, letters, int(rng.integers(1, 4)))
        own = [distinct_letters(rng, letters, int(rng.integers(1, 4))) for _ in range(rng.integers(1, 4))]
        good = int(rng.integers(len(own)))
        shared, bags = 0, []
        for k, y in enumerate(own):
            parts = AlignmentParts(x, y, mode, gaps == "affine", True, letters, begins=False)
            shared = len(parts.number)
            every = list(alignments(len(x), len(y)))
            if k == good:
                every = [every[rng.integers(len(every))]]
                golds.append((good, every[0]))
                gold.append(tuple(sorted([*parts.of(every[0]), shared + k])))
            bags += [tuple(sorted([*parts.of(each), shared + k])) for each in every]
        outputs.append(Outputs(shared + len(own), bags))
        costs.append(np.array([float(shared + good not in bag) for bag in bags]))
        xs.append(x)
        candidates += own
        first.append(len(candidates))
    structure = Homology(mode, gaps, letters)
    bound = structure.bind(
        NoOutputs(),
        Examples.of_sizes(
            np.zeros(0, dtype=np.int64),
            golds,
            x=Letters.of(xs),
            candidates=Letters.of(candidates),
            first=np.array(first, dtype=np.int64),
        ),
    )
    rows, matrices = part_rows(rng, [each.n for each in outputs], 5)
    features = _core.sparse_parts(5, rows, bound.choices, bound.repeats)
    return Case(_core.join(bound, features), outputs, gold, costs, matrices)
