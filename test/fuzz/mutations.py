"""Mutations that keep a file's form, so that fuzzing reaches what lies behind the parser: of data trees, XML and CSV.

Each takes bytes and a seed, and gives bytes of at most a length, as libFuzzer's custom mutators do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from lxml import etree

Mutator = Callable[[bytes, int, int], bytes]
"""(data, largest size, seed) to data."""

NUMBERS = (
    *(0, 1, -1, 2, 7, 64, 1000, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 5e-324, 1e-300, 1e-12, 1e15, 1.0000001e15),
    *(1.7e308, -1.7e308, 1e9, -1e9, 3.14159, float("nan"), float("inf"), float("-inf")),
)
WORDS = (
    *("", " ", "0", "1e999", "nan", "inf", "-1", "true", "null", "~", "é☃", "\x1b[31m", "a\nb", "\0", "x" * 300),
    *(
        "/",
        "..",
        "../..",
        "/dev/zero",
        "/etc/passwd",
        "world",
        "base",
        "ee",
        "__class__",
        "int",
        "a" * 65,
        "1_0",
        "0x10",
    ),
    *("{}", "[]", "%s", "{0}", "$(find x)", "${1/0}", "import", "joint", "link", "R", "P", "R_SEA"),
)
FRESH = 0.15
"""How often a mutation begins with a seed: what is far from every valid file is refused early."""

ODD = (None, True, False, [], {}, [[]], [{}], {"": None})


def number_text(random: Random) -> str:
    """A number, or what is nearly one, as a file has it."""
    value = random.choice(NUMBERS)
    return random.choice([str(value), f"{value:g}" if abs(value) < 1e30 else str(value), f"{random.gauss(0, 1):.3g}"])


# --- data trees -------------------------------------------------------------------------------------------------------


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a tree but the root."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [found for key, value in items for found in ((*path, key), *_paths(value, (*path, key)))]


def _at(tree: Any, path: Sequence[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _scalar(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)) and random.random() < 0.5:
        factor = random.choice([-1.0, 0.0, 0.5, 2.0, 1e3, 1e-3, 1e12])
        return value + random.choice([-1, 1]) if random.random() < 0.5 else value * factor
    if isinstance(value, str) and value and random.random() < 0.5:
        place = random.randrange(len(value))
        return value[:place] + random.choice([*WORDS, chr(random.randrange(1, 0x2FF))]) + value[place + 1 :]
    return random.choice([*NUMBERS, *WORDS, *ODD])


def _once(tree: Any, random: Random) -> None:
    """Change a tree, whose root stays, at one place."""
    paths = _paths(tree)
    if not paths:
        if isinstance(tree, dict):
            tree[random.choice(WORDS)] = random.choice(NUMBERS)
        return
    path = random.choice(paths)
    parent, key = _at(tree, path[:-1]), path[-1]
    what = random.randrange(9)
    if what <= 2:
        parent[key] = deepcopy(_scalar(parent[key], random))
    elif what == 3:
        del parent[key]
    elif what == 4:
        parent[key] = deepcopy(_at(tree, random.choice(paths)))
    elif what == 5 and isinstance(parent, list):
        parent[key:key] = [deepcopy(parent[key]) for _ in range(random.choice([1, 1, 2, 30]))]
    elif what == 5:
        other = random.choice(paths)[-1]
        parent[other if isinstance(other, str) else random.choice(WORDS)] = deepcopy(parent[key])
    elif what == 6 and isinstance(parent, dict):
        parent[str(_scalar(key, random)) if random.random() < 0.5 else random.choice(WORDS)] = parent.pop(key)
    elif what == 7:
        parent[key] = random.choice([[parent[key]], {"a": parent[key]}, [parent[key]] * 3])
    else:
        numbers = [one for one in paths if isinstance(_at(tree, one), (int, float))]
        for one in random.sample(numbers, min(len(numbers), 3)):
            _at(tree, one[:-1])[one[-1]] = random.choice(NUMBERS)


def _keys_are_text(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {str(key): _keys_are_text(value) for key, value in tree.items()}
    return [_keys_are_text(value) for value in tree] if isinstance(tree, list) else tree


def of_trees(seeds: Sequence[bytes]) -> Mutator:
    """Mutate JSON; what is none becomes one of the seeds."""

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        random = Random(seed)
        try:
            tree = json.loads(data)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict) or random.random() < FRESH:
            tree = json.loads(random.choice(seeds))
        for _ in range(random.choice([1, 1, 1, 2, 4])):
            _once(tree, random)
        text = json.dumps(_keys_are_text(tree)).encode()
        return text if len(text) <= largest else random.choice(seeds)[:largest]

    return mutate


# --- XML --------------------------------------------------------------------------------------------------------------


def _attribute(element: Any, random: Random, names: Sequence[str]) -> None:
    keys = list(element.attrib)
    what = random.randrange(5)
    if not keys or what == 0:
        element.set(random.choice(names), number_text(random))
    elif what == 1:
        del element.attrib[random.choice(keys)]
    else:
        key = random.choice(keys)
        parts = str(element.get(key)).split()
        if not parts or what == 2:
            parts = [random.choice([*WORDS, *names])]
        else:
            parts[random.randrange(len(parts))] = number_text(random)
        element.set(key, " ".join(parts))


def of_xml(seeds: Sequence[bytes], tags: Sequence[str], names: Sequence[str]) -> Mutator:
    """Mutate XML; what is none becomes one of the seeds.

    Args:
        seeds: Valid files.
        tags: Of elements that may come.
        names: Of attributes, and words that they may hold.
    """

    def change(root: Any, random: Random) -> None:
        elements = [one for one in root.iter() if isinstance(one.tag, str)]
        element = random.choice(elements)
        what = random.randrange(10)
        if what <= 4 or element is root:
            _attribute(element, random, names)
        elif what == 5:
            element.getparent().remove(element)
        elif what == 6:
            element.getparent().insert(random.randrange(len(element.getparent()) + 1), deepcopy(element))
        elif what == 7:
            other = deepcopy(random.choice(elements))
            element.append(other)
        elif what == 8:
            element.tag = random.choice(tags)
        else:
            twin = random.choice(elements)
            for key in set(twin.attrib) & set(element.attrib):
                element.set(key, twin.get(key))

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        random = Random(seed)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        try:
            root = etree.fromstring(data if random.random() > FRESH else random.choice(seeds), parser)
        except (etree.XMLSyntaxError, ValueError):
            root = etree.fromstring(random.choice(seeds), parser)
        for _ in range(random.choice([1, 1, 1, 2, 4])):
            try:
                change(root, random)
            except ValueError:  # what no attribute and no tag may hold
                continue
        text: bytes = etree.tostring(root)
        if random.random() < 0.02:
            place = random.randrange(len(text))
            text = text[:place] + random.choice(WORDS).encode(errors="replace") + text[place + 1 :]
        return text if len(text) <= largest else random.choice(seeds)[:largest]

    return mutate


# --- lines and bytes --------------------------------------------------------------------------------------------------


def of_tables(seeds: Sequence[bytes]) -> Mutator:
    """Mutate tables of cells: cells, rows and columns are changed, doubled and dropped."""

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        random = Random(seed)
        text = data if data and random.random() > FRESH else random.choice(seeds)
        rows = [line.split(",") for line in text.decode(errors="replace").split("\n")]
        for _ in range(random.choice([1, 1, 2, 4])):
            row = random.choice(rows)
            place, what = random.randrange(len(row)), random.randrange(7)
            if what <= 2:
                row[place] = random.choice(
                    [number_text(random), random.choice(WORDS), random.choice(random.choice(rows))]
                )
            elif what == 3 and len(rows) > 1:
                rows.remove(row)
            elif what == 4:
                rows.insert(random.randrange(len(rows) + 1), list(row))
            elif what == 5 and len(row) > 1:
                del row[place]
            else:
                row.insert(place, random.choice(row))
        text = "\n".join(map(",".join, rows)).encode(errors="replace")
        return text if len(text) <= largest else random.choice(seeds)[:largest]

    return mutate


def of_texts(seeds: Sequence[bytes], tokens: Sequence[str]) -> Mutator:
    """Mutate lines: tokens are put in, pieces are dropped, doubled and taken from seeds."""
    lines = [line for seed in seeds for line in seed.split(b"\n")]

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        random = Random(seed)
        text = bytearray(data)
        for _ in range(random.choice([1, 1, 2, 4])):
            begin = random.randrange(len(text) + 1)
            end = min(len(text), begin + random.choice([0, 1, 1, 4, 30]))
            what = random.randrange(6)
            if what <= 1:
                text[begin:end] = random.choice(tokens).encode()
            elif what == 2:
                text[begin:end] = b""
            elif what == 3:
                text[begin:begin] = bytes(text[begin:end]) * random.choice([1, 2, 50])
            elif what == 4:
                text[begin:begin] = b"\n" + random.choice(lines) + b"\n"
            else:
                text[begin:end] = random.randbytes(1)
        return bytes(text[:largest])

    return mutate
