"""The environment of a process that writes 4,97: a locale compiled for the test, which takes no root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NAME = "de_DE.UTF-8"
SOURCE = Path("/usr/share/i18n/locales/de_DE")


def german_environment(folder: Path) -> dict[str, str]:
    """This process's environment, in German; skips where the locale cannot be made."""
    if shutil.which("localedef") is None or not SOURCE.is_file():
        pytest.skip("no localedef, or no sources of locales: libc-bin, locales")
    subprocess.run(["localedef", "-i", SOURCE.name, "-f", "UTF-8", str(folder / NAME)], check=True, timeout=600)
    suppressions = folder / "leaks.txt"
    suppressions.write_text("leak:__argz_add_sep\n")  # glibc keeps its copy of LOCPATH for good
    leaks = f"suppressions={suppressions}:print_suppressions=0"
    return {**os.environ, "LOCPATH": str(folder), "LC_ALL": NAME, "LSAN_OPTIONS": leaks}
