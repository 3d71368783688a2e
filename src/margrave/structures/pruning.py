"""What gold trees have for each pair of tags of head and word: the longest arcs, and the labels.

Universal Dependencies have one label for arcs from the root, which no other arc has; it is learned from the trees.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.arcs import ArcLabels
from margrave.files.stored import vector
from margrave.stored import Stored


class TagPairs(Stored, kind="pruning"):
    """The longest arcs and the labels that were seen for each pair of tags of head and word."""

    name = "tag-pairs"

    def __init__(self) -> None:
        self._seen = _core.TagPairs()

    def learn(
        self, words: _core.TreeAttributes, heads: NDArray[np.int32], labels: NDArray[np.int32] | None = None
    ) -> None:
        """Learn from gold trees.

        Parameters
        ----------
        words : what `margrave.features.ArcTemplates` made of the sentences.
        heads : the heads of all words, concatenated.
        labels : the numbers of their labels.
        """
        self._seen.learn(words, heads, labels)

    def arcs(self, words: _core.TreeAttributes) -> NDArray[np.bool_]:
        """Which of the n * n arcs of each sentence are no longer than those that were seen with the same tags.

        Arcs from the root and arcs between neighbors are always among them, so that every sentence has a tree.

        Parameters
        ----------
        words : as in `learn`.
        """
        return self._seen.arcs(words)

    def labels(self, words: _core.TreeAttributes, left: NDArray[np.bool_] | None, size: int) -> ArcLabels:
        """The labels that were seen with the tags of each arc, or all labels if the tags were not seen.

        If all arcs from the root had one label, arcs from the root with other tags have only that, and other arcs do
        not have it unless some had it.

        Parameters
        ----------
        words : as in `learn`.
        left : which of the n * n arcs of each sentence have parts; None: all.
        size : the number of labels.
        """
        return ArcLabels(*self._seen.labels(words, left, size))

    def state(self) -> dict[str, Any]:
        """What was seen, as arrays."""
        keys, lengths, begin, labels = self._seen.arrays()
        return {"keys": keys.view(np.int64), "lengths": lengths, "begin": begin, "labels": labels}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self._seen = _core.TagPairs(
            vector(state["keys"], np.int64, "pairs of tags").view(np.uint64),
            vector(state["lengths"], np.int32, "lengths of arcs"),
            vector(state["begin"], np.int64, "bounds of labels"),
            vector(state["labels"], np.int32, "labels of pairs of tags"),
        )
