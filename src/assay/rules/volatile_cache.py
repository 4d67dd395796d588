"""Finds writes acknowledged by a volatile device cache that is denied, or flushed too late.

The kernel sends flushes to a device as long as its queue reports `write back`.
The rule compares the queue with the device's driver (`cache_type`), with loop devices (always `write back`), and with the
devices below.
- A queue reports `write through`, and its driver, its kind or a device below contradicts: qualified.
- A latency on stable media with fewer than `least_flushes` flushes during the clock: qualified.
- Volatile and flushed caches, or no cache by queue and driver: pass.
- Unknown queue, a driver without that information (NVMe, device mapper), flushes of other processes, or forced unit access:
  unverified.

With the missing flushes a rate is at most, a latency at least the measured value. For rates the drain is charged (D01), and D02
checks that any flush arrived.
Devices that lie about their cache, and caches below the lowest visible device, are not visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Finding, Scope, Severity, State
from assay.rulekit.applicability import changes_only
from assay.rulekit.findings import Figures, flattered, found

BACK, THROUGH = "write back", "write through"
LATENCY = "latency_"


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A device's cache by its queue and by its driver; None = unknown."""

    device: str
    queue: str | None
    driver: str | None


def check(case: TrialCase) -> Finding:
    """First whether any cache is denied, then whether a volatile one was flushed in time."""
    stack = tuple(caches(case))
    observed: dict[str, float | str | None] = {f"{one.device}.write_cache": one.queue for one in stack}
    unknown = [one.device for one in stack if one.queue not in (BACK, THROUGH)]
    denied = next((one for one in stack if one.queue == THROUGH and contradicted(one, stack)), None)
    if denied is not None:
        return switched(case, denied, stack, observed)
    if not stack or unknown:
        of_which = ", ".join(unknown) or "the devices below"
        statement = f"Cache of {of_which} unknown. Use the observer environment (/sys/block/*/queue/write_cache)."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if volatile := [one.device for one in stack if one.queue == BACK]:
        return flushed(case, volatile, observed)
    if doubtful := [one.device for one in stack if one.driver is None]:
        statement = (
            f"{' over '.join(doubtful)} reports `write through`, without confirmation by its driver."
            " Ask the device (hdparm -W, sdparm --get WCE, nvme id-ctrl: vwc)."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    statement = f"{' over '.join(one.device for one in stack)}: no volatile cache by queue and driver."
    return found(RULE, case, State.PASS, statement, observed=observed)


def caches(case: TrialCase) -> Iterator[Cache]:
    """The devices of the stack, from the one the file system is on down, each once."""
    for device in dict.fromkeys(device for place in case.run.places for device in place.devices):
        queue, driver = (ladder.device_fact(case.observations, device, name) for name in ("queue.write_cache", "cache_type"))
        yield Cache(device=device, queue=queue, driver=driver)


def contradicted(one: Cache, stack: tuple[Cache, ...]) -> str | None:
    """Why a device that says `write through` is not believed; None where nothing speaks against it."""
    below = next((other.device for other in stack[stack.index(one) + 1 :] if other.queue == BACK), None)
    if one.driver is not None and one.driver.startswith(BACK):
        return "its driver reports a write-back cache"
    if one.device.startswith("loop"):
        return "a loop device is `write back` unless somebody changes it"
    return f"{below} below it has a volatile cache" if below else None


def switched(case: TrialCase, denied: Cache, stack: tuple[Cache, ...], observed: Figures) -> Finding:
    """The kernel is set to no cache, and sends no flush."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{denied.device} reports `write through`, but {contradicted(denied, stack)}: queue/write_cache was set by hand,"
        " and the kernel sends no flush.",
        observed=observed,
        bound=flattered(case),
        relabel=f"writes behind a cache that is never flushed: {denied.device} was set to write through by hand",
        evidence=("cache_type",),
    )


def flushed(case: TrialCase, volatile: list[str], observed: Figures) -> Finding:
    """Volatile caches: a rate has the drain's flush charged to it (D01, D02), a latency needs flushes under the clock."""
    over = " over ".join(volatile)
    if not case.measure.figure.startswith(LATENCY):
        statement = f"The cache of {over} is volatile and declared, so flushes reach it (D02 counts them)."
        return found(RULE, case, State.PASS, statement, observed=observed)
    step = ladder.highest_device(case.phase, case.observations, Direction.FLUSH)
    if step is None:
        return found(RULE, case, State.UNVERIFIED, "Flushes during the clock not counted.", observed=observed)
    observed = {**observed, "flushes": step.raw_operations, "other_processes_flushes": step.other_processes_operations}
    least = case.thresholds["least_flushes"]
    forced = [device for device in volatile if ladder.device_fact(case.observations, device, "queue.fua") == "1"]
    few = step.raw_operations - step.other_processes_operations < least
    if forced and few:
        statement = f"{forced[0]} takes writes past its cache (forced unit access), which have no counter; few or no flushes."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if step.raw_operations < least:
        return late(case, over, step, observed)
    count = f"{step.device} completed {step.raw_operations:,.0f} flushes during the clock"
    if few:
        return found(RULE, case, State.UNVERIFIED, f"{count}, as many as other processes make.", observed=observed)
    return found(RULE, case, State.PASS, f"The cache of {over} is volatile; {count}.", observed=observed)


def late(case: TrialCase, over: str, step: ladder.LadderStep, observed: Figures) -> Finding:
    """No operation waited for a flush: each was over when the cache had it."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"Latency on stable media claimed, but no flush reached {step.device} during the clock: memory or the volatile cache of"
        f" {over} acknowledged each operation.",
        observed=observed,
        bound=flattered(case),
        relabel=f"latency of writes into a volatile cache ({over}), not on stable media",
        evidence=("cache_type",),
    )


RULE = Rule(
    id="D03",
    name="volatile-cache",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="durability",
    applies=changes_only,
    check=check,
    about=About.TARGET_HOST,
    reads=("fact:device.*.queue.write_cache", "L9.flush", "L8.flush"),
    wrong='`echo "write through" > /sys/block/sda/queue/write_cache` makes every fsync fast. The kernel assumes that there is '
    'no cache and sends no flush. The cache remains. A latency "on stable media" without a flush describes the device\'s '
    "memory: a flush at the end comes for all writes together.",
    alternatives=(
        'Capacitors or a battery make a "volatile" cache safe. That is a fact of its manufacturer; record it.',
        "The device was replaced or re-scanned after its driver read the cache. Compare cache_type with the device itself.",
    ),
    advice="Set queue/write_cache back to `write back` (echo 'write back' > /sys/block/NAME/queue/write_cache), or switch off "
    "the device's own cache (hdparm -W0, sdparm --clear WCE). For latencies on stable media flush each operation (flush = "
    "each, sync = dsync).",
    at_shell="Set queue/write_cache back to `write back` (echo 'write back' > /sys/block/NAME/queue/write_cache), or "
    "switch off the device's own cache (hdparm -W0, sdparm --clear WCE).",
    sources=(
        "Linux: Documentation/block/writeback_cache_control.rst; ABI/stable/sysfs-block: queue/write_cache",
        "SNIA SSS PTS: the state of the write cache is part of the report",
    ),
)
