"""Robot files written for a test, and the message that reading one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunder_dynamics.errors import RobotFileError, ThunderError
from thunder_dynamics.readers import load_model


def write(folder: Path, text: str, name: str = "arm.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def message_of(folder: Path, text: str, kind: type[ThunderError] = RobotFileError, **options: object) -> str:
    with pytest.raises(kind) as caught:
        load_model(write(folder, text), **options)
    return str(caught.value)
