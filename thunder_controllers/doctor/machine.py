"""Checks of the machine that runs the controller, by the files in which the kernel tells what it is."""

from __future__ import annotations

import re

from thunder_controllers.doctor.check import Case, Finding, NotApplicableError, check

PRIORITY = 99
"""Of the threads that libfranka makes: the highest that there is."""

CAPABILITIES = {"CAP_IPC_LOCK": 14, "CAP_SYS_NICE": 23}
"""Bits of /proc/self/status of processes that limits do not bind [linux/capability.h]."""

CLOCK_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock")
"""Counters of the processor, read without a call into the kernel: x86, Arm, and x86 in a virtual machine."""

LIMITS_CONF = "in /etc/security/limits.conf, then log in again"


@check(
    "kernel",
    valid="PREEMPT_RT",
    mend="install a real-time kernel (Debian: linux-image-rt-amd64, Ubuntu: pro enable realtime-kernel) and boot it",
    is_real_time=True,
)
def kernel(case: Case) -> Finding:
    """A kernel with PREEMPT_RT says so in /sys/kernel/realtime, and in its version."""
    version = case.read("proc/sys/kernel/version")
    try:
        is_real_time = case.read("sys/kernel/realtime") == "1"
    except NotApplicableError:
        is_real_time = "PREEMPT_RT" in version
    return Finding(is_real_time, version)


@check(
    "priority that this user's processes may have",
    valid=f"{PRIORITY}, or CAP_SYS_NICE",
    mend=f"'@realtime - rtprio {PRIORITY}' {LIMITS_CONF} as a user of that group",
    is_real_time=True,
)
def rtprio(case: Case) -> Finding:
    """RLIMIT_RTPRIO."""
    limit = _limit(case, "realtime priority")
    return _unless(case, "CAP_SYS_NICE", limit >= PRIORITY, f"{limit:g}")


@check(
    "memory that this user's processes may lock",
    valid="unlimited, or CAP_IPC_LOCK",
    mend=f"'@realtime - memlock unlimited' {LIMITS_CONF} as a user of that group",
    is_real_time=True,
)
def memlock(case: Case) -> Finding:
    """RLIMIT_MEMLOCK: memory that is not locked may be swapped out, and a page fault is a late cycle."""
    limit = _limit(case, "locked memory")
    seen = "unlimited" if limit == float("inf") else f"{limit / 2**20:g} MiB"
    return _unless(case, "CAP_IPC_LOCK", limit == float("inf"), seen)


def _limit(case: Case, name: str) -> float:
    """The soft limit "Max <name>" of this process, infinite if there is none."""
    found = re.search(rf"^Max {name}\s+(\S+)", case.read("proc/self/limits"), re.MULTILINE)
    if found is None:
        raise NotApplicableError(f"/proc/self/limits: no 'Max {name}'")
    return float("inf") if found[1] == "unlimited" else float(found[1])


def _unless(case: Case, capability: str, holds: bool, seen: str) -> Finding:
    """The finding of a limit, which does not count for a process with a capability."""
    found = re.search(r"^CapEff:\s+([0-9a-f]+)", case.read("proc/self/status"), re.MULTILINE)
    is_free = found is not None and bool(int(found[1], 16) >> CAPABILITIES[capability] & 1)
    return Finding(holds or is_free, f"{seen}, {capability}" if is_free else seen)


@check(
    "governor of the processor's frequency",
    valid="performance on every core",
    mend="cpupower frequency-set --governor performance",
    is_warning=True,
)
def governor(case: Case) -> Finding:
    """Other governors lower the frequency while the loop waits, and take time to raise it."""
    cores = "sys/devices/system/cpu"
    found = sorted((case.root / cores).glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not found:
        raise NotApplicableError("no frequency that this kernel could change")
    names = sorted({case.read(str(file.relative_to(case.root))) for file in found})
    return Finding(names == ["performance"], f"{', '.join(names)} on {len(found)} cores")


@check(
    "clock of the kernel",
    valid=f"one of {', '.join(CLOCK_SOURCES)}",
    mend="boot with tsc=reliable if the processor's TSC is sound; leave out clocksource= of the boot line",
    is_warning=True,
    is_real_time=True,
)
def clock_source(case: Case) -> Finding:
    """Other sources are read over a bus, microseconds each, or by a call into the kernel."""
    name = case.read("sys/devices/system/clocksource/clocksource0/current_clocksource")
    return Finding(name in CLOCK_SOURCES, name)


MACHINE = (kernel, rtprio, memlock, governor, clock_source)
