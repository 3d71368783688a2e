"""Aligners: known alignments, matrices to start from, decoding, columns, NCBI's format, and their errors."""

import subprocess
import sys
import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from margrave import GenerativeAligner, Hinge, HomologyRanker, SequenceAligner, load
from margrave.data import BLOSUM62, gapped
from margrave.data.substitution import are_amino_acids
from margrave.datasets import read_matrix, write_matrix
from margrave.errors import MargraveError
from margrave.estimators.generative_aligner import aligner_of
from margrave.estimators.models.sequence_aligner import known_matches, most_accurate
from margrave.examples import Examples
from margrave.features import Sequences
from margrave.learners import LEARNERS
from tests.references.alignments import AlignmentParts, alignments, edge_parts

DECODERS = ("score", "accuracy")
PAIRS = [("ACGT", "AGT"), ("TTACG", "TACG"), ("GATTA", "GTTA")]
KNOWN = [("ACGT", "A-GT"), ("TTACG", "-TACG"), ("GATTA", "G-TTA")]


def test_tied_parts_and_parts_at_their_places_learn_the_same_weights() -> None:
    tied = SequenceAligner(tied=True, tol=1e-9).fit(PAIRS, KNOWN)
    untied = SequenceAligner(tied=False, tol=1e-9).fit(PAIRS, KNOWN)
    assert_allclose(tied.coef_, untied.coef_, atol=1e-6)
    assert tied.predict(PAIRS) == untied.predict(PAIRS)
    for one, other in zip(tied.predict_marginals(PAIRS), untied.predict_marginals(PAIRS), strict=True):
        assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("loss", ["log", "softmax-margin", "hinge"])
def test_a_small_c_stays_close_to_the_matrix_to_start_from(loss: str) -> None:
    features = Sequences("ACGT")
    near = SequenceAligner(loss, C=1e-6, start="BLOSUM62", features=features).fit(PAIRS, KNOWN)
    expected = BLOSUM62.table("ACGT") * np.log(2) / 2
    assert_allclose(near.matrix_.values, expected, atol=1e-4)
    assert_allclose([near.matrix_.gap_open, near.matrix_.gap_extend], [-5 * np.log(2), -np.log(2) / 2], atol=1e-4)


def test_a_matrix_to_start_from_is_the_same_by_name_as_an_object_and_from_a_file(tmp_path) -> None:
    """All of them in half-bits, which become natural logarithms."""
    rows = [
        f"{a} {' '.join(f'{score:g}' for score in row)}" for a, row in zip("ACGT", BLOSUM62.table("ACGT"), strict=True)
    ]
    text = "\n".join(["#  BLOSUM Clustered Scoring Matrix in 1/2 Bit Units", "  A C G T", *rows])
    (tmp_path / "BLOSUM62").write_text(text)
    write_matrix(tmp_path / "written", BLOSUM62)
    starts = ["BLOSUM62", BLOSUM62, read_matrix(tmp_path / "BLOSUM62"), read_matrix(tmp_path / "written")]
    fitted = [SequenceAligner(start=start, features=Sequences("ACGT")).fit(PAIRS, KNOWN).coef_ for start in starts]
    for coef in fitted:
        assert_allclose(coef, fitted[0], atol=1e-8)


PROTEINS = [("HEAGAWGHEE", "PAWHEAE"), ("MKLIPF", "MKLPF")]
KNOWN_PROTEINS = [("HEAGAWGHE-E", "--P-AW-HEAE"), ("MKLIPF", "MKL-PF")]


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("features", ["default", Sequences(BLOSUM62.letters)])
def test_aligners_of_proteins_start_from_blosum62_and_others_from_zero(C: float, loss: str, features) -> None:
    settings = {"loss": loss, "C": C, "features": features}
    for X, y, start in ((PROTEINS, KNOWN_PROTEINS, "BLOSUM62"), (PAIRS, KNOWN, None)):
        given = SequenceAligner(start=start, **settings).fit(X, y)
        model = SequenceAligner(**settings).fit(X, y)
        assert model.start_ is (None if start is None else BLOSUM62)
        assert model.map_.names() == given.map_.names()
        assert (model.coef_ == given.coef_).all()
        (by_path,) = SequenceAligner(**settings).fit_path(X, y, [C])
        assert (by_path.coef_ == given.coef_).all()


@pytest.mark.parametrize("encode", [list, lambda text: {"letters": text, "water": "+" * len(text)}])
def test_proteins_are_recognized_in_every_form_of_sequences(encode) -> None:
    X = [(encode(x), encode(y)) for x, y in PROTEINS]
    matches = known_matches(KNOWN_PROTEINS)
    assert SequenceAligner().fit(X, matches).start_ is BLOSUM62
    encoded = Sequences().learn(X).transform(X)
    assert SequenceAligner(features=None).fit(encoded, matches).start_ is BLOSUM62


def test_attributes_and_losses_that_no_matrix_can_start_have_no_start() -> None:
    attributes = [tuple([[letter, "any"] for letter in text] for text in pair) for pair in PROTEINS]
    assert SequenceAligner().fit(attributes, known_matches(KNOWN_PROTEINS)).start_ is None
    for loss in (Hinge(slack=2), Hinge("f1"), "ramp"):
        assert SequenceAligner(loss, max_iter=2, tol=1.0).fit(PROTEINS, KNOWN_PROTEINS).start_ is None
    refitted = SequenceAligner().fit(PROTEINS, KNOWN_PROTEINS).fit(PAIRS, KNOWN)
    assert refitted.start_ is None and (refitted.coef_ == SequenceAligner().fit(PAIRS, KNOWN).coef_).all()


def test_nucleotides_with_all_of_their_codes_are_not_proteins() -> None:
    codes = "ACGTURYSWKMBDHVN"  # of IUPAC, for one or several nucleotides
    for size in range(len(codes) + 1):
        assert not are_amino_acids(codes[:size])
    assert not are_amino_acids("ACDEFGHIKLMNPQRSTVWYJ") and not are_amino_acids("acdefghiklmnpqrstvwy")
    assert are_amino_acids("ACDEFGHIKLMNPQRSTVWY") and all(are_amino_acids("ACGT" + letter) for letter in "EFILPQ")


def test_files_state_the_unit_of_their_scores(tmp_path) -> None:
    def unit_of(comment: str) -> float:
        (tmp_path / "matrix").write_text(f"{comment}\n   A C\nA 2 -1\nC -1 3\n")
        return read_matrix(tmp_path / "matrix").unit

    assert unit_of("#  BLOSUM Clustered Scoring Matrix in 1/3 Bit Units") == np.log(2) / 3
    assert unit_of("# PAM 250 substitution matrix, scale = ln(2)/3 = 0.231049") == np.log(2) / 3
    assert unit_of("# scale = 0.5") == 0.5
    assert unit_of("# Entropy = 0.6979, Expected = -0.5209") == 1.0
    with pytest.raises(MargraveError, match="matrix, line 1: the scale of scores must be positive, and it is 0"):
        unit_of("# scale = 0")
    learned = SequenceAligner().fit(PAIRS, KNOWN).matrix_
    write_matrix(tmp_path / "learned", learned)
    assert read_matrix(tmp_path / "learned").unit == learned.unit == 1.0
    assert_allclose(learned.measured_in(0.5).values, 2 * learned.values)


def test_the_objective_with_a_matrix_to_start_from_is_that_of_the_definition() -> None:
    """1/2 |w - w0|^2 + C sum of log losses, at the weights that were learned."""
    model = SequenceAligner(C=0.7, start=BLOSUM62.scaled(0.2), tol=1e-9, features=Sequences("ACGT")).fit(PAIRS, KNOWN)
    plain = SequenceAligner(features=Sequences("ACGT")).fit(PAIRS, KNOWN)
    w0 = model.map_.from_matrix(BLOSUM62.scaled(0.2), len(model.coef_))
    bound = plain._bind(Examples(PAIRS))
    loss = 0.0
    for i, (x, y) in enumerate(KNOWN):
        theta = bound.problem.score(i, model.coef_)
        log_z = bound.problem.logsum(i, theta)[0]
        letters = plain.matrix_.letters
        score, at = 0.0, model.map_._gaps_begin()
        before = None
        for a, b in zip(x, y, strict=True):
            kind = "x" if b == "-" else "y" if a == "-" else "m"
            if kind == "m":
                score += model.matrix_.values[letters.index(a), letters.index(b)]
            else:
                score += model.coef_[at + (1 if before == kind else 0)]
            before = kind
        loss += log_z - score
    objective = 0.5 * ((model.coef_ - w0) ** 2).sum() + 0.7 * loss
    assert_allclose(model.certificate_.primal, objective, rtol=1e-9)


def test_the_most_accurate_alignment_is_that_of_the_enumeration() -> None:
    rng = np.random.default_rng(2)
    for caution in (0.0, 0.3, 0.6):
        table = rng.random((4, 3))
        best = max(alignments(4, 3), key=lambda each: sum(table[i, j] - caution for i, j in each))
        found = most_accurate(table, caution)
        value = sum(table[i, j] - caution for i, j in found)
        assert_allclose(value, sum(table[i, j] - caution for i, j in best), atol=1e-12)


@pytest.mark.parametrize("features", ["default", None])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_most_accurate_alignments_of_many_pairs_are_those_of_each(features, threads: int) -> None:
    rng = np.random.default_rng(5)
    X = [tuple("".join(rng.choice(list("ACGT"), rng.integers(1, 9))) for _ in range(2)) for _ in range(150)]
    encode = Sequences("ACGT").learn(PAIRS).transform if features is None else list
    model = SequenceAligner(decode="accuracy", features=features, n_jobs=threads)
    model.fit(encode(PAIRS), known_matches(KNOWN))
    assert model.predict(encode(X)) == [model.predict(encode([pair]))[0] for pair in X]
    for pairs, table in zip(model.predict(encode(X)), model.predict_marginals(encode(X)), strict=True):
        value, best = (sum(table[i, j] for i, j in each) for each in (pairs, most_accurate(table, 0.0)))
        assert value == pytest.approx(best, abs=1e-12)
    assert model.predict([]) == []
    with pytest.raises(MargraveError, match="example 100"):
        model.predict([*encode(X[:100]), "AC"])


@pytest.mark.parametrize("mode", ["global", "local", "semi-global"])
@pytest.mark.parametrize("more", [{}, {"window": 1}, {"gaps": "linear"}], ids=["letters", "places", "linear gaps"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("caution", [0.0, 0.2, 0.9])
def test_decoding_by_accuracy_is_that_of_the_table_of_posteriors(mode: str, more, scale: float, caution: float) -> None:
    """Rows are computed twice, and as logarithms where scores are too large for numbers that are scaled by row."""
    model = SequenceAligner(mode=mode, decode="accuracy", caution=caution, **more).fit(PAIRS, KNOWN)
    model.coef_ = scale * np.random.default_rng(1).normal(size=len(model.coef_))
    rng = np.random.default_rng(2)
    sizes = [(n, m) for n in (1, 2, 3, 4, 5, 9, 10, 26, 40) for m in (1, 2, 7, 33)]
    X = [("".join(rng.choice(list("ACGT"), n)), "".join(rng.choice(list("ACGT"), m))) for n, m in sizes]
    for pairs, table in zip(model.predict(X), model.predict_marginals(X), strict=True):
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
        value, best = (sum(table[i, j] - caution for i, j in each) for each in (pairs, most_accurate(table, caution)))
        assert value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("window", [0, 1])
def test_decoding_of_long_sequences_by_accuracy_takes_little_memory(window: int) -> None:
    """A byte for each pair of positions; with windows, also their scores."""
    code = f"""
import numpy as np, resource
from margrave import SequenceAligner
rng = np.random.default_rng(0)
x, y, z = ("".join(rng.choice(list("ACGT"), n)) for n in (300, 2500, 2500))
aligner = SequenceAligner(decode="accuracy", window={window}, n_jobs=1).fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
peaks = []
for pair in ((x, x), (y, z)):
    aligner.predict([pair])
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
print(peaks[1] - peaks[0])
"""
    grown = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert grown < (4 if window == 0 else 25) * 2500**2


def test_tables_that_do_not_fit_into_memory_are_refused_with_the_remedy(monkeypatch) -> None:
    model = SequenceAligner(decode="accuracy").fit(PAIRS, KNOWN)
    long = ("ACGT" * 250, "GATTACA" * 150)
    for available in (1e5, 1e6):
        monkeypatch.setattr("margrave.memory.available_memory", lambda available=available: available)
        match = r"decoding 1000 and 1050 letters by accuracy would take 0\.0009.*: use decode='score'\."
        with pytest.raises(MargraveError, match=match):
            model.predict([PAIRS[0], long])
        assert len(model.predict(PAIRS)) == len(PAIRS)
    monkeypatch.setattr("margrave.memory.available_memory", lambda: 2e6)
    assert len(model.predict([PAIRS[0], long])) == 2


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_default_decoding_is_by_accuracy_for_global_alignments_and_otherwise_by_score(C: float) -> None:
    for mode in ("global", "local", "semi-global"):
        model = SequenceAligner(C=C, mode=mode).fit(PAIRS, KNOWN)
        by_name = {decode: SequenceAligner(C=C, mode=mode, decode=decode).fit(PAIRS, KNOWN) for decode in DECODERS}
        expected = by_name["accuracy" if mode == "global" else "score"]
        X = [("TTGACA", "GACTAC"), ("ACGT", "TGCA"), *PAIRS]
        assert model.predict(X) == expected.predict(X)
        assert by_name["score"].predict(X) == [best[0][1] for best in model.predict_kbest(X, k=1)]


PROTEINS = [("HEAGAWGHEE", "PAWHEAE"), ("MKVLAAG", "MKLAWG"), ("WWRNDCQ", "WRNDQ")]
KNOWN_PROTEINS = [[(1, 1), (4, 2)], [(0, 0), (1, 1), (3, 2)], [(1, 0), (2, 1), (3, 2), (6, 4)]]


@pytest.mark.parametrize(
    ("X", "Y", "more", "C"),
    [
        (PROTEINS, KNOWN_PROTEINS, {}, 0.1),
        (PROTEINS, KNOWN_PROTEINS, {"start": "BLOSUM62"}, 0.1),
        (PROTEINS, KNOWN_PROTEINS, {"start": None}, 1.0),
        (PAIRS, KNOWN, {}, 1.0),
        (PAIRS, KNOWN, {"start": BLOSUM62}, 0.1),
    ],
)
def test_the_default_c_is_smaller_where_weights_start_from_a_matrix(X, Y, more, C: float, tmp_path) -> None:
    model = SequenceAligner(**more).fit(X, Y)
    assert model.C is None and model.C_ == C
    given = SequenceAligner(C=C, **more).fit(X, Y)
    assert_allclose(model.coef_, given.coef_, rtol=0, atol=0)
    assert SequenceAligner(C=3.0, **more).fit(X, Y).C_ == 3.0
    (path,) = SequenceAligner(**more).fit_path(X, Y, [2.0])
    assert path.C == path.C_ == 2.0
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.C is None and again.predict(X) == model.predict(X)


def test_a_confidence_belongs_to_every_column() -> None:
    model = SequenceAligner().fit(PAIRS, KNOWN)
    for (x, y), columns in zip(PAIRS, model.predict_proba(PAIRS), strict=True):
        assert [i for i, _, _ in columns if i >= 0] == list(range(len(x)))
        assert [j for _, j, _ in columns if j >= 0] == list(range(len(y)))
        assert all(0 <= p <= 1 + 1e-12 for _, _, p in columns)
        (table,) = model.predict_marginals([(x, y)])
        for i, j, p in columns:
            assert_allclose(p, table[i, j] if min(i, j) >= 0 else 1 - (table[i] if j < 0 else table[:, j]).sum())


def test_columns_attributes_and_profiles_are_features() -> None:
    rng = np.random.default_rng(0)
    with_columns = [
        (
            {"letters": x, "kind": ["s" if a in "AG" else "w" for a in x], "profile": rng.random((len(x), 3))},
            y_of(y, rng),
        )
        for x, y in PAIRS
    ]
    model = SequenceAligner(window=1, gap_residues=True, gap_context=1, end_gaps=True).fit(with_columns, KNOWN)
    names = model.map_.names()
    assert len(names) == len(model.coef_)
    assert {"kind=s:kind=w", "profile=0:profile=2", "A@+1:outside@+1", "open:A", "end extend:C@-1"} <= set(names)
    assert model.score(with_columns, KNOWN) == 1.0
    tokens = [([["w=" + a, "same"] for a in x], [["w=" + a] for a in y]) for x, y in PAIRS]
    assert SequenceAligner().fit(tokens, KNOWN).score(tokens, KNOWN) == 1.0


def score_by_names(model: SequenceAligner, x: dict, y: dict, pairs: list[tuple[int, int]]) -> float:
    """The score of a global alignment, from the names of the weights alone."""
    weights = dict(zip(model.map_.names(), model.coef_, strict=True))

    def at(column: list[str], k: int, offset: int) -> str:
        return f"{column[k + offset] if 0 <= k + offset < len(column) else 'outside'}@{offset:+d}"

    def pair(a: str, b: str) -> float:
        return weights[f"{a}:{b}"] if f"{a}:{b}" in weights or not model.symmetric else weights[f"{b}:{a}"]

    def gap(sequence: dict, k: int, kind: str) -> float:
        names = [kind, f"{kind}:{sequence['letters'][k]}"]
        names += [f"{kind}:{at(sequence['letters'], k, offset)}" for offset in (-1, 1)]
        return sum(weights[name] for name in names)

    total = 0.0
    for i, j in pairs:
        total += pair(x["letters"][i], y["letters"][j]) + pair(f"kind={x['kind'][i]}", f"kind={y['kind'][j]}")
        total += sum(pair(at(x["letters"], i, offset), at(y["letters"], j, offset)) for offset in (-1, 1))
        for a, b in np.ndindex(3, 3):
            total += x["profile"][i, a] * y["profile"][j, b] * pair(f"profile={a}", f"profile={b}")
    ends = [(-1, -1), *pairs, (len(x["letters"]), len(y["letters"]))]
    for number, ((i, j), (k, h)) in enumerate(pairwise(ends)):
        place = "end " if number in (0, len(pairs)) else ""
        for sequence, run in ((x, range(i + 1, k)), (y, range(j + 1, h))):
            first, further = ("open", "extend") if model.gaps == "affine" else ("gap", "gap")
            total += sum(gap(sequence, p, place + (further if q else first)) for q, p in enumerate(run))
    return total


@pytest.mark.parametrize("gaps", ["affine", "linear"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_every_weight_scores_what_its_name_says(gaps: str, symmetric: bool) -> None:
    """Tables, windows, columns, profiles, and gaps by residue, context and end, on every known alignment."""
    rng = np.random.default_rng(1)
    X = [(y_of(x, rng), y_of(y, rng)) for x, y in PAIRS]
    model = SequenceAligner(
        gaps=gaps,
        symmetric=symmetric,
        window=1,
        gap_residues=True,
        gap_context=1,
        end_gaps=True,
        tol=1e-2,
        decode="score",
    ).fit(X, KNOWN)
    model.coef_[:] = rng.standard_normal(len(model.coef_))
    for (x, y), best, (value, ranked) in zip(
        X, model.predict(X), (each[0] for each in model.predict_kbest(X, k=1)), strict=True
    ):
        assert best == ranked
        scores = [score_by_names(model, x, y, each) for each in alignments(len(x["letters"]), len(y["letters"]))]
        assert_allclose(value, max(scores))
        assert_allclose(value, score_by_names(model, x, y, best))


def test_attributes_of_tokens_score_in_all_pairs() -> None:
    X = [([["w=a", "n"], ["w=b"]], [["w=b", "v"]]), ([["w=b", "v"]], [["w=a"], ["w=b", "n"]])]
    model = SequenceAligner(symmetric=False, gaps="linear").fit(X, [[(1, 0)], [(0, 1)]])
    weights = dict(zip(model.map_.names(), model.coef_, strict=True))
    for (x, y), ((value, pairs),) in zip(X, model.predict_kbest(X, k=1), strict=True):
        expected = weights["gap"] * (len(x) + len(y) - 2 * len(pairs))
        expected += sum(weights[f"{a}:{b}"] for i, j in pairs for a in x[i] for b in y[j])
        assert_allclose(value, expected)


def test_aligned_texts_are_brought_into_the_canonical_form() -> None:
    """Between matches the letters of x come first, whatever the order in the file."""
    for one, other in ((("A-CG", "AT-G"), ("AC-G", "A-TG")), (("-AC", "T-C"), ("A-C", "-TC"))):
        assert known_matches([one]) == known_matches([other])
        (pairs,) = known_matches([one])
        assert gapped(one[0].replace("-", ""), one[1].replace("-", ""), pairs) == other
    fits = [SequenceAligner().fit([("ACG", "ATG")], [known]) for known in (("A-CG", "AT-G"), ("AC-G", "A-TG"))]
    assert_allclose(fits[0].coef_, fits[1].coef_)
    # A local alignment ends with its last match: what follows in the file is not scored.
    ends = [
        SequenceAligner(mode="local").fit([("ACGT", "ACGG")], [known])
        for known in (("ACGT-", "ACG-G"), [(0, 0), (1, 1), (2, 2)])
    ]
    assert_allclose(ends[0].coef_, ends[1].coef_)


NATIVES = [("ACGT", ["ACT", "GGG", "TGC"]), ("TTAC", ["CCC", "TAC"]), ("GATC", ["GTC", "AAT"])]
HOMOLOGUES = [(0, ("ACGT", "AC-T")), (1, ("TTAC", "-TAC")), (0, ("GATC", "G-TC"))]
CERTIFYING = {
    "log": ["auto", "bcfw", "cg", "eg", "eg-batch", "lbfgs", "svrg"],
    "hinge": ["auto", "bcfw", "cutting-plane", "one-slack"],
}
OTHERS = [
    ("log", "printed-eg"),
    ("log", "mira"),
    ("log", "sgd"),
    ("hinge", "eg"),
    ("hinge", "kbest-mira"),
    ("hinge", "lp"),
    ("hinge", "sgd"),
    ("perceptron", "perceptron"),
    ("ramp", "cccp"),
]


def trained(loss: str, learner: str) -> tuple[HomologyRanker, SequenceAligner]:
    """Both estimators, fitted."""
    ranker = HomologyRanker(loss, C=10.0, learner=learner, n_jobs=1, max_iter=300)
    aligner = SequenceAligner(loss, C=10.0, learner=learner, n_jobs=1, max_iter=300, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ranker.fit(NATIVES, HOMOLOGUES), aligner.fit(PAIRS, KNOWN)


@pytest.mark.parametrize("loss", CERTIFYING)
def test_learners_with_a_certificate_find_the_same_optimum_of_both_ways_to_learn(loss: str) -> None:
    found = [[model.certificate_.primal for model in trained(loss, learner)] for learner in CERTIFYING[loss]]
    assert_allclose(found, [found[0]] * len(found), rtol=2e-4)


@pytest.mark.parametrize(("loss", "learner"), OTHERS)
def test_other_learners_apply_to_both_ways_to_learn(loss: str, learner: str) -> None:
    ranker, aligner = trained(loss, learner)
    assert ranker.score(NATIVES, HOMOLOGUES) == 1.0
    assert aligner.score(PAIRS, KNOWN) == 1.0


@pytest.mark.parametrize("learner", ["smo", "smo-eg"])
def test_only_learners_that_need_a_part_for_every_edge_are_refused(learner: str) -> None:
    own = {name for name, kind in LEARNERS.items() if kind.__module__.startswith("margrave.")}
    assert {*CERTIFYING["log"], *CERTIFYING["hinge"], *(name for _, name in OTHERS), "smo", "smo-eg"} == own
    for model, X, y in ((HomologyRanker, NATIVES, HOMOLOGUES), (SequenceAligner, PAIRS, KNOWN)):
        with pytest.raises(
            MargraveError, match=r"needs 'untied'.*use learner='bcfw', .* or SequenceAligner\(edges=True"
        ):
            model("hinge", learner=learner).fit(X, y)


@pytest.mark.parametrize("mode", ["global", "local", "semi-global"])
@pytest.mark.parametrize(("loss", "learner"), [("hinge", "smo"), ("hinge", "smo-eg"), ("log", "eg")])
def test_parts_of_edges_learn_the_weights_of_places(mode: str, loss: str, learner: str) -> None:
    settings = {"mode": mode, "end_gaps": mode != "local", "window": 1, "tol": 1e-5, "max_iter": 2000, "n_jobs": 1}
    places = SequenceAligner(loss, learner="lbfgs" if loss != "hinge" else "bcfw", tied=False, **settings)
    edges = SequenceAligner(loss, learner=learner, edges=True, **settings).fit(PAIRS, KNOWN)
    places.fit(PAIRS, KNOWN)
    assert edges.converged_ and places.converged_
    assert_allclose(edges.certificate_.primal, places.certificate_.primal, rtol=2e-5)
    assert_allclose(edges.coef_, places.coef_, atol=0.02)
    assert edges.predict(PAIRS) == places.predict(PAIRS)


@pytest.mark.parametrize("mode", ["global", "semi-global"])
@pytest.mark.parametrize("gaps", ["affine", "linear"])
def test_there_is_a_name_for_every_weight(mode: str, gaps: str) -> None:
    model = SequenceAligner(mode=mode, gaps=gaps, end_gaps=True, gap_residues=True).fit(PAIRS, KNOWN)
    assert len(model.map_.names()) == len(model.coef_)


def test_local_alignments_have_no_end_gaps() -> None:
    for model, X, y in ((HomologyRanker, NATIVES, HOMOLOGUES), (SequenceAligner, PAIRS, KNOWN)):
        with pytest.raises(MargraveError, match=r"local alignments have no gaps at their ends.*pass end_gaps=False"):
            model(mode="local", end_gaps=True).fit(X, y)


@pytest.mark.parametrize("mode", ["global", "local", "semi-global"])
@pytest.mark.parametrize("gaps", ["affine", "linear"])
def test_edges_score_every_alignment_as_places_do(mode: str, gaps: str) -> None:
    """And they distribute what is learned over the same weights."""
    settings = {"mode": mode, "gaps": gaps, "end_gaps": mode != "local", "gap_residues": True, "gap_context": 1}
    models = [SequenceAligner(**settings, **layout).fit(PAIRS, KNOWN) for layout in ({"edges": True}, {"tied": False})]
    known = [Examples(PAIRS, known_matches(KNOWN), training=True) for _ in models]
    edges, places = (model._bind(given).problem for model, given in zip(models, known, strict=True))
    w = np.random.default_rng(5).standard_normal(edges.dim)
    for i, (x, y) in enumerate(PAIRS):
        of_edges, of_places = edges.score(i, w), places.score(i, w)
        parts = AlignmentParts(x, y, mode, gaps == "affine", False, 1)
        for each in alignments(len(x), len(y)):
            a, b = list(edge_parts(len(x), len(y), each)), list(parts.of(each))
            assert_allclose(of_edges[a].sum(), of_places[b].sum(), atol=1e-12)
        mu = np.random.default_rng(i).standard_normal(len(of_edges))
        g = np.zeros(edges.dim)
        edges.scatter(i, mu, 1.0, g)
        assert_allclose(g @ w, mu @ of_edges, rtol=1e-9)


def test_parts_of_edges_are_not_tied() -> None:
    with pytest.raises(MargraveError, match="parts of edges are not tied: pass tied=False"):
        SequenceAligner(edges=True, tied=True).fit(PAIRS, KNOWN)


def y_of(y: str, rng: np.random.Generator) -> dict:
    return {"letters": y, "kind": ["s" if a in "AG" else "w" for a in y], "profile": rng.random((len(y), 3))}


def test_the_f1_cost_counts_pairs_and_is_limited_to_short_sequences() -> None:
    model = SequenceAligner(Hinge("f1"), learner="cutting-plane", C=10.0).fit(PAIRS, KNOWN)
    assert model.score(PAIRS, KNOWN) == 1.0
    with pytest.raises(MargraveError, match="example 0 has 41 letters, and the F1 cost is counted for up to 40"):
        SequenceAligner(Hinge("f1"), learner="cutting-plane").fit([("A" * 41, "A")], [[(0, 0)]])


def test_a_learned_matrix_is_used_by_biopython(tmp_path) -> None:
    align = pytest.importorskip("Bio.Align")
    from Bio.Align import substitution_matrices

    model = SequenceAligner(C=3.0).fit(PAIRS, KNOWN)
    path = tmp_path / "learned.txt"
    model.write_matrix(path)
    again = read_matrix(path)
    assert_allclose(again.values, model.matrix_.values, atol=1e-4)
    aligner = align.PairwiseAligner(mode="global", substitution_matrix=substitution_matrices.read(str(path)))
    aligner.open_gap_score, aligner.extend_gap_score = again.gap_open, again.gap_extend
    for x, y in PAIRS:
        assert_allclose(aligner.score(x, y), aligner_of(again).best_scores([(x, y)])[0], atol=1e-9)


def test_sequences_of_biopython_are_read_as_texts() -> None:
    seq = pytest.importorskip("Bio.Seq")
    from Bio.SeqRecord import SeqRecord

    model = SequenceAligner().fit(PAIRS, KNOWN)
    given = [(seq.Seq(x), SeqRecord(seq.Seq(y))) for x, y in PAIRS]
    assert model.predict(given) == model.predict(PAIRS)


def test_the_ranker_finds_homologues_and_the_generative_model_counts(tmp_path) -> None:
    X = [("ACGT", ["ACT", "GGG"]), ("TTAC", ["CCC", "TAC"])]
    y = [(0, ("ACGT", "AC-T")), (1, ("TTAC", "-TAC"))]
    for loss in ("hinge", "log", Hinge(slack=2), Hinge("zero-one")):
        learner = "cutting-plane" if not isinstance(loss, str) else "auto"
        ranker = HomologyRanker(loss, learner=learner, C=10.0).fit(X, y)
        assert ranker.predict(X).tolist() == [0, 1]
        assert ranker.score(X, y) == 1.0
        ranker.save(tmp_path / "ranker.model")
        assert load(tmp_path / "ranker.model").predict(X).tolist() == [0, 1]
    for p in ranker.predict_marginals(X):
        assert_allclose(p.sum(), 1.0)
    counted = GenerativeAligner(mode="local").fit(X, y)
    joint = np.ones((4, 4))
    for a, b in ("AA", "CC", "TT", "TT", "AA", "CC"):
        joint["ACGT".index(a), "ACGT".index(b)] += 1
    px, py = np.array([3, 3, 2, 4]), np.array([3, 3, 1, 3])  # letters of natives and homologues, each plus 1
    expected = np.log(joint / joint.sum() / (px / px.sum())[:, None] / (py / py.sum()))
    assert_allclose(counted.matrix_.values, expected)
    assert counted.matrix_.gap_open == -0.2
    assert counted.score(X, y) == np.mean(counted.predict(X) == [0, 1])


@pytest.mark.parametrize("gaps", ["affine", "linear"])
@pytest.mark.parametrize("mode", ["global", "local", "semi-global"])
def test_the_best_candidate_is_that_of_all_its_alignments(mode: str, gaps: str) -> None:
    model = HomologyRanker(mode=mode, gaps=gaps, end_gaps=mode != "local").fit(NATIVES, HOMOLOGUES)
    model.coef_[:] = np.random.default_rng(4).standard_normal(len(model.coef_))
    model.coef_[model.map_._gaps_begin() :] -= 2
    bound = model._bind(Examples(NATIVES))
    for i, (x, candidates) in enumerate(NATIVES):
        theta = bound.problem.score(i, model.coef_)
        best = []
        for y in candidates:
            codes = [["ACGT".index(a) for a in text] for text in (x, y)]
            parts = AlignmentParts(codes[0], codes[1], mode, gaps == "affine", True, 4, begins=False)
            best.append(max(theta[list(parts.of(each))].sum() for each in alignments(len(x), len(y))))
        assert model.predict([NATIVES[i]]).tolist() == [int(np.argmax(best))]
        ranked = model.predict_kbest([NATIVES[i]], k=3)[0]
        assert_allclose([value for value, _ in ranked], sorted(best, reverse=True))
        p = model.predict_marginals([NATIVES[i]])[0]
        assert_allclose(p.sum(), 1.0)


def test_a_generative_model_has_the_methods_of_aligners_and_a_file(tmp_path) -> None:
    model = GenerativeAligner(-0.5, mode="global", alphabet="ACGT").fit(PAIRS, KNOWN)
    model.save(tmp_path / "counted.model")
    again = GenerativeAligner.load(tmp_path / "counted.model")
    assert again.get_params() == model.get_params()
    assert again.predict(PAIRS) == model.predict(PAIRS)
    assert_allclose(again.matrix_.values, model.matrix_.values)
    given = [("ACGT", ["ACT", "GGG"])]
    assert again.predict(given).tolist() == model.predict(given).tolist()
    assert model.aligned(PAIRS)[0] == ("ACGT", "A-GT")
    assert model.predict_kbest(PAIRS, k=2)[0][0][1] == model.predict(PAIRS)[0]
    assert model.predict_marginals(PAIRS)[0].shape == (4, 3)
    twice = GenerativeAligner(-0.5, mode="global", alphabet="ACGT")
    weighted = twice.fit(PAIRS, KNOWN, [2.0, 1.0, 1.0]).matrix_
    repeated = twice.fit([PAIRS[0], *PAIRS], [KNOWN[0], *KNOWN]).matrix_
    assert_allclose(weighted.values, repeated.values)
    for settings, X, y, match in (
        ({"gap": np.inf}, PAIRS, KNOWN, "gap must be finite"),
        ({}, PAIRS, KNOWN[:2], "there are 3 pairs in X and 2 in y"),
        ({}, [("AC", "A")], [[(0, 3)]], r"the pair \(0, 3\) is outside of sequences of 2 and 1 letters"),
        ({"alphabet": "AC"}, PAIRS, KNOWN, "the letter 'G' is not in the alphabet"),
        ({}, "AC", KNOWN, "X must be a sequence of examples, not str"),
    ):
        with pytest.raises(MargraveError, match=match):
            GenerativeAligner(**settings).fit(X, y)


def test_tokens_may_be_tuples_and_words() -> None:
    """A sequence of tokens is not taken for a list of candidates."""
    words = [(tuple(["the", "small", "cat"]), tuple(["the", "cat"])), (["a", "dog"], ["a", "big", "dog"])]
    known = [[(0, 0), (2, 1)], [(0, 0), (1, 2)]]
    for model in (SequenceAligner(C=10.0), GenerativeAligner(mode="global")):
        assert model.fit(words, known).predict(words) == known
    candidates = [(["the", "cat"], [["the", "cat"], ["a", "dog"]])]
    ranker = HomologyRanker().fit(candidates, [(0, [(0, 0), (1, 1)])])
    counted = GenerativeAligner().fit(candidates, [(0, [(0, 0), (1, 1)])])
    assert ranker.predict(candidates).tolist() == counted.predict(candidates).tolist() == [0]


def test_letters_of_the_matrix_to_start_from_are_known() -> None:
    model = SequenceAligner(C=0.01, start="BLOSUM62", decode="score").fit(PAIRS, KNOWN)
    assert model.predict([("WWA", "WA")]) == aligner_of(BLOSUM62).predict([("WWA", "WA")])
    with pytest.raises(MargraveError, match="the letter 'é' is not in the alphabet"):
        model.predict([("é", "A")])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([("AC", "")], [[]], "example 0, y is empty"),
        (
            [("AC", "AC")],
            [("AC", "A")],
            "example 0: aligned sequences must have the same length, and they have 2 and 1",
        ),
        ([("AC", "AC")], [("A-C", "A-C")], "example 0: column 2 has two gaps"),
        ([("ACGT", "AC")], [("ACGA", "A--C")], "example 0, x, position 3: the letter is 'T', and 'A' in the alignment"),
        ([("ACG", "ACT")], [("ACG", "A-T")], "example 0, y has 3 letters, and 2 in the known alignment"),
        (["AC"], [[]], "example 0 must be a pair of sequences"),
        ([("AC", 3)], [[]], "example 0, y must be a text or a list of tokens, not int"),
    ],
)
def test_wrong_pairs_are_refused_in_one_sentence(X, y, match: str) -> None:
    with pytest.raises(MargraveError, match=match):
        SequenceAligner().fit(X, y)


def test_known_alignments_of_other_sequences_are_refused_wherever_they_are_used() -> None:
    X, known, swapped = [("ACGT", "ACT")], [("ACGT", "AC-T")], [("AC-T", "ACGT")]
    model = SequenceAligner().fit(X, known, dev=(X, known))
    match = "example 0, x has 4 letters, and 3 in the known alignment"
    with pytest.raises(MargraveError, match=match):
        model.score(X, swapped)
    with pytest.raises(MargraveError, match=match):
        SequenceAligner().fit(X, known, dev=(X, swapped))
    with pytest.raises(MargraveError, match=match):
        GenerativeAligner().fit(X, swapped)


def test_other_mistakes_are_refused_in_one_sentence() -> None:
    model = SequenceAligner().fit(PAIRS, KNOWN)
    with pytest.raises(MargraveError, match=r"example 0, x, position 1: the letter 'J' is not in the alphabet"):
        model.predict([("AJ", "A")])
    for decoy in ("AC", list("AC"), ("A", "C")):
        with pytest.raises(MargraveError, match="example 0: decoy 1 is equal to the homologue: leave it out"):
            HomologyRanker().fit([("AC", ["AC", decoy])], [(0, [(0, 0)])])
    with pytest.raises(MargraveError, match="example 0, candidate 0 has 2 letters, and 1 in the known alignment"):
        HomologyRanker().fit([("AC", ["AC", "GG"])], [(0, ("AC", "A-"))])
    for loss in ("hinge", "softmax-margin", "ramp"):
        with pytest.raises(MargraveError, match="counts wrong pairs by their places, which tied parts do not tell"):
            SequenceAligner(loss, tied=True).fit(PAIRS, KNOWN)
    for loss in (Hinge(slack=2), "ramp", "expected-cost", "latent-log"):
        with pytest.raises(MargraveError, match="a matrix to start from needs a convex loss of the family"):
            SequenceAligner(loss, start="BLOSUM62").fit(PAIRS, KNOWN)
    with pytest.raises(MargraveError, match="unknown way to decode 'best'"):
        SequenceAligner(decode="best").fit(PAIRS, KNOWN)
    with pytest.raises(MargraveError, match="unknown way to decode 'auto'"):
        GenerativeAligner(decode="auto").fit(PAIRS, KNOWN)


@pytest.mark.parametrize("n", [150, 300, 600])
def test_accuracy_decoding_takes_little_more_than_the_table(n: int) -> None:
    """One copy of the table with a caution."""
    table = np.random.default_rng(n).dirichlet(np.ones(n), n)
    expected = most_accurate(table, 0.1)
    tracemalloc.start()
    try:
        assert most_accurate(table, 0.1) == expected
        assert tracemalloc.get_traced_memory()[1] < 1.3 * table.nbytes + 2e5
    finally:
        tracemalloc.stop()


def test_accuracy_decoding_has_few_tables_at_once() -> None:
    model = SequenceAligner(decode="accuracy", n_jobs=1).fit([("ACGT", "AGT")], [[(0, 0), (2, 1), (3, 2)]])
    pairs = [("ACGT" * 150, "AGT" * 200)] * 35  # whose tables together take 100 MB
    tracemalloc.start()
    try:
        model.predict(pairs)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
