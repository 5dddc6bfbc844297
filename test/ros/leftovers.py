"""What a process may leave behind: processes of its group, open ports."""

from __future__ import annotations

import os
from pathlib import Path


def group_exists(group: int) -> bool:
    """Whether any process of the group lives."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def udp_ports() -> dict[str, int]:
    """Open UDP sockets of this machine: inode → port."""
    ports = {}
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        if os.path.exists(table):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                ports[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    return ports


def _sockets_of(process: str) -> set[str]:
    found = set()
    try:
        for entry in os.scandir(f"/proc/{process}/fd"):
            target = os.readlink(entry.path)
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:  # ended meanwhile, or another user's
        return found
    return found


def own_sockets() -> set[str]:
    """Inodes of the sockets of this process."""
    return _sockets_of("self")


def other_sockets() -> set[str]:
    """Inodes of the sockets of all other processes that live: those are theirs, not left over."""
    return set().union(*(_sockets_of(name) for name in os.listdir("/proc") if name.isdigit()))
