"""Every tree of both treebanks as a derivation and back, for each way to make rules of trees, and without a grammar."""

from typing import Any

from benchmarks.corpora.constituents import constituents
from benchmarks.tables import markdown
from margrave.data.constituents import Tree
from margrave.structures import Grammar

Result = dict[str, Any]

CORPORA = ("ptb-sample", "genia-treebank")
RESULT = "round_trips"
PARTS = ("train", "dev", "test")
SETTINGS: dict[str, Result] = {
    "right, all siblings": {"binarize": "right", "horizontal": None},
    "right, 2 siblings": {"binarize": "right", "horizontal": 2},
    "right, 1 sibling, parents": {"binarize": "right", "horizontal": 1, "vertical": 2},
    "left, all siblings": {"binarize": "left", "horizontal": None},
    "left, 1 sibling, parents": {"binarize": "left", "horizontal": 1, "vertical": 2},
    "head, all siblings": {"binarize": "head", "horizontal": None},
    "head, 1 sibling, parents and theirs": {"binarize": "head", "horizontal": 1, "vertical": 3},
    "spans": {"spans": True},
}


def measure() -> Result:
    """How many trees are the same afterwards, and how many derivations have 2 n - 1 nodes, one per binary node."""
    rows = []
    for corpus in CORPORA:
        trees = [tree for part in PARTS for tree in constituents(corpus, part)]
        for name, settings in SETTINGS.items():
            rows.append({"corpus": corpus, "grammar": name, "trees": len(trees), **round_trips(trees, settings)})
            print(f"  {rows[-1]}", flush=True)
    return {"rows": rows}


def round_trips(trees: list[Tree], settings: Result) -> Result:
    """Derivations of all trees under the grammar of all of them."""
    grammar = Grammar.of_trees(trees, **settings)
    same = binary = 0
    for tree in trees:
        nodes = grammar.derive(tree)
        binary += len(nodes) == 2 * len(tree.words) - 1
        same += grammar.tree_of([(node.label, node.begin, node.end) for node in nodes], list(tree.leaves())) == tree
    return {"same": same, "binary": binary, "rules": len(grammar.binary), "chains": len(grammar.labels)}


def table(result: Result) -> str:
    """A row per corpus and grammar."""
    keys = ("corpus", "grammar", "trees", "same", "binary", "rules", "chains")
    rows = [[f"{row[key]:,}" if isinstance(row[key], int) else row[key] for key in keys] for row in result["rows"]]
    header = ["corpus", "grammar", "trees", "the same afterwards", "binary derivations", "binary rules", "chains"]
    return markdown(header, rows)


def plot(result: Result) -> None:
    """There is no plot."""
