"""The parts of trees with crossing arcs and pairs of arcs, by the documentation. Nothing here uses the core."""

from margrave.testing.enumeration import Parts
from tests.references.enumeration import trees

PartTuple = tuple[int, int, int, int]


def arc_pair_parts(n: int, single_root: bool, allowed: list[list[int]] | None = None) -> dict[PartTuple, int]:
    """The numbers of the parts (grandparent, head, other child, word), by the documentation."""
    arcs = [
        (h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m and (allowed is None or h in allowed[m - 1])
    ]
    parts = [(-1, h, -1, m) for h, m in arcs]
    for h in range(1 if single_root else 0, n + 1):
        children = [m for head, m in sorted(arcs) if head == h]
        parts += [(-1, h, s, m) for m in children for s in children if s < m]
    parts += [(g, h, -1, m) for h, m in arcs for g, word in arcs if word == h and g != m]
    return {part: k for k, part in enumerate(parts)}


def parts_of(number: dict[PartTuple, int], heads: Parts) -> Parts:
    words = range(1, len(heads) + 1)
    head = dict(zip(words, heads, strict=True))
    found = [(-1, head[m], -1, m) for m in words]
    found += [(-1, head[m], s, m) for m in words for s in words if s < m and head[s] == head[m]]
    found += [(head[head[m]], head[m], -1, m) for m in words if head[m] != 0]
    return tuple(sorted(number[part] for part in found if part in number))


def every_tree(n: int, single_root: bool, allowed: list[list[int]] | None = None) -> list[Parts]:
    return [
        heads for heads in trees(n, single_root) if allowed is None or all(h in allowed[m] for m, h in enumerate(heads))
    ]
