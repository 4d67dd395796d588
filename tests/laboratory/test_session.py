"""The ledger that every measuring verb works with: what it cannot undo is told, whatever ended the work."""

import json

import pytest

from assay.errors import RefusedError, TrialError
from assay.laboratory.session import own_ledger
from assay.undo import ledger

STUCK = json.dumps(["sh", "-c", "echo it sticks >&2; exit 1"])
TOLD = r"not undone: command sh -c .* \(.*it sticks\)\. Run `assay doctor` to try again\."


@pytest.fixture(autouse=True)
def own_place(monkeypatch, tmp_path):
    """Not the machine's own ledger: what cannot be undone here would be tried again by every later call."""
    monkeypatch.setattr(ledger, "default_directory", lambda: tmp_path / "ledger")


def work(error: BaseException | None = None) -> None:
    with own_ledger() as kept:
        kept.add("command", argv=STUCK)
        if error is not None:
            raise error


def test_what_could_not_be_undone_is_told_whatever_ended_the_work(capsys):
    with pytest.raises(TrialError, match=f"^{TOLD}$"):
        work()
    with pytest.raises(TrialError, match=f"^interrupted; {TOLD}$"):
        work(KeyboardInterrupt())
    with pytest.raises(RefusedError, match="no room"):
        work(RefusedError("no room"))
    assert "assay: not undone: command" in capsys.readouterr().err
