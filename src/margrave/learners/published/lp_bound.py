"""The bound on the error of LP-Struct's weights on new examples (004, Theorem 6.2 and Corollary 6.3)."""

from math import ceil, inf, log, log2

from margrave.checks import real, whole

_MOST = 2**63 - 1


def lp_log_covering_number(
    objective: float, largest: float, dim: int, examples: int, points: int, radius: float
) -> float:
    """The bound of Corollary 6.3 on log2 N(G, l, gamma), where G contains the weights with their slacks.

    It is infinite if it is too large for a number.

    Parameters
    ----------
    objective : c, a bound on |w|_1 + C |xi|_1.
    largest : b, a bound on the differences of features and on 1 / C.
    dim : d, the number of features.
    examples : m, the number of training examples, each of which has a slack.
    points : l, the number of points at which functions are compared.
    radius : gamma, how far from the cover a function may be at a point.

    Examples
    --------
    >>> round(lp_log_covering_number(1.0, 1.0, 1, 1, 1, 1.0), 3)
    225.554
    """
    c = real("objective", objective, "be finite and not negative", lambda value: 0 <= value < inf)
    b = real("largest", largest, "be positive and finite", lambda value: 0 < value < inf)
    gamma = real("radius", radius, "be positive and finite", lambda value: 0 < value < inf)
    d, m, n = whole("dim", dim, 1, _MOST), whole("examples", examples, 1, _MOST), whole("points", points, 1, _MOST)
    ratio = c * b / gamma
    if ratio * ratio == inf:
        return inf
    return 36 * ratio**2 * (1 + log(d + m)) * log2(2 * ceil(4 * c * b / gamma + 2) * n + 1)


def lp_error_bound(
    objective: float,
    *,
    C: float,
    largest: float,
    dim: int,
    examples: int,
    triples: int | None = None,
    margin: float = 1.0,
    eta: float = 0.05,
) -> float:
    """The bound of Theorem 6.2 on the probability that a wrong output scores higher than a good one.

    It holds with probability 1 - eta over the training data, for triples of an input, a good and a wrong output that
    were drawn independently of each other. The paper counts all triples of all examples. Those of one example are not
    independent of each other, so that the default is one for every example. A bound of 1 or more says nothing; it is
    infinite if it is too large for a number.

    The theorem presumes, and this function cannot check, that

    - no training point that the weights misclassify has a positive probability of its own,
    - the bound `objective` on |w|_1 + C |xi|_1 was fixed before the data were seen, whereas the P of a training
      depends on its data,
    - no sample weight is below 1, because C |xi|_1 would otherwise be larger than what P counts.

    Parameters
    ----------
    objective : the value of P, |w|_1 + C sum_i xi_i, of LP(margin="one") with weights that are not negative.
    C : the C of this objective.
    largest : the largest absolute difference between a feature of a good and of a wrong output.
    dim : the number of features.
    examples : the number of training examples.
    triples : |S|, the number of independent triples; None means one for every example.
    margin : gamma, the margin in place of 1 that the slacks refer to.
    eta : the probability that the bound does not hold.

    Examples
    --------
    >>> lp_error_bound(2.0, C=1.0, largest=1.0, dim=10, examples=10**6) < 0.5
    True
    >>> lp_error_bound(20.0, C=1.0, largest=1.0, dim=10, examples=1000) > 1
    True
    """
    C = real("C", C, "be positive and finite", lambda value: 0 < value < inf)
    eta = real("eta", eta, "be between 0 and 1", lambda value: 0 < value < 1)
    gamma = real("margin", margin, "be positive and finite", lambda value: 0 < value < inf)
    size = whole("triples", examples if triples is None else triples, 1, _MOST // 2)
    largest = real("largest", largest, "be finite and not negative", lambda value: 0 <= value < inf)
    covering = lp_log_covering_number(objective, max(largest, 1 / C), dim, examples, 2 * size, gamma / 2)
    return 2 / size * (covering + log2(2 / eta))  # The condition of the theorem, |S| > 2 / bound, holds for eta < 1.
