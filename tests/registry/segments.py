"""Segmentations: semi-Markov chains, also with several right answers."""

from typing import Any

import numpy as np

from margrave.binding import bind as bind_examples
from margrave.data import Answers
from margrave.examples import Examples
from margrave.features import SegmentTemplates
from margrave.losses import Segments as SegmentCost
from margrave.maps import FeatureTable, SegmentMap
from margrave.structures import (
    Segmentation,
    SemiMarkov,
)
from margrave.testing.enumeration import Outputs, Parts
from tests.references.enumeration import SegmentParts, SegmentsByDefinition, is_good, segment_attributes, spans_of
from tests.registry.cases import LABEL_COSTS, Case, register
from tests.registry.labels import Rows, label_loss


@register("segments", ("hamming", "weights", "matrix", "segments"))
@register("segments, untied", ("hamming", "segments"), tied=False)
@register("segments, start and stop, scale", start=True, stop=True, scale=0.3, form="real")
@register("segments, attributes of segments", ("hamming", "segments"), templates=True)
@register("segments, attributes of segments, all pairs", templates=True, pairs="all", tied=False, start=True)
@register("segments, hashed", templates=True, bits=3)
@register("segments, allowed", allow=True)
@register("segments, allowed, untied", allow=True, tied=False)
@register("segments of one token", longest=1)
@register("segments, several answers", ("hamming", "matrix"), several=True, pairs="all")
@register("segments, several answers, untied", several=True, pairs="all", tied=False, templates=True)
def segments(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    longest: int = 4,
    tied: bool = True,
    start: bool = False,
    stop: bool = False,
    scale: float = 1.0,
    templates: bool = False,
    allow: bool = False,
    several: bool = False,
    form: str = "names",
    bits: int = 0,
    pairs: str = "observed",
) -> Case:
    labels = ["A", "B", "O"][: int(rng.integers(2, 4))] if longest > 1 else ["A", "B", "C", "O"]
    labels = labels if rng.random() < 0.5 else [*labels[:-1], "O"]
    most = [1 if label == "O" else int(rng.integers(1, longest + 1)) for label in labels]
    outputs = Segmentation(labels, most)
    parts = SegmentParts(most, tied)
    lengths = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    tags = outputs.names

    def tagged(y: Any) -> list[str]:
        return [
            outputs.first[label] if t == begin else str(outputs.inside[label])
            for begin, end, label in y
            for t in range(begin, end)
        ]

    gold, allowed, all_outputs = [], [], []
    for n in lengths:
        possible = list(parts.segmentations(n))
        gold.append(possible[rng.integers(len(possible))])
        mask = rng.random((n, len(tags))) < (0.7 if allow else 2.0)
        mask[range(n), [tags.index(tag) for tag in tagged(gold[-1])]] = True
        allowed.append(mask)
        all_outputs.append([y for y in possible if all(mask[t, tags.index(tag)] for t, tag in enumerate(tagged(y)))])
    right: list[list[Any]] = [[y] for y in gold]  # all good outputs; the first is that of the tags
    answers: list[list[str]] = [tagged(y) for y in gold]
    for i, n in enumerate(lengths if several else []):
        spans = [each for each in parts.segments(n) if labels[each[2]] != "O"]
        chosen = [spans[k] for k in rng.permutation(len(spans))[: int(rng.integers(0, 3))]]
        answers[i] = Answers(answers[i], [(labels[label], begin, end) for begin, end, label in chosen])
        right[i] += [y for y in all_outputs[i] if y != gold[i] and is_good(answers[i], tagged(y))]
    rows = Rows(rng, lengths, form, bits)
    texts = [[str(rng.choice(["x", "yy", "Zz"])) for _ in range(n)] for n in lengths]
    of_spans = SegmentTemplates(["string", "length", "last", "ngram1.lower"], {"d": ["x", "yy x"]})
    loss, price = label_loss(rng, cost if cost in LABEL_COSTS else "hamming", tags)
    costs = SegmentCost() if cost == "segments" else loss.costs if loss else None
    feature_map = SegmentMap(
        FeatureTable("all" if bits else pairs, bits),
        labels,
        max(most),
        of_spans if templates else None,
        start,
        stop,
        scale,
    )
    bound = bind_examples(
        SemiMarkov(None, tied),
        feature_map,
        Examples(
            rows.given,
            answers,
            extras=({"texts": texts, "segments": [[segment[:2] for segment in y] for y in gold]} if templates else {})
            | ({"allowed": np.concatenate(allowed)} if allow else {}),
        ),
        outputs=outputs,
        costs=costs,
    )
    table = SegmentsByDefinition(
        parts,
        [tags.index(tag) for tag in outputs.first],
        [-1 if tag is None else tags.index(tag) for tag in outputs.inside],
        len(tags),
        rows.count,
        rows.pairs,
        gold,
        observed=not bits and pairs == "observed",
        start=start,
        stop=stop,
        scale=scale,
        spans=[
            [segment_attributes(words, begin, end) for begin, end in spans_of(len(words), max(most))] for words in texts
        ]
        if templates
        else None,
        bits=bits,
        longest=max(most),
    )

    def price_of(good: list[Any], y: Any) -> float:
        if cost == "segments":
            known = {segment for segment in good[0] if labels[segment[2]] != "O"}
            found = {segment for segment in y if labels[segment[2]] != "O"}
            return float(len(known ^ found))
        tags_of_good = zip(*map(tagged, good), strict=True)
        return float(
            sum(
                min(price[tags.index(a), tags.index(b)] for a in {*latent})
                for latent, b in zip(tags_of_good, tagged(y), strict=True)
            )
        )

    def others(i: int) -> list[Parts]:
        """The good outputs but for the first, in the order of the core, which is arbitrary."""
        by_parts = {tuple(sorted(of)): of for of in (parts.of(lengths[i], y) for y in right[i])}
        good = [bound.problem.gold(i, k).tolist() for k in range(bound.problem.gold_count(i))]
        listed = [by_parts[tuple(sorted(each))] for each in good]
        assert len(set(listed)) == len(listed) == len(right[i]) and listed[0] == parts.of(lengths[i], gold[i])
        return listed[1:]

    return Case(
        bound.problem,
        [Outputs(parts.count(n), [parts.of(n, y) for y in ys]) for n, ys in zip(lengths, all_outputs, strict=True)],
        [parts.of(n, y) for n, y in zip(lengths, gold, strict=True)],
        [np.array([price_of(good, y) for y in ys]) for good, ys in zip(right, all_outputs, strict=True)],
        [table.matrix(i) for i in range(size)],
        [others(i) for i in range(size)] if several else None,
    )
