"""Scores of predictions, which equal those of the field's reference scorers, their confidence, and significance tests.

All scores except NIST are fractions between 0 and 1.
"""

from margrave.metrics.accuracy import sequence_accuracy, token_accuracy
from margrave.metrics.alignments import PairScores, pair_counts, pair_scores
from margrave.metrics.attachment import (
    AttachmentReport,
    AttachmentScores,
    UniversalScores,
    attachment_report,
    attachment_scores,
    attachment_statistics,
    conll18_scores,
    las_of_statistics,
    punctuation,
    uas_of_statistics,
    universal_labels,
)
from margrave.metrics.brackets import BracketScores, bracket_scores, f1_of_counts, mcnemar
from margrave.metrics.counting import Counts
from margrave.metrics.labels import LabelScores, hierarchical_scores, label_scores
from margrave.metrics.significance import Interval, approximate_randomization, bootstrap_interval
from margrave.metrics.spans import SpanCounts, SpanScores, span_scores
from margrave.metrics.translation import (
    BleuStatistics,
    NistStatistics,
    bleu,
    bleu_of_statistics,
    nist,
    nist_of_statistics,
    sentence_bleu,
)
from margrave.metrics.trees import TreeScores, tree_loss, tree_scores

__all__ = [
    "AttachmentReport",
    "AttachmentScores",
    "BleuStatistics",
    "BracketScores",
    "Counts",
    "Interval",
    "LabelScores",
    "NistStatistics",
    "PairScores",
    "SpanCounts",
    "SpanScores",
    "TreeScores",
    "UniversalScores",
    "approximate_randomization",
    "attachment_report",
    "attachment_scores",
    "attachment_statistics",
    "bleu",
    "bleu_of_statistics",
    "bootstrap_interval",
    "bracket_scores",
    "conll18_scores",
    "f1_of_counts",
    "hierarchical_scores",
    "label_scores",
    "las_of_statistics",
    "mcnemar",
    "nist",
    "nist_of_statistics",
    "pair_counts",
    "pair_scores",
    "punctuation",
    "sentence_bleu",
    "sequence_accuracy",
    "span_scores",
    "token_accuracy",
    "tree_loss",
    "tree_scores",
    "uas_of_statistics",
    "universal_labels",
]
