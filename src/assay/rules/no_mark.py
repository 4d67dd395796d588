"""Finds data that a tape drive may still have held in its buffer when the clock stopped: no mark was written after them.

A drive answers a write when the data are in its buffer. A file mark waits for the buffer, unless it is immediate.
The kernel's driver writes a mark when a file is closed after a write. The rule reads the counters of the drive
(/sys/class/scsi_tape) and its position after the last operation (mt).
- No command but writes was sent under the clock: no mark, the claim is invalid.
- The tape is on records after its last mark: invalid.
- The tape is on a new mark, or was rewound (the driver writes a mark before): a pass.

A program that holds the drive open to the end keeps mt out: then only the counters speak. A mark that was written as immediate
(mt weofi) leaves the same position and flushes nothing; the rule cannot tell it.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import tapes
from assay.measures import in_bytes
from assay.records import Direction, Finding, Scope, Severity, State
from assay.rulekit.applicability import on_tape
from assay.rulekit.findings import found

OPEN = "the drive was held open to the end, so its position could not be asked"


def applies(case: TrialCase) -> str | None:
    """None for writes to a tape."""
    return on_tape(case) if case.direction is Direction.WRITE else "not a write"


def check(case: TrialCase) -> Finding:
    """Whether a mark followed the data."""
    drive = tapes.takes(case.run, case.phase, case.observations) or ""
    written = tapes.rose(case.phase, case.observations, drive, "write_bytes") or 0.0
    others = tapes.rose(case.phase, case.observations, drive, "other_operations")
    if others == 0:
        statement = f"{drive} took {in_bytes(written)} and no command but writes: no mark followed them under the clock."
        return unmarked(case, statement, written)
    before, after = (tapes.position(case.phase, case.observations, drive, at_stop=at) for at in (False, True))
    if after is None:
        why = case.observations.why_missing("tape.block_number") or OPEN
        return found(RULE, case, State.UNVERIFIED, f"Whether a mark followed {in_bytes(written)} is unknown: {why}.")
    if after.block:
        statement = f"The tape in {drive} is {after.block:,.0f} records after its last mark."
        return unmarked(case, statement, written)
    if after.is_start:
        statement = f"The tape in {drive} was rewound; the driver writes a mark before it does."
        return found(RULE, case, State.PASS, statement, observed={"written_bytes": written})
    if before is not None and after.file <= before.file:
        statement = f"The tape in {drive} is before mark {before.file + 1:,.0f}: it was moved under the clock."
        return found(RULE, case, State.UNVERIFIED, statement)
    statement = f"The tape in {drive} is just after mark {after.file:,.0f}, written under the clock."
    return found(RULE, case, State.PASS, statement, observed={"written_bytes": written, "file_number": after.file})


def unmarked(case: TrialCase, statement: str, written: float) -> Finding:
    """The drive's buffer may hold the end of the data."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{statement} The drive's buffer may hold the end of the data.",
        observed={"written_bytes": written},
        relabel="writes into a tape drive's buffer: no mark when the clock stopped",
    )


RULE = Rule(
    id="D11",
    name="no-mark",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    short="no mark on the tape",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    reads=("tape.other_operations", "tape.block_number", "tape.file_number"),
    wrong="A program holds the drive open and stops its clock at the last write. The end of the data is in the drive's "
    "buffer, taken at the speed of its interface. The rate is too high, and a power cut takes what the buffer held.",
    alternatives=("The program wrote an earlier mark on purpose, and the data after it are not part of the figure.",),
    advice="Close the file, or write a mark that is not immediate (mt weof 1, MTWEOF), before the clock stops.",
    sources=(
        "SCSI Stream Commands (SSC): WRITE FILEMARKS with Immed = 0 synchronises the buffer",
        "Linux: Documentation/scsi/st.rst",
    ),
)
