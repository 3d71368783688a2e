"""Lists of translations with their scores and references."""

from benchmarks.corpora.folder import data_file
from margrave.datasets.nbest import NBestList, read_nbest, read_references


def moses_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of 100 translations with 15 scores each, and one reference, in the lower case of the lists."""
    references = read_references(data_file("mt-nbest-moses", "reference.txt"))
    lists = list(read_nbest(data_file("mt-nbest-moses", "nbest.txt")))
    return lists, [[text.lower() for text in texts] for texts in references]


def hiero_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of at most 10 translations with 21 scores each, and four references."""
    references = read_references(*(data_file("mt-bn-en-hiero", f"reference.en.{k}") for k in range(4)))
    return list(read_nbest(data_file("mt-bn-en-hiero", "nbest.txt"))), references
