"""Changes of texts and JSON values that know their structure: lines, fields, numbers, brackets, objects."""

import gzip
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any


def _words(*texts: str) -> list[str]:
    return [word for text in texts for word in text.split()]


# What numbers are written as where they are checked, overflow or cannot be read.
NUMBERS = [
    *_words(
        "0 -0 -1 1 2 7 00 01 +1 1.5 .5 5. - 1e3 1e308 1e309 -1e309 1e-320 nan inf -inf Infinity NaN 1_000 0x10 1e 1j",
        "1e99999999999 \u0661 \uff11 \u00b2 1,5 true 127 128 255 256 32767 65536 2147483647 2147483648 -2147483649",
        "4294967296 1000000000 9223372036854775807 9223372036854775808 18446744073709551616",
    ),
    *("9" * 18, "9" * 19, "9" * 309, "9" * 400, "9" * 4400, "0." + "3" * 400, "-" + "8" * 350),
]
WORDS = [
    *_words(
        r"a b _ - * # | || ||| / \ : :: ; , = == @ ^ ~ ( ) [ ] { } < > () [] {} <s> </s> <unk> *EPS* [X,1] [X] [1] .",
        r"O B-X I-X None null True qid:1 qid: 1:1 0:1 :1 1: \data\ %s %n 0-0 1- -DOCSTART- __class__ nodes edges",
        "start end .. a.b.c a/b/c 1-2 1.1 \u00e9 \u00fc \u200b \ufeff \U0001f600 e\u0301 \u0130 \u00df \x1b[31m",
    ),
    *("", " ", '"', "'", "ngram 1=2", "\u00a0", "\u2028", "\u2029", "\x85"),
]
BYTES = [
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xe2\x82", b"\xed\xa0\x80"),
    *(b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1a"),
]
_NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_FIELD = re.compile(rb"[^ \t\n]+")
_DEEP = "$deep"  # an object with this key stands for lists within lists, which the JSON of a case could not hold
_NESTED = re.compile(r'\{"\$deep":([0-9]+)\}')
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3.5, "", "a", "0", "1", "r", "\u00e9", "\u2028", "\ud800", "\0", "inf", "NaN"),
    *([], {}, [[]], [None], {"": 0}, {"a": 1}, {"a": "b"}, ["a", 1], [0, 0], [0, 1, 2], [-1, 0], [[0, 1]]),
    *(2**31, -(2**31) - 1, 2**53 + 1, 2**63, -(2**63) - 1, 10**19, 10**309, -(10**400)),
    *(1e308, 1e-320, float("inf"), float("-inf"), float("nan")),
]


def value(rng: Random) -> Any:
    """A JSON value that is probably wrong where it is put."""
    if rng.random() < 0.02:
        return {_DEEP: rng.choice([50, 900, 3000, 100_000])}
    return rng.choice(_VALUES)


def paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of a tree of lists and dictionaries, except for those that are very deep."""
    found = [path]
    if len(path) > 60:
        return found
    if isinstance(tree, dict):
        found += [place for key, of in tree.items() for place in paths(of, (*path, key))]
    elif isinstance(tree, list):
        found += [place for k, of in enumerate(tree[:40]) for place in paths(of, (*path, k))]
    return found


def edited(tree: Any, path: Sequence[Any], change: Callable[[Any], Any]) -> Any:
    """The tree with another value at a place; the rest is shared."""
    if not path:
        return change(tree)
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = edited(copied[path[0]], path[1:], change)
    return copied


def at(tree: Any, path: Sequence[Any]) -> Any:
    """The value at a place of a tree."""
    for key in path:
        tree = tree[key]
    return tree


def edit(rng: Random, tree: Any) -> list[Any]:
    """A change of a tree, which `applied` makes: [operation, place, ...]."""
    places = paths(tree)
    path = rng.choice(places if len(places) == 1 else places[1:])
    old = at(tree, path)
    kind = rng.randrange(8)
    if kind <= 1:
        return ["set", path, value(rng)]
    if kind == 2:
        return ["set", path, at(tree, rng.choice(places))]
    if kind == 3 and path:
        return ["drop", path]
    if kind == 4 and isinstance(old, list):
        k = rng.randrange(len(old) + 1)
        return ["insert", path, k, rng.choice(old) if old and rng.random() < 0.6 else value(rng)]
    if kind == 4 and isinstance(old, dict):
        return ["set", [*path, rng.choice([*WORDS, *old])], value(rng)]
    if isinstance(old, bool) or old is None:
        return ["set", path, not old]
    if isinstance(old, int | float):
        return ["set", path, rng.choice([old + 1, old - 1, -old, 0.5, 1e6, 0, old * 2, 2**40, 2**62])]
    if isinstance(old, str):
        return ["set", path, rng.choice([old + rng.choice(WORDS), rng.choice(WORDS), old[:-1], old * 2])]
    return ["set", path, value(rng)]


def applied(tree: Any, change: Sequence[Any]) -> Any:
    """The tree after a change; a place that an earlier change has removed is left alone."""
    operation, path, *rest = change
    try:
        if operation == "set" and path:
            return edited(tree, path[:-1], lambda of: _with(of, path[-1], rest[0]))
        if operation == "set":
            return rest[0]
        if operation == "insert":
            return edited(tree, path, lambda of: [*of[: rest[0]], rest[1], *of[rest[0] :]])
        return edited(tree, path[:-1], lambda of: _without(of, path[-1]))
    except (LookupError, TypeError, ValueError):
        return tree


def _with(of: Any, key: Any, new: Any) -> Any:
    copied = dict(of) if isinstance(of, dict) else list(of)
    copied[key] = new
    return copied


def _without(of: Any, key: Any) -> Any:
    if isinstance(of, dict):
        return {name: each for name, each in of.items() if name != key}
    return [*of[:key], *of[key + 1 :]]


def changed_tree(rng: Random, tree: Any) -> Any:
    """A JSON value with something replaced, added, doubled or left out."""
    return applied(tree, edit(rng, tree))


def dumped(tree: Any) -> str:
    """JSON without blanks; half characters are escapes, and what stands for deep nesting is nested."""
    text = json.dumps(tree, separators=(",", ":"))
    return _NESTED.sub(lambda found: "[" * min(int(found[1]), 10**6) + "0" + "]" * min(int(found[1]), 10**6), text)


# ---- texts -----------------------------------------------------------------------------------------------------------


def _bits(rng: Random, text: bytes) -> bytes:
    if not text:
        return text
    k = rng.randrange(len(text))
    return text[:k] + bytes([text[k] ^ 1 << rng.randrange(8)]) + text[k + 1 :]


def _inserted(rng: Random, text: bytes) -> bytes:
    k = rng.randrange(len(text) + 1)
    piece = rng.choice([rng.choice(WORDS).encode(), rng.choice(BYTES), rng.choice([b" ", b"\t", b"\n", b"\n\n"])])
    return text[:k] + piece + text[k:]


def _cut(rng: Random, text: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return rng.choice([text[:a] + text[b:], text[:a], text[a:], text[a:b]])


def _lines(rng: Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        del lines[k]
    elif kind == 1:
        lines.insert(j, lines[k])
    elif kind == 2:
        lines[k], lines[j] = lines[j], lines[k]
    elif kind == 3:
        lines[k] = b""
    elif kind == 4:
        lines[k] += lines[j]
    else:
        lines[k : k + 1] = lines[k : k + 1] * rng.choice([2, 3, 50])
    return b"\n".join(lines)


def _fields(rng: Random, text: bytes) -> bytes:
    found = list(_FIELD.finditer(text))
    if not found:
        return text
    one, other = rng.choice(found), rng.choice(found)
    new = rng.choice(
        [rng.choice(WORDS).encode(), rng.choice(NUMBERS).encode(), other[0], one[0] + b" " + other[0], b""]
    )
    return text[: one.start()] + new + text[one.end() :]


def _numbers(rng: Random, text: bytes) -> bytes:
    found = list(_NUMBER.finditer(text))
    if not found:
        return _fields(rng, text)
    one = rng.choice(found)
    return text[: one.start()] + rng.choice(NUMBERS).encode() + text[one.end() :]


def _separators(rng: Random, text: bytes) -> bytes:
    places = [k for k, byte in enumerate(text) if byte in b" \t\n|:;,=-"]
    if not places:
        return text
    k = rng.choice(places)
    return (
        text[:k]
        + rng.choice([b"", b" ", b"\t", b"  ", b"\n", b"|||", b":", b",", "\u00a0".encode(), b"\r\n"])
        + text[k + 1 :]
    )


def _nested(rng: Random, text: bytes) -> bytes:
    many = rng.choice([3, 60, 400, 2500])
    opened, closed = rng.choice([(b"(", b")"), (b"[", b"]"), (b'{"a":', b"}"), (b"((", b")"), (b"(X ", b")")])
    k = rng.randrange(len(text) + 1)
    return (
        text[:k] + opened * many + rng.choice([b"", b"a", b"1"]) + closed * rng.choice([0, many, many - 1]) + text[k:]
    )


def _long(rng: Random, text: bytes) -> bytes:
    k = rng.randrange(len(text) + 1)
    piece = rng.choice([b"a", b" ", b"9", b"a ", b"1:1 ", b"-", b"\t", b"/a", b"a|||", "é".encode()])
    return text[:k] + piece * rng.choice([40, 1000, 5000]) + text[k:]


def _json(rng: Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    k = rng.randrange(len(lines))
    try:
        tree = json.loads(lines[k])
    except (ValueError, RecursionError):
        return _fields(rng, text)
    lines[k] = dumped(changed_tree(rng, tree)).encode()
    return b"\n".join(lines)


def _ends(rng: Random, text: bytes) -> bytes:
    return text.replace(b"\n", rng.choice([b"\r\n", b"\n\n", b"\n \n", b"\r"]), rng.choice([-1, 1]))


_CHANGES = [
    *(_bits, _inserted, _cut, _nested, _long, _ends),
    *(_lines, _lines, _lines, _separators, _separators),
    *(_fields, _fields, _fields, _fields, _numbers, _numbers, _numbers, _numbers),
]


def changed(rng: Random, samples: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """A text that was changed in a few places, from one of the samples or, rarely, one of the others."""
    text = rng.choice(samples if rng.random() < 0.95 or not others else others)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 5, 8])):
        change = _json if b"{" in text and rng.random() < 0.6 else rng.choice(_CHANGES)
        text = change(rng, text)
        if rng.random() < 0.03:
            text += rng.choice([*samples, *others])
        if len(text) > 60_000:
            text = text[:60_000]
    kind = rng.random()
    if kind < 0.02:
        text = rng.choice(BYTES) + text
    elif kind < 0.05:
        text = gzip.compress(text, 1, mtime=0)
        if rng.random() < 0.7:
            text = rng.choice([_bits, _cut])(rng, text)
    return text


def as_json(text: bytes) -> str:
    """Bytes as a text that JSON can hold: one character per byte."""
    return text.decode("latin-1")


def as_bytes(text: str) -> bytes:
    """What `as_json` got."""
    return text.encode("latin-1")
