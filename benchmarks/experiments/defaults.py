"""Defaults of parsers, aligners, graphs and constituents, by cross-validation on training parts of several corpora.

Test parts are never read, nor are development parts. Settings are the same for all corpora of a kind, so none is tuned
to one of them. Of treebanks, evenly spaced sentences are used, up to a number of words; the last quarter of them is
held out. Related families of proteins are in one fold. With C = 0 an aligner is the matrix that it starts from. The
seconds are processor time of training, in all folds together; other programs shared the machine.

The grids have one setting per question, and not all combinations: C at one tol; tol, order and features at one C.
Runs with approximate inference end after ten seconds.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.alignments import ALPHABET, KnownPair, balibase_pairs, folds_by_group, tm_pairs
from benchmarks.corpora.constituents import constituents
from benchmarks.corpora.graphs import Snake, scenes, snakes
from benchmarks.corpora.regions import regions
from benchmarks.experiments.protein_alignment import f1s, mean, texts
from benchmarks.experiments.snakes import always_background, graph
from benchmarks.experiments.treebanks import Bank, labels_of, parts, words
from benchmarks.pieces import Pieces
from benchmarks.small import dialects
from benchmarks.summaries import plain_folds
from benchmarks.tables import markdown
from margrave import ConstituencyParser, DependencyParser, GraphLabeler, MultiLabelClassifier, SequenceAligner
from margrave.data import BLOSUM62, Graph, image_graph
from margrave.data.constituents import Tree
from margrave.data.substitution import HALF_BIT
from margrave.estimators.generative_aligner import aligner_of
from margrave.features import Sequences, SpanTemplates
from margrave.metrics import attachment_scores, bracket_scores, label_scores, token_accuracy
from margrave.metrics.alignments import pair_scores

Result = dict[str, Any]
Settings = dict[str, Any]
Fold = tuple[Any, Any]  # training and held-out examples

CORPORA = (
    "ud-english-ewt", "ud-turkish-imst", "ud-greek-gdt", "ud-gothic-proiel", "balibase3", "protein-pairs-tmalign",
    "snakes", "scene-multilabel", "ptb-sample", "genia-treebank",
)  # fmt: skip
RESULT = "defaults"
ENGLISH = Bank("ud-english-ewt")
BANKS = (Bank("ud-turkish-imst"), Bank("ud-greek-gdt"), Bank("ud-gothic-proiel"))
WORDS, ENGLISH_WORDS = 5_000, 8_000  # of a treebank, about; a quarter is held out
SENTENCES, MOST_WORDS = 400, 25  # of a treebank of constituents; a quarter is held out
PER_FAMILY, LONGEST = 5, 200  # proteins of a family, and letters of a protein
FEW = 30  # pairs of proteins of a small training set
PROTEIN_FOLDS, GRAPH_FOLDS = 3, 4
MADE_UP = {3: (6, 12), 5: (8, 10), 8: (6, 10), 14: (4, 10)}  # labels: how many images, and how wide
SEEDS, HELD_OUT = (1, 2), (4, 14)  # of made-up images
SCENES, SCENE_FOLDS = 800, 2
CROSSING_WORDS = 2_500  # of a treebank for the second order, about
MOST_SECONDS = 10.0


@dataclass(frozen=True)
class Kind:
    """A kind of model: corpora as folds, the settings to compare, how to train, predict and score, and to decode."""

    corpora: dict[str, Callable[[], list[Fold]]]
    grid: Sequence[Settings]
    fit: Callable[[Any, Settings], Any]
    predict: Callable[[Any, Any], Any]
    scores: Callable[[Any, Any], dict[str, float]]
    decodings: tuple[str, ...]


def measure() -> Iterator[Result]:
    """The scores of all settings on the held-out parts of all corpora of all kinds."""
    pieces = Pieces(RESULT)
    for name, kind in KINDS.items():
        yield from pieces.measure(name, partial(compared, kind))


def compared(kind: Kind) -> Result:
    """A row for each setting, with the scores of every fold of every corpus and the seconds of training."""
    rows: list[Result] = [{"settings": described(settings), "corpora": {}} for settings in kind.grid]
    for name, folds_of in kind.corpora.items():
        folds = folds_of()
        for row, settings in zip(rows, kind.grid, strict=True):
            row["corpora"][name] = validated(kind, folds, settings)
            print(f"  {name}, {row['settings']}: {row['corpora'][name]}", flush=True)
    return {"rows": rows}


def validated(kind: Kind, folds: list[Fold], settings: Settings) -> Result:
    """The scores on each held-out part, and the processor time of training, by way to decode that of prediction."""
    scores: dict[str, list[float]] = {}
    seconds = dict.fromkeys(("training", *kind.decodings), 0.0)
    for train, held_out in folds:
        started = process_time()
        model = kind.fit(train, settings)
        seconds["training"] += process_time() - started
        for model.decode in kind.decodings:
            started = process_time()
            predicted = kind.predict(model, held_out)
            seconds[model.decode] += process_time() - started
            for name, score in kind.scores(held_out, predicted).items():
                scores.setdefault(f"{name}, {model.decode}", []).append(round(score, 5))
    return {"scores": scores, "seconds": {name: round(each, 2) for name, each in seconds.items()}}


def described(settings: Settings) -> str:
    """The settings as text."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )


def last_held_out(examples: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The first three quarters, and the last one, which is held out."""
    border = 3 * len(examples) // 4
    return examples[:border], examples[border:]


# ---- dependency trees --------------------------------------------------------------------------------------------


def tree_folds(bank: Bank, n_words: int) -> list[Fold]:
    """Evenly spaced training sentences of a treebank, the last quarter held out."""
    train = next(parts(bank))
    step = -(-sum(len(sentence.words) for sentence in train) // n_words)
    first, last = last_held_out(train[::step])
    return [((bank, first), (bank, last))]


def fit_parser(train: Any, settings: Settings) -> DependencyParser:
    bank, sentences = train
    y = [sentence.heads for sentence in sentences]
    if bank.labeled:
        y = [list(zip(*of, strict=True)) for of in zip(y, labels_of(sentences), strict=True)]
    return DependencyParser(single_root=bank.single_root, n_jobs=1, **settings).fit(words(bank, sentences), y)


def fit_crossing(train: Any, settings: Settings) -> DependencyParser:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_parser(train, settings | {"max_seconds": MOST_SECONDS})


def parsed(parser: DependencyParser, held_out: Any) -> Any:
    bank, sentences = held_out
    return parser.predict(words(bank, sentences))


def attachment(held_out: Any, predicted: Any) -> dict[str, float]:
    """UAS, and LAS if there are labels."""
    bank, sentences = held_out
    gold = [sentence.heads for sentence in sentences]
    if not bank.labeled:
        return {"UAS": attachment_scores(gold, predicted).uas}
    heads, labels = ([[pair[k] for pair in tree] for tree in predicted] for k in (0, 1))
    scores = attachment_scores(gold, heads, labels_of(sentences), labels)
    return {"UAS": scores.uas, "LAS": scores.las}


# ---- alignments --------------------------------------------------------------------------------------------------


def protein_folds(pairs: list[KnownPair], most: int | None = None) -> list[Fold]:
    """Folds without related families in two of them; as many pairs of the training parts, drawn at random."""
    folds = folds_by_group(pairs, PROTEIN_FOLDS)
    found = []
    for k, held_out in enumerate(folds):
        train = [pair for other in folds[:k] + folds[k + 1 :] for pair in other]
        if most is not None:
            train = [train[i] for i in np.random.default_rng(k).permutation(len(train))[:most]]
        found.append((train, held_out))
    return found


def fit_aligner(train: list[KnownPair], settings: Settings) -> Any:
    if settings["C"] == 0:
        return aligner_of(BLOSUM62.scaled(HALF_BIT))
    weights = np.array([pair.weight for pair in train]) * len(train) / sum(pair.weight for pair in train)
    aligner = SequenceAligner(features=Sequences(ALPHABET), n_jobs=1, **settings)
    return aligner.fit(texts(train), [pair.matches for pair in train], sample_weight=weights)


def aligned(aligner: Any, held_out: list[KnownPair]) -> Any:
    return aligner.predict(texts(held_out))


def mean_f1(held_out: list[KnownPair], predicted: Any) -> dict[str, float]:
    """The mean F1 of pairs."""
    return {"F1": mean(f1s(held_out, predicted), held_out)}


def made_up_folds(n: int) -> list[Fold]:
    """Sequences of six letters, and what has become of them; as many to learn from, and 400 others."""
    X, y = dialects(0, n + 400)
    return [((X[:n], y[:n]), (X[n:], y[n:]))]


def fit_made_up(train: Any, settings: Settings) -> SequenceAligner:
    return SequenceAligner(n_jobs=1, **settings).fit(*train)


def aligned_made_up(aligner: SequenceAligner, held_out: Any) -> Any:
    return aligner.predict(held_out[0])


def matched_f1(held_out: Any, predicted: Any) -> dict[str, float]:
    """The F1 of matched pairs."""
    return {"F1": pair_scores(held_out[1], predicted).f1}


# ---- graphs ------------------------------------------------------------------------------------------------------


def snake_folds(edges: str) -> list[Fold]:
    """The training pictures as graphs, with attributes of edges."""
    pictures = snakes("train")
    background = always_background(pictures)
    examples = [(graph(picture, background, edges), cells(picture, background)) for picture in pictures]
    return [
        ([examples[i] for i in train], [examples[i] for i in held_out])
        for train, held_out in plain_folds(len(examples), GRAPH_FOLDS)
    ]


def cells(picture: Snake, background: set[int]) -> list[int]:
    """The labels of the cells that are not background by their color."""
    labels: list[int] = picture.labels[~np.isin(picture.colors, list(background))].tolist()
    return labels


def region_folds(labels: int) -> list[Fold]:
    """Made-up images as graphs, and others of the same kind."""
    return [
        (as_graphs(*regions(*MADE_UP[labels], labels, seed)), as_graphs(*regions(*HELD_OUT, labels, 99 + seed)))
        for seed in SEEDS
    ]


def as_graphs(X: list[Any], y: list[Any]) -> list[tuple[Graph, list[int]]]:
    return [(image_graph(image), labels.ravel().tolist()) for image, labels in zip(X, y, strict=True)]


class NodesAlone(GraphLabeler, saved_as=""):
    """A labeler that sees no edges."""

    def _inputs(self, X: Any) -> list[Graph]:
        return [Graph(graph.nodes, []) for graph in super()._inputs(X)]


def fit_labeler(train: Any, settings: Settings) -> GraphLabeler:
    """A labeler; without edges if the settings say so."""
    chosen = dict(settings)
    kind = GraphLabeler if chosen.pop("edges", True) else NodesAlone
    model = kind(n_jobs=1, max_seconds=MOST_SECONDS, **chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ends far from the optimum
        return model.fit([graph for graph, _ in train], [labels for _, labels in train])


def labeled(labeler: GraphLabeler, held_out: Any) -> Any:
    return labeler.predict([graph for graph, _ in held_out])


def cell_accuracy(held_out: Any, predicted: Any) -> dict[str, float]:
    """The share of correct labels."""
    return {"accuracy": token_accuracy([labels for _, labels in held_out], predicted)}


def scene_folds() -> list[Fold]:
    """Evenly spaced training pictures with their labels."""
    X, Y = scenes("train")
    step = len(Y) // SCENES
    X, Y = X[::step][:SCENES], Y[::step][:SCENES]
    return [
        ((X[train], [Y[i] for i in train]), (X[held_out], [Y[i] for i in held_out]))
        for train, held_out in plain_folds(len(Y), SCENE_FOLDS)
    ]


def fit_label_graph(train: Any, settings: Settings) -> MultiLabelClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MultiLabelClassifier(graph="full", n_jobs=1, max_seconds=MOST_SECONDS, **settings).fit(*train)


def label_sets(model: MultiLabelClassifier, held_out: Any) -> Any:
    return model.predict(held_out[0])


def set_scores(held_out: Any, predicted: Any) -> dict[str, float]:
    """F1 of labels, and the share of sets that are correct."""
    exact = sum(set(a) == set(b) for a, b in zip(held_out[1], predicted, strict=True)) / len(predicted)
    return {"F1": label_scores(held_out[1], predicted).f1, "exact match": exact}


# ---- constituents ------------------------------------------------------------------------------------------------


def bracket_folds(corpus: str) -> list[Fold]:
    """Evenly spaced training sentences that are not long, the last quarter held out."""
    trees = constituents(corpus, "train", MOST_WORDS)
    return [last_held_out(trees[:: len(trees) // SENTENCES][:SENTENCES])]


def fit_constituents(train: list[Tree], settings: Settings) -> ConstituencyParser:
    more = settings | ({"features": SpanTemplates()} if settings.get("features") == "spans" else {})
    return ConstituencyParser(n_jobs=1, **more).fit(None, train)


def bracketed(parser: ConstituencyParser, held_out: list[Tree]) -> Any:
    return parser.predict(parser.sentences_of(held_out)), parser.n_partial_


def bracket_f1(held_out: list[Tree], predicted: Any) -> dict[str, float]:
    """The F1 of labeled brackets, and the share of sentences without a derivation."""
    trees, n_partial = predicted
    return {"F1": bracket_scores(held_out, trees).f1, "partial": n_partial / len(held_out)}


APPROXIMATE: list[Settings] = [
    *(
        {"inference": "bp", "learner": name, "C": C, "tol": 1e-4}
        for name in ("mira", "lbfgs", "sgd")
        for C in (0.1, 1.0)
    ),
    *({"inference": "trw", "learner": "lbfgs", "C": C, "tol": 1e-4} for C in (0.1, 1.0)),
]
KINDS = {
    "dependency trees": Kind(
        {bank.name: partial(tree_folds, bank, WORDS) for bank in BANKS},
        [{"C": 1.0, "tol": 1e-4}, {"C": 0.1, "tol": 1e-2}, {"C": 0.1, "tol": 1e-2, "order": 2}],
        fit_parser,
        parsed,
        attachment,
        ("best", "mbr"),
    ),
    "dependency trees of English": Kind(
        {ENGLISH.name: partial(tree_folds, ENGLISH, ENGLISH_WORDS)},
        [
            *({"C": C, "tol": 1e-3} for C in (0.03, 0.1, 0.3, 1.0)),
            *({"C": 0.1, "tol": tol} for tol in (1e-2, 1e-4)),
            {"C": 1.0, "tol": 1e-4},
            {"C": 0.1, "tol": 1e-3, "order": 2},
        ],
        fit_parser,
        parsed,
        attachment,
        ("best", "mbr"),
    ),
    "alignments of proteins": Kind(
        {
            "balibase3": lambda: protein_folds(balibase_pairs(per_family=PER_FAMILY, longest=LONGEST)),
            f"balibase3, {FEW} pairs": lambda: protein_folds(
                balibase_pairs(per_family=PER_FAMILY, longest=LONGEST), FEW
            ),
            "protein-pairs-tmalign": lambda: protein_folds(tm_pairs(longest=LONGEST)),
        },
        [
            {"start": "BLOSUM62", "C": 0.0},
            *({"start": "BLOSUM62", "C": C, "tol": 1e-3} for C in (1e-3, 1e-2, 0.1, 0.3, 1.0)),
            *({"start": None, "C": C, "tol": 1e-3} for C in (1e-3, 1e-2, 0.1, 0.3, 1.0)),
            *({"start": "BLOSUM62", "C": 0.01, "tol": tol} for tol in (1e-2, 1e-4)),
            {"start": None, "C": 1.0, "tol": 1e-4},
            *({"start": "BLOSUM62", "C": 0.01, "tol": 1e-3, "loss": loss} for loss in ("softmax-margin", "hinge")),
            *({"start": "BLOSUM62", "C": 0.01, "tol": 1e-3, "mode": mode} for mode in ("semi-global", "local")),
        ],
        fit_aligner,
        aligned,
        mean_f1,
        ("score", "accuracy"),
    ),
    "alignments of made-up sequences": Kind(
        {f"{n} pairs": partial(made_up_folds, n) for n in (10, 100, 1000)},
        [
            *({"C": C, "tol": 1e-3} for C in (1e-3, 1e-2, 0.1, 0.3, 1.0, 10.0)),
            *({"C": 1.0, "tol": tol} for tol in (1e-2, 1e-4)),
        ],
        fit_made_up,
        aligned_made_up,
        matched_f1,
        ("score", "accuracy"),
    ),
    "graphs": Kind(
        {f"snakes, {edges}": partial(snake_folds, edges) for edges in ("direction", "direction and colors")},
        [*({"C": C, "tol": 1e-4} for C in (0.01, 0.1, 1.0, 10.0)), {"C": 1.0, "tol": 1e-2}, {"C": 1.0, "tol": 1e-3}],
        fit_labeler,
        labeled,
        cell_accuracy,
        ("best", "marginals"),
    ),
    "graphs with approximate inference": Kind(
        {f"grids, {labels} labels": partial(region_folds, labels) for labels in MADE_UP}
        | {"snakes": lambda: snake_folds("direction")[:2]},
        [
            {"edges": False, "C": 1.0},
            *APPROXIMATE,
            {"inference": "trw", "learner": "lbfgs", "C": 1.0, "tol": 1e-2},
        ],
        fit_labeler,
        labeled,
        cell_accuracy,
        ("best", "marginals"),
    ),
    "label graphs": Kind(
        {"scene-multilabel": scene_folds},
        [
            *({"C": C, "tol": 1e-4} for C in (0.1, 1.0, 10.0)),
            {"C": 1.0, "tol": 1e-2},
            *APPROXIMATE,
        ],
        fit_label_graph,
        label_sets,
        set_scores,
        ("best",),
    ),
    "trees that may cross": Kind(
        {BANKS[-1].name: partial(tree_folds, BANKS[-1], CROSSING_WORDS)},
        [
            {"order": 2, "projective": False, "C": 0.1, "tol": 1e-2, "learner": name}
            for name in ("mira", "lbfgs", "sgd")
        ],
        fit_crossing,
        parsed,
        attachment,
        ("best", "mbr"),
    ),
    "constituents": Kind(
        {corpus: partial(bracket_folds, corpus) for corpus in ("ptb-sample", "genia-treebank")},
        [
            *({"grammar": grammar, "C": C, "tol": 1e-3} for grammar in ("rules", "spans") for C in (0.1, 1.0)),
            *({"grammar": "spans", "C": C, "tol": 1e-2} for C in (0.1, 0.3, 1.0)),
        ],
        fit_constituents,
        bracketed,
        bracket_f1,
        ("best", "mbr"),
    ),
    "constituents of ptb-sample": Kind(
        {"ptb-sample": partial(bracket_folds, "ptb-sample")},
        [
            {"grammar": "rules", "C": 1.0, "tol": 1e-4},
            {"grammar": "rules", "features": "spans", "C": 0.1, "tol": 1e-3},
        ],
        fit_constituents,
        bracketed,
        bracket_f1,
        ("best", "mbr"),
    ),
}


def table(result: Result) -> str:
    """A table for each kind: each score of every corpus over its folds, and the processor time."""
    found = []
    for name, piece in result["pieces"].items():
        corpora = piece["rows"][0]["corpora"]
        scores = list(dict.fromkeys(score for of in corpora.values() for score in of["scores"]))
        for score in scores:
            known = [corpus for corpus, of in corpora.items() if score in of["scores"]]
            rows = [[row["settings"], *score_cells(row, score, known), *second_cells(row)] for row in piece["rows"]]
            header = [
                "settings",
                *known,
                "mean",
                *(f"{what}, CPU s" for what in piece["rows"][0]["corpora"][known[0]]["seconds"]),
            ]
            found.append(f"{name}: {score}, %\n\n{markdown(header, rows)}")
    return "\n\n".join(found)


def score_cells(row: Result, score: str, corpora: Sequence[str]) -> list[str]:
    """The mean over folds of each corpus, and the mean of these."""
    means = [100 * float(np.mean(row["corpora"][corpus]["scores"][score])) for corpus in corpora]
    return [f"{value:.1f}" for value in (*means, float(np.mean(means)))]


def second_cells(row: Result) -> list[str]:
    """The seconds of training and prediction in all corpora."""
    every = [of["seconds"] for of in row["corpora"].values()]
    return [f"{sum(of[what] for of in every):.1f}" for what in every[0]]


def plot(result: Result) -> None:
    """There is no plot."""
