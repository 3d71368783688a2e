"""Dependency trees: CoNLL-U or CoNLL-X in, the same with heads and labels out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import attachment, conllu, illustration
from margrave.cli.decoding import DECODE, checked_decode
from margrave.cli.options import CommandOption, command_option, written
from margrave.cli.reports import left_out_rows, percent
from margrave.cli.sequences import BLOCK
from margrave.cli.streams import naming, template_lines, with_own
from margrave.cli.tasks.base import Job, Model, Task
from margrave.cli.trees import Prepare, Treebank, read_gold, read_treebank
from margrave.errors import DataError, MargraveError, counted
from margrave.options import option
from margrave.settings.dependency_parser import ParserSettings

if TYPE_CHECKING:
    from margrave import DependencyParser, _core
    from margrave.cli.taggers import Tagger
    from margrave.datasets.opening import Block
    from margrave.features import ArcTemplates

_SENTENCES = 200  # that are evaluated at once
_COLUMNS = {"conllu": "form,upos,feats", "conllx": "form,xpos,feats"}


def _format(choices: Sequence[str]) -> CommandOption:
    return command_option(
        "format",
        str,
        "The file format. text: one sentence per line, its tokens separated by blanks."
        if conllu.TEXT in choices
        else "The file format.",
        choices=choices,
        if_none="by the extension of the file, or else that of the training data",
        applies="parsing",
    )


_TAGGER = command_option(
    "tagger",
    tuple[str, ...],
    "A tagging model that tags the sentences first; may be repeated, for several columns.",
    default=(),
    metavar="FILE",
    applies="parsing",
)


@dataclass(eq=False, repr=False)
class Parse(Task):
    """Learns the head of every word, and its label."""

    name = "parse"
    summary = "the head of each word of a sentence, and its label"
    estimator = "margrave.estimators:DependencyParser"
    settings = ParserSettings
    fields = ("order", "projective", "crossing", "labels", "prune", "decode", "fallback", "max_words", "weights")
    data = """Files are CoNLL-U, or CoNLL-X (--format conllx, or a name that ends in .conllx). Labels are learned, too,
if the column deprel contains them.

A template joins terms by |. It describes an arc from a head to a word by their columns, counted from 0 in the order of
--columns:

\b
    h[0]           the form of the head
    w[1]           column 1 of the word, such as its tag
    w[0].lower     in lower case; also digits, shape, short_shape, prefix3, suffix3, stem5
    h[1]+1         column 1 of the word after the head; -1: before it
    w[2].each      each value of a list such as Case=Nom|Number=Sing
    between[1]     each value of column 1 among the words between head and word
    way            the direction of the arc and its length; dir: the direction alone
    s[1], g[1]     with --order 2, of the sibling or of the head's head
    c[1]           with --order 2 --projective no, of another child of the head, before the word
    label          with --labels joint, the label of the arc"""
    sample = "    1  Dogs  dog   NOUN  _  _  2  nsubj  _  _\n    2  bark  bark  VERB  _  _  0  root   _  _"
    examples = (
        "margrave train --task parse train.conllu -o english.margrave --dev dev.conllu -C 0.1",
        "margrave train --task parse train.conllu -o second.margrave --order 2 --max-words 60",
        "margrave train --task parse train.conllu -o raw.margrave --tagger tags.margrave --columns form,upos",
        "margrave train --task parse basque.train -o basque.margrave --format conllx --projective no",
    )
    predicts = (
        "the input with heads and labels filled in, or CoNLL-U of plain text (--format text); other fields, comments, "
        "multiword tokens and empty nodes stay as they were. A parser without labels sets deprel to _ where a head "
        "changes. --marginals puts the probability of each head in misc."
    )
    measures = (
        "the shares of words with the correct head (UAS) and with the correct head and label (LAS): for all words, "
        "without punctuation as in eval.pl, and as in the CoNLL 2018 shared task; exact matches of trees; scores by "
        "distance, direction and label; and 95 % intervals by the bootstrap."
    )
    predict_options = (_format((*conllu.FORMATS, conllu.TEXT)), DECODE, _TAGGER)
    evaluate_options = (
        _format(conllu.FORMATS),
        DECODE,
        _TAGGER,
        command_option(
            "compare",
            str,
            "Also evaluate this parser and test whether the difference is significant.",
            metavar="FILE",
            applies="parsing",
        ),
    )
    inspect_options = (*illustration.OPTIONS, _format(conllu.FORMATS), DECODE, _TAGGER)

    chosen: ParserSettings
    format: str | None = option(
        None,
        "The file format.",
        choices=conllu.FORMATS,
        if_none="by the extension of the file, or else conllu",
    )
    columns: str | None = option(
        None,
        "The columns that trees depend on: form, lemma, upos, xpos, feats, misc:NAME. The second one is the tag.",
        if_none="form,upos,feats, or form,xpos,feats for CoNLL-X",
        metavar="NAMES",
    )
    templates: str | None = option(None, "Arc templates, one per line.", if_none="a built-in set", metavar="FILE")
    several_roots: bool = option(False, "Allow more than one root per sentence.")
    tagger: tuple[str, ...] = option(
        (),
        "A tagging model (margrave train --format conllu --label upos). Its column is replaced by predictions: taggers "
        "with its settings are trained on all folds of the data but one, and tag that fold, so training sees tags as "
        "they will be predicted. May be repeated. Other columns are read from the file.",
        metavar="FILE",
    )
    folds: int = option(5, "Number of folds for --tagger.", at_least=2)
    cost: str | None = option(None, "Cost of a wrong tree: hamming or zero-one.", if_none="hamming")

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        if self.columns is not None and "deprel" in conllu.check_columns(self.columns):
            raise MargraveError("--columns contains deprel, which a parser predicts.")
        if self.chosen.weights not in ("auto", "observed"):
            table_named(self.chosen.weights)

    def job(self, data: str, dev: str | None) -> Job:
        """Sentences with their trees."""
        from margrave.cli.taggers import load_taggers

        format = self.format or conllu.format_by_extension(data) or "conllu"
        columns = conllu.check_columns(self.columns or _COLUMNS[format])
        features = "default" if self.templates is None else self._features_of(self.templates, len(columns))
        taggers = load_taggers(self.tagger, columns)
        jackknife = _Jackknife(taggers, format, self.folds)
        training = read_gold(data, format, columns, jackknife, single_root=not self.several_roots)
        labels = self.chosen.labels
        if labels in (True, "joint") and not training.labeled:
            raise DataError(data, None, f"--labels {written(labels)}, but none of its words has a label in deprel.")
        several = len({label for labels in training.labels for label in labels}) > 1
        labeled = labels in (True, "joint") or (labels == "auto" and several)
        held = None
        if dev is not None:
            dev_format = self.format or conllu.format_by_extension(dev) or format
            held = read_gold(dev, dev_format, columns, _prepare(taggers, dev_format))
        metadata: dict[str, Any] = {"format": format, "columns": columns}
        if taggers:
            metadata["taggers"] = jackknife.remembered
        dev_pair = None if held is None else (held.rows(), held)
        # sgd chooses its rate by dev, whose arcs are not pruned, which takes too much with pairs of arcs.
        to_fit = None if held is None or self.chosen.order == 2 else (held.rows(), held.trees(labeled=labeled))
        return Job(
            self.estimator_class()(**self.parameters(), features=features, single_root=not self.several_roots),
            training.rows(),
            training.trees(labeled=labeled),
            training.sizes,
            metadata,
            dev_pair,
            _dev_scores,
            {"dev": to_fit},
        )

    def _features_of(self, path: str, columns: int) -> "ArcTemplates":
        """The templates of a file, if they fit the columns and the parts of the trees."""
        from margrave.features import ArcTemplates

        with naming(path):
            features = ArcTemplates(template_lines(path))
        if features.n_columns > columns:
            wanted = f"it uses column {features.n_columns - 1}"
            raise DataError(path, None, f"{wanted}, but --columns has only columns 0 to {columns - 1}.")
        terms = {term for template in features.templates for term in template.split("|")}
        crossing = self.chosen.projective is False
        pairs, other = ("c[", "g[") if crossing else ("s[", "g["), "s[" if crossing else "c["
        for term in sorted(terms):
            if term.startswith(other):
                raise DataError(
                    path, None, f"a template has the term {term}, and these trees have {pairs[0][0]} in its place."
                )
        has_pairs, labels = any(term.startswith(pairs) for term in terms), "label" in terms
        for there, needed, what, flag in (
            (has_pairs, self.chosen.order == 2, f"{pairs[0][0]} or g", "--order 2"),
            (labels, self.chosen.labels == "joint", "label", "--labels joint"),
        ):
            if needed and not there:
                raise DataError(path, None, f"no template has the term {what}, which {flag} needs.")
            if there and not needed:
                raise DataError(path, None, f"a template has the term {what}, which is for {flag}.")
        return features

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The attachment scores, and exact matches of trees."""
        las = [] if scores["las"] is None else [f"LAS {percent(scores['las'])}"]
        return ", ".join([f"UAS {percent(scores['uas'])}", *las, f"exact match {percent(scores['whole_trees'])}"])

    @staticmethod
    def sizes(estimator: "DependencyParser") -> dict[str, Any]:
        """Labels and weights, those of the other stages too."""
        stages = {"label": estimator.labeler_, "pruning": estimator.pruner_}
        return {
            **({"n_labels": len(estimator.labels_)} if estimator.labels_ else {}),
            "n_weights": estimator.n_weights_,
            **{f"n_{name}_weights": each.n_weights_ for name, each in stages.items() if each is not None},
        }

    @staticmethod
    def training_notes(estimator: "DependencyParser") -> dict[str, Any]:
        """What became of crossing trees, long sentences, pruned arcs and predicted tags."""
        return {
            "projective": estimator.projective_,
            "crossing_trees": estimator.n_crossing_,
            "crossing": estimator.crossing if estimator.projective_ and estimator.n_crossing_ else None,
            "long_sentences": estimator.n_long_,
            "max_words": estimator.max_words,
            "lost_arcs": estimator.lost_arcs_,
            "taggers": estimator.metadata_.get("taggers", []),
        }

    @staticmethod
    def training_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The same as people read it."""
        one = report["crossing_trees"] == 1
        trees = "projective" if report["projective"] else "not projective"
        crossing = f"{counted(report['crossing_trees'], 'tree')} {'has' if one else 'have'} crossing arcs"
        left = f" and {'was' if one else 'were'} left out"
        done = {"projectivize": ", which were lifted", "drop": left}.get(report["crossing"], "")
        rows = [("trees", f"{trees}; {crossing}{done}")]
        rows += left_out_rows(report)
        if report["lost_arcs"] is not None:
            rows.append(("pruning", f"loses {percent(report['lost_arcs'])} of the arcs of training trees"))
        for each in report["taggers"]:
            rows.append(
                ("tags", f"{each['label']} predicted in {each['folds']} folds, {percent(each['accuracy'])} correct")
            )
        return rows

    @staticmethod
    def model(path: str, estimator: "DependencyParser") -> "ParseModel":
        """The parser, with the columns that it was trained on."""
        match estimator.metadata_:
            case {"format": "conllu" | "conllx" as format, "columns": [str(), *_] as columns}:
                return ParseModel(path, estimator, format, columns)
        raise DataError(path, None, "it does not say how to read sentences: train it with 'margrave train'.")


# ---- models ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class _Own:
    """What a thread parses with."""

    parser: "DependencyParser"
    taggers: Sequence["Tagger"]


@dataclass(eq=False, repr=False)
class ParseModel(Model):
    """A parser, and the columns of words that it reads."""

    does: ClassVar[str] = "parses sentences"
    options: ClassVar[tuple[str, ...]] = (
        *(each.name for each in Parse.evaluate_options),
        *(each.name for each in illustration.OPTIONS),
    )

    path: str
    parser: "DependencyParser"
    format: str
    columns: Sequence[str]

    def predicted_lines(
        self,
        path: str,
        marginals: bool,
        format: str | None = None,
        decode: str | None = None,
        tagger: Sequence[str] = (),
        **options: Any,
    ) -> Iterator[list[str]]:
        """The sentences with their trees."""
        format = format or conllu.format_by_extension(path) or self.format
        if marginals and format == "conllx":
            raise MargraveError("--marginals needs the column misc of CoNLL-U, which CoNLL-X does not have.")
        taggers = self._taggers(tagger)
        own = self._owned(decode, taggers)
        if format == conllu.TEXT:
            self._check_text(path, taggers)
            format, pieces = "conllu", conllu.read_plain(path, BLOCK)
        else:
            pieces = conllu.read_text(path, BLOCK, needed=False)
        with naming(path):
            for text in with_own(own, partial(self._written, format, marginals), pieces):
                yield [text]

    def _check_text(self, path: str, taggers: Sequence["Tagger"]) -> None:
        """Refuses plain text if the parser or a tagger reads columns that nothing fills in."""
        known = {"form"}
        steps = [*((tagger.columns, f"the tagger of {tagger.label}", tagger.label) for tagger in taggers)]
        for reads, who, filled in [*steps, (self.columns, "the parser", "")]:
            missing = [name for name in reads if name not in known]
            if missing:
                raise DataError(
                    self.path,
                    None,
                    f"{who} reads the columns {', '.join(reads)}, and plain text has no {' and no '.join(missing)}: "
                    "give models that tag it by --tagger, or train with --columns form.",
                )
            known.add(filled)

    def _written(self, format: str, marginals: bool, own: _Own, piece: tuple[str, "Block"]) -> str:
        """A piece of a file with its trees, without the end of its last line."""
        import numpy as np

        name, block = piece
        text = conllu.parse(name, _prepare(own.taggers, format)(name, block), self.columns, format)
        begin, heads, labels = own.parser.predict_numbers(text.table)
        longest = int(np.diff(begin).max())
        columns: list[Any] = [(conllu.HEAD, [str(head) for head in range(longest + 1)], heads)]
        if labels is not None:
            columns.append((conllu.place("deprel"), own.parser.labels_, labels))
        probabilities = None
        if marginals:
            tables = own.parser.predict_proba(text.table)
            of_words = zip(tables, np.split(heads, begin[1:-1]), strict=True)
            probabilities = np.concatenate([table[np.arange(len(table)), of] for table, of in of_words])
        return block.mark + text.lines(columns, probabilities).removesuffix("\n")

    def evaluation(
        self,
        path: str,
        format: str | None = None,
        decode: str | None = None,
        tagger: Sequence[str] = (),
        compare: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Attachment scores."""
        gold, predicted = self._evaluated(path, format, decode, self._taggers(tagger))
        report = attachment.report(gold, predicted, self.parser.labels_)
        if compare is not None:
            from margrave.cli.tasks import load_model

            other = load_model(compare, self.parser.n_jobs)
            if not isinstance(other, ParseModel):
                raise DataError(compare, None, f"--compare takes another parser, and this model {other.does}.")
            _, others = other._evaluated(path, format, decode, other._taggers(tagger))
            report["compared"] = {"model": compare, **attachment.comparison(gold, predicted, others)}
        return report

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same in tables."""
        return attachment.summary(report)

    def illustration(
        self,
        format: str | None = None,
        decode: str | None = None,
        tagger: Sequence[str] = (),
        data: str | None = None,
        plot: str | None = None,
        sentences: str | None = None,
        explain: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Arc diagrams, and why a word has its head."""
        path = illustration.check_options(data, plot, sentences, explain)
        format = format or conllu.format_by_extension(path) or self.format
        bank = read_treebank(path, format, self.columns, _prepare(self._taggers(tagger), format))
        parser = self._owned(decode, ())[0].parser
        report: dict[str, Any] = {}
        if plot is not None:
            report["plots"] = illustration.draw(parser, path, bank, plot, sentences)
        if explain is not None:
            report["explanation"] = illustration.explain(parser, path, bank, explain)
        return report

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        drawn = [f"drawn in {path}" for path in report.get("plots", ())]
        of = report.get("explanation")
        return "\n".join([*drawn, *([] if of is None else [illustration.explanation_table(of)])])

    def _evaluated(
        self, path: str, format: str | None, decode: str | None, taggers: Sequence["Tagger"]
    ) -> tuple[Treebank, attachment.Trees]:
        """The gold trees of a file, and the predicted ones."""
        format = format or conllu.format_by_extension(path) or self.format
        gold = read_gold(path, format, self.columns, _prepare(taggers, format))
        with naming(path):
            return gold, self._parsed(gold.table, decode)

    def _parsed(self, X: "_core.ColumnTable", decode: str | None = None) -> attachment.Trees:
        """The trees of all sentences, as Python has them."""
        slices = (X.slice(first, min(first + _SENTENCES, len(X))) for first in range(0, len(X), _SENTENCES))
        heads: list[list[int]] = []
        labels: list[list[str]] | None = [] if self.parser.labels_ else None
        for of in with_own(self._owned(decode, ()), lambda own, of: own.parser.predict(of), slices):
            heads += of if labels is None else [[head for head, _ in tree] for tree in of]
            if labels is not None:
                labels += [[label for _, label in tree] for tree in of]
        return heads, labels

    def _taggers(self, paths: Sequence[str]) -> list["Tagger"]:
        from margrave.cli.taggers import check_taggers, load_taggers

        taggers = load_taggers(paths, self.columns)
        check_taggers(self.path, self.parser.metadata_.get("taggers", []), taggers)
        return taggers

    def _owned(self, decode: str | None, taggers: Iterable["Tagger"]) -> list[_Own]:
        """A parser and taggers for each thread, which number values by themselves."""
        from margrave.threads import available_threads

        owned = []
        decode = checked_decode(ParserSettings, decode, self.parser.decode)
        for _ in range(available_threads(self.parser.n_jobs)):
            parser = _own_parser(self.parser)
            parser.decode = decode
            owned.append(_Own(parser, [tagger.own() for tagger in taggers]))
        return owned


def _own_parser(parser: "DependencyParser") -> "DependencyParser":
    own = copy(parser)
    own.features_, own.n_jobs = copy(parser.features_), 1
    for stage in ("labeler_", "pruner_"):
        if getattr(parser, stage, None) is not None:
            setattr(own, stage, _own_parser(getattr(parser, stage)))
    return own


# ---- tags ------------------------------------------------------------------------------------------------------------


def _prepare(taggers: Sequence["Tagger"], format: str) -> Prepare:
    """Fills in predicted tags before sentences are parsed."""

    def tagged(name: str, block: "Block") -> "Block":
        for tagger in taggers:
            block = tagger.tagged(name, block, format)
        return block

    return tagged


@dataclass(eq=False, repr=False)
class _Jackknife:
    """The same for training data, and what the model remembers of it."""

    taggers: Sequence["Tagger"]
    format: str
    folds: int

    def __post_init__(self) -> None:
        self.remembered: list[dict[str, Any]] = []

    def __call__(self, name: str, block: "Block") -> "Block":
        for tagger in self.taggers:
            block, right = tagger.jackknifed(name, block, self.format, self.folds)
            how = {"label": tagger.label, "columns": list(tagger.columns), "folds": self.folds, "accuracy": right}
            self.remembered.append(how)
        return block


def _dev_scores(gold: Treebank, predicted: Sequence[Sequence[Any]]) -> dict[str, float | None]:
    """The scores of what the estimator predicts."""
    if not isinstance(predicted[0][0], tuple):
        return attachment.scores(gold, ([list(tree) for tree in predicted], None))
    heads = [[head for head, _ in tree] for tree in predicted]
    return attachment.scores(gold, (heads, [[label for _, label in tree] for tree in predicted]))
