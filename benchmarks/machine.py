"""What the figures of a run depend on: processor, compiler, flags, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = {
    "Pinocchio": "libpinocchio",
    "CasADi": "casadi",
    "Eigen": "cmeel-eigen",
    "MuJoCo": "mujoco",
}
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
SMALLEST_BUFFER = 64 * 2**20
"""Bytes written between cold calls if the last-level cache is small or unknown."""


def describe(flags: Sequence[str], core: int) -> dict[str, Any]:
    """Everything to state beside a figure."""
    from thunder_dynamics.codegen import toolchain  # and none of ours where others are timed

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "pinned_to_core": core,
        "load_average": list(os.getloadavg()),
        "last_level_cache_bytes": last_level_cache(),
        "system": f"{platform.system()} {platform.release()}",
        "compiler": {x: toolchain.run([*toolchain.compiler(x), "--version"]).splitlines()[0] for x in ("c", "c++")},
        "flags": list(flags),
        "versions": {"Python": platform.python_version(), **installed_versions()},
    }


def installed_versions() -> dict[str, str]:
    """Of those of the packages that are there: not every benchmark has a peer."""
    there = {distribution.name for distribution in metadata.distributions()}
    return {name: metadata.version(package) for name, package in PACKAGES.items() if package in there}


def line(flags: Sequence[str]) -> str:
    """What to state above a table, in one line."""
    found = describe(flags, -1)
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    load = found["load_average"][0]
    return f"{found['processor']}, load {load:.1f}; {found['compiler']['c']}; {' '.join(flags)}; {versions}"


def processor() -> str:
    """Model name, with the family and model number that virtual machines often hide in it."""
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        return platform.processor() or platform.machine()
    numbers = ", ".join(f"{key} {fields[key]}" for key in ("cpu family", "model") if key in fields)
    return f"{fields.get('model name', platform.machine())} ({numbers})"


def last_level_cache() -> int:
    """Size of the largest cache [bytes], 0 if the system does not say."""
    sizes = [path.read_text().strip() for path in CACHES.glob("index*/size")]
    units = {"K": 2**10, "M": 2**20}
    return max((int(size[:-1]) * units[size[-1]] for size in sizes if size[-1:] in units), default=0)


def buffer_bytes() -> int:
    """Size of the buffer whose writing empties all caches."""
    return max(SMALLEST_BUFFER, 2 * last_level_cache())
