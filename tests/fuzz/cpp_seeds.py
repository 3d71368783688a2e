"""Seeds for the C++ targets: the samples of the readers, with the numbers before them that each target takes.

`python -m tests.fuzz.cpp_seeds FOLDER` writes them to FOLDER/TARGET.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.fuzz.readers import SAMPLES


def numbers(*values: int) -> bytes:
    """Numbers as `Input::number` takes them."""
    return np.array(values, "<u2").tobytes()


def vocabulary(names: list[str]) -> tuple[bytes, bytes]:
    """The bytes and the bounds of names, as model files have them."""
    encoded = [name.encode() for name in names]
    return b"".join(encoded), np.cumsum([0, *map(len, encoded)]).astype("<i8").tobytes()


def seeds(target: str) -> Iterator[bytes]:
    """The inputs for a target."""
    if target == "columns":
        for k, text in enumerate(SAMPLES["read_columns"]):
            for separator in range(5):
                yield numbers(separator, 0, k % 2) + text.encode()
    elif target == "conllu":
        for k, text in enumerate(SAMPLES["read_conllu"] + SAMPLES["read_conllx"]):
            for field in range(10):
                yield numbers(k, field % 2, field % 3 == 0, field) + text.encode()
    elif target == "templates":
        for function in range(8):
            terms = numbers(3, 1, 1, 3, 0, 2, 1, 2, function, 2, 5, 0, 0, 0, 2, 1, 4, function, 2, 3, 1)
            yield terms + b"The D\ndog N\n\nBarks V\n"
    elif target == "arpa":
        yield from (text.encode() for text in SAMPLES["NGramModel.read_arpa"])
    elif target == "grammar":
        yield from (numbers(k, 9) + text.encode() for k in (0, 1) for text in SAMPLES["SynchronousGrammar.read"])
    elif target == "model":
        text, bounds = vocabulary(["the", "dog", "", "barks", "é"])
        yield numbers(0, 6, len(text)) + text + bounds
        text, bounds = vocabulary(["a", "b"])
        yield numbers(1, 2, len(text)) + text + np.array([1 << 40, 2 << 40], "<u8").tobytes() + bounds
        yield (
            numbers(2, 4, 3)
            + np.array([0, 2, 2, 3], "<i8").tobytes()
            + numbers(3)
            + np.array([0, 2, 1], "<u2").tobytes()
        )


def main() -> None:
    """Writes all seeds."""
    folder = Path(sys.argv[1])
    for source in sorted((Path(__file__).parent / "cpp").glob("*.cpp")):
        (folder / source.stem).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds(source.stem)):
            (folder / source.stem / f"seed-{number}").write_bytes(seed)


if __name__ == "__main__":
    main()
