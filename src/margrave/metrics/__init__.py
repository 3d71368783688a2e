"""Scores of predictions, which equal those of the field's reference scorers, and significance tests.

All scores except NIST are fractions between 0 and 1.
"""

from margrave.metrics.accuracy import sequence_accuracy, token_accuracy
from margrave.metrics.attachment import AttachmentScores, attachment_scores
from margrave.metrics.counting import Counts
from margrave.metrics.labels import LabelScores, hierarchical_scores, label_scores
from margrave.metrics.significance import approximate_randomisation
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
    "AttachmentScores",
    "BleuStatistics",
    "Counts",
    "LabelScores",
    "NistStatistics",
    "SpanCounts",
    "SpanScores",
    "TreeScores",
    "approximate_randomisation",
    "attachment_scores",
    "bleu",
    "bleu_of_statistics",
    "hierarchical_scores",
    "label_scores",
    "nist",
    "nist_of_statistics",
    "sentence_bleu",
    "sequence_accuracy",
    "span_scores",
    "token_accuracy",
    "tree_loss",
    "tree_scores",
]
