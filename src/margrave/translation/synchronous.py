"""Translation by synchronous grammars (Hiero): rules with gaps, glue rules, and a language model by cube pruning."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, log10
from os import PathLike
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.data.forests import Forest, ForestEdge
from margrave.datasets.opening import read_line_pieces, source_name
from margrave.errors import DataError, MargraveError, unknown
from margrave.files import model as model_file
from margrave.files.stored import Arrays, pack, unpack, vector
from margrave.room import take_room
from margrave.stored import Stored
from margrave.translation.decoding import replaced
from margrave.translation.language_model import NGramModel, StoredModel
from margrave.translation.parallel import Words, words_of

BEAM = 200  # combinations per node of the forest: see benchmarks/experiments/hiero.py
_NO_LIMIT = 2**31 - 1
_PASS_THROUGH = ("unknown", "all")
_PACKING = 1  # how hard zlib tries to make rules small
_PIECE = 1 << 20  # how many bytes of rules are unpacked at once
_MEMORY_OF_RULES = 8  # the bytes in memory for each byte of their text, about; more for the shortest rules
_NAMES = ("goal", "label", "pass_through", "model_feature", "word_feature", "unknown_feature")
_WORD_VALUE = -log10(np.e)  # of each word in the feature that counts words, as Joshua and cdec have it


class Translation(NamedTuple):
    """A translation with its score and the values of its features."""

    score: float
    text: str
    features: dict[str, float]


class Section(NamedTuple):
    """Rules as they were given: how they were read, and their lines, compressed, so that model files can have them."""

    prefix: str
    sign: float
    span_limit: int
    lines: bytes


class SynchronousGrammar:
    """The rules of a synchronous grammar, from one or several files; one rule per line, fields separated by |||.

    A rule is [LABEL] ||| source ||| target ||| features. Gaps are [X,1] and [X,2] on both sides, or [1] and [2] in the
    target. Features are name=number, or numbers, which are named by a prefix and their place.

    >>> grammar = SynchronousGrammar().add(["[X] ||| haus ||| house ||| p=-0.1", "[X] ||| das [X,1] ||| the [1]"])
    >>> len(grammar.add_glue()), grammar.features
    (4, ['p', 'Glue'])
    """

    def __init__(self) -> None:
        self.core = _core.SynchronousGrammar()
        self.sections: tuple[Section, ...] = ()

    def read(
        self,
        path: str | PathLike[str] | IO[bytes],
        *,
        prefix: str = "PhraseModel_",
        sign: float = 1.0,
        span_limit: int | None = None,
    ) -> "SynchronousGrammar":
        """Read rules from a file; gzip is recognized. The result is the grammar itself.

        Parameters
        ----------
        path : the file, or an open binary stream.
        prefix : how numbers without a name are called, followed by their place, which begins with 0.
        sign : the factor of all values: -1 for Joshua's grammars, whose numbers are costs.
        span_limit : the largest number of words of the source that such a rule may cover; None for no limit.
        """
        limit, before = self._begin(prefix, sign, span_limit), len(self)
        packer, packed = zlib.compressobj(_PACKING), list[bytes]()
        try:
            for piece in read_line_pieces(path):
                self.core.feed(piece)
                packed.append(packer.compress(piece))
        except DataError:
            raise
        except MargraveError as error:
            raise DataError(source_name(path), self.core.line, str(error)) from None
        if len(self) == before:
            raise DataError(source_name(path), None, "it holds no rules.")
        self.sections += (Section(prefix, sign, limit, b"".join(packed) + packer.flush()),)
        return self

    def add(
        self,
        rules: Iterable[str],
        *,
        prefix: str = "PhraseModel_",
        sign: float = 1.0,
        span_limit: int | None = None,
    ) -> "SynchronousGrammar":
        """Add rules; the result is the grammar itself.

        Parameters
        ----------
        rules : the rules, as files have them.
        prefix, sign, span_limit : as in `read`.
        """
        limit = self._begin(prefix, sign, span_limit)
        lines = [rule.encode() + b"\n" for rule in rules]
        for i, line in enumerate(lines):
            try:
                self.core.feed(line)
            except MargraveError as error:
                raise MargraveError(f"rule {i}: {error}") from None
        self.sections += (Section(prefix, sign, limit, zlib.compress(b"".join(lines), _PACKING)),)
        return self

    def add_glue(self, *, label: str = "X", goal: str = "S", feature: str = "Glue") -> "SynchronousGrammar":
        """Add the usual glue rules: a sentence is a sequence of translated pieces in order.

        Parameters
        ----------
        label : of the pieces.
        goal : of sentences.
        feature : counts how often pieces are joined.
        """
        first, more = f"[{goal}] ||| [{label},1] ||| [1]", f"[{goal}] ||| [{goal},1] [{label},2] ||| [1] [2]"
        return self.add([first, f"{more} ||| {feature}=1"])

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return self.core.features

    @property
    def labels(self) -> list[str]:
        """The labels of left-hand sides and gaps."""
        return self.core.labels

    def __len__(self) -> int:
        """The number of rules."""
        return len(self.core)

    def _feed(self, section: Section) -> None:
        """Add rules that were read before."""
        self._begin(*section[:3])
        unpacker, rest, pieces = zlib.decompressobj(), section.lines, list[bytes]()
        try:
            while piece := unpacker.decompress(rest, _PIECE):
                take_room(_MEMORY_OF_RULES * len(piece), "its decoder's compressed rules")
                pieces.append(piece)
                rest = unpacker.unconsumed_tail
        except zlib.error:
            pass
        if not unpacker.eof or unpacker.unused_data:
            raise MargraveError("the rules of its decoder are damaged.")
        self.core.feed(b"".join(pieces))
        self.sections += (section,)

    def _begin(self, prefix: str, sign: float, span_limit: int | None) -> int:
        limit = _NO_LIMIT if span_limit is None else whole("span_limit", span_limit, 1, _NO_LIMIT)
        self.core.begin(prefix, real("sign", sign, "be finite", isfinite), limit)
        return limit


class SynchronousDecoder(Stored, kind="decoder"):
    """Translates sentences by a synchronous grammar, with or without a language model.

    A sentence is parsed by the source sides of the rules (CKY+), which gives a forest of all derivations. A language
    model is then added by cube pruning, which is not exact unless `beam` is None. Words that no rule translates pass
    through.

    Parameters
    ----------
    grammar : the rules, with glue rules. If its rules contain <s>, sources are put between <s> and </s>.
    model : the language model, whose score (a logarithm to base 10) is a feature.
    goal : the label of whole sentences; None for the label of the glue rules: S or GOAL.
    label : the label of words that pass through.
    pass_through : "unknown" if only words that no rule translates alone pass through, "all" if every word may.
    model_feature, word_feature, unknown_feature : the names of the features for the language model, for words of the
        translation (-0.434 per word, as in Joshua and cdec), and for words that pass through.

    >>> grammar = SynchronousGrammar().add(["[X] ||| haus ||| house", "[X] ||| das [X,1] ||| the [1]"]).add_glue()
    >>> decoder = SynchronousDecoder(grammar)
    >>> decoder.decode(["das haus am see"], {"Glue": -1.0, "PassThrough": -10.0})[0][0].text
    'the house am see'
    """

    name = "hiero"

    def __init__(
        self,
        grammar: SynchronousGrammar,
        model: NGramModel | None = None,
        *,
        goal: str | None = None,
        label: str = "X",
        pass_through: str = "unknown",
        model_feature: str = "LanguageModel",
        word_feature: str = "WordPenalty",
        unknown_feature: str = "PassThrough",
    ) -> None:
        if pass_through not in _PASS_THROUGH:
            raise unknown("pass_through", pass_through, _PASS_THROUGH)
        if goal is None:
            goal = next((each for each in ("S", "GOAL") if each in grammar.labels), "S")
        self.core = _core.SynchronousDecoder(
            grammar.core,
            None if model is None else model.core,
            goal,
            label,
            pass_through == "all",
            _WORD_VALUE,
            model_feature,
            word_feature,
            unknown_feature,
        )
        self.exact = model is None
        self.features = self.core.features
        self.model, self.sections, self.n_rules = model, grammar.sections, len(grammar)
        self.model_feature, self.word_feature, self.unknown_feature = model_feature, word_feature, unknown_feature
        self.goal, self.label, self.pass_through = goal, label, pass_through

    def __deepcopy__(self, memo: Any) -> Self:
        """The decoder itself, which never changes; scikit-learn copies parameters."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle contains what a model file does."""
        arrays: Arrays = {}
        packed = pack(self, arrays, self.kind)
        return _unpickled, (model_file.to_bytes({"decoder": packed}, arrays),)

    def decode(
        self,
        sources: Iterable[Words],
        weights: Mapping[str, float],
        *,
        k: int = 1,
        beam: int | None = BEAM,
        distinct: bool = True,
    ) -> list[list[Translation]]:
        """Find the k best translations of every source, best first; none if the grammar has no derivation.

        Parameters
        ----------
        sources : the sentences.
        weights : the weight of each feature; features without one have weight 0.
        k : the number of translations.
        beam : how many combinations of rules and translations of their gaps are taken up per label and span; None for
            all of them, which is exact, but feasible for short sentences only. Without a language model, the search is
            always exact.
        distinct : whether translations differ in their words; if not, they differ in their derivations.
        """
        if isinstance(sources, str):
            raise MargraveError("sources must be a list of sentences, and it is a text.")
        vector, limit = self._weights(weights), self._beam(beam)
        k = whole("k", k, 1, 2**31 - 1)
        return [self._named(self.core.decode(words_of(source), vector, k, limit, distinct)) for source in sources]

    def derivations(
        self, source: Words, target: Words, weights: Mapping[str, float], *, k: int = 1
    ) -> list[Translation]:
        """Find the k best derivations of one given translation, best first; none if the grammar has none.

        Parameters
        ----------
        source : the sentence.
        target : its translation.
        weights : the weight of each feature.
        k : the number of derivations.
        """
        k = whole("k", k, 1, 2**31 - 1)
        return self._named(self.core.forced(words_of(source), words_of(target), self._weights(weights), k))

    def forest(self, source: Words, weights: Mapping[str, float], *, beam: int | None = BEAM) -> Forest | None:
        """Make the forest of the derivations that the search finds; None if there is none.

        Its edges have the features of their rules, and what they add to the score of the language model. With a
        language model it is pruned, so that sums over it are not exact.

        Parameters
        ----------
        source : the sentence.
        weights : the weight of each feature, which decide what is pruned.
        beam : as in `decode`.
        """
        edges = self.core.forest(words_of(source), self._weights(weights), self._beam(beam))
        if not edges:
            return None
        listed = [
            ForestEdge(
                head,
                tuple(tails),
                tuple(word if number < 0 else number for number, word in target),
                {self.features[number]: value for number, value in features},
            )
            for head, tails, target, features in edges
        ]
        return Forest(listed[-1].head + 1, tuple(listed))

    def unknown(self, source: Words) -> list[str]:
        """The words of a sentence that no rule has.

        Parameters
        ----------
        source : the sentence.
        """
        words = words_of(source)
        return [words[i] for i in self.core.unknown(words)]

    def stored_settings(self) -> dict[str, Any]:
        """The rules, the language model, and the names."""
        sections = [(*each[:3], np.frombuffer(each.lines, dtype=np.uint8)) for each in self.sections]
        model = None if self.model is None else StoredModel(self.model)
        return {"sections": sections, "model": model, **{name: getattr(self, name) for name in _NAMES}}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The decoder with the settings of a file."""
        given = dict(settings)
        sections, model = given.pop("sections", None), given.pop("model", None)
        if (
            not isinstance(sections, list)
            or not all(isinstance(each, tuple) and len(each) == 4 for each in sections)
            or not (model is None or isinstance(model, StoredModel))
            or set(given) != set(_NAMES)
            or not all(isinstance(name, str) for name in given.values())
        ):
            raise MargraveError("its decoder has no grammar.")
        grammar = SynchronousGrammar()
        for prefix, sign, limit, lines in sections:
            grammar._feed(Section(str(prefix), sign, limit, vector(lines, np.uint8, "rules").tobytes()))
        return cls(grammar, None if model is None else model.model, **given)

    def _weights(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        return replaced(np.zeros(len(self.features)), self.features, weights)

    def _beam(self, beam: int | None) -> int:
        return 0 if beam is None else whole("beam", beam, 1, 2**31 - 1)

    def _named(self, found: Sequence[tuple[float, str, Sequence[tuple[int, float]]]]) -> list[Translation]:
        return [
            Translation(score, text, {self.features[number]: value for number, value in features})
            for score, text, features in found
        ]


def _unpickled(content: bytes) -> SynchronousDecoder:
    """The decoder of a pickle."""
    header: Any
    header, arrays = model_file.from_bytes(content)
    decoder: SynchronousDecoder = unpack(header["decoder"], arrays)
    return decoder
