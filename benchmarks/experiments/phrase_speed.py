"""Sentences per second of the phrase-based decoder, by its beam, and what a larger beam gains in score and BLEU."""

from time import perf_counter

from benchmarks.corpora.folder import data_file
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave.metrics import bleu
from margrave.translation import read_parallel
from margrave.translation.language_model import NGramModel
from margrave.translation.phrase_decoder import PhraseDecoder
from margrave.translation.phrases import AlignedText

CORPORA = ("mt-fr-en-aligned",)
RESULT = "phrase_speed"
TRAIN = 8000
TEST = 100  # of the last thousand, evenly spaced
BEAMS = (10, 20, 50, 100)


def measure() -> Result:
    """Weights are those that Moses begins with; 10 options per source phrase, swaps of up to 6 words, one thread."""
    data = data_file("mt-fr-en-aligned", "fr.gz"), data_file("mt-fr-en-aligned", "en.gz")
    X, y, links = read_parallel(*data, data_file("mt-fr-en-aligned", "align.fr-en.gz"))
    assert links is not None
    began = perf_counter()
    text = AlignedText(X[:TRAIN], y[:TRAIN], links[:TRAIN])
    encoded = perf_counter()
    table = text.phrases(most=20)
    extracted = perf_counter()
    model = NGramModel.estimate(y[:TRAIN])
    estimated = perf_counter()
    source, target = X[-1000 :: 1000 // TEST], y[-1000 :: 1000 // TEST]
    runs = []
    for beam in BEAMS:
        decoder = PhraseDecoder(table, model, beam=beam)
        first = perf_counter()
        found = decoder.kbest(source, k=1)
        seconds = perf_counter() - first
        score = sum(float(scores[0]) for scores, _ in found) / len(found)
        translated = [of.texts[0] for _, of in found]
        runs.append({"beam": beam, "seconds": seconds, "score": score, "bleu": bleu(translated, target)})
        print(f"  {runs[-1]}", flush=True)
    return {
        "phrase_pairs": len(table),
        "ngrams": len(model),
        "sentences": len(source),
        "words": sum(len(each.split()) for each in source),
        "seconds": {
            "encoding": encoded - began,
            "extraction": extracted - encoded,
            "language model": estimated - extracted,
        },
        "runs": runs,
    }


def table(result: Result) -> str:
    """Sentences and words per second."""
    rows = [
        [
            f"{run['beam']}",
            f"{result['sentences'] / run['seconds']:.1f}",
            f"{result['words'] / run['seconds']:,.0f}",
            f"{run['score']:.3f}",
            f"{100 * run['bleu']:.2f}",
        ]
        for run in result["runs"]
    ]
    return markdown(["beam", "sentences/s", "words/s", "mean score", "BLEU, untuned"], rows)


def plot(result: Result) -> None:
    """There is none."""
