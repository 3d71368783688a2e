"""Labeled segmentations: longer enumerations, the chain and the hypergraph engine that they must equal, and tags."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, SegmentTagger, SequenceTagger, _core, load
from margrave.binding import bind
from margrave.data import Answers, convert_tags
from margrave.examples import Examples
from margrave.features import SegmentTemplates, Templates
from margrave.learners import LP
from margrave.losses import Hamming, Hinge, Segments
from margrave.maps import ChainMap, FeatureTable, SegmentMap
from margrave.metrics import span_scores
from margrave.structures import Chain, Labels, Segmentation, SemiMarkov
from margrave.testing.enumeration import Outputs
from tests.references.enumeration import SegmentParts, check_division, is_good, segment_attributes, spans_of
from tests.registry.hypergraphs import core_graph


def structure(n: int, longest: list[int], tied: bool = True) -> _core.SemiMarkovStructure:
    """Segmentations of one sequence; the last label is O."""
    labels = [*(f"L{k}" for k in range(len(longest) - 1)), "O"]
    return SemiMarkov(None, tied).bind(
        Segmentation(labels, [*longest[:-1], 1]), Examples.of_sizes(np.array([n], dtype=np.int64))
    )


def problem_of(bound: _core.Structure, parts: int) -> _core.Problem:
    """The structure with one weight per part."""
    rows = _core.Tokens(np.array([0, parts]), np.arange(parts + 1), np.arange(parts, dtype=np.int32), None)
    return _core.join(bound, _core.sparse_parts(parts, rows, bound.choices, bound.repeats))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "longest"), [(7, [3, 1]), (7, [7, 1]), (6, [2, 4, 1]), (7, [1, 1, 1])])
def test_inference_is_that_of_the_enumeration(n: int, longest: list[int], tied: bool) -> None:
    rng = np.random.default_rng(n)
    parts = SegmentParts(longest, tied)
    outputs = Outputs(parts.count(n), [parts.of(n, y) for y in parts.segmentations(n)])
    problem = problem_of(structure(n, longest, tied), outputs.n)
    for size in (1.0, 10.0, 80.0, 1000.0):
        theta = size * rng.standard_normal(outputs.n)
        values = outputs.values(theta).astype(float)
        assert_allclose(problem.argmax(0, theta)[0], values.max(), rtol=1e-9)
        log_z, mu = problem.logsum(0, theta)
        expected, marginals = outputs.logsum(theta)
        assert_allclose(log_z, expected, rtol=1e-9)
        assert_allclose(mu, marginals, rtol=1e-9, atol=1e-30)
        found = problem.kbest(0, theta, 50)
        assert_allclose([value for value, _ in found], np.sort(values)[::-1][:50], rtol=1e-9)


@pytest.mark.parametrize("tied", [True, False])
def test_inference_on_long_sequences_is_that_of_the_hypergraph_engine(tied: bool) -> None:
    n, longest = 60, [9, 4, 12, 1]
    parts = SegmentParts(longest, tied)
    count = parts.count(n)
    problem = problem_of(structure(n, longest, tied), count)
    graph = _core.hypergraphs([core_graph(parts.graph(n))], np.array([count]), None, None, None)
    engine = problem_of(graph, count)
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0, 20.0, 300.0):
        theta = size * rng.standard_normal(count)
        theta[rng.random(count) < 0.2] = -np.inf
        value, y = problem.argmax(0, theta)
        other, _ = engine.argmax(0, theta)
        assert_allclose(value, other, rtol=1e-12)
        assert_allclose(theta[y].sum(), value, rtol=1e-9)
        log_z, mu = problem.logsum(0, theta)
        log_z_other, mu_other = engine.logsum(0, theta)
        assert_allclose(log_z, log_z_other, rtol=1e-10)
        assert_allclose(mu, mu_other, rtol=1e-8, atol=1e-12)
        assert_allclose(
            [each for each, _ in problem.kbest(0, theta, 30)], [each for each, _ in engine.kbest(0, theta, 30)]
        )
        delta = rng.integers(0, 3, count).astype(float)
        ours, theirs = problem.argmax_by_cost(0, theta, delta), engine.argmax_by_cost(0, theta, delta)
        assert [cost for cost, _, _ in ours] == [cost for cost, _, _ in theirs]
        assert_allclose([each for _, each, _ in ours], [each for _, each, _ in theirs])


def test_every_step_of_inference_is_a_part() -> None:
    """The steps between states, which all operations visit once, are n (labels^2 + sum of lengths) at most."""
    for n, longest in ((1, [3, 1]), (9, [4, 2, 1]), (40, [7, 40, 1])):
        steps = sum(min(e, m) for e in range(1, n + 1) for m in longest) + (n - 1) * len(longest) ** 2
        assert structure(n, longest, tied=False).parts(0) == steps <= n * (len(longest) ** 2 + sum(longest))


def test_thousands_of_tokens_neither_overflow_nor_underflow() -> None:
    n, longest = 3000, [5, 1]
    parts = SegmentParts(longest)
    bound = structure(n, longest)
    count = bound.parts(0)
    problem = problem_of(bound, count)
    theta = 5 * np.random.default_rng(1).standard_normal(count)
    log_z, mu = problem.logsum(0, theta)
    tags = bound.tag_marginals(np.array([0, count]), mu).reshape(n, -1)
    assert_allclose(tags.sum(axis=1), 1.0, rtol=1e-9)
    assert log_z > problem.argmax(0, theta)[0]
    shifted, _ = problem.logsum(0, theta + 400 * np.array([end > begin for begin, end, _ in parts.segments(9)])[0])
    assert np.isfinite(shifted)


def test_segments_of_one_token_are_a_chain() -> None:
    rng = np.random.default_rng(3)
    tags = ["B-A", "B-B", "O"]
    X = [[[f"w{rng.integers(6)}"] for _ in range(n)] for n in (1, 5, 8, 3)]
    Y = [[str(rng.choice(tags)) for _ in x] for x in X]
    of_tokens = ChainMap(FeatureTable("all"), True, True, 0.5)
    chain = bind(Chain(), of_tokens, Examples(X, Y), outputs=Labels(np.array(tags)), costs=Hamming())
    one = Segmentation(["A", "B", "O"], [1, 1, 1])
    of_segments = SegmentMap(FeatureTable("all"), ["A", "B", "O"], 1, None, True, True, 0.5)
    segments = bind(SemiMarkov(1), of_segments, Examples(X, Y), outputs=one, costs=Hamming())
    assert chain.problem.dim == segments.problem.dim
    w = rng.standard_normal(chain.problem.dim)
    for i in range(len(X)):
        theta, other = chain.problem.score(i, w), segments.problem.score(i, w)
        assert_allclose(theta, other)
        assert_allclose(chain.problem.logsum(i, theta)[1], segments.problem.logsum(i, other)[1])
        assert_allclose(chain.problem.logsum(i, theta)[0], segments.problem.logsum(i, other)[0])
        assert_allclose(chain.problem.cost(i)[0], segments.problem.cost(i)[0])
        assert np.array_equal(np.sort(chain.problem.gold(i)), np.sort(segments.problem.gold(i)))
    assert chain.best(w, 1) == segments.best(w, 1)


def test_attributes_of_spans_are_those_of_their_definition() -> None:
    words = ["x", "Zz", "yy", "x"]
    templates = SegmentTemplates(["string", "length", "last", "ngram1.lower"], {"d": ["x", "yy x"]})
    assert templates.attributes(words) == [segment_attributes(words, *span) for span in spans_of(4, 4)]
    around = SegmentTemplates(["before", "after.lower", "first.suffix2", "ngram2"]).attributes(["A", "Bc", "D"])
    assert around[spans_of(3, 3).index((1, 2))] == ["before=A", "after.lower=d", "first.suffix2=Bc"]
    assert around[spans_of(3, 3).index((0, 3))] == ["ngram2=A Bc", "ngram2=Bc D"]


@pytest.mark.parametrize("bad", ["strings", "length.lower", "ngram", "first2", "string.nothing", ""])
def test_a_bad_template_is_refused(bad: str) -> None:
    with pytest.raises(MargraveError, match="template"):
        SegmentTemplates([bad])


# ---- taggers ---------------------------------------------------------------------------------------------------------

ROWS = [
    [["Ann"], ["Lee"], ["met"], ["Bo"]],
    [["Bo"], ["sings"], ["in"], ["Old"], ["York"], ["Town"]],
    [["Old"], ["York"], ["Town"], ["is"], ["big"]],
]
TAGS = [
    ["B-PER", "I-PER", "O", "B-PER"],
    ["B-PER", "O", "O", "B-LOC", "I-LOC", "I-LOC"],
    ["B-LOC", "I-LOC", "I-LOC", "O", "O"],
]


@pytest.mark.parametrize(
    "templates", [None, SegmentTemplates(), SegmentTemplates(["length"], {"town": ["Old York Town"]})]
)
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_a_tagger_of_segments_learns_and_is_saved(templates, loss: str, tmp_path) -> None:
    tagger = SegmentTagger(loss, C=10.0, features=Templates(), templates=templates, tol=1e-3).fit(ROWS, TAGS)
    assert tagger.predict(ROWS) == TAGS
    assert tagger.classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert tagger.outputs_.longest == [3, 1, 2]  # LOC, O, PER
    for marginals, tags in zip(tagger.predict_marginals(ROWS), TAGS, strict=True):
        assert_allclose(marginals.sum(axis=1), 1.0)
        assert [tagger.classes_[k] for k in marginals.argmax(axis=1)] == tags
    for found, tags in zip(tagger.predict_kbest(ROWS, 3), TAGS, strict=True):
        assert found[0][1] == tags and found[0][0] >= found[1][0] >= found[2][0]
    numbers = tagger.predict_numbers(ROWS)
    assert [tagger.classes_[k] for k in numbers] == [tag for tags in TAGS for tag in tags]
    tagger.save(tmp_path / "segments.model")
    again = load(tmp_path / "segments.model")
    unseen = [[["Lee"], ["Town"], ["sings"]]]
    assert again.predict(unseen) == tagger.predict(unseen)
    assert_allclose(again.predict_marginals(unseen)[0], tagger.predict_marginals(unseen)[0])
    assert again.top_transitions(2) == tagger.top_transitions(2)
    assert again.top_features(2) == tagger.top_features(2)


def test_tags_that_are_not_well_formed_are_read_as_by_conlleval() -> None:
    ill = [["I-PER", "I-PER", "O", "I-PER"], TAGS[1], TAGS[2]]
    first, second = (SegmentTagger(features=Templates()).fit(ROWS, tags) for tags in (ill, TAGS))
    assert np.array_equal(first.coef_, second.coef_)


def test_allowed_tags_restrict_segments() -> None:
    tagger = SegmentTagger(C=10.0, features=Templates()).fit(ROWS, TAGS)
    (tags,) = tagger.predict(ROWS[:1], allowed=[[{"B-PER"}, {"O"}, None, None]])
    assert tags[:2] == ["B-PER", "O"]
    with pytest.raises(MargraveError, match="example 0: the constraints forbid every segmentation"):
        tagger.predict(ROWS[:1], allowed=[[{"I-PER"}, None, None, None]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"templates": "yes"}, "templates must be"),
        ({"max_length": 0}, "max_length must"),
        ({"max_length": {"ORG": 2}}, "unknown label in max_length"),
        ({"max_length": 2}, "example 1: the LOC at position 3 has 3 tokens, and max_length is 2"),
        ({"templates": SegmentTemplates(), "features": None}, "pass features=Templates"),
        ({"templates": SegmentTemplates(column=1)}, "ask for column 1, and there are 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        SegmentTagger(**{"features": Templates(), **settings}).fit(ROWS, TAGS)


def test_labels_that_are_no_tags_and_edges_are_refused() -> None:
    with pytest.raises(MargraveError, match=r"example 0: tags\[0\] is 'D'"):
        SegmentTagger().fit([[["a"]]], [["D"]])
    with pytest.raises(TypeError, match="unexpected keyword argument 'edges'"):
        SegmentTagger().fit([[["a"], ["b"]]], [["O", "B-X"]], edges=[[["e"], ["e"]]])
    with pytest.raises(MargraveError, match="SegmentTagger"):
        SequenceTagger("hinge", learner="bcfw").set_params(loss=_hinge(Segments())).fit(
            [[["a"], ["b"]]], [["O", "B-X"]]
        )


def _hinge(cost):
    from margrave import Hinge

    return Hinge(cost)


@pytest.mark.parametrize("cost", ["hamming", "segments", "zero-one"])
def test_costs_by_tokens_by_segments_and_zero_one_are_learned(cost: str) -> None:
    tagger = SegmentTagger(_hinge(cost), C=10.0, features=Templates(), tol=1e-3).fit(ROWS, TAGS)
    assert tagger.predict(ROWS) == TAGS
    assert tagger.certificate_.relative_gap <= 1e-3


def test_the_spans_of_a_sequence_are_numbered_by_end_and_length() -> None:
    bound = structure(5, [3, 1])
    assert bound.spans(0) == len(spans_of(5, 3))
    listed = bound.segments(0).reshape(-1, 3).tolist()
    assert [tuple(each) for each in listed] == SegmentParts([3, 1]).segments(5)
    ends = [end for _, end, _ in listed]
    assert all(a <= b for a, b in pairwise(ends))


# ---- several right answers -------------------------------------------------------------------------------------------


def several_answers(rng: np.random.Generator) -> tuple[Segmentation, Answers]:
    """Random tags of up to seven tokens, and up to four spans as alternatives."""
    outputs = Segmentation(["A", "B", "O"], [3, 2, 1]) if rng.random() < 0.8 else Segmentation(["A", "B"], [3, 2])
    parts = SegmentParts(outputs.longest)
    n = int(rng.integers(1, 8 if "O" in outputs.labels else 6))
    possible = list(parts.segmentations(n))
    gold = possible[rng.integers(len(possible))]
    others = [(outputs.labels[label], *ends) for *ends, label in parts.segments(n) if outputs.labels[label] != "O"]
    chosen = rng.permutation(len(others))[: int(rng.integers(0, 5))]
    return outputs, Answers(tags_of(outputs, gold), [others[k] for k in chosen.tolist()])


def tags_of(outputs: Segmentation, segments) -> list[str]:
    return [
        outputs.first[label] if t == begin else str(outputs.inside[label])
        for begin, end, label in segments
        for t in range(begin, end)
    ]


@given(seed=st.integers(0, 2**32 - 1), tied=st.booleans())
@settings(max_examples=40, deadline=None)
def test_alternatives_divide_the_segmentations(seed: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    outputs, answers = several_answers(rng)
    n, parts = len(answers), SegmentParts(outputs.longest, tied)
    every = list(parts.segmentations(n))
    good = np.array([is_good(answers, tags_of(outputs, y)) for y in every])
    for y, flag in zip(every, good, strict=True):
        scores = span_scores([answers], [tags_of(outputs, y)])
        assert (scores.correct == scores.gold == scores.predicted) == flag
    if not answers.alternatives:
        assert good.sum() == 1
        return
    listed = Outputs(parts.count(n), [parts.of(n, y) for y in every])
    bound = SemiMarkov(None, tied).bind(outputs, Examples.of_sizes(np.array([n]), [answers]), Hamming())
    rows = _core.Tokens(np.array([0, listed.n]), np.arange(listed.n + 1), np.arange(listed.n, dtype=np.int32), None)
    problem = SemiMarkov(None, tied).join(bound, _core.sparse_parts(listed.n, rows, bound.choices, bound.repeats))
    assert "good" in problem.offers
    best = check_division(problem, rng.standard_normal(listed.n), listed, good)
    whole = {tuple(sorted(parts)): bool(flag) for parts, flag in zip(listed.ys, good, strict=True)}
    assert all(whole[tuple(sorted(y))] == wanted for wanted, y in best.items())
    found = [tuple(sorted(problem.gold(0, k).tolist())) for k in range(problem.gold_count(0))]
    assert found[0] == tuple(sorted(parts.of(n, every[[tags_of(outputs, y) for y in every].index([*answers])])))
    assert sorted(found) == sorted(tuple(sorted(listed.ys[k])) for k in np.flatnonzero(good))
    delta, c0 = problem.cost(0)
    tags = [{tags_of(outputs, every[k])[t] for k in np.flatnonzero(good)} for t in range(n)]
    for y, price in zip(every, listed.counts @ delta, strict=True):
        wrong = sum(tag not in of for tag, of in zip(tags_of(outputs, y), tags, strict=True))
        assert c0 == 0 and price == wrong


def test_what_good_outputs_have_gets_weights() -> None:
    answers = Answers(["B-A", "I-A", "O"], [("A", 1, 3)])
    feature_map = SegmentMap(FeatureTable(), ["A", "O"], 2)
    outputs = SemiMarkov().learn([answers])
    bound = bind(SemiMarkov(), feature_map, Examples([[["x"], ["y"], ["z"]]], [answers]), outputs=outputs)
    weighted = set(feature_map.top(np.ones(bound.problem.dim), outputs.names, 9)["B-A"])
    assert {name for name, _ in weighted} == {"x", "y"}
    assert {
        pair for pair, _ in feature_map.top_transitions(np.ones(bound.problem.dim), SemiMarkov().tuples(outputs), 9)
    }
    pairs = bound.core.good_pairs()  # type: ignore[attr-defined]
    assert pairs.tolist() == [1, 2]  # A before O, and O before A


# The right span is ambiguous in every sentence, but one answer is right in all of them.
AMBIGUOUS = [[["the"], ["Old"], ["Town"], [word]] for word in ("is", "was", "has", "and")]
ANSWERS = [
    Answers(["O", "B-LOC", "I-LOC", "O"] if k % 2 else ["B-LOC", "I-LOC", "I-LOC", "O"], [("LOC", 1, 3), ("LOC", 0, 3)])
    for k in range(4)
]


def test_tags_of_iob1_are_scored_as_the_segments_that_they_write() -> None:
    X = [[["Old"], ["Town"], ["is"]], [["is"], ["Old"], ["Town"]]]
    y = [["I-LOC", "I-LOC", "O"], ["O", "I-LOC", "I-LOC"]]
    tagger = SegmentTagger(C=10.0).fit(X, y)
    assert tagger.predict(X) == [convert_tags(tags, "IOB1", "IOB2") for tags in y]
    assert tagger.score(X, y) == tagger.score(X, tagger.predict(X)) == 1.0
    with pytest.raises(MargraveError, match=r"example 0: .*convert others with margrave\.datasets"):
        tagger.score(X, [["B-LOC", "E-LOC", "O"], y[1]])


@pytest.mark.parametrize("loss", ["latent-log", "latent-hinge"])
def test_a_tagger_learns_from_several_answers(loss: str, tmp_path) -> None:
    tagger = SegmentTagger(loss, C=10.0, features=Templates(), templates=SegmentTemplates(), tol=1e-3)
    tagger.fit(AMBIGUOUS, ANSWERS)
    assert span_scores(ANSWERS, tagger.predict(AMBIGUOUS)).f1 == 1.0
    assert tagger.certificate_.gap is None and len(tagger.starts_) == 3
    assert min(start["objective"] for start in tagger.starts_) == pytest.approx(tagger.certificate_.primal)
    tagger.save(tmp_path / "several.model")
    assert load(tmp_path / "several.model").predict(AMBIGUOUS) == tagger.predict(AMBIGUOUS)


@pytest.mark.parametrize(
    "loss", [Hinge("zero-one"), Hinge("f1"), Hinge(slack=0), Hinge(lambda gold, other: gold != other)]
)
def test_costs_of_whole_outputs_do_not_charge_right_answers(loss: Hinge) -> None:
    """All but LP compare with the answer of the tags alone."""
    tagger = SegmentTagger(loss, features=Templates(), tied=False)
    with pytest.raises(MargraveError, match=r"charge good outputs .*use (cost='hamming'|slack=1)"):
        tagger.fit(AMBIGUOUS, ANSWERS)
    tagger.fit(AMBIGUOUS, [list(answers) for answers in ANSWERS])


@pytest.mark.parametrize("program", ["all", "closest"])
def test_lp_places_right_answers_above_the_others(program: str) -> None:
    learner = LP(program=program, free_sign=True)
    tagger = SegmentTagger("hinge", C=10.0, learner=learner, features=Templates(), tol=1e-3)
    tagger.fit(AMBIGUOUS, ANSWERS)
    assert span_scores(ANSWERS, tagger.predict(AMBIGUOUS)).f1 == 1.0
    assert tagger.certificate_.exact == (program == "all")
    if program == "all":
        assert tagger.certificate_.relative_gap <= 1e-3


def test_longer_alternatives_are_learned_or_left_out() -> None:
    longer = [Answers(TAGS[0], [("PER", 0, 4)]), *TAGS[1:]]
    assert SemiMarkov().learn(longer).longest == [3, 1, 4]
    taggers = [
        SegmentTagger(loss, C=10.0, features=Templates(), templates=SegmentTemplates(), max_length=3, tol=1e-6)
        for loss in ("latent-log", "log")
    ]
    latent, plain = (tagger.fit(ROWS, longer) for tagger in taggers)  # the same loss if no alternative is left
    assert_allclose(latent.certificate_.primal, plain.certificate_.primal, rtol=1e-5)


@pytest.mark.parametrize(
    ("alternative", "message"),
    [
        (("PER", 2, 5), "from 2 to 5 is not a span of a sequence of 4 tokens"),
        (("PER", 2, 2), "not a span"),
        (("O", 0, 1), "label of an alternative"),
        (("PER", 0), r"must be \(label, start, stop\)"),
        (("PER", "a", 2), r"must be \(label, start, stop\)"),
    ],
)
def test_alternatives_that_are_no_spans_are_refused(alternative, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        Answers(TAGS[0], [alternative])


def test_alternatives_need_segments_and_costs_of_tokens() -> None:
    with pytest.raises(MargraveError, match="use SegmentTagger"):
        SequenceTagger(features=Templates()).fit(AMBIGUOUS, ANSWERS)
    with pytest.raises(MargraveError, match="needs a single right answer"):
        SegmentTagger(_hinge("segments"), features=Templates()).fit(AMBIGUOUS, ANSWERS)
