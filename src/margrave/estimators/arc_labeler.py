"""Labels for the arcs of given dependency trees: the second stage of a parser."""

from typing import Any

from margrave.data.classes import label_numbers
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.models.arc_labeler import LabelerModel, hash_bits, with_heads
from margrave.examples import Examples
from margrave.features import ArcTemplates, Features
from margrave.maps import TreeMap
from margrave.structures.arc_trees import flat_heads, split_labels
from margrave.structures.pruning import TagPairs


class ArcLabeler(LabelerModel, StructuredEstimator):
    """Predicts the label of every word of a tree whose heads are known; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    X is as in `DependencyParser`, and y has the labels of the words of each sentence. An arc may have the labels that
    were seen with the tags of its ends, or any label if these tags were not seen. If all arcs from the root have one
    label in the training data, they have only that, and other arcs do not have it unless some have it there.

    >>> X = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB"), ("well", "ADV")]]
    >>> y = [["nsubj", "root"], ["nsubj", "root", "advmod"]]
    >>> labeler = ArcLabeler().fit(X, y, heads=[[2, 0], [2, 0, 2]])
    >>> labeler.predict([[("dogs", "NOUN"), ("sleep", "VERB")]], heads=[[2, 0]])
    [['nsubj', 'root']]
    """

    n_words_: int  # of the training data; it is not saved

    def _default_features(self) -> Features:
        return ArcTemplates(built_in="labels")

    def _map(self, outputs: Any) -> TreeMap:
        return TreeMap(hash_bits(self.weights, self.n_words_), list(outputs.names))

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        examples = with_heads(examples)
        return examples, {"n_words_": sum(map(len, examples.Y))}

    def _learned(self, examples: Examples, outputs: Any) -> dict[str, Any]:
        heads, names = split_labels(examples.Y)
        pairs, X = TagPairs(), examples.encoded
        pairs.learn(X, flat_heads(X.words, heads), label_numbers([each for of in names for each in of], outputs.names))
        return {"pairs_": pairs}
