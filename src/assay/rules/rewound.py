"""Finds a tape that was rewound inside the clock: the node st0 was used instead of nst0, or a command rewound it.

The node without `n` rewinds when it is closed, and the next write overwrites what was written. The rule reads the position of
the tape after the last operation (mt) and the time of commands that move no data (/sys/class/scsi_tape).
- Those took more than what matters of the time: a rate lies between the measured one and the one without their time.
- Less: a note.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import tapes
from assay.records import Direction, Finding, Scope, Severity, State
from assay.rulekit.applicability import on_tape
from assay.rulekit.findings import found, held_back


def check(case: TrialCase) -> Finding:
    """Whether the tape is at its beginning again, and what the commands without data took."""
    assert case.direction is not None
    drive = tapes.takes(case.run, case.phase, case.observations, case.direction) or ""
    after = tapes.position(case.phase, case.observations, drive, at_stop=True)
    if after is None:
        why = case.observations.why_missing("tape.file_number") or "the drive was held open to the end"
        return found(RULE, case, State.UNVERIFIED, f"Position of the tape in {drive} unknown: {why}.")
    if not after.is_start:
        statement = f"The tape in {drive} is {after.block:,.0f} records after mark {after.file:,.0f}: it was not rewound."
        return found(RULE, case, State.PASS, statement)
    share = other_share(case, drive)
    took = "for an unknown time" if share is None else f"and commands without data took {measures.percent(share)} of the time"
    lost = "; the next write overwrites the data" if case.direction is Direction.WRITE else ""
    counts = share is None or share > case.thresholds["share"]
    return found(
        RULE,
        case,
        State.FAIL,
        f"The tape in {drive} was rewound inside the clock, {took}{lost}.",
        severity=Severity.QUALIFIES if counts else Severity.NOTES,
        observed={"other_share": share},
        bound=None if share is None or share >= 1 or not counts else held_back(case, 1 - share),
        relabel="a tape that was rewound inside the clock",
        detail=None if share is None else f"rewinding and marks {measures.percent(share)} of the time",
    )


def other_share(case: TrialCase, drive: str) -> float | None:
    """The share of the clock in which the drive worked at commands that are neither reads nor writes."""
    names = ("io_ns", "read_ns", "write_ns")
    whole, read, write = (tapes.rose(case.phase, case.observations, drive, name) for name in names)
    seconds = case.phase.lasted_ns
    if whole is None or read is None or write is None or seconds <= 0:
        return None
    return min(1.0, max(0.0, whole - read - write) / seconds)


RULE = Rule(
    id="L22",
    name="rewound",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="tape rewound inside the clock",
    applies=on_tape,
    check=check,
    about=About.TARGET_HOST,
    reads=("tape.file_number", "tape.block_number", "tape.io_ns"),
    wrong="A backup to /dev/st0 reports half of the drive's rate. At its end the drive rewound the tape, and the clock ran. The "
    "next backup then overwrites this one.",
    alternatives=("The command rewinds on purpose, to read what it wrote. Time that apart.",),
    advice="Use the node that does not rewind (/dev/nst0), and rewind outside the clock (mt rewind).",
    sources=("st(4): the principal minor numbers rewind when closed", "Linux: Documentation/scsi/st.rst"),
)
