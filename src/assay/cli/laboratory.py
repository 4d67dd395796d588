"""What every lab on this machine works with: the engine, a ledger that is undone at the end, the observers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay import catalogue
from assay.errors import MissingError, TrialError
from assay.fleet.ledger import Ledger
from assay.records import Experiment


def engine_path() -> Path:
    """The load engine inside the package. Raises MissingError."""
    path = Path(__file__).parent.parent / "bin" / "assay-engine"
    if not path.is_file():
        raise MissingError(f"found no load engine at {path}; expected it inside the package: run `make build`")
    return path


@contextmanager
def own_ledger() -> Iterator[Ledger]:
    """A ledger whose entries are all undone at the end. Raises TrialError naming what could not be, also after an interrupt.

    Where another error ends the work, that one goes through, and what could not be undone is told on standard error.
    """
    ledger = Ledger()
    try:
        yield ledger
    finally:
        left = [f"{one.entry} ({one.reason})" for one in ledger.unwind() if one.state == "left"]
        ledger.close()
        told = f"could not be undone: {'; '.join(left)}; `assay doctor` tries again"
        reason = sys.exc_info()[1]
        if left and isinstance(reason, KeyboardInterrupt | None):
            raise TrialError(told if reason is None else f"interrupted, and {told}")
        if left:
            print(f"assay: {told}", file=sys.stderr)


def observers(experiment: Experiment) -> tuple[catalogue.Observer, ...]:
    """The observers that the experiment names, or the usual ones; what a machine does not allow is recorded as missing."""
    return tuple(catalogue.find("observers", name) for name in catalogue.watchers(experiment.observers))
