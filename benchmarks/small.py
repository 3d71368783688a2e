"""Small problems for every structure and every estimator, the same ones on every machine.

A problem has the estimator, its settings, the training data, and data to predict. Parameters have their new names, as
in `benchmarks.names`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.corpora.columns import conll2000, last_column
from benchmarks.names import make, public

Pair = tuple[Any, Any]
PARTS = ("train", "dev", "test")
# Settings that do not follow the defaults, so the problems stay the same.
ALIGNED: dict[str, Any] = {"C": 1.0, "tol": 1e-4, "decode": "score"}
PARSED: dict[str, Any] = {"C": 1.0, "tol": 1e-4, "decode": "best"}
RULES: dict[str, Any] = {"grammar": "rules", **PARSED}


@dataclass(frozen=True)
class Small:
    """An estimator with its settings, training data (X, y, ...), and inputs to predict, by name."""

    kind: str
    settings: dict[str, Any]
    data: Callable[[], tuple[Any, ...]]
    new: Callable[[], dict[str, Any]] = dict
    extras: dict[str, Any] = field(default_factory=dict)  # further arguments of fit

    def fit(self, **settings: Any) -> Any:
        """The fitted model."""
        return make(self.kind, **self.settings | settings).fit(*self.data(), **self.extras)


# ---- data ------------------------------------------------------------------------------------------------------------


@cache
def chunks() -> Pair:
    """The first sentences of CoNLL-2000."""
    rows = conll2000("train")[:500]
    return [[row[:-1] for row in sentence] for sentence in rows], last_column(rows)


@cache
def town(part: str, n: int | None = None) -> Pair:
    rows = public("load_town")(part)[:n]
    return [[row[:-1] for row in sentence] for sentence in rows], last_column(rows)


def words(part: str, n: int | None = None) -> Pair:
    X, y = town(part, n)
    return [[row[0] for row in rows] for rows in X], y


def tag_pairs(part: str, n: int) -> list[list[list[str]]]:
    """Attributes of transitions: the parts of speech of a token and of the one before it."""
    X, _ = town(part, n)
    return [[[f"{a[1]} {b[1]}"] for a, b in zip([rows[0], *rows], rows, strict=False)] for rows in X]


@cache
def answers(n: int) -> Pair:
    """Sentences in which a name is right without its first word as well."""
    X, y = town("train", n)
    found = []
    for tags in y:
        shorter = []
        for begin, tag in enumerate(tags):
            end = begin + 1
            while end < len(tags) and tags[end].startswith("I-"):
                end += 1
            if tag.startswith("B-") and end - begin > 1:
                shorter.append((tag[2:], begin + 1, end))
        found.append(public("Answers")(tags, shorter))
    return X, found


@cache
def trees(part: str, n: int | None = None, *, labels: bool = True, longest: int = 100) -> Pair:
    """Sentences of at most so many words, and their trees."""
    sentences = [sentence for sentence in public("load_harbor")(part) if len(sentence.words) <= longest][:n]
    X = [[(word.form, word.upos, word.feats) for word in sentence.words] for sentence in sentences]
    return X, [[(w.head, w.deprel) if labels else w.head for w in sentence.words] for sentence in sentences]


@cache
def crossing_trees(n: int) -> Pair:
    """Trees in which the last word depends on the first one, so that arcs cross."""
    X, y = trees("train", n, labels=False, longest=12)
    return X, [[*heads[:-1], 1] if heads[0] not in (0, len(heads)) else heads for heads in y]


@cache
def brackets(part: str, n: int | None = None) -> Pair:
    """The trees of a part, or the first that have at most 15 words."""
    found = public("load_quay")(part)
    if n is not None:
        found = [tree for tree in found if len(tree.words) <= 15][:n]
    return [list(zip(tree.words, tree.tags, strict=True)) for tree in found], found


def tags(part: str, n: int | None = None) -> Pair:
    X, y = brackets(part, n)
    return [[tag for _, tag in rows] for rows in X], y


@cache
def digits(begin: int, end: int | None) -> Pair:
    X, y = public("load_digits")()
    return X[begin:end], y[begin:end]


def digit_paths(begin: int, end: int) -> Pair:
    """Digits below a node for even and one for odd ones."""
    X, y = digits(begin, end)
    return X, [f"{'even' if digit % 2 == 0 else 'odd'}.{digit}" for digit in y]


def digit_sets(begin: int, end: int) -> Pair:
    """The path of each digit, and that of its half."""
    X, y = digits(begin, end)
    named = [f"{'even' if digit % 2 == 0 else 'odd'}.{digit}" for digit in range(10)]
    return X, [sorted({named[digit], named[digit // 2]}) for digit in y]


def texts() -> tuple[list[str], list[str]]:
    """What animals do."""
    X = ["the cat purrs", "the dog barks", "the carp swims", "a cat and a cat", "one dog barks", "swim little carp"]
    return X, ["pet.cat", "pet.dog", "fish.carp"] * 2


@cache
def lists(n: int) -> tuple[Any, Any, Any]:
    """Lists of candidates, of which one or two are good, and what the others cost."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=6)
    X, y, costs = [], [], []
    for _ in range(n):
        rows = rng.normal(size=(int(rng.integers(3, 7)), 6))
        order = np.argsort(-(rows @ w + rng.normal(size=len(rows))))
        good = order[: int(rng.integers(1, 3))]
        cost = rng.uniform(0.5, 2.0, len(rows))
        cost[good] = 0.0
        X.append([{f"x{k}": float(value) for k, value in enumerate(row)} for row in rows])
        y.append(good.tolist())
        costs.append(cost)
    return X, y, costs


@cache
def maps(n: int, height: int = 3, width: int = 5) -> Pair:
    """Noisy pictures of ice, land and sea."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(n):
        kind = (np.add.outer(np.arange(height), np.arange(width)) + rng.integers(0, 3)) // 3 % 3
        X.append(np.eye(3)[kind] + rng.normal(scale=0.8, size=(height, width, 3)))
        y.append(np.array(["ice", "land", "sea"])[kind])
    return X, y


def countries() -> Pair:
    """Countries that name their color, or do not, with attributes of borders."""
    X = [
        ([["red"], ["blue"], ["red"], []], [(0, 1), (1, 2), (2, 3), (3, 0)], [["sea"], ["hill"], [], ["sea"]]),
        ([["blue"], [], ["red"]], [(0, 1), (2, 1)], [["hill"], []]),
        ([["blue"], ["red"], []], [(0, 1), (0, 2)], [["sea"], ["sea"]]),
    ]
    return X, [["r", "b", "r", "b"], ["b", "r", "r"], ["b", "r", "r"]]


def splits(word: str) -> Any:
    """All ways to split a word, with an optional s between two parts."""
    edges = []
    for begin in range(len(word)):
        for end in range(begin + 3, len(word) + 1):
            for link in ("", "s"):
                after = end + len(link)
                if word[end:after] == link and (not link or after < len(word)):
                    values = {"part": 1.0, f"length {end - begin}": 1.0}
                    edges.append((begin, after, word[begin:end], values | ({"linking s": 1.0} if link else {})))
    return public("Lattice").of(edges, start=0, end=len(word), id=word)


COMPOUNDS = {
    "doorbell": ["door bell"],
    "bellrope": ["bell rope"],
    "ropedoor": ["rope door"],
    "salesroom": ["sale room", "sales room"],
    "roomdoor": ["room door"],
    "saleroom": ["sale room"],
    "bell": ["bell"],
}


@cache
def compounds() -> Pair:
    return [splits(word) for word in COMPOUNDS], list(COMPOUNDS.values())


LETTERS = "abcdef"


@cache
def dialects(begin: int, end: int) -> Pair:
    """A sequence, what has become of it, and which letters belong together."""
    rng = np.random.default_rng(2)
    X, y = [], []
    for _ in range(end):
        old = rng.integers(0, len(LETTERS), int(rng.integers(6, 13)))
        new: list[int] = []
        matches = []
        for i, letter in enumerate(old.tolist()):
            chance = rng.random()
            if chance < 0.15:  # it is lost
                continue
            if chance < 0.3:  # another one is added
                new.append(int(rng.integers(len(LETTERS))))
            matches.append((i, len(new)))
            new.append((letter + int(rng.random() < 0.4)) % len(LETTERS))
        X.append(tuple("".join(LETTERS[k] for k in sequence) for sequence in (old.tolist(), new)))
        y.append(matches)
    return X[begin:], y[begin:]


def homologues(n: int) -> Pair:
    """A sequence with candidates, of which one is what has become of it."""
    X, y = dialects(0, 2 * n)
    found = [(x, [other, X[n + k][0]] if k % 2 else [X[n + k][0], other]) for k, (x, other) in enumerate(X[:n])]
    return found, [(0 if k % 2 else 1, y[k]) for k in range(n)]


ARTICLES = {"lo": "the", "un": "a"}
NOUNS = {"kanu": "boat", "tavo": "harbor", "rimi": "gull"}
ADJECTIVES = {"suri": "gray", "mela": "old", "pika": "small"}
VERBS = {"vidas": "sees", "laudas": "leaves"}


def foreign() -> tuple[list[str], list[str], list[str]]:
    """Sentences of an invented language, their translations, and the links between their words."""
    X, y, links = [], [], []
    for k, (article, noun, adjective, verb) in enumerate(product(ARTICLES, NOUNS, ADJECTIVES, VERBS)):
        other = list(NOUNS)[k % 3]
        X.append(f"{article} {noun} {adjective} {verb} lo {other}")
        y.append(f"{ARTICLES[article]} {ADJECTIVES[adjective]} {NOUNS[noun]} {VERBS[verb]} the {NOUNS[other]}")
        links.append("0-0 1-2 2-1 3-3 4-4 5-5")
    return X, y, links


def grammar_decoder(*, language_model: bool) -> Any:
    """A synchronous grammar of the invented language, with wrong rules beside the right ones."""
    rules = [f"[X] ||| {a} ||| {b} ||| right=1" for a, b in (NOUNS | ARTICLES | VERBS).items()]
    rules += [f"[X] ||| {a} ||| {b}s ||| wrong=1" for a, b in NOUNS.items()]
    rules += [f"[X] ||| [X,1] {a} ||| {b} [1] ||| right=1" for a, b in ADJECTIVES.items()]
    rules += [f"[X] ||| [X,1] {a} ||| [1] {b} ||| wrong=1" for a, b in ADJECTIVES.items()]
    grammar = public("SynchronousGrammar")().add(rules[::2], span_limit=9).add(rules[1::2]).add_glue()
    model = public("NGramModel").estimate(foreign()[1], order=2) if language_model else None
    return public("SynchronousDecoder")(grammar, model)


# ---- problems --------------------------------------------------------------------------------------------------------


def every_part(of: Callable[[str], Pair], parts: tuple[str, ...] = PARTS) -> Callable[[], dict[str, Any]]:
    """The inputs of all parts of a built-in corpus."""
    return lambda: {part: of(part)[0] for part in parts}


def structures() -> dict[str, Small]:
    """A problem of each structure, for every learner with every loss."""
    column, arcs = make("Templates"), {"labels": False, "prune": False, **PARSED}
    return {
        "chain": Small("SequenceTagger", {"features": column}, chunks),
        "chain, untied": Small("SequenceTagger", {"features": column, "tied": False}, lambda: town("train", 40)),
        "chain, order 2": Small("SequenceTagger", {"features": column, "order": 2}, lambda: town("train", 40)),
        "chain, kernel": Small(
            "SequenceTagger",
            {"features": column, "kernel": make("Kernel", "polynomial")},
            lambda: town("train", 15),
        ),
        "segments": Small("SegmentTagger", {"features": column, "max_length": 4}, lambda: answers(30)),
        "classes": Small("LinearClassifier", {}, lambda: digits(0, 60)),
        "classes, kernel": Small(
            "LinearClassifier", {"kernel": make("Kernel", "rbf", gamma=0.1)}, lambda: digits(0, 40)
        ),
        "taxonomy": Small("TaxonomyClassifier", {"taxonomy": "."}, lambda: digit_paths(0, 40)),
        "node sets": Small("HierarchicalMultiLabelClassifier", {"taxonomy": "."}, lambda: digit_sets(0, 40)),
        "label tree": Small("MultiLabelClassifier", {}, lambda: digit_sets(0, 30)),
        "label graph, messages": Small(
            "MultiLabelClassifier", {"graph": "full", "inference": "bp"}, lambda: digit_sets(0, 8)
        ),
        "graph": Small("GraphLabeler", {}, lambda: maps(6)),
        **{f"graph, {name}": Small("GraphLabeler", {"inference": name}, lambda: maps(3, 3, 3)) for name in INFERENCES},
        "candidates": Small("Reranker", {}, lambda: lists(20)[:2], extras={"costs": lists(20)[2]}),
        "lattice": Small("LatticeDecoder", {"starts": 1, "features": make("EdgeFeatures", words=True)}, compounds),
        "tree": Small(
            "DependencyParser", {"projective": False, **arcs}, lambda: trees("train", 12, labels=False, longest=12)
        ),
        "tree, projective": Small(
            "DependencyParser", {"projective": True, **arcs}, lambda: trees("train", 12, labels=False, longest=12)
        ),
        "tree, second order": Small(
            "DependencyParser", {"order": 2, **arcs}, lambda: trees("train", 5, labels=False, longest=12)
        ),
        "tree, second order, crossing": Small(
            "DependencyParser", {"order": 2, "projective": False, **arcs}, lambda: crossing_trees(4)
        ),
        "tree, joint labels": Small(
            "DependencyParser",
            {"projective": False, "labels": "joint", **PARSED},
            lambda: trees("train", 6, longest=12),
        ),
        "grammar": Small("ConstituencyParser", RULES, lambda: brackets("train", 12)),
        "spans": Small(
            "ConstituencyParser", {"grammar": "spans", "weights": "hash:12", **PARSED}, lambda: brackets("train", 5)
        ),
        **{
            f"alignment, {mode}, {gaps}": Small(
                "SequenceAligner", {"mode": mode, "gaps": gaps, **ALIGNED}, lambda: dialects(0, 8)
            )
            for mode, gaps in (("global", "affine"), ("local", "linear"), ("semi-global", "affine"))
        },
        "alignment, edges": Small("SequenceAligner", {"edges": True, **ALIGNED}, lambda: dialects(0, 8)),
        "homology": Small("HomologyRanker", {}, lambda: homologues(8)),
    }


INFERENCES = ("bp", "trw", "relaxed", "lp")


def models() -> dict[str, Small]:
    """A small model of every estimator, and of what has code of its own in it, with what it predicts."""
    column = make("Templates")
    of_town, of_harbor, of_quay = every_part(town), every_part(trees), every_part(brackets)
    few_brackets = lambda: {"test": brackets("test", 12)[0]}  # noqa: E731
    some_digits = lambda: {"digits": digits(0, None)[0]}  # noqa: E731
    some_pairs = lambda: {"pairs": dialects(8, 40)[0]}  # noqa: E731
    sentences = lambda: {"sentences": [*foreign()[0][:6], "un tavo vidas lo gunta suri"]}  # noqa: E731
    short: dict[str, Any] = {"rounds": 2, "k": 10, "folds": 3, "beam": 10}
    taggers = {
        "": {},
        "order 3": {"order": 3},
        "order 2, start and stop": {"order": 2, "start": True, "stop": True},
        "all weights": {"weights": "all"},
        "hashed weights": {"weights": "hash:12"},
        "forbidden": {"forbidden": [("O", "I-PER"), ("B-LOC", "I-PER")]},
        "margin": {"loss": "hinge", "learner": "bcfw", "transition_scale": 0.5},
    }
    parsers = {
        "order 1": {},
        "order 1, no labels": {"labels": False},
        "order 1, joint labels": {"labels": "joint"},
        "order 1, all arcs, minimum risk": {"prune": False, "decode": "mbr"},
        "order 1, pruned by posteriors": {"prune": "posterior"},
        "order 1, crossing": {"projective": False, "single_root": False},
        "order 1, observed weights": {"weights": "observed", "projective": True},
        "order 1, hashed weights": {"weights": "hash:14"},
    }
    slow_parsers = {
        "order 2": {"order": 2},
        "order 2, siblings": {"order": 2, "features": make("ArcTemplates", built_in="siblings")},
        "order 2, pruned by lengths": {"order": 2, "prune": "lengths", "decode": "mbr"},
        "order 2, joint labels": {"order": 2, "labels": "joint"},
        "order 2, crossing": {"order": 2, "projective": False},
        "order 2, crossing, reweighted": {"order": 2, "projective": False, "fallback": "reweighted"},
    }
    return {
        **{
            f"tagger, {name or 'plain'}": Small(
                "SequenceTagger", {"features": column, **more}, lambda: town("train"), of_town
            )
            for name, more in taggers.items()
        },
        "tagger, kernel": Small(
            "SequenceTagger",
            {"features": column, "kernel": make("Kernel", "rbf", single=True)},
            lambda: town("train", 30),
            every_part(town, ("test",)),
        ),
        "tagger, landmarks": Small(
            "SequenceTagger",
            {"features": column, "kernel": make("Kernel", "polynomial", nystroem=20, random_state=3)},
            lambda: town("train", 30),
            every_part(town, ("test",)),
        ),
        "segments": Small("SegmentTagger", {"features": column}, lambda: town("train", 150), of_town),
        "segments, several answers": Small(
            "SegmentTagger",
            {"features": column, "loss": "latent-log", "max_length": 5, "starts": 2, "tol": 1e-2},
            lambda: answers(40),
            every_part(town, ("test",)),
        ),
        "hidden Markov model": Small("HMMTagger", {}, lambda: words("train"), every_part(words)),
        "hidden Markov model, order 2": Small("HMMTagger", {"order": 2}, lambda: words("train"), every_part(words)),
        **{
            f"parser, {name}": Small("DependencyParser", PARSED | more, lambda: trees("train", 100), of_harbor)
            for name, more in parsers.items()
        },
        **{
            f"parser, {name}": Small("DependencyParser", PARSED | more, lambda: trees("train", 25), of_harbor)
            for name, more in slow_parsers.items()
        },
        "parser, projectivized": Small(
            "DependencyParser", {"projective": True, "labels": False, **PARSED}, lambda: crossing_trees(40), of_harbor
        ),
        "constituents": Small("ConstituencyParser", RULES, lambda: brackets("train", 80), of_quay),
        "constituents, markovized": Small(
            "ConstituencyParser",
            RULES | {"binarize": "left", "horizontal": 1, "vertical": 2, "decode": "mbr"},
            lambda: brackets("train", 40),
            few_brackets,
        ),
        "constituents, words": Small(
            "ConstituencyParser", {"terminals": "words", **RULES}, lambda: brackets("train", 40), of_quay
        ),
        "constituents, pruned": Small(
            "ConstituencyParser", {"prune": 1e-3, **RULES}, lambda: brackets("train", 40), of_quay
        ),
        "constituents, spans": Small(
            "ConstituencyParser",
            {"grammar": "spans", "weights": "hash:14", **PARSED},
            lambda: brackets("train", 25),
            of_quay,
        ),
        "constituents, kernel": Small(
            "ConstituencyParser",
            {"kernel": make("Kernel", "polynomial"), "loss": "hinge", **RULES},
            lambda: brackets("train", 10),
            few_brackets,
        ),
        "counted grammar": Small("PCFG", {}, lambda: tags("train"), every_part(tags)),
        "counted grammar, smoothed": Small(
            "PCFG", {"smoothing": 0.5, "horizontal": 1, "decode": "mbr"}, lambda: tags("train", 80), every_part(tags)
        ),
        "classifier": Small("LinearClassifier", {}, lambda: digits(0, 300), some_digits),
        "classifier, texts": Small(
            "LinearClassifier", {"features": make("TfIdf")}, texts, lambda: {"texts": texts()[0]}
        ),
        "classifier, columns": Small(
            "LinearClassifier", {"features": make("Columns"), "loss": "hinge"}, lambda: digits(0, 100), some_digits
        ),
        "classifier, kernel": Small(
            "LinearClassifier", {"kernel": make("Kernel", "rbf", gamma=0.1)}, lambda: digits(0, 100), some_digits
        ),
        "taxonomy": Small("TaxonomyClassifier", {"taxonomy": "."}, lambda: digit_paths(0, 100), some_digits),
        "taxonomy, descriptions": Small(
            "TaxonomyClassifier",
            {
                "descriptions": {"pet.cat": "a pet that purrs", "pet.dog": "a pet that barks", "fish.carp": "a fish"},
                "features": make("TfIdf"),
            },
            texts,
            lambda: {"texts": texts()[0]},
        ),
        "hierarchical labels": Small(
            "HierarchicalMultiLabelClassifier", {"taxonomy": "."}, lambda: digit_sets(0, 100), some_digits
        ),
        "labels": Small("MultiLabelClassifier", {}, lambda: digit_sets(0, 100), some_digits),
        "labels, independent": Small(
            "MultiLabelClassifier", {"graph": "independent"}, lambda: digit_sets(0, 100), some_digits
        ),
        "labels, pair attributes": Small(
            "MultiLabelClassifier", {"pair_attributes": True, "loss": "hinge"}, lambda: digit_sets(0, 60), some_digits
        ),
        "maps": Small("GraphLabeler", {}, lambda: maps(12), lambda: {"maps": maps(20)[0]}),
        "maps, eight neighbors, messages": Small(
            "GraphLabeler",
            {"neighbors": 8, "window": 3, "inference": "bp"},
            lambda: maps(8),
            lambda: {"maps": maps(12)[0]},
        ),
        "countries": Small(
            "GraphLabeler", {"pairs": "directed", "weights": "hash:8"}, countries, lambda: {"graphs": countries()[0]}
        ),
        "lattices": Small("LatticeDecoder", {}, compounds, lambda: {"lattices": compounds()[0]}),
        "lattices, words": Small(
            "LatticeDecoder",
            {"loss": "log", "features": make("EdgeFeatures", words=True), "weights": "hash:8"},
            compounds,
            lambda: {"lattices": compounds()[0]},
        ),
        "reranker": Small(
            "Reranker", {}, lambda: lists(30)[:2], lambda: {"lists": lists(60)[0]}, {"costs": lists(30)[2]}
        ),
        "aligner": Small("SequenceAligner", ALIGNED, lambda: dialects(0, 8), some_pairs),
        "aligner, windows": Small(
            "SequenceAligner",
            {"window": 1, "gap_residues": True, "gap_context": 1, "end_gaps": True, "symmetric": False, **ALIGNED},
            lambda: dialects(0, 8),
            some_pairs,
        ),
        "aligner, local, accurate": Small(
            "SequenceAligner",
            ALIGNED | {"mode": "local", "decode": "accuracy", "features": make("Sequences", LETTERS)},
            lambda: dialects(0, 8),
            some_pairs,
        ),
        "counted aligner": Small("GenerativeAligner", {"alphabet": LETTERS}, lambda: dialects(0, 8), some_pairs),
        "homologues": Small("HomologyRanker", {}, lambda: homologues(8), lambda: {"lists": homologues(20)[0]}),
        "translator, mert": Small("Translator", {"tuning": "mert", **short}, foreign, sentences),
        "translator, sparse mira": Small("Translator", {"tuning": "mira", "sparse": True, **short}, foreign, sentences),
        "translator, learner": Small("Translator", {"tuning": "learner", **short}, foreign, sentences),
        "translator, graphs": Small(
            "Translator",
            {"tuning": "learner", "loss": "latent-log", "learner": "auto", "graphs": True, **short},
            foreign,
            sentences,
        ),
        **{
            f"translator, grammar{', language model' if with_model else ''}": Small(
                "Translator",
                {"tuning": "mert", "decoder": grammar_decoder(language_model=with_model), "rounds": 2, "k": 10},
                lambda: foreign()[:2],
                sentences,
            )
            for with_model in (False, True)
        },
    }
