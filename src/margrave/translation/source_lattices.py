"""Lattices as input of translation: several strings that a sentence may be, such as ways to split its compounds.

Decoders search the translations of one string. A lattice is therefore translated string by string, best first, and the
best translation of any of them wins: the score of a string is added to that of its translation. The result is exact, as
far as the search is, for lattices with no more strings than are tried.
"""

from collections.abc import Sequence

from margrave.data.lattices import Lattice
from margrave.estimators.lattice_decoder import LatticeDecoder

SOURCE = "SourceLattice"  # the feature that the weights of a string become
PATHS = 100


def source_strings(lattice: Lattice, weight: float, paths: int) -> list[tuple[float, str]]:
    """The distinct strings of a lattice with the sums of their weights, at most `paths` of them, best first.

    Parameters
    ----------
    lattice : edges may have the feature `weight`, as those of PLF.
    weight : the factor on these weights by which strings are ranked.
    paths : how many strings.

    >>> lattice = Lattice.of([(0, 1, "auge", {"weight": 1.0}), (0, 1, "augen", {"weight": 2.0}), (1, 2, "höhe")])
    >>> source_strings(lattice, 1.0, 2)
    [(2.0, 'augen höhe'), (1.0, 'auge höhe')]
    """
    decoder = LatticeDecoder.of_weights({"weight": weight or 1.0})
    found: Sequence[tuple[float, str]] = decoder.predict_kbest([lattice], paths)[0]
    return [(score / (weight or 1.0), text) for score, text in found]
