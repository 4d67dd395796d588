"""`assay selftest --casebook`: public reports of numbers that fooled somebody, run again here, and what Assay says of them.

A lie is a hit where the verdict is the page's and every rule and word that names the cause is in the answer; a half where one
of both is; else a miss. A half counts as a miss. A twin is accused where a rule other than one of noise invalidates it, or where
it is given the cause of the lie. What could not be run to its answer is not judged. No case is repeated.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Severity, State, VerdictState
from assay.selftest import Request
from assay.selftest.casebook_pages import STAGE, Expected, Page, pages
from assay.selftest.control import obstacle
from assay.selftest.counts import NamedControl, head, interval, of
from assay.selftest.lies import INTERRUPTED, Show, gathered
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.output import Row, deliver, table

VERB = "selftest-casebook"
LIMIT_S = 120.0
ANSWERING = ("stat", "check", "load", "run", "import", "audit", "compare")
"""The verbs whose answer is judged; of several the last."""
HEADER = ("case", "fault", "verdict", "control", "verdict", "s")
NOISE = "N"
KINDS = ((False, "of commands"), (True, "of posted figures"))
SINGLE_RUN = re.compile(r"assay: run [0-9]+ of ")
UNDECIDED = (State.PASS, State.NOT_APPLICABLE)


class Side(StrEnum):
    """What a side of a case came to."""

    HIT = "hit"
    HALF = "half"
    MISS = "miss"
    CLEARED = "cleared"
    UNVERIFIED = "unverified"
    """Neither cleared nor accused."""
    ACCUSED = "accused"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What Assay printed of a side, and the verdict and findings of its JSON."""

    text: str
    state: VerdictState | None
    findings: tuple[Mapping[str, Any], ...]

    def names(self, expected: Expected) -> bool:
        """Whether the cause is named: no rule of it passes, and every word of it is there. A note may name it, too."""
        return self._names(expected, {one["rule"] for one in self.findings if one["state"] not in UNDECIDED})

    def accuses(self, expected: Expected) -> bool:
        """Whether the cause is held against it: its rules fail, and are no notes."""
        failed = (one for one in self.findings if one["state"] == State.FAIL and one["severity"] != Severity.NOTES)
        return self._names(expected, {one["rule"] for one in failed})

    def _names(self, expected: Expected, spoke: set[str]) -> bool:
        text = " ".join(self.text.split()).lower()
        return all(group & spoke for group in expected.rules) and all(word.lower() in text for word in expected.words)

    @property
    def accusing(self) -> tuple[str, ...]:
        """What rules other than those of noise say against it."""
        return tuple(
            f"{one['rule']}: {one['statement']}"
            for one in self.findings
            if (one["state"], one["severity"]) == (State.FAIL, Severity.INVALIDATES) and not one["rule"].startswith(NOISE)
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One side of a case, the verdict and the reason where it is not as it should be."""

    side: Side
    state: VerdictState | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A page, why it cannot be run here, and what came of it."""

    page: Page
    obstacle: str | None = None
    lie: Outcome | None = None
    twin: Outcome | None = None
    elapsed_s: float = 0


def run_casebook(request: Request, names: str | None = None) -> int:
    """Run these cases (names of pages by commas, else all), print what came of them.

    Gives 0, with a gate 3 on a missed lie or an accused twin, 130 after an interrupt. Raises UsageError for unknown names.
    """
    every = pages(names)
    able = [page for page in every if lacking(page) is None]
    found, complete = gathered(request.progress, len(able), lambda show: cases(able, show))
    ran = {one.page.name: one for one in found}
    rows = [ran.get(page.name, Case(page=page, obstacle=lacking(page) or "interrupted")) for page in every]
    results = Results(cases=tuple(rows), complete=complete)
    deliver(request.json_to, VERB, lambda: plain(results), lambda: text(results))
    if not complete:
        return INTERRUPTED
    unjudged = results.count(Side.NOT_JUDGED) if request.gate is Gate.STRICT else 0
    bad = results.count(Side.MISS, Side.HALF, Side.ACCUSED) + unjudged
    return BAD_VERDICT if request.gate is not Gate.OFF and bad else 0


def lacking(page: Page) -> str | None:
    """Why this machine or user cannot run a case."""
    on_disk = "disk" in page.needs
    if on_disk and Local().run(["stat", "-f", "-c", "%T", tempfile.gettempdir()], check=False).stdout.strip() == "tmpfs":
        return f"needs a temporary directory on a disk, not {tempfile.gettempdir()} (TMPDIR)"
    return obstacle(need for need in page.needs if need != "disk")


def cases(wanted: Sequence[Page], show: Show) -> Iterator[Case]:
    """Run one case after another."""
    for number, page in enumerate(wanted, 1):
        show(NamedControl(name=page.name, rule="casebook"), number)
        started = time.monotonic()
        lie = of_lie(page.expected, said(page.setup + page.lie))
        twin = None if page.twin is None else of_twin(page.expected, said(page.setup + page.twin))
        yield Case(page=page, lie=lie, twin=twin, elapsed_s=time.monotonic() - started)


def said(script: str) -> Answer | str:
    """Run the lines of one side in a directory of its own; the answer of Assay, or why there is none."""
    host = Local()
    with tempfile.TemporaryDirectory(prefix="assay-casebook-") as name:
        here = Path(name)
        programs = here / "bin"
        programs.mkdir()
        shim(programs / "assay", here / "said.json")
        (here / "case.sh").write_text(STAGE.read_text(encoding="utf-8") + script, encoding="utf-8")
        env = {
            "CASE": name,
            "CASEBOOK": str(STAGE.parent),
            "ASSAY_LAB": str(here / "lab"),
            "PATH": f"{programs}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
        }
        apart = ("unshare", "--mount", "--propagation", "private") if host.is_root() else ()
        try:
            done = host.run([*apart, "sh", str(here / "case.sh")], check=False, timeout_s=LIMIT_S, env=env, cwd=name)
        except AssayError as error:
            return f"could not be run: {error}"
        kept = here / "said.json"
        if not kept.exists():
            return f"no answer of Assay (status {done.status}): {' '.join(done.stderr.split())[-200:]}"
        return answer(own_words(done.stdout, done.stderr), json.loads(kept.read_text(encoding="utf-8")))


def own_words(stdout: str, stderr: str) -> str:
    """What Assay printed: of `stat`, which writes to standard error, without the output of the command and its single runs."""
    lines = stderr.splitlines()
    begins = (number for number, line in enumerate(lines) if line.startswith("assay: ") and not SINGLE_RUN.match(line))
    start = next(begins, None)
    return stdout if start is None else "\n".join(lines[start:])


def shim(path: Path, kept: Path) -> None:
    """Write the command that a case calls: this Assay, whose answer is kept as JSON too."""
    own = f"exec {shlex.quote(sys.executable)} -c 'from assay.cli.main import main; main()'"
    judged = f'verb=$1; shift; {own} "$verb" --json={shlex.quote(str(kept))} "$@"'
    path.write_text(f'#!/bin/sh\ncase $1 in {"|".join(ANSWERING)}) {judged} ;; *) {own} "$@" ;; esac\n', encoding="utf-8")
    path.chmod(0o755)


def answer(printed: str, kept: object) -> Answer:
    """What a verb printed and kept as JSON."""
    objects = list(walk(kept))
    found = [one[key] for one in objects[:1] for key in ("verdict", "state") if one.get(key) in list(VerdictState)]
    if not found:
        found = [one[key] for one in objects for key in ("verdict", "state") if one.get(key) in list(VerdictState)]
    states = list(VerdictState)
    return Answer(
        text=printed,
        state=min(map(VerdictState, found), key=states.index, default=None),
        findings=tuple(one for one in objects if {"rule", "state", "severity", "statement"} <= one.keys()),
    )


def walk(value: object) -> Iterator[Mapping[str, Any]]:
    """Every object of a JSON value, the outer ones first."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def of_lie(expected: Expected, found: Answer | str) -> Outcome:
    """Whether the lie was named with its cause."""
    if isinstance(found, str):
        return Outcome(side=Side.NOT_JUDGED, why=found)
    called_sound = found.state in (VerdictState.SOUND, VerdictState.BOUNDED)
    right = found.state in expected.states if expected.states else not called_sound
    named = found.names(expected)
    accused = right and bool(expected.states)
    side = Side.HIT if right and named else Side.HALF if named or accused else Side.MISS
    return Outcome(side=side, state=found.state, why="" if side is Side.HIT else beginning(found.text))


def of_twin(expected: Expected, found: Answer | str) -> Outcome:
    """Whether the sound twin was accused."""
    if isinstance(found, str):
        return Outcome(side=Side.NOT_JUDGED, why=found)
    against = found.accusing
    if against or found.accuses(expected):
        return Outcome(side=Side.ACCUSED, state=found.state, why=against[0] if against else beginning(found.text))
    if found.state is VerdictState.UNVERIFIED and any(one["state"] == State.UNVERIFIED for one in found.findings):
        return Outcome(side=Side.UNVERIFIED, state=found.state, why=beginning(found.text))
    return Outcome(side=Side.CLEARED, state=found.state)


def beginning(printed: str) -> str:
    """The beginning of the answer."""
    return " ".join(printed.split())[:300]


@dataclass(frozen=True, kw_only=True)
class Results:
    """All cases."""

    cases: tuple[Case, ...]
    complete: bool = True
    sides: tuple[Outcome, ...] = field(init=False)

    def __post_init__(self) -> None:
        both = (side for one in self.cases for side in (one.lie, one.twin) if side is not None)
        object.__setattr__(self, "sides", tuple(both))

    def count(self, *wanted: Side) -> int:
        """So many sides came to this."""
        return sum(one.side in wanted for one in self.sides)

    @property
    def hits(self) -> Proportion:
        """Of the lies that were judged."""
        return proportion(self.count(Side.HIT), self.count(Side.HIT, Side.HALF, Side.MISS))

    @property
    def accused(self) -> Proportion:
        """Of the twins that were judged."""
        return proportion(self.count(Side.ACCUSED), self.count(Side.ACCUSED, Side.CLEARED, Side.UNVERIFIED))

    def hits_of(self, *, posted: bool) -> Proportion:
        """The same of figures that were posted, which arithmetic judges; or of commands that were run again."""
        lies = [one.lie.side for one in self.cases if one.lie is not None and one.page.is_posted is posted]
        return proportion(lies.count(Side.HIT), sum(one in (Side.HIT, Side.HALF, Side.MISS) for one in lies))

    @property
    def called_sound(self) -> int:
        """Lies that were called SOUND or BOUNDED."""
        good = (VerdictState.SOUND, VerdictState.BOUNDED)
        return sum(one.lie is not None and one.lie.side is not Side.HIT and one.lie.state in good for one in self.cases)

    @property
    def skipped(self) -> tuple[Case, ...]:
        """What this machine or user cannot run."""
        return tuple(one for one in self.cases if one.lie is None)


def summary(results: Results) -> str:
    """`36 of 39 public faults named with their cause (...)`, in one sentence."""
    lies, twins = results.hits, results.accused
    if not lies.of:
        return "no case was judged" + ("" if results.complete else "; interrupted before the first case finished")
    missed = f"{results.count(Side.HALF)} half, {results.count(Side.MISS)} missed, {results.called_sound} called sound"
    twin_limits = f" (95 % CI {interval(twins)})" if twins.of else ""
    split = ", ".join(f"{of(results.hits_of(posted=posted))} {what}" for posted, what in KINDS)
    parts = [
        f"{of(lies)} public faults named with their cause (95 % CI {interval(lies)}; {split}), {missed}",
        f"{of(twins)} sound controls accused{twin_limits}, {results.count(Side.UNVERIFIED)} unverified",
        f"{results.count(Side.NOT_JUDGED)} sides not judged",
        f"{len(results.skipped)} cases skipped",
    ]
    return "; ".join(parts) + ("" if results.complete else "; interrupted, counts so far")


def text(results: Results) -> str:
    """For people."""
    noted = [
        f"{one.page.name}, {name} {side.side}: {side.why}"
        for one in results.cases
        for name, side in (("fault", one.lie), ("control", one.twin))
        if side is not None and side.why
    ]
    rows = table(HEADER, [row(one) for one in results.cases], (5,))
    return "\n\n".join(part for part in (summary(results), "\n".join(noted), rows) if part)


def row(case: Case) -> Row:
    """One case."""
    if case.lie is None:
        return Row(cells=(case.page.name, "-", "", "-", "", ""), note=f"skipped: {case.obstacle}")
    twin = case.twin
    sides = (case.lie.side, case.lie.state or "", "-" if twin is None else twin.side, (twin and twin.state) or "")
    return Row(cells=(case.page.name, *sides, f"{case.elapsed_s:.0f}"))


def plain(results: Results) -> dict[str, Any]:
    """The object of the schema; a side is null where it was not run, or where there is no twin."""
    lies, twins = results.hits, results.accused
    return {
        **head(summary(results), complete=results.complete),
        "cases": [
            {
                "case": one.page.name,
                "title": one.page.title,
                "source": one.page.source,
                "skipped": one.obstacle,
                "lie": side_as_plain(one.lie),
                "twin": side_as_plain(one.twin),
                "elapsed_s": one.elapsed_s,
            }
            for one in results.cases
        ],
        "lies": {
            "hits": lies.happened,
            "halves": results.count(Side.HALF),
            "misses": results.count(Side.MISS),
            "called_sound": results.called_sound,
            "hits_low": lies.low,
            "hits_high": lies.high,
            "of_commands": [results.hits_of(posted=False).happened, results.hits_of(posted=False).of],
            "of_posted_figures": [results.hits_of(posted=True).happened, results.hits_of(posted=True).of],
        },
        "twins": {
            "accused": twins.happened,
            "cleared": results.count(Side.CLEARED),
            "unverified": results.count(Side.UNVERIFIED),
            "accused_low": twins.low,
            "accused_high": twins.high,
        },
        "not_judged": results.count(Side.NOT_JUDGED),
        "skipped": len(results.skipped),
    }


def side_as_plain(side: Outcome | None) -> dict[str, Any] | None:
    """One side."""
    return None if side is None else {"side": str(side.side), "verdict": side.state and str(side.state), "why": side.why or None}
