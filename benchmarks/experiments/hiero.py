"""Decoding with the Hiero grammar of mt-bn-en-hiero: the derivations of Joshua's translations, search errors, speed."""

from time import perf_counter
from typing import Any

from benchmarks.corpora.folder import data_file
from benchmarks.corpora.translations import hiero_decoder, hiero_lists
from benchmarks.tables import markdown
from margrave.metrics.translation import BleuStatistics, bleu_of_statistics
from margrave.translation.synchronous import BEAM

Result = dict[str, Any]

CORPORA = ("mt-bn-en-hiero",)
RESULT = "hiero"
BEAMS = (10, 50, BEAM, 1000)
ROUNDED = 5.1e-4  # features are printed with three digits
SCORE = 5e-3  # how far a printed score may be from w . f, whose values are rounded
MOST = 100_000  # derivations of a translation that are compared with its features


def measure() -> Result:
    """One thread. Scores of all translations; then decoding with several beams."""
    decoder, weights = hiero_decoder()
    lists, references = hiero_lists()
    sources = data_file("mt-bn-en-hiero", "input.bn").read_text(encoding="utf-8").splitlines()
    return {
        "sentences": len(sources),
        "words": sum(len(source.split()) for source in sources),
        "unknown words": sum(len(decoder.unknown(source)) for source in sources),
        "default beam": BEAM,
        "derivations": derivations(decoder, weights, sources, lists),
        "decoding": [decoding(decoder, weights, sources, lists, references, beam) for beam in BEAMS],
    }


def derivations(decoder: Any, weights: dict[str, float], sources: list[str], lists: Any) -> Result:
    """How many translations have a derivation with the printed features, whose score is the printed one."""
    total = found = scored = 0
    worst = 0.0
    first_of_all = 0
    for of in lists:
        for text, features, score in zip(of.hypotheses, of.features, of.scores, strict=True):
            total += 1
            k, match = 1, None
            while match is None and k <= MOST:
                listed = decoder.derivations(sources[int(of.id)], text, weights, k=k)
                match = next((each for each in listed if agrees(each.features, features)), None)
                if len(listed) < k:
                    break
                k *= 10
            if match is None:
                print(f"  no derivation of {of.id}: {text}", flush=True)
                continue
            found += 1
            first_of_all += match is listed[0]
            difference = abs(match.score - score)
            worst = max(worst, difference)
            scored += difference <= SCORE
    return {"translations": total, "found": found, "best": first_of_all, "score agrees": scored, "worst": worst}


def agrees(features: dict[str, float], printed: dict[str, float]) -> bool:
    """Whether all features have the printed values."""
    names = features.keys() | printed.keys()
    return all(abs(features.get(name, 0.0) - printed.get(name, 0.0)) <= ROUNDED for name in names)


def decoding(decoder: Any, weights: Any, sources: list[str], lists: Any, references: Any, beam: int) -> Result:
    """Seconds, scores against those of Joshua's first translations, and BLEU."""
    began = perf_counter()
    found = [each[0] for each in decoder.decode(sources, weights, beam=beam)]
    seconds = perf_counter() - began
    firsts = {int(of.id): of.scores[0] for of in lists}
    above = [each.score - firsts[i] for i, each in enumerate(found)]
    statistics = BleuStatistics(references).lists([[each.text] for each in found])
    return {
        "beam": beam,
        "seconds": seconds,
        "sentences per second": len(sources) / seconds,
        "no lower": sum(each >= -SCORE for each in above),
        "higher": sum(each > SCORE for each in above),
        "least": min(above),
        "mean score": sum(each.score for each in found) / len(found),
        "bleu": 100 * float(bleu_of_statistics(sum(rows[0] for rows in statistics))),
    }


def table(result: Result) -> str:
    """The counts, and one line per beam."""
    counts = result["derivations"]
    rows = [
        [
            str(row["beam"]),
            f"{row['sentences per second']:.1f}",
            f"{row['mean score']:.3f}",
            f"{row['no lower']} of {result['sentences']}",
            str(row["higher"]),
            f"{row['least']:.3f}",
            f"{row['bleu']:.2f}",
        ]
        for row in result["decoding"]
    ]
    header = ["beam", "sentences/s", "mean score", "no lower than Joshua's first", "higher", "least difference", "BLEU"]
    return (
        f"{counts['found']} of {counts['translations']} translations have a derivation with the printed features "
        f"({counts['best']} of them their best); {counts['score agrees']} of their scores agree, the worst differs by "
        f"{counts['worst']:.4f}.\n\n{markdown(header, rows)}"
    )


def plot(result: Result) -> None:
    """There is none."""
