"""All readers of files, each with a small good file: what is registered here is read in hostile forms, too."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from margrave import datasets
from margrave.cli.label_costs import read_cost_matrix
from margrave.cli.sequences import ColumnReader, ConlluReader
from margrave.cli.tasks.translate import _weights
from margrave.features.templates import read_templates
from margrave.translation.language_model import NGramModel
from margrave.translation.parallel import read_parallel, read_sentences
from margrave.translation.synchronous import SynchronousGrammar


@dataclass(frozen=True)
class Reader:
    """What reads a file, completely, and a good file."""

    read: Callable[[Path], Any]
    sample: str

    def __call__(self, path: Path) -> None:
        """Read the file to its end."""
        found = self.read(path)
        if isinstance(found, Iterable):
            for _ in found:
                pass


_CONLLU = (
    "# sent_id = a\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\tl\tU\tx\tF=1\t2\td\t_\tA=b\n1.1\tc\t_\t_\t_\t_\t_\t_\t_\t_\n"
)
_CONLLU += "2\tb\tl\tU\tx\t_\t0\troot\t_\t_\n\n"
_CONLLX = "1\ta\tl\tU\tx\tF=1\t2\td\t_\t_\n2\tb\tl\tU\tx\t_\t0\troot\t_\t_\n\n"
_COLUMNS = "the D O\ndog N B-X\n\nbarks V O\n"
_LATTICE = (
    '{"edges": [{"from": 0, "to": 1, "word": "a", "features": {"lm": -1.5}}, {"from": 1, "to": "end"}], "start": 0, '
    '"end": "end", "good": ["a"], "id": "7"}\n'
)
_FOREST = (
    '{"rules": [1, "[X] ||| a", 2, "[X] ||| [1] b"], "features": ["p"], "edges": [{"tail": [], "feats": [0, -0.5], '
    '"rule": 1}], "node": {"in_edges": [0]}, "edges": [{"tail": [0], "feats": ["p", -0.2], "rule": 2}], '
    '"node": {"in_edges": [1]}}\n'
)
_GRAPH = (
    '{"nodes": [["red"], {"x": 1.5}], "edges": [[0, 1]], "edge_features": [["e"]], "labels": ["r", 2], "more": 1.5}\n'
)
_ARPA = "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-1.5\t<s>\t-0.3\n-1.0\t</s>\n-1.0\t<unk>\n-0.5\tthe\t-0.1\n\n"
_ARPA += "\\2-grams:\n-0.2\t<s> the\n\n\\end\\\n"
_MOSES = "0 ||| the dog ||| d: -1.5 0 lm: -20.1 ||| -3.5\n0 ||| a dog ||| d: -1 0 lm: -2e1 ||| -4\n"

READERS: dict[str, Reader] = {
    "read_alternatives": Reader(
        lambda path: datasets.read_alternatives(path, [["O", "B-X", "I-X"]] * 2), "0 GENE 1 3\n1\tX\t0\t1\n"
    ),
    "read_brackets": Reader(datasets.read_brackets, "(S (NP-SBJ (DT the) (-NONE- *))\n (VP (V barks)))\n"),
    "read_columns": Reader(datasets.read_columns, _COLUMNS),
    "read_conllu": Reader(datasets.read_conllu, _CONLLU),
    "read_conllx": Reader(datasets.read_conllx, _CONLLX),
    "read_descriptions": Reader(datasets.read_descriptions, "4/6\tcats and dogs\n4\tpets\n"),
    "read_fasta": Reader(partial(datasets.read_fasta, aligned=True), ">one\nAC-GT\n>two\nACG\n"),
    "read_forests": Reader(datasets.read_forests, _FOREST),
    "read_graphs": Reader(datasets.read_graphs, _GRAPH),
    "read_hierarchy": Reader(datasets.read_hierarchy, "a\tb\nb\tc\n"),
    "read_lattices": Reader(datasets.read_lattices, _LATTICE),
    "read_lattices, PLF": Reader(datasets.read_lattices, "((('a', -1.5, 1), ('b', 0.25, 2),), (('c', 1e2, 1),),)\n"),
    "read_matrix": Reader(
        datasets.read_matrix, "# scale = 0.34 gap_open=-10.5 in 1/2 Bit Units\n   A  C\nA  4 -1\nC -1.5 9\n"
    ),
    "read_nbest": Reader(datasets.read_nbest, _MOSES),
    "read_nbest, cdec": Reader(datasets.read_nbest, "0 ||| the dog ||| d=-1.5 lm=-2e1\n1 ||| a ||| d=1\n"),
    "read_pairs": Reader(datasets.read_pairs, "AC-GT\tACGGT\nA\tA\n"),
    "read_pairs, FASTA": Reader(datasets.read_pairs, ">one\nAC-GT\n>two\nACGGT\n"),
    "read_ranking": Reader(datasets.read_ranking, "2 qid:1 1:0.5 3:1e2 # good\n0 qid:1 2:-1.5\n"),
    "read_references": Reader(datasets.read_references, "the dog\na dog barks\n"),
    "read_svmlight": Reader(datasets.read_svmlight, "1.5 1:0.5 3:1e2 # good\n-1 2:-1.5\n"),
    "read_svmlight, multilabel": Reader(
        partial(datasets.read_svmlight, multilabel=True), "1,2 1:0.5 3:1e2 # good\n3 2:-1.5\n"
    ),
    "read_svmlight_paths": Reader(
        partial(datasets.read_svmlight_paths, multilabel=True), "4/6;4/7 1:0.5 3:1e2 # good\n4 2:-1.5\n"
    ),
    "read_taxonomy": Reader(datasets.read_taxonomy, "a\tb\nb\tc\n"),
    "read_texts": Reader(datasets.read_texts, "4/6\tcats and dogs\n4\tpets\n"),
    "read_templates": Reader(read_templates, "0[0]\n0[-1]|1[0].lower  # two words\n"),
    "read_parallel": Reader(read_parallel, "la maison ||| the house ||| 0-0 1-1\na ||| b ||| 0-0\n"),
    "read_sentences": Reader(read_sentences, "la maison\n\na b c\n"),
    "NGramModel.read_arpa": Reader(NGramModel.read_arpa, _ARPA),
    "SynchronousGrammar.read": Reader(
        lambda path: SynchronousGrammar().read(path), "[X] ||| das [X,1] ||| the [1] ||| p=-0.5 -1.5 ||| 0-0\n"
    ),
    "read_cost_matrix": Reader(lambda path: read_cost_matrix(str(path)), "  A B\nA 0 1.5\nB 2 0\n"),
    "weights of features": Reader(lambda path: _weights(str(path)), "lm 1.5\nword penalty -2e1\n"),
    "columns in the core": Reader(lambda path: ColumnReader(None)._read(str(path)), _COLUMNS),
    "CoNLL-U in the core": Reader(lambda path: ConlluReader("upos", ["form"]).labeled(str(path), 1), _CONLLU),
}
