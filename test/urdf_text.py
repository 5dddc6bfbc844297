"""A URDF of the test data: read under options, with a place changed, or refused with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunder_dynamics.errors import RobotFileError, ThunderError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers.urdf import read_urdf_text


class UrdfText:
    """Args: name: of the file in test/data."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")

    def read(self, text: str | None = None, **options: object) -> RobotModel:
        """The model of a text, or of the file's own."""
        return read_urdf_text(self.text if text is None else text, self.name, **options)

    def changed(self, old: str, new: str, text: str | None = None) -> str:
        """The text with its first `old` replaced; it must be there."""
        text = self.text if text is None else text
        assert old in text
        return text.replace(old, new, 1)

    def message_of(self, text: str, kind: type[ThunderError] = RobotFileError, **options: object) -> str:
        """What a text is refused with."""
        with pytest.raises(kind) as caught:
            self.read(text, **options)
        return str(caught.value)
