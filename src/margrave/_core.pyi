"""Margrave's native core."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray

class LossFamily:
    """
    A member of the loss family with C and the sample weights, as every pass takes it. It keeps a copy of the weights and cannot be changed.
    """

    def __init__(
        self,
        beta: float,
        gamma: float,
        zero_one: bool = False,
        C: float = 1.0,
        sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> None: ...
    @property
    def beta(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def zero_one(self) -> bool: ...
    @property
    def C(self) -> float: ...
    @property
    def sample_weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None:
        """A copy of the weights of the examples, or None."""

class Question:
    """What a learner asks of inference at weights."""

    def __init__(
        self,
        kind: str,
        *,
        gamma: float = 0.0,
        zero_one: bool = False,
        k: int = 1,
        beta: float = 1.0,
        scale: float = 1.0,
        rescale: str = "margin",
        slack: int = 1,
    ) -> None: ...
    @property
    def kind(self) -> str:
        """'argmax', 'kbest', 'logsum', 'relaxed_argmax' or 'most_violated'."""

    @property
    def gamma(self) -> float:
        """How many times the cost is added to the score of an output."""

    @property
    def zero_one(self) -> bool:
        """Whether that cost is 1 for every part but the gold ones."""

    @property
    def k(self) -> int:
        """The number of outputs that 'kbest' asks for."""

    @property
    def beta(self) -> float:
        """The factor on scores and costs in the partition function of 'logsum'."""

    @property
    def scale(self) -> float:
        """The weights that are meant are scale * w."""

    @property
    def rescale(self) -> str:
        """What the cost re-scales in the constraints of 'most_violated'."""

    @property
    def slack(self) -> int:
        """The power of the slack in those constraints: 1 or 2."""

class Problem:
    """
    A structured prediction problem: a structure with its features, bound to a data set.
    """

    def __init__(self, size: int, dim: int) -> None: ...
    @property
    def size(self) -> int:
        """The number of examples."""

    @property
    def dim(self) -> int:
        """The number of weights."""

    @property
    def offers(self) -> list[str]:
        """What it can do beyond scoring."""

    @property
    def exact(self) -> bool:
        """
        Whether inference is exact. A problem written in Python may say that its own is not.
        """

    @exact.setter
    def exact(self, arg: bool, /) -> None: ...
    @property
    def zero_one_is_of_parts(self) -> bool:
        """Whether every output is a single part."""

    @property
    def has_gold(self) -> bool:
        """Whether gold outputs are known."""

    @property
    def euclidean(self) -> bool:
        """Whether the inner product of weights is the Euclidean one."""

    @property
    def any_scores(self) -> bool:
        """
        Whether inference takes any scores of parts, and not only those that weights give.
        """

    def parts(self, i: int) -> int:
        """The number of parts of example i."""

    def score(
        self, i: int, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Part scores theta = A_i w."""

    def infer(
        self,
        i: int,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        question: Question,
    ) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], object]:
        """
        Part scores theta at the weights scale * w, and what inference finds there: the best outputs as (value, parts), or the log partition function with the expected features as indices and values. Values do not contain the constant part of the cost.
        """

    def scatter(
        self,
        i: int,
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        c: float,
        g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None:
        """g += c A_i' mu, the adjoint of score."""

    def move(
        self,
        i: int,
        v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        c: float,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> float:
        """w += c A_i' v, and the change of 1/2 dot(w, w)."""

    def row(
        self, i: int, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
    ]:
        """A_i' v as a sparse vector: indices and values."""

    def dot(
        self,
        u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> float:
        """The inner product of weights."""

    def radius(self, i: int) -> float:
        """A bound on |A_i' (y - y')| over the outputs of example i."""

    def weighted_parts(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The parts that have a weight: the scores of others are 0 under all weights.
        """

    def gold(self, i: int, k: int = 0) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The parts of the gold output; of the k-th, best first, where several are good.
        """

    def golds(self, i: int) -> int:
        """The number of good outputs of example i, nearly always 1."""

    def clamp(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The scores, with -inf on forbidden parts."""

    def cost(self, i: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], float]:
        """The cost of every output: c0 + <delta, y>."""

    def argmax(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The best score and the parts of the best output."""

    def logsum(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """The log partition function and the marginals."""

    def relaxed_argmax(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        A bound on the score of every output, and the marginals of the point of the relaxation that has this score.
        """

    def argmax_by_cost(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        delta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        least: float = float("-inf"),
        base: int = 0,
    ) -> list[tuple[int, float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
        """
        The best output at each value of a whole-number cost: (cost, value, parts). Those with values below `least` may be missing. If costs are right + base * wrong items, so may those for which another has no lower value, no more right items, and no fewer wrong ones.
        """

    def kbest(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        k: int,
    ) -> list[tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
        """The k best distinct outputs, best first: (value, parts)."""

    def sample(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        seed: int,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """An output drawn with probability proportional to exp(score)."""

    def entropy(
        self,
        i: int,
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        Entropy and natural parameters of the maximum-entropy distribution with these marginals.
        """

    def oracle(
        self,
        i: int,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        family: LossFamily,
    ) -> tuple[
        float,
        float,
        float,
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """
        Loss, expected cost (NaN where a problem knows only the expected features), entropy and sparse gradient (indices, values) of one example.
        """

    def slice(self, begin: int, end: int) -> Problem:
        """Examples [begin, end) as a problem of their own."""

class BoundProblem(Problem):
    pass

class SliceProblem(Problem):
    pass

class OffsetProblem(Problem):
    pass

class GoodProblem(Problem):
    pass

class DividedProblem(Problem):
    """A problem whose good outputs are too many to be listed."""

    @property
    def offers(self) -> list[str]:
        """
        Its operations; 'good' is inference among the good outputs, and among the others.
        """

    def argmax_among(
        self,
        good: bool,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The best of the good outputs, or of all others, and its score."""

    def logsum_among(
        self,
        good: bool,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The log sum over the good outputs, or over all others, and the marginals.
        """

def good_outputs(problem: DividedProblem) -> GoodProblem:
    """The same problem with its good outputs alone."""

def offset(
    problem: Problem,
    r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    zero_one: bool = False,
    costs: bool = True,
) -> OffsetProblem:
    """
    The same problem with the scores of r in its costs: its loss (beta, gamma) at u is the other's at u + gamma r. costs: whether the other's costs count as well.
    """

def join(structure: Structure, features: Features) -> BoundProblem:
    """A structure with its features."""

def divide(structure: Structure, features: Features) -> DividedProblem:
    """
    A structure with its features; it can be asked for its good outputs alone.
    """

class Structure:
    """Which bags of parts are outputs, for every example of a data set."""

    @property
    def size(self) -> int:
        """The number of examples."""

    def parts(self, i: int) -> int:
        """The number of parts of example i."""

    @property
    def offers(self) -> list[str]:
        """What it can do beyond scoring."""

    @property
    def exact(self) -> bool:
        """Whether inference is exact."""

    @property
    def has_gold(self) -> bool:
        """Whether gold outputs are known."""

    @property
    def columns(self) -> int:
        """
        How many parts each row of features has: the number of labels, or 1 if every part has its own row.
        """

    def choice(self, i: int) -> int:
        """
        Parts come in groups of this many, of which an output has exactly one; 1: a part may be there or not.
        """

    @property
    def choices(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """choice(i) for every example."""

    @property
    def repeats(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """How often an output of each example can have the same part, at most."""

    def gold_parts(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]:
        """
        The parts of the first gold output of every example, one after another: bounds and parts.
        """

class TreeStructure(Structure):
    """Dependency trees over the sentences of a data set."""

    @property
    def words(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of words of every sentence."""

    @property
    def labels(self) -> int:
        """The number of labels; 0: arcs have none."""

    @property
    def part_counts(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of parts of every sentence."""

    def arcs(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]:
        """
        The parts that are arcs, which are the first ones of every sentence: bounds, heads, words, and labels (-1 without labels).
        """

    def read(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        examples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]:
        """
        Outputs as bounds, heads and labels (none without labels), one after another. examples: which example each output belongs to; None: each has one.
        """

    def head_tables(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        Numbers of parts, such as marginals, summed by arc: a table (words, words + 1) per example, with the root first, one after another.
        """

class TreesOfArcs(TreeStructure):
    """Trees without labels."""

class OwnRule:
    """A hard factor that is written in Python."""

def own_rule(rule: object, variables: int, labels: int) -> OwnRule:
    """
    A rule with the methods maximum and sum over this many variables, which have this many labels together.
    """

class FactorGraphs:
    """The factor graphs of a data set."""

    def __init__(
        self,
        graph_of: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        variable_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        factor_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        form: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        scope_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        scope: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        listed_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        listed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hard_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hard_kind: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        literal_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        literal_variable: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        literal_value: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        data_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        data: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        own: Sequence[OwnRule],
    ) -> None: ...
    @property
    def examples(self) -> int:
        """The number of examples."""

    @property
    def graphs(self) -> int:
        """The number of graphs."""

    def parts(self, g: int) -> int:
        """The number of parts of a graph."""

class FactorGraphStructure(Structure):
    """Labellings of factor graphs."""

    @property
    def variables(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of variables of every example."""

    @property
    def most_labels(self) -> int:
        """The number of labels of the variable that has the most."""

    @property
    def arities(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The number of variables of each soft factor of each graph."""

    def sets(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The set of labels of each variable of example i."""

    def read(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        examples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The labels of outputs, one output after another. examples: which example each output belongs to; None: each has one.
        """

    def label_marginals(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The marginals of the labels of all variables, one variable and one example after another, from those of parts.
        """

class Features:
    @property
    def dim(self) -> int: ...

def instruction_set() -> str:
    """For which instruction set the loops in use are compiled."""

def choose_instruction_set(name: str) -> None:
    """
    Use the loops compiled for another instruction set ('baseline' is always there).
    """

def instruction_sets() -> list[str]:
    """The instruction sets that this processor has, best first."""

def add_scaled(
    u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    c: float,
    v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """v += c u, without the copy that an expression makes."""

class AlignmentMap(Features):
    pass

class AlignmentEdgeMap(Features):
    pass

def alignment_map(
    structure: Structure,
    tables: Sequence[tuple[Tokens, Tokens, int, int, bool]],
    gaps: Sequence[tuple[Tokens, Tokens, int]],
    ends: bool,
) -> Features:
    """
    The feature map of alignments. tables: rows of x, rows of y, their numbers of codes, whether it is symmetric. gaps: rows of x, rows of y, the number of codes. ends: whether gaps at the ends have weights of their own.
    """

class FactorMap(Features):
    pass

def factor_map(
    structure: FactorGraphStructure,
    group_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    groups: Sequence[
        tuple[
            int,
            int,
            Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Tokens,
            bool,
        ]
    ],
) -> FactorMap:
    """
    Weights of the soft factors of graphs, tied by groups. group_of: the group of each factor of each graph. groups: of each the number of attributes, the number of columns, the column of each cell (-1: none), the rows of the attributes of its factors, and whether all of its factors in an example share one row.
    """

class KeyedNames:
    """Numbers of values that names are spelled from."""

class KeyedAttributes:
    """
    The attributes of sequences, spelled on demand: a list of names for every unit.
    """

    @property
    def names(self) -> KeyedNames: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> list[list[str]]:
        """The names of the attributes of an example, unit by unit."""

class KeyTable:
    """The rows of keyed attributes, looked up once for each key."""

    def __init__(self, names: KeyedNames | None, vocabulary: Vocabulary | None, hash_bits: int) -> None: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    def encode(self, attributes: KeyedAttributes, grow: bool) -> Tokens:
        """
        Rows of the attributes; new names get a number if `grow`, and are left out if not.
        """

class KernelFeatures(Features):
    pass

class Inputs:
    """The distinct rows of tokens, in the order in which they first occur."""

    def __init__(self, tokens: Tokens) -> None: ...
    def __len__(self) -> int: ...
    @property
    def origin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The first token with each row."""

    @property
    def squares(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The squared length of each row."""

    def numbers(self, tokens: Tokens) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of each token's row; -1 where it is not among these."""

    def subset(
        self, kept: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> Inputs:
        """Some of these, given by number."""

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """Row bounds, indices and values."""

    def __getstate__(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]: ...
    def __setstate__(
        self,
        arg: tuple[
            Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ],
        /,
    ) -> None: ...

def kernel_features(
    name: str,
    gamma: float,
    coef0: float,
    degree: int,
    support: Inputs,
    tokens: Tokens,
    single: bool,
    bytes: int,
    labels: int,
    rest: Features,
    first_parts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> KernelFeatures:
    """
    Scores from a kernel with support inputs, beside those of other features. Those of (position, label) parts begin with the first part of each example, or with the given one.
    """

def given_kernel_features(
    support: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tokens: Tokens,
    own: bool,
    single: bool,
    bytes: int,
    labels: int,
    rest: Features,
) -> KernelFeatures:
    """
    The same where the rows of tokens hold their kernel with all training inputs.
    """

def kernel_matrix(
    name: str, gamma: float, coef0: float, degree: int, inputs: Inputs, support: Inputs, threads: int
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The kernel of all inputs with all support inputs, row by row."""

class OutputFeatures(Features):
    pass

def output_features(
    features: Features,
    width: int,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    spread: float = 0.0,
) -> OutputFeatures:
    """
    Features of classes from features of what describes them: theta = M theta', M a sparse matrix by rows.
    """

class SegmentMap(Features):
    pass

def segment_map(
    structure: SemiMarkovStructure,
    tokens: Table,
    spans: Table | None,
    pair_weight: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    pair_weights: int,
    scale: float,
    start: bool,
    stop: bool,
) -> SegmentMap:
    """
    Scores of segments: those of their tokens under their tags, and of spans under their labels if there are any; and one weight per pair of neighbouring labels.
    """

class SpanMap(Features):
    pass

def span_map(structure: ConstituentStructure, attributes: TreeAttributes | None, hash_bits: int) -> SpanMap:
    """
    One weight per rule and, with attributes, hashed ones of labelled spans and splits.
    """

def span_rows(attributes: TreeAttributes, hash_bits: int) -> Tokens:
    """
    The hashed attributes of the spans (0, 1), (0, 2), ..., (1, 2), ... of each sentence, a row per span.
    """

class SparseParts(Features):
    pass

def sparse_parts(
    dim: int,
    rows: Tokens,
    choice: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    repeats: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> SparseParts:
    """
    A sparse vector for every part. choice, repeats: the structure's choices and repeats, for the radius.
    """

class Table(Features):
    pass

class Pairs:
    """Which (attribute, label) pairs have a weight."""

    @overload
    def __init__(self, attributes: int, labels: int) -> None: ...
    @overload
    def __init__(
        self,
        labels: int,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        column: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def attributes(self) -> int: ...
    @property
    def labels(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def packed(self) -> bool: ...
    def union(self, other: Pairs) -> Pairs:
        """
        The pairs of both tables, for as many attributes as the larger one has.
        """

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))]
    ]:
        """Row bounds and columns of a packed table."""

    def __getstate__(
        self,
    ) -> tuple[
        bool,
        int,
        int,
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.uint16], dict(shape=(None,))],
    ]: ...
    def __setstate__(
        self,
        arg: tuple[
            bool,
            int,
            int,
            Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ],
        /,
    ) -> None: ...

def observed_pairs(
    tokens: Tokens,
    attributes: int,
    labels: int,
    column_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Pairs: ...
def table(
    tokens: Tokens,
    pairs: Pairs,
    gram_weight: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gram_weights: int,
    gram_lengths: int,
    tied: bool,
    scale: float,
    start: bool,
    stop: bool,
    edges: Tokens | None,
    edge_pairs: Pairs | None,
) -> Table: ...

class Tokens:
    """Sparse rows of the tokens of a data set."""

    def __init__(
        self,
        example_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        row_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None: ...
    @property
    def examples(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def example_begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None,
    ]:
        """
        Where the tokens of each example begin, where the entries of each token begin, and the entries: their attributes and their values (None: all are 1).
        """

    def renumbered(
        self, map: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> Tokens:
        """The same rows, with map[a] in the place of attribute a."""

def lengths(
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """How many units each example has, from where they begin and end."""

def bounds(
    lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Where the units of each example begin, and the end, from how many there are.
    """

def dense_rows(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    single: bool,
    unit: str = "token",
) -> Tokens:
    """Tokens from the rows of a dense matrix, without its zeros."""

def encode(
    examples: object | None,
    vocabulary: Vocabulary | None,
    grow: bool,
    hash_bits: int,
    single: bool,
    unit: str = "token",
    threads: int = 1,
) -> Tokens:
    """
    Tokens from lists of attribute strings or dictionaries. With several threads, names are looked up on one thread while another walks the lists that follow.
    """

class FingerprintTable:
    """The attributes of trees that have weights, with their names."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        fingerprints: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def __len__(self) -> int: ...
    def observe(self, attributes: TreeAttributes, structure: TreeStructure, labels: Sequence[str]) -> None:
        """Add the attributes of the gold trees of a structure."""

    def names(self) -> list[str]:
        """The names of all attributes, in the order of their weights."""

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))],
        Annotated[NDArray[numpy.uint8], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    ]:
        """The fingerprints, the bytes of all names, and where each name begins."""

class TreeMap(Features):
    def explain(
        self,
        i: int,
        part: int,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Sequence[str],
    ) -> list[tuple[str, float]]:
        """The names and the weights of the attributes of a part."""

def tree_map(
    attributes: TreeAttributes, structure: TreeStructure, hash_bits: int, table: FingerprintTable | None, labels: int
) -> TreeMap:
    """
    The feature map of trees by templates. table: the attributes that have weights, or None if they are hashed. labels: the number of labels of arcs, or 0.
    """

class Vocabulary:
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def __len__(self) -> int: ...
    def find(self, name: str) -> int:
        """The number of an attribute, or -1."""

    def names(self) -> list[str]:
        """All names, by number."""

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
    ]:
        """The names one after another as bytes, and where each begins."""

    def merge(self, other: Vocabulary) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        Adds the names of another vocabulary in their order; their numbers here.
        """

    def __getstate__(self) -> object: ...
    def __setstate__(
        self,
        arg: tuple[
            Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ],
        /,
    ) -> None: ...

class ColumnTable:
    """Sentences whose tokens have columns of text."""

    def __init__(self) -> None:
        """A table without sentences."""

    @property
    def width(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    def __len__(self) -> int: ...
    def without_column(self, column: int) -> ColumnTable:
        """The same sentences without a column."""

    def slice(self, first: int, last: int) -> ColumnTable:
        """The sentences from `first` up to, not including, `last`."""

    def column(self, column: int) -> list[list[str]]:
        """The texts of a column, sentence by sentence."""

    def lines(
        self,
        separator: str,
        labels: Sequence[str],
        numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
    ) -> str:
        """
        The rows with a label each, and with a probability if there are any; a blank line after each sentence.
        """

class ConlluText:
    """Sentences of a CoNLL-U file."""

    @property
    def table(self) -> ColumnTable:
        """The columns of the words that were asked for."""

    @property
    def heads(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The heads of all words, -1 where they are not annotated."""

    def lines(
        self,
        columns: Sequence[
            tuple[
                tuple[int, str],
                Sequence[str],
                Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            ]
        ],
        probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
    ) -> str:
        """
        All lines, with columns of words filled in, and with probabilities in misc if there are any. A column is given with the texts it can have and the number of the text of each word. The relation of a word to another head than before becomes _ unless it is filled in too.
        """

def table_of_rows(sentences: object | None, columns: int, label: int) -> ColumnTable | None:
    """
    The table of sentences of rows of strings without the label, or None if they are anything else.
    """

def parse_columns(text: bytes, separator: bytes | None, width: int, header: bool) -> tuple[ColumnTable, list[str], int]:
    """
    The table of a text in columns; the names in its first line, if it has a header; and the line at which something is wrong, or 0. The table then has the complete sentences before it.
    """

def parse_conllu(
    text: bytes, columns: Sequence[tuple[int, str]], words_only: bool = False, trees: bool = True
) -> tuple[ConlluText, int]:
    """
    The sentences of a CoNLL-U text, or of a CoNLL-X text (words_only), with these columns of words (a field from 1 to 9, and a key of misc with its = or nothing), and the last line of a sentence in which something is wrong, or 0. Without `trees`, the column of heads is not read.
    """

def after_last_blank_line(text: bytes, blanks: str) -> int:
    """Where the text behind its last blank line begins; 0 if it has none."""

class SegmentTemplates:
    """Templates of the attributes of spans of tokens."""

    def __init__(
        self, templates: Sequence[tuple[str, str, int, int, int]], dictionaries: Sequence[Sequence[str]]
    ) -> None:
        """
        Templates as (name, kind, n, texts, dictionary): kind is string, length, first, last, before, after, ngram or dictionary, n the size of n-grams, and texts the number of the texts that it is about.
        """

    def rows(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        texts: Sequence[
            tuple[
                Sequence[str],
                Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            ]
        ],
        longest: int,
        vocabulary: Vocabulary | None,
        hash_bits: int,
        growing: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> Tokens:
        """
        One row per span, by end and length. texts: the values, and the number of each token's value or -1. growing: the spans whose new names are added to the vocabulary.
        """

class TemplateAttributes(KeyedAttributes):
    pass

class TemplateNames(KeyedNames):
    """Compiled templates, with the numbers of the values met so far."""

    def __init__(self, templates: Sequence[str], terms: Sequence[Sequence[tuple[int, int, str]]]) -> None: ...
    def __len__(self) -> int:
        """How many values and pairs of values have a number."""

    def attributes(
        self, table: ColumnTable, label: int, results_of: Callable[[str, list[str]], object]
    ) -> TemplateAttributes:
        """
        The attributes of all tokens. label: a column to pass over, or -1. results_of(name, values) gives the results of a function, None where it has none.
        """

class TreeAttributes:
    """The values of the words of sentences, for templates of trees."""

    def __len__(self) -> int: ...
    @property
    def words(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of words of every sentence."""

    @property
    def example_begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """Where the arcs of each sentence begin, n * n of them for n words."""

class TreeTemplates:
    """Compiled templates over the parts of trees."""

    def __init__(
        self, templates: Sequence[str], terms: Sequence[Sequence[tuple[str, int, int, str]]], tags: int
    ) -> None: ...
    def __len__(self) -> int:
        """How many values have a number so far."""

    def attributes(
        self, table: ColumnTable, label: int, results_of: Callable[[str, list[str]], object]
    ) -> TreeAttributes:
        """
        The attributes of all sentences. label: a column to pass over, or -1. results_of(name, values) gives the results of a function, None where it has none.
        """

def losses_and_gradient(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    family: LossFamily,
    threads: int,
    gradient: bool,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]:
    """
    All losses L_i(w), and C sum_i sample_weight_i grad L_i (empty unless asked for).
    """

def argmax_all(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threads: int,
    *,
    theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    The best output of every example: bounds and parts. Scores are those of the weights w, or theta: the scores of the parts of all examples, one after another.
    """

def marginals_all(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    beta: float,
    threads: int,
    *,
    theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]:
    """
    Bounds, log partition functions and marginals of every example, under beta times the scores.
    """

def kbest_all(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    k: int,
    threads: int,
    *,
    theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
]:
    """
    The k best outputs of every example, best first, or all if there are fewer: where those of each example begin, their values, where the parts of each output begin, and the parts.
    """

def sample_all(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    beta: float,
    n: int,
    seed: int,
    threads: int,
    *,
    theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    n outputs of every example, drawn in proportion to exp(beta score), example by example: bounds and parts. They depend on the seed and on the number of the example only.
    """

def most_violated(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    i: int,
    rescale: str,
    slack: int,
    cost: object,
) -> tuple[float, float, Annotated[NDArray[numpy.int32], dict(shape=(None,))], bool, float]:
    """
    The output that violates its constraint most: H, cost, parts, whether no other violates it more, and what none exceeds.
    """

def svm_slacks(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rescale: str,
    slack: int,
    cost: object,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]:
    """
    The slack of every example at w, and what it cannot exceed where inference is not exact.
    """

def block_qp(
    h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gram: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    q: float,
    cap: float,
    alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tol: float,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], float]:
    """
    Maximises h'a - 1/2 a'Ga - q/2 (sum a)^2 over a >= 0, sum a <= cap, from alpha: a, and what its slopes leave to gain per unit of mass.
    """

def joint_qp(
    h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gram: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    block: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tol: float,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, int]:
    """
    The same as block_qp over several blocks with one Gram matrix: a, whether its slopes leave no more than tol, and how many steps it took.
    """

class Cuts:
    """The constraints of the n-slack cutting plane with their multipliers."""

    def __init__(self, problem: Problem, memory: int = 125000000) -> None: ...
    @staticmethod
    def from_arrays(
        problem: Problem,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        part_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        multiplier: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        idle: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Cuts: ...
    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    ]:
        """
        Where the constraints of each example and the parts of each begin, the parts, and by constraint cost, linear part, factor, multiplier and rounds without mass.
        """

    def __len__(self) -> int: ...
    def one_pass(
        self,
        problem: Problem,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        family: LossFamily,
        rescale: str,
        slack: int,
        cost: object,
        order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        epsilon: float,
        rounds: int,
        variant_a: bool,
        goal: float,
    ) -> tuple[int, float, float, int, int, int, float, list[tuple[int, float, float]], int]:
        """
        One pass of Algorithm 1: constraints added, gap seen, what inference may have missed of it, the number of searches and of those proved exact, the worst example, its violation, and for variant (a) examples, gains of D and violations, and the steps of the optimisations over S.
        """

    def optimise(
        self,
        problem: Problem,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        family: LossFamily,
        rescale: str,
        slack: int,
        cost: object,
        goal: float,
        rounds: int,
    ) -> float:
        """
        Optimises over all constraints without inference until their gap is below `goal`; the gap.
        """

    def dual(
        self,
        problem: Problem,
        w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        family: LossFamily,
        rescale: str,
        slack: int,
        cost: object,
    ) -> float:
        """D at these multipliers, whose weights are w."""

    def weights(self, problem: Problem) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """w(alpha), made anew."""

class OutputCache:
    """The outputs that were found last, for each example."""

    def __init__(self, problem: Problem, most: int) -> None: ...
    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """
        Where the outputs of each example and the parts of each begin, the parts, and the costs; the last first.
        """

    def fill(
        self,
        problem: Problem,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        part_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None:
        """Takes over what `arrays` gave."""

def one_cut(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    family: LossFamily,
    rescale: str,
    cost: object,
    cache: OutputCache,
    cached: bool,
    threads: int,
) -> tuple[
    float,
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    float,
]:
    """
    The most violated joint constraint at w: linear part, direction, violations of all examples, where the parts of their outputs begin, the parts, their factors, and what inexact inference may have missed.
    """

class Sharing:
    """How often several threads exchange which weights."""

    def __init__(self, problem: Problem, threads: int) -> None: ...

class StoredParts:
    """
    The parts that have a weight: all that a learner stores whose numbers are 0 elsewhere.
    """

    def __init__(self, problem: Problem, family: LossFamily, threads: int) -> None: ...
    @property
    def size(self) -> int:
        """The number of stored parts of all examples."""

def weights_of(
    problem: Problem,
    family: LossFamily,
    threads: int,
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    stored: StoredParts | None = None,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    w(alpha) of distributions with these expected parts: all parts, or those stored.
    """

def natural_parameters(
    problem: Problem,
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The natural parameters of the maximum-entropy distributions with these expected parts of all examples.
    """

@overload
def begin_at_gold(
    problem: Problem,
    threads: int,
    stored: StoredParts | None,
    start: float,
    t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def begin_at_gold(
    problem: Problem,
    threads: int,
    stored: StoredParts | None,
    start: float,
    t: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    mu: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Sets mu to the counts of the gold parts, and t to `start` on them and to 0 on others.
    """

def part_offsets(problem: Problem) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Where the parts of each example begin, of all examples one after another.
    """

def gold_parts(problem: Problem) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The parts of the gold outputs, counted over all examples."""

@overload
def eg_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    stored: StoredParts | None,
    t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    growth: float,
    cap: float,
    halving: bool,
    start: bool | None,
) -> int: ...
@overload
def eg_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    stored: StoredParts | None,
    t: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    mu: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    growth: float,
    cap: float,
    halving: bool,
    start: bool | None,
) -> int:
    """
    One pass of online exponentiated gradient over `order`; the number of trials. `start` is given if all mass is on the gold outputs, and is the natural parameter of their parts before the first step.
    """

@overload
def gibbs_expectations(
    problem: Problem,
    family: LossFamily,
    threads: int,
    stored: StoredParts | None,
    t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
@overload
def gibbs_expectations(
    problem: Problem,
    family: LossFamily,
    threads: int,
    stored: StoredParts | None,
    t: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    mu: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    w(alpha) of Gibbs distributions; fills marginals (unless empty), entropies and costs.
    """

@overload
def eg_batch_step(
    problem: Problem,
    family: LossFamily,
    threads: int,
    stored: StoredParts | None,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    next: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    rate: float,
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
@overload
def eg_batch_step(
    problem: Problem,
    family: LossFamily,
    threads: int,
    stored: StoredParts | None,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    t: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    next: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    rate: float,
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    One step of batch EG from t to `next`, which may be t itself, at the weights w of t; the weights of `next`.
    """

def eg_primal_form(
    problem: Problem,
    family: LossFamily,
    threads: int,
    z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    s: float,
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The weights of Gibbs distributions with t = A z + s delta."""

def closest_good(
    problem: Problem, metric: object | None, threads: int
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))] | None:
    """
    The number of the good output closest to every output, one example after another; None where outputs cannot be listed.
    """

def lp_round(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    family: LossFamily,
    closest_only: bool,
    closest: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    metric: object | None,
    sites: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    known: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    last: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    asked: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    epsilon: float,
    threads: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]:
    """
    Slacks of all examples at w, and the most violated constraint of each that asks for more than `known` (004, Algorithm 1), with a margin of gamma times the cost, or times 1 if that is the zero-one cost: examples, first and last sites, margins, and rows (begin, column, value). Where an example has several sites, these are the changes that the output consists of and that ask for more than the known constraints within their sites, which are given by their sites and by what they ask for.
    """

def lp_sites(problem: Problem, family: LossFamily) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Where the sites of every example begin, and their number: one each, unless outputs are sets of changes that can be made alone.
    """

def lp_slacks(
    sites: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    last: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    asked: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The smallest slacks of the sites such that those of every constraint add up to what it asks for.
    """

def extragradient(
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sites: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    last: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    margin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    C: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    free_sign: bool,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    xi: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    lambda_: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    step: str,
    restarts: bool,
    goal: float,
    change: float,
    balance: float,
    weight: float,
    most: int,
    threads: int,
) -> tuple[int, float, float, bool, float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Minimises |w|_1 + C'xi subject to H w + M xi >= margin from (w, xi, lambda), which become the last iterates: iterations, the best values of both programs, whether a tolerance was reached, the weight of dual steps, and the w of the first.
    """

MIRA_SOLVED: float = 1e-06

def mira_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    step: int,
    exact: bool,
    prediction: bool,
    spent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> tuple[int, float, int, int, int]:
    """
    One pass of dual coordinate ascent over `order`; steps so far, what the pass adds to the dual beside |w|^2, inferences, visits without a step because approximate inference gave a negative loss, and exact updates that were not solved. `spent` is the sum of all steps on each example, which C then bounds, or empty, and then C bounds each step.
    """

def kbest_mira_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    step: int,
    k: int,
) -> tuple[int, float, int, int, int]:
    """One pass of k-best MIRA over `order`; as mira_pass."""

def mixing_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    entropy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    exact_entropy: bool,
) -> None:
    """One pass of BCFW (SDCA at finite beta) over `order`."""

def smo_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> int:
    """One pass of factored SMO over `order`; the number of inferences."""

class Blocks:
    """
    Sparse distributions over outputs, one per example; at first on the gold output.
    """

    def __init__(self, problem: Problem) -> None: ...
    @staticmethod
    def from_arrays(
        problem: Problem,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        part_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        gram: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Blocks: ...
    def weights(
        self, problem: Problem, family: LossFamily, threads: int
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """w(alpha)."""

    def costs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The expected cost of every block."""

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """Everything, as `from_arrays` takes it."""

def pairwise_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    sharing: Sharing | None,
    blocks: Blocks,
    gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    cached_steps: int,
    memory: int,
    enough: float,
) -> None:
    """One pass of pairwise BCFW over `order`."""

def sgd_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    eta: float,
    step: int,
) -> tuple[int, int]:
    """
    One pass of stochastic gradient descent over `order`: the number of steps so far, and how many examples of this pass made none because approximate inference gave them a negative loss.
    """

def perceptron_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sum: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    step: int,
) -> int:
    """One pass of the perceptron over `order`; the number of mistakes."""

def drift_levels(problem: Problem, family: LossFamily) -> Annotated[NDArray[numpy.int8], dict(shape=(None,))]:
    """
    How finely `svrg_pass` divides the dense part of its steps, one number per weight.
    """

def svrg_pass(
    problem: Problem,
    w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    family: LossFamily,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    levels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    reference: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    time: float,
) -> None:
    """
    One pass of variance-reduced steps over `order`; `slope` is grad P at the reference.
    """

class Alignments(Structure):
    def lengths(self, i: int) -> tuple[int, int]:
        """The numbers of letters of both sequences."""

    def matches(
        self,
        i: int,
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The matched pairs of an output, flat."""

    def match_table(
        self,
        i: int,
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The posterior probability of every pair of places, row by row."""

class AlignmentStructure(Alignments):
    @property
    def tied(self) -> bool: ...
    def best_score(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> float:
        """The score of the best alignment, in linear memory if parts are tied."""

    def best_matches(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The matched pairs of the best alignment, flat."""

class AlignmentEdges(Alignments):
    pass

class HomologyStructure(Structure):
    @property
    def shared_parts(self) -> int:
        """The number of parts of letters."""

def alignment(
    mode: str,
    affine: bool,
    letters: int,
    x_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    y_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    costs: bool,
) -> AlignmentStructure:
    """
    Alignments of pairs of sequences. x, y: the letters of all sequences, if parts are tied. gold: matched pairs (i, j), flat.
    """

def alignment_edges(
    mode: str,
    affine: bool,
    x_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    y_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    costs: bool,
) -> AlignmentEdges:
    """
    Alignments whose parts are the edges of their trellis; the mode and the gaps are those of their features.
    """

def homology(
    mode: str,
    affine: bool,
    letters: int,
    x_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    candidate_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    candidates: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    good: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> HomologyStructure:
    """The choice of a candidate together with its alignment."""

class ArcPairTreeStructure(TreesOfArcs):
    @property
    def sweeps(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The number of sweeps of the last messages on every example, negative if they did not converge; 0: there were none.
        """

    @property
    def certified(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        For every example 1 if the last best output is certified, -1 if it is not, 0 if there was none.
        """

    @property
    def fallbacks(self) -> int:
        """How often a bound has replaced an estimate that was obviously wrong."""

    @property
    def kept(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The messages of all examples that the next ones start from; NaN where there are none yet.
        """

    @kept.setter
    def kept(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> None: ...
    def part_tuples(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        (grandparent, head, other child, word) of every part of example i, one after another; -1: it has none.
        """

    def upper_bound(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))], int]:
        """
        The reweighted upper bound on log Z, its gradient by the scores, and the number of sweeps, negative if messages did not converge.
        """

def arc_pair_tree(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    single_root: bool,
    arcs: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    sweeps: int,
    tolerance: float,
    damping: float,
    iterations: int,
    reweighted: bool,
    kappa: float,
    most_kept: float = 0.0,
) -> ArcPairTreeStructure: ...

class CandidateStructure(Structure):
    pass

def candidates(
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    good_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    good: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> CandidateStructure:
    """
    A list of candidates for each example, of which several may be good, best first.
    """

class ChainStructure(Structure):
    @property
    def gram_parts(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def tied(self) -> bool: ...
    def gold(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

def chain(
    labels: int,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    cost: LabelCost | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    order: int,
    tied: bool,
    forbidden: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> ChainStructure: ...
def decode_labels(
    names: list[Any],
    units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> list[list[Any]]:
    """The labels of every sequence, by name, from the parts of its output."""

class CliqueTreeStructure(FactorGraphStructure):
    @property
    def width(self) -> int:
        """The number of variables of the largest clique."""

    @property
    def bytes(self) -> float:
        """What the tables of the largest graph take."""

def clique_trees(
    graphs: FactorGraphs,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    costs: Sequence[LabelCost],
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    most_bytes: float,
) -> CliqueTreeStructure:
    """
    Factor graphs with exact inference by clique trees, whose tables may take so many bytes per graph. gold: the labels of all variables of all examples. set_of: the set of labels of each variable of each graph; costs: of each set. allowed: for each label of each variable of each example.
    """

class Grammar:
    """A grammar in numbers, for CKY."""

    def __init__(
        self,
        symbols: int,
        terminals: int,
        spans: int,
        binary: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lexical: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        unary: int,
        roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        path_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        paths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        overlaps: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        piece: int,
        pieces: int,
    ) -> None: ...
    @property
    def symbols(self) -> int: ...
    @property
    def spans(self) -> int: ...

class ConstituentStructure(Structure):
    """Derivations of a grammar over the sentences of a data set."""

    @property
    def words(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of words of every sentence."""

    @property
    def part_counts(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of parts of every sentence."""

    @property
    def first_spans(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of parts before the labelled spans of every sentence."""

    def read(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        examples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.uint8], dict(shape=(None,))],
    ]:
        """
        The labelled spans of outputs: where those of each output begin, their numbers, where they begin and end in the sentence, and whether each output consists of pieces.
        """

def constituents(
    grammar: Grammar,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    terminals: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    node_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    nodes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    tied: bool,
    splits: bool,
    anchors: int,
) -> ConstituentStructure: ...

class GraphMessagesStructure(FactorGraphStructure):
    @property
    def sweeps(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The number of sweeps of the last messages on every example, negative if they did not converge; 0: there were none.
        """

    @property
    def certified(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        For every example 1 if the last best output is certified, -1 if it is not, 0 if there was none.
        """

    @property
    def fallbacks(self) -> int:
        """How often a bound has replaced an estimate that was obviously wrong."""

    @property
    def kept(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The messages of all examples that the next ones start from; NaN where there are none yet.
        """

    @kept.setter
    def kept(
        self, arg: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> None: ...
    def max_product(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], bool]:
        """
        The labels of the highest max-marginals by max-product messages, and whether messages have converged.
        """

    def values(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sweeps: int,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The approximation of log Z, or the bound on it, before the first and after each of so many parallel sweeps.
        """

def has_outputs(graphs: FactorGraphs, g: int) -> bool | None:
    """
    Whether the hard factors and listed tuples of a graph leave an output; None if finding out takes too long.
    """

def graph_messages(
    graphs: FactorGraphs,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    costs: Sequence[LabelCost],
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    reweighted: bool,
    schedule: str,
    sweeps: int,
    tolerance: float,
    damping: float,
    iterations: int,
    relaxed: bool,
    exact: bool = False,
    most_kept: float = 0.0,
    solver: object | None = None,
) -> GraphMessagesStructure:
    """
    Factor graphs with approximate inference: belief propagation, or its tree-reweighted form, and AD3.
    """

class HypergraphStructure(Structure):
    pass

class Hypergraph:
    def __init__(
        self,
        nodes: int,
        heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tail_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tails: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        part_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def parts(self) -> int: ...

def hypergraphs(
    graphs: Sequence[Hypergraph],
    parts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]]
    | None,
    delta: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]]
    | None,
    c0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> HypergraphStructure: ...

class ForestStructure(HypergraphStructure):
    def kbest_strings(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        k: int,
    ) -> list[tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
        """
        The k best distinct strings, best first: the score and the edges of their best derivation.
        """

def forests(
    nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    edge_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tail_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tails: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ]
    | None,
    costs: bool,
) -> ForestStructure:
    """
    The derivations of forests; every edge is a part. targets: words, and -1 - j for tail j. gold: where the edges of each gold derivation begin, and the edges. costs: whether edges that the gold derivation has not cost 1.
    """

class LabelCost:
    """What it costs to predict one label where another is right."""

    @property
    def labels(self) -> int:
        """The number of labels."""

    def row(self, gold: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The cost of predicting each label where `gold` is right."""

class HammingCost(LabelCost):
    pass

class MatrixCost(LabelCost):
    pass

class TreeCost(LabelCost):
    pass

def hamming_cost(
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> HammingCost:
    """Every wrong label costs the weight of the right one."""

def matrix_cost(
    labels: int, costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
) -> MatrixCost:
    """The cost of every pair of labels: (right, predicted), row by row."""

def tree_cost(
    above_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    above: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    below_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    below: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    height: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    root: float,
) -> TreeCost:
    """
    The cost of two classes is the height of the lowest node that is above both, or `root` if there is none. Given: the nodes above each class, the classes below each node, and the height of each node.
    """

class LabelledTreeStructure(TreeStructure):
    @property
    def trees(self) -> TreesOfArcs:
        """The same trees without labels."""

def labelled_tree(
    trees: TreesOfArcs,
    labels: int,
    of_arc: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    members: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    wrong_label: float,
) -> LabelledTreeStructure:
    """
    Trees whose arcs have labels. of_arc: the set of labels of every arc of all sentences; begin, members: the labels of each set, ascending; gold: the label of every word; wrong_label: the cost of a word with the right head and a wrong label.
    """

class LatticeStructure(Structure):
    def kbest_strings(
        self,
        i: int,
        theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        k: int,
    ) -> list[tuple[float, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
        """
        The k best distinct strings, best first: the score and the edges of their best path.
        """

    def spelled(
        self,
        examples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> list[str]:
        """
        The strings of paths; output k is one of example examples[k], or of example k.
        """

def lattices(
    nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tails: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    names: Vocabulary,
    good: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ]
    | None,
    costs: bool,
) -> LatticeStructure:
    """
    The paths of lattices. words: the number of each edge's word in names, or -1. good: where the good strings of each example begin, where the words of each string begin, and the words. costs: whether edges that no good path has cost 1.
    """

def without_good_path(
    nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tails: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    good: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The lattices of which no path spells a good string."""

class MulticlassStructure(Structure):
    pass

def multiclass(
    labels: int,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    cost: LabelCost | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> MulticlassStructure: ...

class NodeSetStructure(Structure):
    pass

def node_sets(
    parents: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: int,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    counted: bool,
) -> NodeSetStructure:
    """Sets of nodes of a forest that hold, with a node, its parent."""

class NonProjectiveTreeStructure(TreesOfArcs):
    pass

def non_projective_tree(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    single_root: bool,
    arcs: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> NonProjectiveTreeStructure: ...

class ProjectiveTreeStructure(TreesOfArcs):
    pass

def projective_tree(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    single_root: bool,
    arcs: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> ProjectiveTreeStructure: ...

class TagPairs:
    """What gold trees have for each pair of tags of head and word."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def __len__(self) -> int: ...
    def learn(
        self,
        words: TreeAttributes,
        heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None:
        """Learn from the heads and labels of all words."""

    def arcs(self, words: TreeAttributes) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]:
        """
        For the n * n arcs of every sentence, whether an arc is no longer than those that were seen with its tags.
        """

    def labels(
        self,
        words: TreeAttributes,
        left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        labels: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]:
        """
        The labels that each arc that is left can have: the set of every arc, where sets begin, and their labels.
        """

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]:
        """Keys, lengths, bounds and labels, for a file."""

def arcs_of_trees(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]:
    """
    For the n * n arcs of every sentence, whether a tree has the arc. heads: those of all words, one after another.
    """

def pruned(
    trees: TreeStructure,
    mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ratio: float,
    most: int,
    tree: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]:
    """
    For the n * n arcs of every sentence, whether the posterior mu leaves an arc.
    """

class SecondOrderTreeStructure(TreesOfArcs):
    def part_tuples(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        (grandparent, head, sibling, word) of every part of example i, one after another; -1: it has none; sibling 0: there is none closer to the head.
        """

def second_order_tree(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    grandparents: bool,
    single_root: bool,
    arcs: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> SecondOrderTreeStructure: ...

class SemiMarkovStructure(Structure):
    @property
    def labels(self) -> int: ...
    @property
    def tied(self) -> bool: ...
    @property
    def longest(self) -> int:
        """The longest segment of all."""

    def spans(self, i: int) -> int:
        """How many spans of tokens of example i may be segments."""

    def segments(self, i: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The start, the end and the label of each segment of example i, in the order of the parts.
        """

    @property
    def divided(self) -> bool:
        """Whether spans have alternatives."""

    def good_tags(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]:
        """
        For all tokens of all examples, one after another, the tags that they have in good outputs: bounds and tags.
        """

    def good_spans(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]:
        """
        For all spans of all examples, one after another, the labels that the span has in good outputs: bounds and labels.
        """

    def good_pairs(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        The pairs of neighbouring labels that good outputs have, from left to right label by label.
        """

    def read_tags(
        self,
        examples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        The tags of outputs, one after another; output k is one of example examples[k], or of example k.
        """

    def tag_marginals(
        self,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        mu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The probabilities (tokens, tags) of the tags of all examples, one after another.
        """

def semi_markov(
    longest: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tags: int,
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    inside: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    cost: LabelCost | None,
    outside: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)],
    of_segments: bool,
    allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    alternatives: tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ]
    | None,
    tied: bool,
) -> SemiMarkovStructure:
    """
    Labelled segmentations. first, inside: the tags of each label. outside: the labels of tokens that are not in spans. cost: of tags; or of_segments: the cost is the number of wrong and of missing spans. alternatives: where those of each example begin, and (start, end, label) of each.
    """

class LanguageModel:
    @property
    def order(self) -> int: ...
    @property
    def words(self) -> int: ...
    @property
    def bytes(self) -> int:
        """The memory that the model takes."""

    def __len__(self) -> int:
        """The number of n-grams."""

    def __contains__(self, word: str) -> bool: ...
    def score(self, words: Sequence[str]) -> float: ...
    def conditional(self, word: str, context: Sequence[str]) -> float: ...
    def state(self, context: Sequence[str]) -> list[str]:
        """The part of the context that can matter for the next words."""

    def counts(self) -> list[int]:
        """The number of n-grams by length."""

    def lines(self, n: int, first: int, last: int) -> str:
        """Some of the n-grams of a length, as an ARPA file has them."""

class ArpaReader:
    def __init__(self) -> None: ...
    @property
    def line(self) -> int:
        """The number of the line that was read last."""

    def feed(self, text: bytes) -> None:
        """Reads the next lines."""

    def finish(self) -> LanguageModel: ...

class KneserNey:
    def __init__(self, order: int) -> None: ...
    def add(self, sentence: Sequence[str]) -> None: ...
    def estimate(self) -> LanguageModel: ...

class PhraseTable:
    def __init__(
        self,
        source_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        source_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        pairs_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None:
        """Source phrases, the pairs of each, their target phrases and scores."""

    def __len__(self) -> int: ...
    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float32], dict(shape=(None,))],
    ]:
        """What the constructor takes."""

def extract_phrases(
    source_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    source_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target_words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    links_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    used: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    longest: int,
    most: int,
) -> PhraseTable:
    """
    The phrase pairs of the sentences that are used, of at most `longest` words, and `most` per source phrase.
    """

class PhraseFeatures:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(
        self,
        kind: int,
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> int:
        """The number of a sparse feature, which is new or known."""

    def arrays(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]:
        """
        The kinds of all sparse features, and their words: those of a source phrase or a trigram, and those of a target phrase.
        """

class SearchGraph:
    @property
    def unknown(self) -> int:
        """The number of source words without a translation."""

    @property
    def nodes(self) -> int: ...
    def edges(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """
        Tails, heads, words, scores and features of the edges. A word below -2 is that of a source position: the position is -3 minus the word.
        """

    def kbest(
        self, k: int
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        tuple[
            Annotated[NDArray[numpy.int64], dict(shape=(None,))],
            Annotated[NDArray[numpy.int32], dict(shape=(None,))],
            Annotated[NDArray[numpy.int64], dict(shape=(None,))],
            Annotated[NDArray[numpy.int32], dict(shape=(None,))],
            Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        ],
    ]:
        """
        The k best distinct translations: their scores, and bounds, words, and features as bounds, numbers and values.
        """

    def kbest_of_paths(
        self, k: int, count: int
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """
        The first k distinct translations among the `count` best paths, which is faster than a search for distinct translations: bounds, words and features.
        """

    def complete(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]:
        """
        The best translation that ends with every node of the last stack, in the same form.
        """

class PhraseSearch:
    def __init__(
        self,
        table: PhraseTable,
        model: LanguageModel,
        words: Sequence[str],
        beam: int,
        options: int,
        reach: int,
        sparse: bool,
    ) -> None:
        """
        words: the target words. beam: nodes of a stack; options: translations of a source phrase; 0 for all. reach: source words of two phrases that swap. sparse: whether there are sparse features.
        """

    def search(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        features: PhraseFeatures,
        grow: bool,
    ) -> SearchGraph:
        """
        Searches the translations of a sentence, whose words are numbers, -1 if they are unknown. grow: whether features that occur are added; no other thread may use them then.
        """

class SynchronousGrammar:
    def __init__(self) -> None: ...
    def __len__(self) -> int:
        """The number of rules."""

    @property
    def line(self) -> int:
        """The number of the line that was read last."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def features(self) -> list[str]: ...
    def begin(self, prefix: str, sign: float, limit: int) -> None:
        """Begins the next file."""

    def feed(self, text: bytes) -> None:
        """Reads the next lines."""

class SynchronousDecoder:
    def __init__(
        self,
        grammar: SynchronousGrammar,
        model: LanguageModel | None,
        goal: str,
        label: str,
        pass_all: bool,
        word_value: float,
        model_name: str,
        word_name: str,
        unknown_name: str,
    ) -> None: ...
    @property
    def features(self) -> list[str]: ...
    def decode(
        self,
        source: Sequence[str],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        k: int,
        beam: int,
        distinct: bool,
    ) -> list[tuple[float, str, list[tuple[int, float]]]]:
        """
        The k best translations, best first: score, text and features. beam: at most so many combinations per node; 0 for all of them.
        """

    def forced(
        self,
        source: Sequence[str],
        target: Sequence[str],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        k: int,
    ) -> list[tuple[float, str, list[tuple[int, float]]]]:
        """The k best derivations of one translation."""

    def forest(
        self,
        source: Sequence[str],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        beam: int,
    ) -> list[tuple[int, list[int], list[tuple[int, str]], list[tuple[int, float]]]]:
        """
        The derivations that the search found: the head of each edge, its tails, its target and its features. A target has the numbers of tails, or -1 and a word.
        """

    def unknown(self, source: Sequence[str]) -> list[int]:
        """The places of words that no rule has."""
