"""YAML text → plain data with the line of every value, safely.

PyYAML scans, parses and composes; nothing is constructed but None, booleans, numbers, texts, lists and mappings, by
the rules of the YAML 1.2 core schema (so that 1e-3 is a number, and 1:30 and `on` are texts). Object tags, duplicate
keys, recursive aliases and documents that aliases blow up are errors. Its own loaders follow YAML 1.1, take the last
of two equal keys and forget the lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers.limits import DEPTH, VALUES

KeyPath = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"

MERGE = "<<"
"""Key of a mapping whose value is another mapping, or a list of such, that gives the keys it does not have itself."""


@dataclass(frozen=True)
class YamlDocument:
    """A YAML document as plain data.

    Args:
        data: The top-level mapping.
        lines: Line (from 1) of every key path; a list's entries have their own.
        anchored: Top-level keys whose value carries an anchor: constants and what other places share.
        source: Name of the file, for messages.
    """

    data: dict[str, Any]
    lines: dict[KeyPath, int]
    anchored: frozenset[str]
    source: str

    def where(self, path: KeyPath) -> str:
        """Place of a key path, as file:line: key.path; the line of the nearest parent that exists."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        return _place(self.source, self.lines.get(known, 1), path)


def parse_yaml(text: str, source: str) -> YamlDocument:
    """Parse one YAML document whose top level is a mapping.

    Raises:
        RobotFileError: with file and line, for anything else, and for what the module's docstring calls an error.
    """
    with _located(source):
        loader = _Composer(text, source)
        root = loader.get_single_node()
    if not isinstance(root, MappingNode):
        line = 1 if root is None else root.start_mark.line + 1
        raise RobotFileError("the top level is no mapping", where=f"{source}:{line}", valid="keys and values")
    converter = _Converter(source)
    data = converter.convert(root, ())
    return YamlDocument(data, converter.lines, frozenset(loader.anchored), source)


class _Composer(yaml.BaseLoader):
    """PyYAML up to the node graph; what it would construct of that, texts, lists and mappings, is not asked for."""

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text)
        self.source = source
        self.anchored: set[str] = set()
        self.depth = self.count = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self.depth += 1
        self.count += 1
        if self.count > VALUES:
            where = f"{self.source}:{event.start_mark.line + 1}"
            raise RobotFileError("too many values", where=where, valid=f"at most {VALUES}")
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        # Nodes forget their anchors, so note here which values of the top-level mapping define one.
        defines = isinstance(event, yaml.NodeEvent) and not isinstance(event, yaml.AliasEvent) and event.anchor
        if self.depth == 1 and isinstance(index, ScalarNode) and defines:
            self.anchored.add(index.value)
        return node


@contextmanager
def _located(source: str) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise RobotFileError(error.problem or str(error), where=f"{source}:{line}", valid="YAML 1.2") from error
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise RobotFileError(what, where=source, valid="YAML 1.2") from error
    except RecursionError as error:
        raise RobotFileError("the nesting is too deep", where=source, valid=f"{DEPTH} levels") from error


class _Converter:
    """Nodes → data, within `DEPTH` and `VALUES`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[KeyPath, int] = {}
        self.count = 0

    def convert(self, node: Node, path: KeyPath) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._check(node, path, len(path))
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.convert(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _check(self, node: Node, path: KeyPath, depth: int) -> None:
        """Raise for a node that is too deep, one too many, or of a kind that no robot file needs."""
        self.count += 1
        if depth > DEPTH:
            self._fail(node, path[:3], "the nesting is too deep or an alias contains itself", f"{DEPTH} levels")
        if self.count > VALUES:
            self._fail(node, path[:3], "aliases expand to too many values", f"at most {VALUES}")
        if not node.tag.startswith(_TAG) or node.tag[len(_TAG) :] not in {*_SCALARS, "seq", "map"}:
            valid = "no tag (no objects are made from a robot file)"
            self._fail(node, path, f"the tag '{node.tag.replace(_TAG, '!!')}' is not allowed", valid)

    def _pairs(self, node: MappingNode, path: KeyPath, depth: int) -> list[tuple[ScalarNode, Node]]:
        """Return keys and values of a mapping; a merge key `<<` stands for those of its mappings that are not there."""
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                self._fail(key, path, "a key is no text", "text keys")
        have, pairs = {key.value for key, _ in node.value}, []
        for key, value in node.value:
            if key.value != MERGE or key.style is not None:
                pairs.append((key, value))
                continue
            for other in value.value if isinstance(value, SequenceNode) else [value]:
                self._check(other, path, depth + 1)
                if not isinstance(other, MappingNode):
                    self._fail(value, (*path, MERGE), "no mapping to merge", "an alias of a mapping, or a list of such")
                merged = [pair for pair in self._pairs(other, path, depth + 1) if pair[0].value not in have]
                self.count += len(merged)
                have |= {name.value for name, _ in merged}
                pairs += merged
        return pairs

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in self._pairs(node, path, len(path)):
            name = self._text(key, path)
            if name in result:
                first = self.lines[(*path, name)]
                self._fail(key, (*path, name), f"duplicate key, first on line {first}", "each key once")
            self.lines[(*path, name)] = key.start_mark.line + 1
            result[name] = self.convert(value, (*path, name))
        return result

    def _text(self, node: Node, path: KeyPath) -> str:
        # An escape can name half of a surrogate pair, which no file, library or terminal takes.
        text: str = node.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._fail(node, path, "half of a surrogate pair", "text of whole characters")
        return text

    def _scalar(self, node: Node, path: KeyPath) -> Any:
        kind, text = node.tag[len(_TAG) :], self._text(node, path)
        try:
            return _SCALARS[kind][1](text)
        except (KeyError, ValueError, OverflowError):
            self._fail(node, path, f"{text[:40]!r} is no {kind}", f"a value of kind {kind}, or no tag")

    def _fail(self, node: Node, path: KeyPath, what: str, valid: str) -> Any:
        raise RobotFileError(what, where=_place(self.source, node.start_mark.line + 1, path), valid=valid)


def _place(source: str, line: int, path: KeyPath) -> str:
    keys = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"{source}:{line}: {keys[1:]}" if keys else f"{source}:{line}"


def _integer(text: str) -> int | float:
    # Python refuses to convert very long texts to int, and no such number is exact in the model anyway.
    return int(text) if len(text) < 19 else float(text)


_SCALARS: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: {"true": True, "false": False}[text.lower()]),
    "int": (r"[-+]?[0-9]+", _integer),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        lambda text: float(re.sub(r"\.(?=inf|nan)", "", text.lower())),
    ),
    "str": (None, str),
}
"""What texts without quotes are of a kind, the first that fits, and what is made of them."""

for _kind, (_pattern, _) in _SCALARS.items():
    if _pattern is not None:
        _Composer.add_implicit_resolver(_TAG + _kind, re.compile(rf"^(?:{_pattern})$"), None)
