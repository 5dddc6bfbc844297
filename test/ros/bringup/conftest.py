"""Nodes that end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nodes import NodeProcess


@pytest.fixture
def start(domain: int, tmp_path: Path) -> Iterator[Callable[..., NodeProcess]]:
    """Start a node that ends by itself."""
    from nodes import NodeProcess

    started: list[NodeProcess] = []

    def begin(executable: str, parameters: dict[str, Any], **options: Any) -> NodeProcess:
        started.append(NodeProcess(executable, parameters, tmp_path, **options))
        return started[-1]

    yield begin
    for node in started:
        node.kill()
