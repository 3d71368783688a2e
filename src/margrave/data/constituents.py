"""Constituent trees: their forms, function tags and traces, spans, and heads.

A tree has a label and children. A leaf is a tree whose label is the tag of a word and whose only child is that word,
as in Penn brackets: (S (NP (DT the) (NN dog)) (VP (VBZ barks))).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from margrave.errors import MargraveError, quoted, shortened

TOPS = ("", "TOP", "ROOT", "S1")  # labels of a node above the sentence, which is not a constituent
TRACE = "-NONE-"
MOST_DEPTH = 200  # trees that are deeper are refused


class Constituent(NamedTuple):
    """A label over the words from begin to end."""

    label: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A constituent with its children, or a word with its tag.

    >>> tree = Tree.of("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.words, tree.tags
    (['the', 'dog', 'barks'], ['DT', 'NN', 'VBZ'])
    >>> tree.constituents()[1]
    Constituent(label='NP', begin=0, end=2)
    >>> print(tree.children[0])
    (NP (DT the) (NN dog))
    """

    label: str
    children: tuple[Union["Tree", str], ...]

    @staticmethod
    def of(tree: Any) -> "Tree":
        """The tree of Penn brackets, of nested lists [label, child, ...], of an nltk `Tree`, or of a `Tree`.

        Parameters
        ----------
        tree : the tree; its leaves are words, each of which has a tag above it.
        """
        if isinstance(tree, Tree):
            return tree
        if isinstance(tree, str):
            found = list(bracketed(tree))
            if len(found) != 1:
                raise MargraveError(f"expected the brackets of one tree, and there are {len(found)}.")
            return found[0]
        return _nested(tree, 0)

    @property
    def is_leaf(self) -> bool:
        """Whether it is a word with its tag."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def leaves(self) -> Iterator["Tree"]:
        """The words with their tags, from left to right."""
        waiting: list[Tree] = [self]
        while waiting:
            tree = waiting.pop()
            if tree.is_leaf:
                yield tree
            else:
                waiting.extend(reversed(tree.inner))

    @property
    def inner(self) -> tuple["Tree", ...]:
        """The children of a node that is not a leaf."""
        return self.children  # type: ignore[return-value]

    @property
    def words(self) -> list[str]:
        """The words."""
        return [str(leaf.children[0]) for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        """The tags of the words."""
        return [leaf.label for leaf in self.leaves()]

    def constituents(self) -> list[Constituent]:
        """All labeled spans but those of tags, from the outside in and from left to right; a top node counts."""
        found: list[Constituent] = []

        def visit(tree: Tree, begin: int) -> int:
            if tree.is_leaf:
                return begin + 1
            place, end = len(found), begin
            found.append(Constituent(tree.label, begin, begin))
            for child in tree.inner:
                end = visit(child, end)
            found[place] = Constituent(tree.label, begin, end)
            return end

        visit(self, 0)
        return found

    def tolist(self) -> list[Any]:
        """The tree as nested lists [label, child, ...], as JSON can hold it."""
        return [self.label, *(child if isinstance(child, str) else child.tolist() for child in self.children)]

    def __str__(self) -> str:
        """The tree in Penn brackets, on one line."""
        return f"({self.label} {' '.join(str(child) for child in self.children)})"

    def __repr__(self) -> str:
        return f"<Tree {shortened(str(self))}>"


def bracketed(text: str) -> Iterator[Tree]:
    """All trees of a text in Penn brackets; mistakes are errors that tell the line within the text."""
    for _, tree in numbered_trees(enumerate(text.split("\n"), 1), lambda line, what: MargraveError(what)):
        yield tree


def numbered_trees(lines: Iterable[tuple[int, str]], refuse: Any) -> Iterator[tuple[int, Tree]]:
    """The trees of numbered lines in Penn brackets, each with the number of its first line.

    Parameters
    ----------
    lines : pairs of a number and a line; a tree may take several lines.
    refuse : refuse(line, message) makes the error for a mistake in a line.
    """
    open_: list[tuple[str, list[Tree | str]]] = []
    first = number = 0
    label_follows = False
    for number, line in lines:
        for token in line.replace("(", " ( ").replace(")", " ) ").split():
            if token == "(":
                if not open_:
                    first = number
                if len(open_) == MOST_DEPTH:
                    raise refuse(number, f"brackets nest deeper than {MOST_DEPTH}.")
                open_.append(("", []))
                label_follows = True
            elif token == ")":
                if not open_:
                    raise refuse(number, "unbalanced brackets: this ) closes nothing.")
                label, children = open_.pop()
                label_follows = False
                if not children:
                    raise refuse(number, f"an empty tree: ({shortened(label)}) has no children.")
                tree = _node(label, children, lambda what, line=number: refuse(line, what))
                if not open_:
                    yield first, tree
                else:
                    open_[-1][1].append(tree)
            elif not open_:
                raise refuse(number, f"expected a tree in brackets, and there is {quoted(token)}.")
            elif label_follows:
                open_[-1] = (token, open_[-1][1])
                label_follows = False
            else:
                open_[-1][1].append(token)
    if open_:
        raise refuse(first, "unbalanced brackets: the tree that begins here is not closed.")


def _node(label: str, children: list[Tree | str], refuse: Any) -> Tree:
    """A node, if its children are words or trees, but not both."""
    words = [child for child in children if isinstance(child, str)]
    if words and len(children) > 1:
        raise refuse(f"the word {quoted(words[0])} needs a tag of its own: write (TAG word).")
    if not label and words:
        raise refuse(f"the word {quoted(words[0])} has no tag: write (TAG word).")
    return Tree(label, tuple(children))


def _nested(tree: Any, depth: int) -> Tree:
    """The tree of nested lists, or of objects with a method `label` and children, such as those of nltk."""
    if isinstance(tree, Tree):
        return tree
    if depth > MOST_DEPTH:
        raise MargraveError(f"a tree is deeper than {MOST_DEPTH}.")
    if hasattr(tree, "label") and callable(tree.label) and hasattr(tree, "__iter__"):
        label, given = tree.label(), list(tree)
    elif isinstance(tree, list | tuple) and tree and isinstance(tree[0], str):
        label, given = tree[0], list(tree[1:])
    else:
        raise MargraveError(
            f"a tree must be Penn brackets, a list [label, child, ...] or an nltk Tree, not {quoted(tree)}."
        )
    if not given:
        raise MargraveError(f"an empty tree: {quoted(label)} has no children.")
    for text in (label, *(child for child in given if isinstance(child, str))):
        if not isinstance(text, str) or any(c.isspace() or c in "()" for c in text):
            raise MargraveError(f"labels and words must be strings without spaces and brackets, not {quoted(text)}.")
        if not text and text is not label:
            raise MargraveError("a word of a tree is the empty string.")
    children = [child if isinstance(child, str) else _nested(child, depth + 1) for child in given]
    return _node(label, children, MargraveError)


# ---- function tags, traces, and the top node -------------------------------------------------------------------------


def without_functions(label: str) -> str:
    """A label without function tags and indices; labels in hyphens such as -LRB- stay.

    >>> without_functions("NP-SBJ-1"), without_functions("NP=2"), without_functions("-LRB-")
    ('NP', 'NP', '-LRB-')
    """
    if label.startswith("-"):
        return label
    return label.split("-", 1)[0].split("=", 1)[0] or label


def cleaned(tree: Tree) -> Tree | None:
    """The tree without function tags, traces and nodes that dominate nothing else; None if nothing is left.

    >>> print(cleaned(Tree.of("( (S (NP-SBJ (-NONE- *)) (VP (VB Go))))")))
    ( (S (VP (VB Go))))
    """
    if tree.is_leaf:
        return None if tree.label == TRACE else tree
    children = tuple(child for child in map(cleaned, tree.inner) if child is not None)
    return Tree(without_functions(tree.label), children) if children else None


def without_top(tree: Tree) -> Tree:
    """The tree below a top node with a single child; otherwise the tree itself."""
    while tree.label in TOPS and not tree.is_leaf and len(tree.children) == 1:
        tree = tree.inner[0]
    return tree


def nest(spans: Sequence[tuple[Sequence[str], int, int]], leaves: Sequence[Tree], top: str | None) -> Tree:
    """The tree that has these labels over these spans, outermost first, which must not cross.

    Parameters
    ----------
    spans : pairs of labels, one below the other, and the span that they cover, each span at most once.
    leaves : the words with their tags.
    top : the label of the node above all; None if there is none unless it is needed to join several trees.
    """
    node: list[Tree] = []  # the trees that are complete, from left to right
    begins: list[int] = []  # where each of them begins
    named = (span for span in spans if span[0])
    waiting = sorted(named, key=lambda span: (span[2], -span[1]))  # by end, and the innermost first
    at = 0
    for end in range(1, len(leaves) + 1):
        node.append(leaves[end - 1])
        begins.append(end - 1)
        while at < len(waiting) and waiting[at][2] == end:
            labels, begin, _ = waiting[at]
            at += 1
            if begin not in begins:
                raise MargraveError(f"the span from {begin} to {end} crosses another one.")
            first = begins.index(begin)
            children: tuple[Tree, ...] = tuple(node[first:])
            for label in reversed(labels):
                children = (Tree(label, children),)
            node[first:], begins[first:] = children, [begin]
    if len(node) == 1 and (top is None or node[0].label in TOPS):
        return node[0]
    return Tree(TOPS[1] if top is None else top, tuple(node))


# ---- heads -----------------------------------------------------------------------------------------------------------

# Where to look for the head of a constituent: from which side, and for which labels, in order (after Collins 1999).
_HEADS = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW ADP"),
    "PRT": ("right", "RP ADP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT SCONJ S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VERB AUX VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
_NOMINAL = "NN NNP NNS NNPS NX POS JJR NOUN PROPN PRON"


def head_child(label: str, children: Sequence[str]) -> int:
    """The number of the child that is the head of a constituent; of unknown constituents, the last child.

    Parameters
    ----------
    label : the label of the constituent.
    children : the labels of its children.
    """
    if label.startswith("NP"):
        if children[-1] == "POS":
            return len(children) - 1
        for k in range(len(children) - 1, -1, -1):
            if children[k] in _NOMINAL.split():
                return k
        return children.index("NP") if "NP" in children else len(children) - 1
    side, priorities = _HEADS.get(label, ("right", ""))
    order = range(len(children)) if side == "left" else range(len(children) - 1, -1, -1)
    for wanted in priorities.split():
        for k in order:
            if children[k] == wanted:
                return k
    return order[0]
