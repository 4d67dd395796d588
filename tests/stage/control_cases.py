"""The shipped controls as test cases: run for real, tried again where noise of the platform spoiled them."""

import functools
import time
from pathlib import Path

import pytest

import assay.controls
from assay.experiment import read
from assay.selftest.control import obstacle, run_control
from assay.selftest.counts import Side, settled

FOLDER = Path(assay.controls.__file__).parent
TRIES = 3


def files(*, anytime: bool, families: str = "CDEGLNSTW") -> list[Path]:
    """The files of the controls that may run at any time, or of those that have the machine to themselves."""
    return [path for path, one in shipped() if one is not None and one.anytime is anytime and one.rule[0] in families]


@functools.cache
def shipped() -> list[tuple[Path, read.Control | None]]:
    """Every shipped file with what it says of its control; the modules that are collected read them once."""
    return [(path, read.control(path)) for path in sorted(FOLDER.glob("*.toml")) if path.name != "quick.toml"]


QUIET_SHARE = 0.1
"""A control of a noise rule needs a machine on which others take no more."""
BUSY_S = 2.0


def busy_share() -> float:
    """The share of the CPUs that other programs take, while this one sleeps."""
    first = cpu_ticks()
    time.sleep(BUSY_S)
    idle, every = (now - before for now, before in zip(cpu_ticks(), first, strict=True))
    return 1 - idle / every if every else 0.0


def cpu_ticks() -> tuple[int, int]:
    """Idle and all ticks of all CPUs since the machine began (proc_stat(5): idle and iowait are the 4th and 5th)."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def hold(path: Path, lab: Path) -> None:
    """The rule catches its lie and clears its twin, and no other rule accuses the twin; else the test fails.

    Where noise of the platform spoiled every try, the test says so and is skipped.
    """
    control = read.control(path)
    assert control is not None
    why = obstacle(control.needs)
    if why is not None:
        pytest.skip(why)
    heard = []
    for attempt in range(TRIES):
        heard.append(run_control(path, lab / str(attempt)))
        if heard[-1].caught and heard[-1].cleared and not heard[-1].false_alarms:
            return
    lie, twin = settled(heard) or (None, None)
    unjudged = [one.why for one in (lie, twin) if one is not None and one.side is Side.NOT_JUDGED]
    if unjudged and {one.side for one in (lie, twin)} <= {Side.CAUGHT, Side.CLEARED, Side.NOT_JUDGED}:
        pytest.skip(f"{path.stem} could not be judged in {TRIES} tries: {unjudged[0]}")
    if control.rule.startswith("N") and (busy := busy_share()) > QUIET_SHARE:
        pytest.skip(f"{path.stem} judges noise, and other programs take {busy:.0%} of the CPUs while nothing runs")
    told = [
        f"{side}: {finding.rule} {finding.state} {finding.statement} {finding.observed}"
        for one in heard
        for side, found in (("lie", one.of_lie), ("twin", one.of_twin), ("false alarm", one.false_alarms))
        for finding in found
    ]
    pytest.fail("\n".join(told) or "the rule said nothing")
