"""What a person should know before the arm moves."""

from __future__ import annotations


class Note(str):
    """A sentence for people, with a code for programs."""

    code: str

    def __new__(cls, code: str, text: str) -> Note:
        """Make one of a code in snake case and a sentence."""
        note = super().__new__(cls, text)
        note.code = code
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Be the same after a way through another process."""
        return self.code, str(self)
