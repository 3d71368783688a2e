"""FASTA, aligned pairs and tables of pairs: what is written can be read, and mistakes have file, line and column."""

import pytest

from margrave.data import gapped
from margrave.datasets import read_fasta, read_pairs, write_aligned_fasta
from margrave.errors import DataError

PAIRS = [("ACGT", "AGT"), ("GATC", "GTC")]
MATCHES = [[(0, 0), (2, 1), (3, 2)], [(0, 0), (2, 1), (3, 2)]]


@pytest.mark.parametrize("fasta", [True, False])
def test_aligned_pairs_are_read_back(fasta: bool, tmp_path) -> None:
    path = tmp_path / "pairs"
    texts = [gapped(x, y, pairs) for (x, y), pairs in zip(PAIRS, MATCHES, strict=True)]
    if fasta:
        write_aligned_fasta(
            path, [(f"s{k}{side}", t) for k, pair in enumerate(texts) for side, t in zip("ab", pair, strict=True)]
        )
    else:
        path.write_text("".join(f"{x}\t{y}\n" for x, y in texts))
    assert read_pairs(path) == (PAIRS, MATCHES)
    assert read_pairs(path, aligned=False) == (PAIRS, [])


def test_fasta_has_names_and_sequences_over_several_lines(tmp_path) -> None:
    path = tmp_path / "a.fasta"
    path.write_text(">one first\nAC\nGT\n\n>two\nA-T\n")
    assert list(read_fasta(path, aligned=True)) == [("one first", "ACGT"), ("two", "A-T")]


@pytest.mark.parametrize(
    ("text", "line", "match"),
    [
        ("ACGT\tA-GT\nAJ\tAC\n", 2, "column 2: the letter 'J' is not in the alphabet"),
        ("AC\tAJ\n", 1, "column 5: the letter 'J' is not in the alphabet"),
        (">a\nAC\n>b\nA\nJ\n", 5, "column 1: the letter 'J' is not in the alphabet"),
        ("AC\t--\n", 1, "a sequence is empty"),
        ("AC\tA\n", 1, "aligned sequences must have the same length, and they have 2 and 1"),
        ("A-C\tA-C\n", 1, "column 2 has two gaps"),
        ("AC\n", 1, "a line has two sequences and a tab between them, and this one has no tab"),
        (">a\nAC\n", 1, "every two sequences are a pair, and there are 1"),
    ],
)
def test_mistakes_are_reported_with_line_and_column(text: str, line: int, match: str, tmp_path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=match) as refused:
        read_pairs(path, "ACGT")
    assert f"{path}, line {line}" in str(refused.value)
