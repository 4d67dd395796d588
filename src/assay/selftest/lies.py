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

from assay.catalogue import rule_named
from assay.errors import AssayError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.laboratory.session import clean_quietly, engine_path
from assay.selftest import lies_report as shown
from assay.selftest.control import Heard, obstacle, run_control
from assay.selftest.counts import Judgement, Outcome, Side, Subject, Tally, settled, tally
from assay.terminal.output import deliver
from assay.terminal.progress import SECOND_NS, ProgressLine, ProgressMode

INTERRUPTED = 130
NO_CONTROL = "quick"
"""The one file of the folder that is no control."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    rules: str | None = None
    """Ids or names, by commas; all where there is none."""
    times: int = 1
    json_to: str | None = None
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A control's file and what it is about."""

    path: Path
    subject: Subject


def run_controls(request: Request) -> int:
    """Run the controls so many times, print what came of them; 0, with a gate 3, 130 after an interrupt.

    Raises UsageError with every mistake of the call, MissingError without an engine.
    """
    pairs = chosen(request)
    engine_path()
    clean_quietly(Local())
    found: dict[str, list[Outcome]] = {pair.subject.name: [] for pair in pairs}
    complete = conduct(pairs, request, found)
    results = shown.ControlResults(
        rows=tuple((pair.subject, tuple(found[pair.subject.name])) for pair in pairs), times=request.times, complete=complete
    )
    deliver(request.json_to, shown.VERB, lambda: shown.plain(results), lambda: shown.text(results))
    if not complete:
        return INTERRUPTED
    return status(tally(results.outcomes), request.gate)


def status(whole: Tally, gate: Gate) -> int:
    """3 with a gate where a lie was missed or a twin accused; strict: also where one was not judged. Else 0."""
    if gate is Gate.OFF:
        return 0
    missed = whole.caught.of - whole.caught.happened
    unjudged = whole.lies_not_judged + whole.twins_not_judged if gate is Gate.STRICT else 0
    return BAD_VERDICT if missed or whole.accused.happened or unjudged else 0


def chosen(request: Request) -> tuple[Pair, ...]:
    """The controls of the rules that were named. Raises UsageError with every mistake."""
    wrong = [] if request.times > 0 else [f"found --times {request.times}; expected 1 or more"]
    wanted: set[str] = set()
    for word in request.rules.split(",") if request.rules is not None else ():
        try:
            wanted.add(rule_named(word)[1].id)
        except UsageError as error:
            wrong.append(str(error))
    if wrong:
        raise UsageError("\n".join(wrong))
    return tuple(pair for pair in pairs() if request.rules is None or pair.subject.rule in wanted)


def pairs() -> Iterator[Pair]:
    """Every shipped control, in the order of the rules' ids."""
    folder = Path(str(resources.files("assay.controls")))
    known = [(read.control(path), path) for path in folder.glob("*.toml") if path.stem != NO_CONTROL]
    for control, path in sorted(((control, path) for control, path in known if control), key=lambda one: (one[0].rule, one[1])):
        yield Pair(path=path, subject=Subject(name=path.stem, rule=control.rule, obstacle=obstacle(control)))


def conduct(pairs: Sequence[Pair], request: Request, found: dict[str, list[Outcome]]) -> bool:
    """Run round after round and add to what was found; whether it came to its end without an interrupt."""
    able = [pair for pair in pairs if pair.subject.obstacle is None]
    rounds = [pair for _ in range(request.times) for pair in able]
    try:
        with progressing(request.progress, len(rounds)) as tell:
            for number, pair in enumerate(rounds, 1):
                tell(pair.subject, number)
                found[pair.subject.name].append(outcome(pair.path))
    except KeyboardInterrupt:
        return False
    return True


def outcome(path: Path) -> Outcome:
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
    return Outcome(lie=lie, twin=twin, tries=max(len(heard), 1), elapsed_ns=time.monotonic_ns() - started_ns)


@contextmanager
def progressing(mode: ProgressMode, of: int) -> Iterator[Callable[[Subject, int], None]]:
    """Give what to call before each part of the work; a thread shows the part that is under way."""
    line = ProgressLine(mode)
    ended, now = threading.Event(), list[tuple[Subject, int]]()

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


def write_part(line: ProgressLine, subject: Subject, number: int, of: int) -> None:
    """Write the part that is under way, its number and the time so far."""
    elapsed_s = (time.monotonic_ns() - line.started_ns) // SECOND_NS
    line.write(
        f"{subject.rule} {subject.name}  {number} of {of}  {elapsed_s // 60}:{elapsed_s % 60:02d}",
        {"rule": subject.rule, "control": subject.name, "number": number, "of": of, "elapsed_s": elapsed_s},
    )
