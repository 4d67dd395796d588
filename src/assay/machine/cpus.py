"""The CPUs of a host that processes may be bound to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.catalogue import Host
from assay.errors import RefusedError, UsageError
from assay.records import Value


def cpus(host: Host, wanted: Value) -> tuple[int, ...] | None:
    """The CPU numbers for the knob `cpus`: a list as it is, a count as that many, a thread of each core first.

    None where the knob is not set. Raises UsageError for CPUs that this host does not let us use.
    """
    if wanted is None:
        return None
    allowed = allowed_cpus(host)
    if isinstance(wanted, int):
        return spread(host, allowed, wanted)
    numbers = tuple(int(str(item)) for item in wanted) if isinstance(wanted, Sequence) and not isinstance(wanted, str) else ()
    strange = [number for number in numbers if number not in allowed]
    if strange or not numbers:
        raise UsageError(
            f"found cpus = {_written(wanted)}; expected numbers among {ranges(allowed)}, the CPUs allowed on {host.name}"
        )
    return numbers


def siblings(host: Host, numbers: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """For each CPU which others share its core: facts that say whether two processes were on one core."""
    return tuple((f"cpu.{number}.siblings", ",".join(map(str, _threads(host, number)))) for number in numbers)


CLOCK_RATE = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"
THREADS_OF_CORES = "/sys/devices/system/cpu/smt/control"
SET = "can be set here: a factor machine.{} varies it"
THREADS_FIXED = {
    "notsupported": "each core of this machine has one thread",
    "notimplemented": "this machine does not let them be set",
    "forceoff": "they are off since the machine was started",
}
"""What /sys/devices/system/cpu/smt/control says (Documentation/ABI/testing/sysfs-devices-system-cpu), in words."""


def not_varied(host: Host) -> tuple[str, ...]:
    """Why the clock rate and the hyper-threads of this host do not vary with the number of CPUs."""
    rate = SET.format("governor") if host.exists(CLOCK_RATE) else "this machine does not let it be set (no cpufreq)"
    try:
        control = host.read(THREADS_OF_CORES).strip()
    except OSError:
        control = "notimplemented"
    threads = THREADS_FIXED.get(control, SET.format("smt"))
    return (f"clock rate: {rate}", f"hyper-threads: {threads}")


def spread(host: Host, allowed: Sequence[int], count: int) -> tuple[int, ...]:
    """So many of the allowed CPUs, a thread of each core first. Raises UsageError for more than there are."""
    if not 1 <= count <= len(allowed):
        raise UsageError(f"found cpus = {count}; expected 1 to {len(allowed)}: {host.name} allows {ranges(allowed)}")
    rank = {number: sorted(_threads(host, number)).index(number) for number in allowed}
    return tuple(sorted(sorted(allowed, key=lambda number: (rank[number], number))[:count]))


def allowed_cpus(host: Host, pid: int | str = "self") -> tuple[int, ...]:
    """The CPUs on which a process may run. Raises OSError where there is none, RefusedError where the kernel does not tell."""
    for line in host.read(f"/proc/{pid}/status").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return tuple(parse_ranges(line.partition(":")[2]))
    raise RefusedError("no Cpus_allowed_list in /proc/self/status. Remove the knob `cpus`.")


def parse_ranges(text: str) -> Iterator[int]:
    """The numbers in the kernel's list format: `0-2,5`."""
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def ranges(numbers: Sequence[int]) -> str:
    """The numbers in words."""
    return ", ".join(map(str, numbers))


def kernel_list(numbers: Sequence[int]) -> str:
    """The numbers as the kernel prints them: `0-2,5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _threads(host: Host, number: int) -> tuple[int, ...]:
    try:
        text = host.read(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
    except OSError:
        return (number,)
    return tuple(parse_ranges(text)) or (number,)


def _written(wanted: Value) -> str:
    """The knob as it is in the file."""
    return f"[{', '.join(map(str, wanted))}]" if isinstance(wanted, tuple) else str(wanted)
