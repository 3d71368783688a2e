"""Lists of translations with their scores and references."""

from benchmarks.corpora.folder import data_file
from margrave.data.nbest import NBestList
from margrave.datasets.nbest import read_nbest, read_references
from margrave.translation.language_model import NGramModel
from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar


def moses_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of 100 translations with 15 scores each, and one reference, in the lower case of the lists."""
    references = read_references(data_file("mt-nbest-moses", "reference.txt"))
    lists = list(read_nbest(data_file("mt-nbest-moses", "nbest.txt")))
    return lists, [[text.lower() for text in texts] for texts in references]


def hiero_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of at most 10 translations with 21 scores each, and four references."""
    references = read_references(*(data_file("mt-bn-en-hiero", f"reference.en.{k}") for k in range(4)))
    return list(read_nbest(data_file("mt-bn-en-hiero", "nbest.txt"))), references


def hiero_decoder() -> tuple[SynchronousDecoder, dict[str, float]]:
    """The decoder that made the Bengali lists, with its weights; all words may pass through, at a cost of 100."""
    grammar = SynchronousGrammar()
    grammar.read(data_file("mt-bn-en-hiero", "grammar.scfg.gz"), prefix="tm_pt_", sign=-1.0, span_limit=12)
    grammar.read(data_file("mt-bn-en-hiero", "glue.scfg"), prefix="tm_glue_", sign=-1.0)
    model = NGramModel.read_arpa(data_file("mt-bn-en-hiero", "lm.5gram.arpa.gz"))
    names = {"model_feature": "lm_0", "word_feature": "WordPenalty", "unknown_feature": "OOVPenalty"}
    decoder = SynchronousDecoder(grammar, model, pass_through="all", **names)
    weights = {}
    for line in data_file("mt-bn-en-hiero", "weights.txt").read_text().splitlines():
        name, value = line.split()
        weights[name] = float(value)
    weights["OOVPenalty"] = -100.0  # The lists count words that pass through, and their scores have -100 for each.
    return decoder, {name: value for name, value in weights.items() if name in decoder.features}
