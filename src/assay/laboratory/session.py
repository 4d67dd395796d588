"""What every lab on this machine works with: the engine, a ledger that is undone at the end, the observers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay import catalogue
from assay.catalogue import Host
from assay.errors import AssayError, MissingError, TrialError
from assay.records import Experiment
from assay.terminal.fold import say
from assay.undo.ledger import Ledger


def engine_path() -> Path:
    """The load engine inside the package. Raises MissingError."""
    path = Path(__file__).parent.parent / "bin" / "assay-engine"
    if not path.is_file():
        raise MissingError(f"load engine: not found at {path}. Run `make build`.")
    return path


@contextmanager
def own_ledger() -> Iterator[Ledger]:
    """A ledger whose entries are all undone at the end. Raises TrialError naming what could not be, also after an interrupt.

    Where another error ends the work, that one goes through, and what could not be undone is reported on standard error.
    """
    ledger = Ledger()
    try:
        yield ledger
    finally:
        left = [f"{one.entry} ({one.reason})" for one in ledger.unwind() if one.state == "left"]
        ledger.close()
        remains = f"not undone: {'; '.join(left)}. Run `assay doctor` to try again."
        reason = sys.exc_info()[1]
        if left and isinstance(reason, KeyboardInterrupt | None):
            raise TrialError(remains if reason is None else f"interrupted; {remains}")
        if left:
            say(f"assay: {remains}", sys.stderr)


def observers(experiment: Experiment) -> tuple[catalogue.Observer, ...]:
    """The observers that the experiment names, or the usual ones; what a machine does not allow is recorded as missing."""
    return tuple(catalogue.find("observers", name) for name in catalogue.watchers(experiment.observers))


def clean_quietly(host: Host) -> None:
    """Clean up before a verb that changes things; what was undone, or could not be, is reported on standard error."""
    try:
        cleaned = Ledger().clean(host)
    except (AssayError, OSError) as error:
        say(f"assay: no cleanup after killed labs: {error}", sys.stderr)
        return
    for one in cleaned:
        if one.state != "gone":
            why = f": {one.reason}" if one.reason else ""
            say(f"assay: {one.state} from a lab that was killed: {one.entry}{why}", sys.stderr)
