"""Tags for the tokens of sequences, predicted by whole segments: semi-Markov models."""

from typing import Any

from margrave.data.tags import alternatives_of
from margrave.errors import MargraveError
from margrave.estimators.models.segment_tagger import SegmentModel
from margrave.estimators.sequence_tagger import TokenTagger
from margrave.examples import Examples
from margrave.losses import LossFamily
from margrave.maps import SegmentMap, table_named
from margrave.structures.semi_markov import segments_of


class SegmentTagger(SegmentModel, TokenTagger):
    """Predicts a label for every token of a sequence by whole segments; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    X and y are as in `SequenceTagger`. Labels are IOB2 tags; IOB1 is converted, and predictions and `score` use IOB2.
    The features of tokens are added up over a segment, and neighboring segments depend on each other.

    Several segmentations of a sequence may be correct (`margrave.data.Answers`). "latent-log" maximizes the probability
    of all of them together, and "latent-hinge" separates the best of them from the others. Neither is convex, so there
    is no gap. `LP` places the worst correct one above the best other one. The other losses learn that of the tags.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : the weights.
    history_, certificate_ : P, D and the gap after each pass, and for `coef_`.
    n_iter_, converged_, stop_reason_ : the number of iterations, and whether and why the learner stopped.
    starts_ : after several starts, the objective and the norm of its gradient for every start; not saved. For
        "latent-hinge" it is a subgradient, whose norm need not be small at an optimum.

    >>> X = [[["in"], ["New"], ["York"]], [["in"], ["Rome"]]]
    >>> tagger = SegmentTagger(C=10.0).fit(X, [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"]])
    >>> tagger.predict([[["in"], ["New"], ["York"]]])
    [['O', 'B-LOC', 'I-LOC']]
    """

    def _map(self, outputs: Any) -> SegmentMap:
        table = table_named(self.weights, self.kernel)
        longest = max(outputs.longest, default=1)
        of_pairs = self.start, self.stop, self.transition_scale
        return SegmentMap(table, list(outputs.labels), longest, self.templates, *of_pairs)

    def _settings(self, examples: Examples) -> LossFamily:
        if self.templates is not None and self.features is None:
            raise MargraveError("templates of segments need rows of columns: pass features=Templates().")
        return super()._settings(examples)

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        examples = super()._completed(examples, outputs)
        if not examples.training or self.templates is None:
            return examples
        segments = [
            [(span.start, span.stop) for span in [*segments_of(tags, i), *alternatives_of(tags)]]
            for i, tags in enumerate(examples.Y)
        ]
        return examples.having(segments=segments)
