"""Handwritten digits (MNIST) and handwritten words."""

import gzip
import struct
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.folder import MissingData, data_file
from margrave.datasets.opening import read_lines

Bytes = NDArray[np.uint8]
DIGITS = {"train": (0, 7_000), "dev": (7_000, 8_500), "test": (8_500, 10_000)}  # of MNIST's training images


def mnist() -> tuple[Bytes, Bytes, Bytes, Bytes]:
    """Training images (60000, 784) and labels, test images (10000, 784) and labels."""
    train, test = "train-{}-ubyte", "t10k-{}-ubyte"
    return (
        _idx(train.format("images-idx3"), (60_000, 28, 28)).reshape(60_000, 784),
        _idx(train.format("labels-idx1"), (60_000,)),
        _idx(test.format("images-idx3"), (10_000, 28, 28)).reshape(10_000, 784),
        _idx(test.format("labels-idx1"), (10_000,)),
    )


def letters() -> tuple[list[Bytes], list[list[str]], NDArray[np.int64]]:
    """Handwritten words: images (T, 128) of 0 and 1, letters, and the fold (0-9) of each word."""
    lines = (line.split("\t") for _, line in read_lines(data_file("ocr-letters", "letters.tsv")))
    words = [list(word) for _, word in groupby(lines, key=lambda fields: fields[3])]
    images = [np.array([[c == "1" for c in f[6]] for f in word], dtype=np.uint8) for word in words]
    labels = [[f[1] for f in word] for word in words]
    return images, labels, np.array([int(word[0][5]) for word in words])


def digits(part: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Images (n, 784) between 0 and 1, and their labels."""
    images, labels, _, _ = mnist()
    begin, end = DIGITS[part]
    return images[begin:end] / 255, labels[begin:end].astype(np.int32)


def _idx(file: str, shape: tuple[int, ...]) -> Bytes:
    path = data_file("mnist", file)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    expected = struct.pack(f">{1 + len(shape)}i", 2048 + len(shape), *shape)  # magic 2051 or 2049, then the sizes
    if data[: len(expected)] != expected or len(data) != len(expected) + int(np.prod(shape)):
        raise MissingData(f"benchmark data not usable: {path} is not an idx file of bytes with sizes {shape}.")
    return np.frombuffer(data, dtype=np.uint8, offset=len(expected)).reshape(shape)
