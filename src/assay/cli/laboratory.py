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
    """A ledger whose entries are all undone at the end. Raises TrialError naming what could not be."""
    ledger = Ledger()
    try:
        yield ledger
    finally:
        left = [str(cleaned) for cleaned in ledger.unwind() if cleaned.state == "left"]
        ledger.close()
        if left and sys.exc_info()[0] is None:
            raise TrialError("could not be undone: " + "; ".join(left) + "; `assay doctor` tries again")


def observers(experiment: Experiment) -> tuple[catalogue.Observer, ...]:
    """The observers that the experiment names, or the usual ones; what a machine does not allow is recorded as missing."""
    return tuple(catalogue.find("observers", name) for name in catalogue.watchers(experiment.observers))
