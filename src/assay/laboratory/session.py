"""A session of a lab on this machine: what is against an experiment, engine, ledger, runner, one trial without a notebook."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assay import catalogue
from assay.catalogue import Host, Notes, Observer, Undo
from assay.errors import AssayError, InputErrors, Obstacle, ObstacleErrors, TrialError
from assay.experiment import outlook, read, spread
from assay.experiment.named_hosts import LOCAL
from assay.hosts.commands import ENGINE
from assay.hosts.local import Local
from assay.hosts.several import all_of, each
from assay.machine import ownership
from assay.machine.engine_file import engine_path
from assay.records import Experiment, Observations, Plan, Run
from assay.terminal.courses import Expected
from assay.terminal.output import say
from assay.terminal.progress import Progress, ProgressMode
from assay.terminal.remaining import Remaining
from assay.toml_document import load
from assay.trial.fleet import Station
from assay.trial.runner import TrialRunner
from assay.undo.entries import Cleaned
from assay.undo.ledger import Ledger


def experiment_of(file: Path, lab: Path) -> Experiment:
    """Return the experiment of a file. Raises UsageError where it cannot be read, InputErrors with all that is wrong.

    A file with mistakes does not hide what this machine has against its other lines: nobody mends them one after the other.
    """
    found = read.draft(file)
    if found.document.mistakes:
        found.document.obstructed(here(found.experiment, Local(), lab, found.doubtful))
    return read.finished(found)


def here(experiment: Experiment, host: Host, lab: Path, doubtful: frozenset[str] = frozenset()) -> tuple[Obstacle, ...]:
    """Return what this host has against the experiment; images lie where the notebook is, or will be made. Changes nothing."""
    place = next(folder for folder in (lab.absolute(), *lab.absolute().parents) if folder.is_dir())
    own = tuple(target for target in experiment.used_targets() if target.host == LOCAL)
    mine = replace(experiment, targets=own)
    runner = TrialRunner(experiment=mine, host=host, ledger=Ledger(), scratch=str(place), engine="", observers=())
    return runner.obstacles(doubtful)


def placed(error: ObstacleErrors, text: str, file: str) -> InputErrors:
    """Return obstacles as mistakes with their lines in the file whose text this is."""
    document = load(text, file)
    document.obstructed(error.obstacles)
    return InputErrors(dict.fromkeys(document.mistakes))


@contextmanager
def own_ledger() -> Iterator[Ledger]:
    """A ledger whose entries are all undone at the end. Raises TrialError naming what could not be, also after an interrupt.

    Where another error ends the work, that one goes through, and what could not be undone is reported on standard error. So is
    what is left on far hosts alone: it is written down there, and costs no result.
    """
    ledger = Ledger()
    try:
        yield ledger
    finally:
        left = [one for one in ledger.unwind() if one.state == "left"]
        ledger.close()
        named = "; ".join(f"{', '.join(what)} ({reason})" for _, reason, what in by_reason(left))
        remains = f"not undone: {named}. {_remedy(left)}"
        reason = sys.exc_info()[1]
        if any(one.entry.host == HERE for one in left) and isinstance(reason, KeyboardInterrupt | None):
            raise TrialError(remains if reason is None else f"interrupted; {remains}")
        if left:
            say(f"assay: {remains}", sys.stderr)


HERE = Local().name
FAR_SCRATCH = Path("/var/tmp")  # noqa: S108 - a directory of ours is made in it, with a marker
"""Where a far host keeps what is too large for memory and outlives a session."""


@contextmanager
def trial_runner(experiment: Experiment, host: Local, directory: Path | None = None) -> Iterator[TrialRunner]:
    """Give what runs the trials; everything that was set up is removed at the end, also after an interrupt.

    Its scratch is a private, marked directory in the given one: images lie on the storage that the user chose for the notebook.
    The observers are those that the experiment names, or the usual ones; what a machine does not allow is recorded as missing.
    Hosts that take part are reached first, and cleaned of what killed runs left there. Raises AssayError if one is not reached.
    """
    observers = tuple(catalogue.find("observers", name) for name in catalogue.watchers_of(experiment))
    with own_ledger() as ledger, _reached(experiment, ledger) as far:
        runner = TrialRunner(
            experiment=experiment,
            host=host,
            ledger=ledger,
            scratch="" if directory is None else scratch(host, ledger, directory.resolve(), experiment),
            engine=str(engine_path()),
            observers=observers,
            far=_stations(far, ledger, observers, experiment),
        )
        try:
            runner.install()
            yield runner
        finally:
            runner.remove()


@contextmanager
def _reached(experiment: Experiment, ledger: Ledger) -> Iterator[Mapping[str, Host]]:
    """The hosts that take part besides this machine; what was done on them is undone before they are left."""
    taking_part = spread.taking_part(experiment)
    specs = [spec for spec in experiment.hosts if spec.via != "local" and spec.name in taking_part]
    if not specs:
        yield {}
        return
    from assay.laboratory import hosts  # only where there are any

    with hosts.opened(specs, ledger, engine_path()) as found:
        clean_hosts({name: host for name, host in found.items() if catalogue.system_of(host) != catalogue.SNMP})
        try:
            yield found
        finally:
            ledger.unwind(last={name for spec in experiment.used_targets() for name in spread.of_target(experiment, spec)})


def _stations(
    far: Mapping[str, Host], ledger: Ledger, observers: tuple[Observer, ...], experiment: Experiment
) -> dict[str, Station]:
    """Every far host with what the lab needs there. Raises AssayError with the reasons of all hosts that cannot have it."""

    def station(host: Host) -> Station:
        undo = ledger.on(host)
        path = "" if catalogue.system_of(host) == catalogue.SNMP else scratch(host, undo, FAR_SCRATCH, experiment)
        return Station(host=host, undo=undo, scratch=path, engine=ENGINE, observers=observers)

    return all_of(each(far, station))


def scratch(host: Host, undo: Undo, directory: Path, experiment: Experiment) -> str:
    """Make the private, marked directory of an experiment, which is named in the ledger."""
    path = str(directory / ownership.fresh_name())
    ownership.make_directory(host, undo, path, secrets.token_hex(8), of=f"the run of {experiment.title!r}")
    return path


def clean_quietly(host: Host) -> None:
    """Clean up before a verb that changes things; what was undone, or could not be, is reported on standard error."""
    clean_hosts({host.name: host})


def clean_hosts(hosts: Mapping[str, Host]) -> tuple[Cleaned, ...]:
    """Clean up on each of these hosts after killed runs, reporting on standard error; return what became of what they left."""
    try:
        found = Ledger().clean_each(tuple(hosts.values()))
    except (AssayError, OSError) as error:
        say(f"assay: no cleanup after killed runs: {error}", sys.stderr)
        return ()
    outcome: list[Cleaned] = []
    for (name, host), cleaned in zip(hosts.items(), found, strict=True):
        on = f" on host {name}" if isinstance(host, Notes) else ""
        if isinstance(cleaned, Exception):
            say(f"assay: no cleanup after killed runs{on}: {cleaned}", sys.stderr)
            continue
        outcome += cleaned
        for state, reason, what in by_reason([one for one in cleaned if one.state != "gone"]):
            text = f"assay: {state}{on} after a killed run: {', '.join(what)}{f': {reason}' if reason else ''}"
            forgets = on and state == "left"
            say(f"{text.rstrip('.')}. To forget it: assay hosts FILE clean --forget {name}" if forgets else text, sys.stderr)
    return tuple(outcome)


def by_reason(outcome: Sequence[Cleaned]) -> Iterator[tuple[str, str, list[str]]]:
    """State, reason and entries of what became of them alike on one host: each reason, and each thing, is given once."""
    alike: dict[tuple[str, str, str], list[Cleaned]] = {}
    for one in outcome:
        alike.setdefault((one.entry.host, one.state, one.reason), []).append(one)
    for (_, state, reason), group in alike.items():
        yield state, reason, list(dict.fromkeys(str(one.entry) for one in group))


def _remedy(left: Sequence[Cleaned]) -> str:
    far = any(one.entry.host != HERE for one in left)
    return f"Run `{'assay hosts FILE clean' if far else 'assay doctor'}` to try again."


def conduct(
    experiment: Experiment, plan: Plan, host: Local, mode: ProgressMode, directory: Path | None = None
) -> tuple[Run, Observations]:
    """Run the one trial of a plan without a notebook, as `assay load` and the self-test do; servers of ours need a directory."""
    guesses_s = outlook.guesses_s(experiment, plan.trials)
    progress = Progress(mode, Remaining(trials={one: Expected(cell="", guess_s=guess_s) for one, guess_s in guesses_s.items()}))
    with trial_runner(experiment, host, directory) as runner, progress.beating():
        return runner.run(plan.trials[0], 1, progress)
