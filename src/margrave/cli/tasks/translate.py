"""Translation: sentence pairs with word alignments in, or a grammar and sentence pairs; translations out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.checks import decimal
from margrave.cli import illustration
from margrave.cli.options import command_option
from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, display_name, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.cli.tasks.lattice import Lattices
from margrave.cli.tasks.rerank import Rerank
from margrave.errors import DataError, MargraveError, counted, quoted
from margrave.options import option
from margrave.translation.settings import TranslatorSettings, check_together

if TYPE_CHECKING:
    from margrave.translation.translator import Translator

_BATCH = 100  # sentences that are translated at once
_BAR = "|||"
# What the command line calls some settings.
_FLAGS = {"k": "candidates", "good": "best", "wrong": "worst", "order": "lm_order", "options": "options_per_phrase"}
# The options that apply to one of the decoders only.
_OF_PHRASES = (
    *("alignments", "tune", "sparse", "graphs", "n_tuning", "folds", "longest", "lm_order"),
    *("options_per_phrase", "reach"),
)
_OF_GRAMMARS = ("grammar", "glue", "span_limit", "costs", "pass_all")


_OF_LATTICES = (
    command_option(
        "paths",
        int,
        "If the input is a lattice in PLF, how many of its strings are translated; the best translation wins.",
        at_least=1,
        if_none="100",
        applies="translation",
    ),
    command_option(
        "lattice_weight",
        float,
        "The factor on the weights of lattices, which are added to the scores of translations.",
        if_none="1",
        applies="translation",
    ),
)
_PLF = re.compile(r"\(\(\(\s*['\"]")  # how a lattice in PLF begins


@dataclass(eq=False, repr=False)
class Translate(Task):
    """Learns phrases from aligned sentences and a language model, or reads a grammar; and tunes weights."""

    name = "translate"
    summary = "the translation of each sentence, by phrases or by a synchronous grammar"
    estimator = "margrave.translation:Translator"
    settings = TranslatorSettings
    fields = (
        *("tuning", "sparse", "rounds", "k", "good", "wrong", "graphs", "n_edges", "n_tuning", "folds"),
        *("longest", "order", "beam", "options", "reach"),
    )
    flags = _FLAGS
    own_cost = True
    data = (
        "One sentence pair per line: source ||| target ||| links, where a link i-j joins source word i with target "
        "word j, both counted from 0. Source, target and links may also be in three files. With --decoder hiero, rules "
        "are read from --grammar, and weights are tuned on the pairs. Links are needed only to train phrases, and the "
        "target is not needed to predict."
    )
    sample = "    la maison bleue ||| the blue house ||| 0-0 1-2 2-1"
    examples = (
        "margrave train --task translate train.txt -o fr-en.margrave",
        "margrave train --task translate train.fr --target train.en --alignments train.links -o fr-en.margrave "
        "--tune dev.txt",
        "margrave train --task translate train.txt -o fr-en.margrave --tuning learner --learner lp --program closest "
        "-C 0.3 --sparse",
        "margrave train --task translate dev.txt -o de-en.margrave --decoder hiero --grammar rules.gz --lm en.arpa.gz",
    )
    predicts = (
        "the translation of each line, which may be a lattice in PLF; with --kbest, the best translations and their "
        "scores, and with --features the features, as n-best lists."
    )
    measures = "BLEU and NIST against the second field of each line, or against --references, and unknown words."

    predict_options = (
        *Lattices.predict_options,
        command_option(
            "features",
            bool,
            "With --kbest, also write the features of each translation, as in n-best lists of Moses, so that "
            "--task rerank can train on them.",
            default=False,
            applies="translation",
        ),
        *_OF_LATTICES,
    )
    evaluate_options = (*Rerank.evaluate_options, *_OF_LATTICES)

    chosen: TranslatorSettings
    decoder: str = option(
        "phrases",
        "How sentences are translated.",
        choices={"phrases": "by phrases", "hiero": "by a synchronous grammar"},
    )
    target: str | None = option(
        None, "The target sentences, line by line, if the data contain only the source.", metavar="FILE"
    )
    alignments: str | None = option(None, "The links of each pair, line by line, with --target.", metavar="FILE")
    grammar: tuple[str, ...] = option(
        (),
        "With --decoder hiero, rules: [X] ||| source ||| target ||| features; may be repeated.",
        metavar="FILE",
    )
    glue: str | None = option(
        None,
        "With --decoder hiero, the glue rules.",
        if_none="rules that join pieces of label X in order",
        metavar="FILE",
    )
    span_limit: int | None = option(
        None, "With --decoder hiero, maximum number of source words that a rule of --grammar covers.", at_least=1
    )
    costs: bool = option(False, "With --decoder hiero, the numbers of rules are costs, as in Joshua's grammars.")
    pass_all: bool = option(
        False, "With --decoder hiero, allow copying every word, and not only those that no rule translates."
    )
    lm: str | None = option(
        None,
        "A language model in ARPA format.",
        if_none="for phrases, one that is estimated from the target; for a grammar, none",
        metavar="FILE",
    )
    start: str | None = option(None, "Initial weights: a name and a number per line.", metavar="FILE")
    tune: str | None = option(
        None,
        "Sentence pairs to tune the weights on.",
        if_none="training sentences, each decoded with phrases of others only",
        metavar="FILE",
    )
    references: tuple[str, ...] = option(
        (),
        "References of the sentences that weights are tuned on, line by line: those of --tune or, with --decoder "
        "hiero, those of the data; may be repeated.",
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        check_together(self.chosen)

    def job(self, data: str, dev: str | None) -> Job:
        """Sentence pairs, which are aligned if phrases are to be made of them."""
        from margrave.translation import read_parallel
        from margrave.translation.language_model import NGramModel

        self._check_decoder()
        self._check_learning()
        self._check_files()
        model = None if self.lm is None else NGramModel.read_arpa(self.lm)
        decoder: Any = self.decoder
        X: Sequence[str]
        if self.decoder == "hiero":
            X, y = _pairs(data, self.references, self.target)
            decoder, to_fit = self._decoder(model), dict[str, Any]()
        else:
            X, y, links = read_parallel(source(data), self.target, self.alignments)
            _with_lattices(data, X, allowed=False)
            if links is None:
                name = display_name(data)
                raise DataError(name, None, "its sentence pairs have no links, which are needed to extract phrases.")
            tune = None if self.tune is None else _pairs(self.tune, self.references)
            to_fit = {"alignments": links, "language_model": model, "tune": tune}
        start = None if self.start is None else _weights(self.start)
        translator = self.estimator_class()(decoder=decoder, start=start, **self.parameters())
        dev_pairs = None if dev is None else read_parallel(source(dev))[:2]
        sizes = {"n_pairs": len(X), "n_words": _word_count(X)}
        return Job(translator, X, y, sizes, {}, dev_pairs, _bleu, to_fit)

    def _check_learning(self) -> None:
        """Refuse a loss and a learner that the tuning would not use."""
        chosen, usual = self.chosen, TranslatorSettings()
        if chosen.tuning == "learner":
            return
        for name, flag in (("loss", "--loss"), ("C", "-C"), ("learner", "--learner")):
            # --slack and --set change a loss and a learner that were not named.
            if name in self.given or getattr(chosen, name) != getattr(usual, name):
                raise MargraveError(f"{flag} applies to --tuning learner only, and this is --tuning {chosen.tuning}.")

    def _check_decoder(self) -> None:
        """Refuse options of the other decoder."""
        hiero = self.decoder == "hiero"
        for name in _OF_PHRASES if hiero else _OF_GRAMMARS:
            if name in self.given:
                flag = name.replace("_", "-")
                raise MargraveError(f"--{flag} applies to --decoder {'phrases' if hiero else 'hiero'} only.")
        if hiero and not self.grammar:
            raise MargraveError("--decoder hiero needs rules: give --grammar FILE.")

    def _check_files(self) -> None:
        """Refuse files without which others cannot be used, or whose place others take."""
        if self.decoder == "phrases" and (self.target is None) != (self.alignments is None):
            raise MargraveError("--target and --alignments belong together: give both or none.")
        if self.references and self.decoder == "phrases" and self.tune is None:
            raise MargraveError("--references are those of the sentences of --tune: give --tune FILE, too.")
        if self.references and self.decoder == "hiero" and self.target is not None:
            raise MargraveError("--references and --target exclude each other: give one of them.")

    def _decoder(self, model: Any) -> Any:
        """The decoder of the grammar files."""
        from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar

        grammar, sign = SynchronousGrammar(), -1.0 if self.costs else 1.0
        for k, path in enumerate(self.grammar):
            prefix = "PhraseModel_" if k == 0 else f"PhraseModel{k + 1}_"
            grammar.read(path, prefix=prefix, sign=sign, span_limit=self.span_limit)
        if self.glue is None:
            grammar.add_glue()
        else:
            grammar.read(self.glue, prefix="Glue_", sign=sign)
        return SynchronousDecoder(grammar, model, pass_through="all" if self.pass_all else "unknown")

    @staticmethod
    def inspection(estimator: Any, top: int, sign: str | None = None) -> dict[str, Any]:
        """How the weights were tuned."""
        return {**_tuner(estimator), **Task.inspection(estimator, top, sign)}

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """BLEU."""
        return f"BLEU {100 * scores['bleu']:.2f}"

    @staticmethod
    def model(path: str, estimator: "Translator") -> "TranslatingModel":
        """The translator."""
        return TranslatingModel(estimator)

    @staticmethod
    def sizes(estimator: "Translator") -> dict[str, Any]:
        """Phrases or rules, n-grams and weights."""
        if estimator.phrases_ is None or estimator.language_model_ is None:
            decoder: Any = estimator.decoder
            rules, model = {"n_rules": decoder.n_rules}, decoder.model
        else:
            rules, model = {"n_phrase_pairs": len(estimator.phrases_)}, estimator.language_model_.model
        return rules | {"n_ngrams": 0 if model is None else len(model), "n_weights": estimator.n_weights_}

    @staticmethod
    def training_notes(estimator: "Translator") -> dict[str, Any]:
        """BLEU of the tuning sentences at the beginning of each round, and in the end."""
        return {**_tuner(estimator), "tuning_bleu": [each.bleu for each in estimator.rounds_]}

    @staticmethod
    def training_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The same as people read it."""
        scores = ", ".join(f"{100 * score:.2f}" for score in report["tuning_bleu"])
        return [("tuning BLEU", scores)] if scores else []


@dataclass(eq=False, repr=False)
class TranslatingModel(Model):
    """A translator."""

    does: ClassVar[str] = "translates sentences"
    options: ClassVar[tuple[str, ...]] = (
        *("kbest", "features", "paths", "lattice_weight", "references", "lowercase"),
        *("data", "plot", "sentences"),
    )

    translator: "Translator"

    def predicted_lines(
        self,
        path: str,
        marginals: bool,
        *,
        kbest: int | None = None,
        features: bool = False,
        paths: int | None = None,
        lattice_weight: float | None = None,
        **options: Any,
    ) -> Iterator[list[str]]:
        """The best translations."""
        if kbest is not None and marginals:
            raise MargraveError("--kbest and --marginals exclude each other: give one of them.")
        if features and kbest is None:
            raise MargraveError("--features applies to --kbest only, which is not given.")
        of_lattices = _given(paths=paths, lattice_weight=lattice_weight)
        number = 0
        for batch in batches(iter(_sources(path, lattices=not marginals)), _BATCH):
            if kbest is not None:
                lines = []
                for found in self.translator.predict_nbest(batch, kbest, **of_lattices):
                    for text, values, score in zip(found.hypotheses, found.features, found.scores or (), strict=True):
                        named = " ".join(f"{'_'.join(name.split())}={value:.6g}" for name, value in values.items())
                        lines.append(f" {_BAR} ".join([str(number), text, *([named] * features), f"{score:.6g}"]))
                    number += 1
                yield lines
                continue
            texts = self.translator.predict(batch, **of_lattices)
            if not marginals:
                yield texts
                continue
            scores = self.translator.log_probability(batch, texts)
            yield [f"{text}\t{exp(score):.4f}" for text, score in zip(texts, scores, strict=True)]

    def evaluation(
        self,
        path: str,
        *,
        references: Sequence[str] = (),
        lowercase: bool = False,
        paths: int | None = None,
        lattice_weight: float | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """BLEU and NIST, and how many words are unknown."""
        from margrave.metrics import bleu, nist

        X, right = _pairs(path, references, lattices=True)
        found = self.translator.predict(X, **_given(paths=paths, lattice_weight=lattice_weight))
        words = _word_count(X)
        return {
            "n_sentences": len(X),
            "n_source_words": words,
            "unknown": self.translator.n_unknown_ / max(words, 1),
            "bleu": bleu(found, right, lowercase=lowercase),
            "nist": nist(found, right, lowercase=lowercase),
        }

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        rows = [
            ("sentences", f"{report['n_sentences']:,}"),
            ("source words", f"{report['n_source_words']:,} ({percent(report['unknown'])} unknown)"),
            ("BLEU", f"{100 * report['bleu']:.2f}"),
            ("NIST", f"{report['nist']:.4f}"),
        ]
        return table(rows, 20)

    def illustration(
        self, data: str | None = None, plot: str | None = None, sentences: str | None = None, **options: Any
    ) -> dict[str, Any]:
        """Pictures of search graphs with the probabilities of their edges."""
        path = illustration.check_options(data, plot, sentences, None)
        assert plot is not None
        return {"plots": illustration.draw_search_graphs(self.translator, path, _sources(path), plot, sentences)}

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def _tuner(estimator: "Translator") -> dict[str, Any]:
    """What learned the weights, if it is not a learner of the library."""
    return {} if estimator.tuning == "learner" else {"learner": estimator.tuning}


def _weights(path: str) -> dict[str, float]:
    """The weights of a file: a name and a number per line, of which the name may have blanks."""
    from margrave.datasets.opening import read_lines

    found: dict[str, float] = {}
    for number, line in read_lines(path):
        name, _, value = line.strip().rpartition(" ")
        if not line.strip():
            continue
        weight = decimal(value)
        if weight is None:
            raise DataError(path, number, f"expected the name of a feature and a number, not {quoted(line)}.")
        found[name.strip()] = weight
    return found


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _pairs(
    path: str, references: Sequence[str], target: str | None = None, *, lattices: bool = False
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Source sentences, and what they should say: the second fields of their lines, a target file, or references."""
    from margrave.datasets import read_references
    from margrave.translation import read_parallel

    if not references:
        pairs = read_parallel(source(path), target)
        return _with_lattices(path, pairs.source, lattices), pairs.target
    X, right = _sources(path, lattices=lattices), read_references(*map(source, references))
    if len(right) != len(X):
        lines = counted(len(right), "line")
        raise DataError(references[0], None, f"{lines}, but {display_name(path)} has {len(X)}.")
    return X, right


def _sources(path: str, *, lattices: bool = False) -> list[Any]:
    """The source sentences of a file, or lattices of them: what stands before the first bars of each line."""
    from margrave.translation import read_sentences

    X = [line.partition(_BAR)[0].strip() for line in read_sentences(source(path))]
    if not any(X):
        raise DataError(display_name(path), None, "it contains no sentences.")
    return _with_lattices(path, X, lattices)


def _with_lattices(path: str, X: Sequence[str], allowed: bool) -> list[Any]:
    """The sentences, and in place of those in PLF the lattices."""
    from margrave.datasets import from_plf

    found: list[Any] = []
    for number, text in enumerate(X, 1):
        if not _PLF.match(text):
            found.append(text)
        elif not allowed:
            raise DataError(
                display_name(path), number, "it is a lattice in PLF, which predict and evaluate take, not this."
            )
        else:
            try:
                found.append(from_plf(text, id=str(number)))
            except MargraveError as error:
                raise DataError(display_name(path), number, error.message) from None
    return found


def _bleu(gold: Any, predicted: Any) -> dict[str, float | None]:
    from margrave.metrics import bleu

    return {"bleu": bleu(predicted, gold)}


def _word_count(sentences: Sequence[str]) -> int:
    from margrave.translation.parallel import split_words

    texts = (each if isinstance(each, str) else " ".join(edge.word for edge in each.edges) for each in sentences)
    return sum(len(split_words(text)) for text in texts)
