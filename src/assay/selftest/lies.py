"""`assay selftest --audit`: the shipped lies and their sound twins, really run here, and what the rules made of them."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeVar

from assay.catalogue import rule_named
from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.experiment.read import Control
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly
from assay.machine.engine_file import engine_path
from assay.selftest import Request, counts
from assay.selftest.control import Heard, obstacle, run_control
from assay.selftest.counts import ControlOutcome, Judgement, NamedControl, Side, Tally, settled, tally
from assay.terminal.output import deliver
from assay.terminal.progress import SECOND_NS, ProgressLine, ProgressMode

INTERRUPTED = 130
NO_CONTROL = "quick"
"""The one file of the folder that is no control."""
T = TypeVar("T")
Show = Callable[[NamedControl, int], None]
"""Is called before each part of the work, with its number."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A control and its file."""

    path: Path
    control: Control
    subject: NamedControl


def run_controls(request: Request, rules: str | None = None, times: int = 1) -> int:
    """Run the controls of these rules (ids or names by commas, else all) so many times, print what came of them.

    Gives 0, with a gate 3, 130 after an interrupt.
    Raises UsageError with every mistake of the call, MissingError without an engine.
    """
    pairs = chosen(rules, times)
    engine_path()
    clean_quietly(Local())
    rounds = [pair for _ in range(times) for pair in pairs if pair.subject.obstacle is None]
    found, complete = gathered(request.progress, len(rounds), lambda show: outcomes(rounds, show))
    rows = ((pair.subject, tuple(one for name, one in found if name == pair.subject.name)) for pair in pairs)
    results = counts.ControlResults(rows=tuple(rows), times=times, complete=complete)
    deliver(request.json_to, counts.VERB, lambda: counts.plain(results), lambda: counts.text(results))
    return status(tally(results.outcomes), request.gate) if complete else INTERRUPTED


def status(whole: Tally, gate: Gate) -> int:
    """3 with a gate where a lie was missed or a twin accused; strict: also where one was not judged. Else 0."""
    if gate is Gate.OFF:
        return 0
    missed = whole.caught.of - whole.caught.happened
    unjudged = whole.lies_not_judged + whole.twins_not_judged if gate is Gate.STRICT else 0
    return BAD_VERDICT if missed or whole.accused.happened or unjudged else 0


def chosen(rules: str | None, times: int) -> tuple[Pair, ...]:
    """The controls of the rules that were named. Raises UsageError with every mistake."""
    wrong = [] if times > 0 else [f"found --times {times}; expected 1 or more"]
    wanted: set[str] = set()
    for word in rules.split(",") if rules is not None else ():
        try:
            wanted.add(rule_named(word)[1].id)
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))
    return tuple(pair for pair in pairs() if rules is None or pair.subject.rule in wanted)


def pairs() -> Iterator[Pair]:
    """Every shipped control, in the order of the rules' ids."""
    folder = Path(str(resources.files("assay.controls")))
    known = [(read.control(path), path) for path in folder.glob("*.toml") if path.stem != NO_CONTROL]
    for control, path in sorted(((control, path) for control, path in known if control), key=lambda one: (one[0].rule, one[1])):
        subject = NamedControl(name=path.stem, rule=control.rule, obstacle=obstacle(control.needs))
        yield Pair(path=path, control=control, subject=subject)


def outcomes(rounds: Sequence[Pair], show: Show) -> Iterator[tuple[str, ControlOutcome]]:
    """Run control after control; give the name and the outcome of each."""
    for number, pair in enumerate(rounds, 1):
        show(pair.subject, number)
        yield pair.subject.name, outcome(pair.path)


def outcome(path: Path) -> ControlOutcome:
    """Run one control until both sides are judged; its notebooks are thrown away."""
    started_ns, heard = time.monotonic_ns(), list[Heard]()
    while (judgements := settled(heard)) is None:
        with tempfile.TemporaryDirectory(prefix="assay-selftest-") as lab:
            try:
                heard.append(run_control(path, Path(lab)))
            except AssayError as error:
                judgements = (Judgement(side=Side.NOT_JUDGED, why=f"could not be run: {error}"),) * 2
                break
    lie, twin = judgements
    return ControlOutcome(lie=lie, twin=twin, tries=max(len(heard), 1), elapsed_ns=time.monotonic_ns() - started_ns)


def gathered(mode: ProgressMode, of: int, work: Callable[[Show], Iterator[T]]) -> tuple[tuple[T, ...], bool]:
    """Collect what the work gives while its progress is shown, and whether it came to its end without an interrupt."""
    found: list[T] = []
    try:
        with progressing(mode, of) as show:
            for one in work(show):
                found.append(one)  # noqa: PERF402  one by one: what came before an interrupt is kept
    except KeyboardInterrupt:
        return tuple(found), False
    return tuple(found), True


@contextmanager
def progressing(mode: ProgressMode, of: int) -> Iterator[Show]:
    """Give what to call before each part of the work; a thread shows the part that is under way."""
    line = ProgressLine(mode)
    ended, now = threading.Event(), list[tuple[NamedControl, int]]()

    def every_second() -> None:
        while not ended.wait(1):
            if now and line.is_due():
                write_part(line, *now[-1], of)

    shower = threading.Thread(target=every_second, daemon=True)
    shower.start()
    try:
        yield lambda subject, number: now.append((subject, number))
    finally:
        ended.set()
        shower.join()
        line.close()


def write_part(line: ProgressLine, subject: NamedControl, number: int, of: int) -> None:
    """Write the part that is under way, its number and the time so far."""
    elapsed_s = (time.monotonic_ns() - line.started_ns) // SECOND_NS
    line.write(
        f"{subject.rule} {subject.name}  {number} of {of}  {elapsed_s // 60}:{elapsed_s % 60:02d}",
        {"rule": subject.rule, "control": subject.name, "number": number, "of": of, "elapsed_s": elapsed_s},
    )
