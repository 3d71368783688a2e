"""Dependency trees of first and second order, by arcs, labels and templates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.binding import bind as bind_examples
from margrave.data import ArcLabels, Arcs
from margrave.examples import Examples
from margrave.features import ArcTemplates
from margrave.losses import Hamming
from margrave.maps import SparseMap, TreeMap
from margrave.structures import ArcPairTree, Labels, NonProjectiveTree, NoOutputs, ProjectiveTree, SecondOrderTree
from margrave.testing.enumeration import Array, Outputs, Parts
from tests.references.arc_pairs import arc_pair_parts, every_tree, parts_of
from tests.references.enumeration import (
    LabeledParts,
    arc_part,
    projective_trees,
    second_order_parts,
    tree_parts,
    trees,
)
from tests.references.problems import bind
from tests.registry.cases import Case, register
from tests.registry.labels import Rows


@register("tree, single root", single_root=True)
@register("tree, several roots", single_root=False, form="real")
@register("tree, hashed", single_root=True, bits=3)
@register("tree, vectors", single_root=False, form="vectors")
@register("tree, allowed", single_root=True, allow=True)
@register("tree, allowed, several roots", single_root=False, allow=True)
@register("tree, pruned", single_root=True, prune=True)
@register("tree, pruned and allowed, several roots", single_root=False, prune=True, allow=True, form="real")
@register("projective tree, single root", single_root=True, projective=True)
@register("projective tree, several roots", single_root=False, projective=True, form="real")
@register("projective tree, hashed", single_root=False, projective=True, bits=3)
@register("projective tree, allowed", single_root=True, projective=True, allow=True)
@register("projective tree, allowed, several roots", single_root=False, projective=True, allow=True, form="vectors")
@register("projective tree, pruned", single_root=True, projective=True, prune=True, form="vectors")
@register("projective tree, pruned and allowed", single_root=True, projective=True, prune=True, allow=True)
@register("projective tree, pruned, several roots", single_root=False, projective=True, prune=True, bits=3)
def tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    single_root: bool,
    projective: bool = False,
    allow: bool = False,
    prune: bool = False,
    form: str = "names",
    bits: int = 0,
) -> Case:
    words = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    every_tree = projective_trees if projective else trees
    all_trees = [list(every_tree(n, single_root)) for n in words]
    gold = [every[rng.integers(len(every))] for every in all_trees]
    left, allowed = random_arcs(rng, gold, prune), random_arcs(rng, gold, allow)
    all_trees = [
        [heads for heads in every if (here & may)[list(tree_parts(heads))].all()]
        for every, here, may in zip(all_trees, left, allowed, strict=True)
    ]
    number = [np.cumsum(mask) - 1 for mask in left]  # of the arcs that are left
    parts = [lambda heads, here=here: tuple(here[list(tree_parts(heads))].tolist()) for here in number]
    rows = Rows(rng, [int(mask.sum()) for mask in left], form, bits)
    problem = bind(
        (ProjectiveTree if projective else NonProjectiveTree)(single_root),
        rows.given,
        gold,
        feature_map=SparseMap(bits),
        allowed=np.concatenate(allowed) if allow else None,
        arcs=Arcs(np.array(words), np.concatenate(left)) if prune else None,
    )
    return Case(
        problem,
        [
            Outputs(int(mask.sum()), [of(heads) for heads in every])
            for mask, of, every in zip(left, parts, all_trees, strict=True)
        ],
        [of(heads) for of, heads in zip(parts, gold, strict=True)],
        [attachment_errors(heads, every) for heads, every in zip(gold, all_trees, strict=True)],
        rows.matrices(),
    )


def random_arcs(rng: np.random.Generator, gold: list[Parts], some: bool) -> list[NDArray[np.bool_]]:
    """For each sentence some of its arcs, those of the gold tree among them, or all."""
    masks = [rng.random(len(heads) ** 2) < (0.7 if some else 1.0) for heads in gold]
    for mask, heads in zip(masks, gold, strict=True):
        mask[list(tree_parts(heads))] = True
    return masks


def attachment_errors(gold: Parts, every: list[Parts]) -> Array:
    """The number of wrong heads of every tree."""
    return np.array([sum(a != b for a, b in zip(gold, heads, strict=True)) for heads in every], dtype=float)


def random_heads(rng: np.random.Generator, gold: Parts) -> list[list[int]]:
    """For each word some heads that it may have, the gold one among them."""
    n = len(gold)
    return [
        [head for head in range(n + 1) if head != word and (head == gold[word - 1] or rng.random() < 0.6)]
        for word in range(1, n + 1)
    ]


@register("second-order tree, siblings", parts="siblings")
@register("second-order tree, siblings, several roots", parts="siblings", single_root=False, form="real")
@register("second-order tree, siblings, allowed", parts="siblings", allow=True)
@register("second-order tree, grandparents", parts="grandparents", form="vectors")
@register("second-order tree, grandparents, allowed", parts="grandparents", allow=True, single_root=False, bits=3)
def second_order_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    parts: str,
    single_root: bool = True,
    allow: bool = False,
    form: str = "names",
    bits: int = 0,
) -> Case:
    words = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    all_trees = [projective_trees(n, single_root) for n in words]
    gold = [every[rng.integers(len(every))] for every in all_trees]
    allowed = [random_heads(rng, heads) for heads in gold] if allow else None
    if allowed is not None:
        all_trees = [
            [tree for tree in every if all(head in may for head, may in zip(tree, heads, strict=True))]
            for every, heads in zip(all_trees, allowed, strict=True)
        ]
    numbers = [
        second_order_parts(n, parts == "grandparents", single_root, allowed and allowed[i]) for i, n in enumerate(words)
    ]
    rows = Rows(rng, [len(number) for number in numbers], form, bits)
    structure = SecondOrderTree(parts, single_root)
    problem = bind(structure, rows.given, gold, feature_map=SparseMap(bits), allowed=allowed)
    matrices = rows.matrices()
    return Case(
        problem,
        [
            Outputs(len(number), [number.of(heads) for heads in every])
            for number, every in zip(numbers, all_trees, strict=True)
        ],
        [number.of(heads) for number, heads in zip(numbers, gold, strict=True)],
        [attachment_errors(heads, every) for heads, every in zip(gold, all_trees, strict=True)],
        matrices,
    )


@register("arc-pair tree", exact=False)
@register("arc-pair tree, several roots, messages kept", exact=False, single_root=False, form="real", keep=1.0)
@register("arc-pair tree, allowed, reweighted", exact=False, allow=True, fallback="reweighted")
def arc_pair_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    single_root: bool = True,
    allow: bool = False,
    form: str = "names",
    **inference: Any,
) -> Case:
    gold, restrictions, outputs, parts, costs = [], [], [], [], []
    for n in rng.integers(1, 5, size).tolist():
        every = list(trees(n, single_root))
        right = every[rng.integers(len(every))]
        heads = random_heads(rng, right) if allow else None
        left = every_tree(n, single_root, heads)
        number = arc_pair_parts(n, single_root, heads)
        gold.append(right)
        restrictions.append(heads)
        outputs.append(Outputs(len(number), [parts_of(number, tree) for tree in left]))
        parts.append(parts_of(number, right))
        costs.append(attachment_errors(right, left))
    rows = Rows(rng, [each.n for each in outputs], form, 0)
    bound = bind_examples(
        ArcPairTree(single_root, **inference),
        SparseMap(),
        Examples(rows.given, [list(heads) for heads in gold], extras={"allowed": restrictions} if allow else {}),
        costs=Hamming(),
    )
    return Case(bound.problem, outputs, parts, costs, rows.matrices(), bound=bound.approximate)


@register("tree by templates", structure=NonProjectiveTree)
@register("projective tree by templates, pruned", structure=ProjectiveTree, prune=True)
@register("labeled tree by templates, pruned", structure=NonProjectiveTree, prune=True, labeled=True)
@register("second-order tree by templates", structure=SecondOrderTree)
@register("labeled second-order tree by templates, pruned", structure=SecondOrderTree, prune=True, labeled=True)
def tree_by_templates(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    structure: Any,
    prune: bool = False,
    labeled: bool = False,
) -> Case:
    """Attributes from templates, as the core maps them; the matrix comes from their names, as Python spells them."""
    classes = ["a", "b"]
    second = structure is SecondOrderTree
    words = [1, 3, *(int(n) for n in rng.integers(1, 4, max(0, size - 2)))][:size]
    columns = (["Dog", "dogs", "\u00e9tat"], ["N", "V"], ["_", "Case=Nom", "Case=Nom|Number=Sing"])
    X = [[[str(rng.choice(values)) for values in columns] for _ in range(n)] for n in words]
    all_trees = [list((trees if structure is NonProjectiveTree else projective_trees)(n, True)) for n in words]
    heads = [every[rng.integers(len(every))] for every in all_trees]
    left = random_arcs(rng, heads, prune)
    arcs = [
        [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m and mask[arc_part(n, h, m)]]
        for n, mask in zip(words, left, strict=True)
    ]
    templates = [
        *(
            "way",
            "h[0].lower|w[1]",
            "w[0]-1.stem2|h[1]+1",
            "w[0].suffix3|dir",
            "h[2].each|w[2].each",
            "between[1]|w[1]",
        ),
        *(["s[1]|w[1]|dir", "h[1]|s[0].lower", "g[1]|h[1]|dir", "g[2].each|way"] if second else []),
        *(["h[1]|w[1]|label", "w[2].each|label", "label"] if labeled else []),
    ]
    features = ArcTemplates(templates).learn(X)
    gold = [[(head, int(rng.integers(2))) for head in tree] for tree in heads]
    options = {"parts": "grandparents"} if second else {}
    feature_map = TreeMap(0, classes if labeled else [])
    bound = bind_examples(
        structure(labeled=labeled, **options),
        feature_map,
        Examples(
            features.transform(X),
            [[(head, classes[label]) if labeled else head for head, label in tree] for tree in gold],
            extras={"arcs": Arcs(np.array(words), np.concatenate(left))},
        ),
        outputs=Labels.of(classes) if labeled else NoOutputs(),
        costs=Hamming(),
    )
    assert feature_map.table is not None
    columns_of = {name: k for k, name in enumerate(feature_map.table.names())}
    outputs, golds, costs, matrices = [], [], [], []
    for x, n, its_arcs, every, tree in zip(X, words, arcs, all_trees, gold, strict=True):
        right = tuple((head, label if labeled else 0) for head, label in tree)
        number = LabeledParts(its_arcs, lambda h, m: (0, 1) if labeled else (0,))
        tuples = [(None, h, None, m, label) for h, m, label in number.number]
        if second:
            every_head = [[h for h, word in its_arcs if word == m] for m in range(1, n + 1)]
            pairs = second_order_parts(n, True, True, every_head)
            number.add_pairs(pairs)
            tuples += [
                (None if g < 0 else g, h, None if s < 0 else s, m, None) for g, h, s, m in list(pairs)[len(its_arcs) :]
            ]
        possible = [heads for heads in every if all((h, m) in its_arcs for m, h in enumerate(heads, 1))]
        ys = [y for heads in possible for y in number.labeled(heads)]
        outputs.append(Outputs(number.count, [number.of(y) for y in ys]))
        golds.append(number.of(right))
        costs.append(np.array([sum(a != b for a, b in zip(right, y, strict=True)) for y in ys], dtype=float))
        matrix = np.zeros((number.count, len(columns_of)))
        for part, (g, h, s, m, label) in enumerate(tuples):
            spelled = features.part_attributes(x, h, m, grandparent=g, sibling=s)
            if labeled and label is not None:
                spelled += features.part_attributes(x, h, m, label=classes[label])
            for name in spelled:
                if name in columns_of:
                    matrix[part, columns_of[name]] += 1
        matrices.append(matrix)
    return Case(bound.problem, outputs, golds, costs, matrices)


@register("labeled tree", structure=NonProjectiveTree)
@register("labeled tree, several roots", structure=NonProjectiveTree, single_root=False, form="real", wrong_label=0.5)
@register("labeled tree, pruned", structure=NonProjectiveTree, prune=True, bits=3)
@register("labeled tree, pruned and allowed", structure=NonProjectiveTree, prune=True, allow=True, single_root=False)
@register("labeled projective tree", structure=ProjectiveTree, form="vectors")
@register("labeled projective tree, pruned", structure=ProjectiveTree, prune=True, wrong_label=2.0)
@register("labeled projective tree, several roots", structure=ProjectiveTree, prune=True, single_root=False)
@register("labeled tree, siblings", structure=SecondOrderTree, form="real")
@register("labeled tree, siblings, pruned", structure=SecondOrderTree, prune=True, allow=True)
@register("labeled tree, grandparents, pruned", structure=SecondOrderTree, parts="grandparents", prune=True)
def labeled_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    structure: Any,
    parts: str = "siblings",
    single_root: bool = True,
    prune: bool = False,
    allow: bool = False,
    wrong_label: float = 1.0,
    form: str = "names",
    bits: int = 0,
) -> Case:
    classes = ["a", "b", "c"]
    second = structure is SecondOrderTree
    words = [1, 3, *(int(n) for n in rng.integers(1, 4, max(0, size - 2)))][:size]
    every_tree = trees if structure is NonProjectiveTree else projective_trees
    all_trees = [list(every_tree(n, single_root)) for n in words]
    heads = [every[rng.integers(len(every))] for every in all_trees]
    left, allowed = random_arcs(rng, heads, prune), random_arcs(rng, heads, allow)
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    of_arc = [[sets[rng.integers(len(sets))] for _ in mask] for mask in left]  # of all n * n arcs
    gold = []
    for tree, its_sets in zip(heads, of_arc, strict=True):
        its_labels = [its_sets[arc_part(len(tree), head, word)] for word, head in enumerate(tree, 1)]
        gold.append([(head, int(rng.choice(labels))) for head, labels in zip(tree, its_labels, strict=True)])

    numbers, outputs = [], []
    for n, here, may, its_sets, every in zip(words, left, allowed, of_arc, all_trees, strict=True):
        arcs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m and here[arc_part(n, h, m)]]
        number = LabeledParts(arcs, lambda h, m, n=n, its=its_sets: its[arc_part(n, h, m)])
        if second:
            every_head = [[h for h, word in arcs if word == m] for m in range(1, n + 1)]
            number.add_pairs(second_order_parts(n, parts == "grandparents", single_root, every_head))
        possible = [tree for tree in every if (here & may)[list(tree_parts(tree))].all()]
        outputs.append([y for tree in possible for y in number.labeled(tree)])
        numbers.append(number)
    rows = Rows(rng, [number.count for number in numbers], form, bits)
    kept = [its_sets[k] for mask, its_sets in zip(left, of_arc, strict=True) for k in np.flatnonzero(mask)]
    options = {"single_root": single_root, "labeled": True, "wrong_label": wrong_label}
    problem = bind(
        structure(**options, parts=parts) if second else structure(**options),
        rows.given,
        [[(head, classes[label]) for head, label in y] for y in gold],
        feature_map=SparseMap(bits),
        classes=classes,
        allowed=np.concatenate(allowed) if allow else None,
        arcs=Arcs(np.array(words), np.concatenate(left) if prune else None),
        arc_labels=ArcLabels(
            [sets.index(labels) for labels in kept],
            np.cumsum([0, *(len(labels) for labels in sets)]),
            [label for labels in sets for label in labels],
        ),
    )
    return Case(
        problem,
        [Outputs(number.count, [number.of(y) for y in ys]) for number, ys in zip(numbers, outputs, strict=True)],
        [number.of(y) for number, y in zip(numbers, gold, strict=True)],
        [
            np.array(
                [
                    sum(1.0 if a != b else wrong_label * (k != j) for (a, k), (b, j) in zip(g, y, strict=True))
                    for y in ys
                ],
                dtype=float,
            )
            for g, ys in zip(gold, outputs, strict=True)
        ],
        rows.matrices(),
    )
