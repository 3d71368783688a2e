"""UAS and LAS of `DependencyParser` on eleven treebanks, as CoNLL 2018 counts them: all words, gold or predicted tags.

C is chosen on the development part, with the first sentences of the training part and without labels. Where the
development part serves as training part, or there is none, the last tenth of the training part is held out for it (of
Slovenian 200 sentences, as in 002). The final parser learns from the whole training part. Second-order parsers take the
C that was chosen for the first order.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks.corpora.trees import treebank
from benchmarks.plots import finished, panels
from benchmarks.stages import Stages
from benchmarks.tables import markdown, number
from margrave.data import Sentence
from margrave.estimators import DependencyParser, SequenceTagger
from margrave.features import Templates
from margrave.metrics import (
    attachment_statistics,
    bootstrap_interval,
    conll18_scores,
    token_accuracy,
    uas_of_statistics,
)

Result = dict[str, Any]
Rows = list[list[tuple[str, ...]]]

RESULT = "treebanks"
CS = (0.03, 0.1, 0.3)
CHOOSING = 1_000  # training sentences with which C is chosen
TOL = 1e-2  # the relative gap at which training ends
# With 3,000 English sentences, this loss has a UAS on dev that is 0.8 points above that of the log loss.
SETTINGS: dict[str, Any] = {"loss": "softmax-margin", "tol": TOL, "n_jobs": 1}
DECODINGS = ("best", "mbr")  # the tree with the highest score, and the one with the least risk
FOLDS = 5  # of the training part, each tagged by a tagger that has not seen it


class Bank(NamedTuple):
    """A treebank: its parts, the columns of words, whether its labels can be scored, and whether roots are single."""

    corpus: str
    train: str = "train"
    dev: str | None = "dev"
    test: str = "test"
    columns: tuple[str, ...] = ("form", "upos", "xpos", "feats")
    labeled: bool = True
    single_root: bool = True
    held_out: int | None = None  # training sentences for choosing C where there is no dev; a tenth if not given

    @property
    def name(self) -> str:
        """The corpus, and the language where it has several."""
        return f"{self.corpus}, {self.train.split('.')[0]}" if "." in self.train else self.corpus


ENGLISH = Bank("ud-english-ewt")
BANKS = (
    ENGLISH,
    Bank("ud-greek-gdt"),
    Bank("ud-gothic-proiel"),
    Bank("conll2007-eu-es", "eus.train", None, "eus.test", single_root=False),
    Bank("conll2007-eu-es", "esp.train", None, "esp.test", labeled=False),
    Bank("ud-hungarian-szeged"),
    Bank("ud-turkish-imst"),
    Bank("ud-arabic-padt", "dev", None),
    Bank("ud-danish-ddt", "dev", None),
    Bank("ud-slovenian-ssj", "dev", None, held_out=200),  # as in 002, section 7.2
    Bank("ptb-sample", columns=("form", "xpos"), labeled=False),
)
SECOND_ORDER = (ENGLISH, Bank("ud-greek-gdt"))
CORPORA = tuple(dict.fromkeys(bank.corpus for bank in BANKS))


def measure() -> Result:
    """All treebanks with gold tags, some of them also in second order, and English with predicted tags."""
    stages = Stages(RESULT)
    rows = {bank: stages.measure(f"{bank}", partial(first_order, bank)) for bank in BANKS}
    more = [
        stages.measure(f"{bank}, second order", partial(second_order, bank, rows[bank]["C"])) for bank in SECOND_ORDER
    ]
    predicted = stages.measure("predicted tags", partial(predicted_tags, ENGLISH, rows[ENGLISH]["C"]))
    return {"tol": TOL, "choosing": CHOOSING, "rows": [*rows.values(), *more, predicted]}


def first_order(bank: Bank) -> Result:
    """C, and the scores of a parser of single arcs."""
    train, dev, test = parts(bank)
    shorter = (train if bank.dev else train[: -len(dev)])[:CHOOSING]
    unlabeled = DependencyParser(labels=False, single_root=bank.single_root, **SETTINGS)
    models = unlabeled.fit_path(words(bank, shorter), [sentence.heads for sentence in shorter], CS)
    by_C = {model.C: float(model.score(words(bank, dev), [sentence.heads for sentence in dev])) for model in models}
    C = max(by_C, key=lambda C: (by_C[C], -C))
    parser = DependencyParser(C=C, single_root=bank.single_root, **SETTINGS)
    return trained(bank, parser, words(bank, train), words(bank, test)) | {
        "dev_by_C": {f"{C:g}": uas for C, uas in by_C.items()}
    }


def second_order(bank: Bank, C: float) -> Result:
    """The scores of a projective parser with siblings and grandparents."""
    train, _, test = parts(bank)
    parser = DependencyParser(order=2, C=C, single_root=bank.single_root, **SETTINGS)
    return trained(bank, parser, words(bank, train), words(bank, test))


def predicted_tags(bank: Bank, C: float) -> Result:
    """The scores of a first-order parser with tags by a tagger: in training, each fold is tagged by one of the others.

    There are no morphological features, since nothing predicts them.
    """
    train, _, test = parts(bank)
    of = bank._replace(columns=("form", "upos"))
    tagged: dict[int, list[str]] = {}
    for k in range(FOLDS):
        inside = range(k, len(train), FOLDS)
        outside = [sentence for i, sentence in enumerate(train) if i % FOLDS != k]
        tagged.update(zip(inside, tags_of(outside, [train[i] for i in inside]), strict=True))
    of_test = tags_of(train, test)
    X = with_tags(train, [tagged[i] for i in range(len(train))])
    row = trained(of, DependencyParser(C=C, **SETTINGS), X, with_tags(test, of_test))
    gold = [[word.upos for word in sentence.words] for sentence in test]
    return row | {"tags": "predicted", "tag_accuracy": token_accuracy(gold, of_test)}


def tags_of(train: Sequence[Sentence], others: Sequence[Sentence]) -> list[list[str]]:
    """The universal tags of some sentences, by a tagger that has learned from others."""
    tagger = SequenceTagger(C=1.0, tol=TOL, n_jobs=1, features=Templates())
    tagger.fit(forms(train), [[word.upos for word in sentence.words] for sentence in train])
    return list(tagger.predict(forms(others)))


def forms(sentences: Sequence[Sentence]) -> Rows:
    return [[(word.form,) for word in sentence.words] for sentence in sentences]


def with_tags(sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> Rows:
    return [
        [(word.form, tag) for word, tag in zip(sentence.words, of, strict=True)]
        for sentence, of in zip(sentences, tags, strict=True)
    ]


def parts(bank: Bank) -> Iterator[list[Sentence]]:
    """The training, development and test sentences."""
    train = treebank(bank.corpus, bank.train)
    held_out = bank.held_out or len(train) // 10
    yield train
    yield treebank(bank.corpus, bank.dev) if bank.dev else train[-held_out:]
    yield treebank(bank.corpus, bank.test)


def words(bank: Bank, sentences: Sequence[Sentence]) -> Rows:
    """The columns of the words."""
    return [[tuple(getattr(word, column) for column in bank.columns) for word in each.words] for each in sentences]


def trained(bank: Bank, parser: DependencyParser, X: Rows, X_test: Rows) -> Result:
    """The scores on the test part of a parser that has learned from the training part, and what is known about it."""
    train, _, test = parts(bank)
    heads = [sentence.heads for sentence in train]
    labels = labels_of(train)
    pairs = [list(zip(*of, strict=True)) for of in zip(heads, labels, strict=True)]
    parser.fit(X, pairs if bank.labeled else heads)
    row = {
        "corpus": bank.name,
        "order": parser.order,
        "loss": parser.loss,
        "tags": "gold",
        "columns": list(bank.columns),
        "train": {"sentences": len(train), "words": sum(map(len, heads)), "longer": parser.n_long_},
        "test": {"sentences": len(test), "words": sum(len(sentence.words) for sentence in test)},
        "crossing": parser.n_crossing_,
        "projective": parser.projective_,
        "lost_arcs": parser.lost_arcs_,
        "C": parser.C,
        "passes": parser.certificate_.passes,
        "relative_gap": parser.certificate_.relative_gap,
    }
    for decode in DECODINGS:
        row[decode] = scores(parser.set_params(decode=decode).predict(X_test), test, bank.labeled)
    return row


def scores(predicted: list[Any], test: Sequence[Sentence], labeled: bool) -> Result:
    """UAS with its 95 % interval over sentences, and LAS if there are labels."""
    gold = [sentence.heads for sentence in test]
    found = [[word[0] if labeled else word for word in tree] for tree in predicted]
    statistics = attachment_statistics(gold, found)
    interval = bootstrap_interval(statistics, uas_of_statistics, trials=2_000)
    result = {"UAS": interval.score, "interval": [interval.low, interval.high]}
    if labeled:
        universal = conll18_scores(gold, found, labels_of(test), [[label for _, label in tree] for tree in predicted])
        result["LAS"] = universal.las
    return result


def labels_of(sentences: Sequence[Sentence]) -> list[list[str]]:
    return [[word.deprel for word in sentence.words] for sentence in sentences]


def name_of(row: Result) -> str:
    """The treebank, and in what the parser differs from a first-order one with gold tags."""
    second, tags = "order 2" if row["order"] == 2 else "", "predicted tags" if row["tags"] == "predicted" else ""
    return ", ".join(filter(None, [row["corpus"], second, tags]))


def table(result: Result) -> str:
    """A row per parser, with half of the 95 % interval of UAS over test sentences."""
    rows = []
    for row in result["rows"]:
        sizes = [f"{row['train']['words']:,}", "yes" if row["projective"] else "no", f"{row['C']:g}"]
        found = [cell for decode in DECODINGS for cell in cells(row[decode])]
        lost = number(percent(row["lost_arcs"]), ".2f")
        rows.append([name_of(row), *sizes, *found, lost, f"{row['passes']:.3g}"])
    found = [f"{decode}: {score}, %" for decode in DECODINGS for score in ("UAS", "LAS")]
    return markdown(["treebank", "words", "projective", "C", *found, "lost, %", "passes"], rows)


def cells(of: Result) -> list[str]:
    """UAS with half of its interval, and LAS."""
    low, high = of["interval"]
    return [f"{100 * of['UAS']:.2f} ± {50 * (high - low):.2f}", number(percent(of.get("LAS")), ".2f")]


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def plot(result: Result) -> Any:
    """UAS and LAS of every parser, from the highest UAS to the lowest."""
    figure, (panel,) = panels()
    rows = sorted(result["rows"], key=lambda row: float(row["best"]["UAS"]))
    for decode, score, style in (("mbr", "UAS", "C0o"), ("best", "UAS", "C0|"), ("mbr", "LAS", "C1s")):
        known = [(100 * row[decode][score], place) for place, row in enumerate(rows) if score in row[decode]]
        panel.plot(*zip(*known, strict=True), style, label=f"{score}, {decode}")
    panel.set_yticks(range(len(rows)), [name_of(row) for row in rows], fontsize="small")
    panel.set(xlabel="% of all words, with punctuation", title="DependencyParser on test parts")
    return finished(figure)
