"""Many clients: armed together soon after they were started, and gone soon after they are not wanted any more."""

import time

import pytest

from assay.hosts.commands import LISTEN_S
from assay.trial.clients import Crew
from assay.trial.dialogue import Dialogue
from assay.trial.fleet import Station
from assay.trial.rendezvous import Rendezvous, Stage
from assay.undo.ledger import Ledger
from trial_stage import HOST, engine

CLIENTS = 64
TRIES = 20
"""The best of these counts: what else the machine does is not of the fleet."""
WITHIN_S = 1.0


@pytest.fixture
def times(tmp_path):
    """(from the first spawn until all are armed, from then until all are gone), in s, of each try."""
    found = [once(tmp_path / f"ledger-{number}") for number in range(2)]
    while min(armed for armed, _ in found) >= WITHIN_S and len(found) < TRIES:
        found.append(once(tmp_path / f"ledger-{len(found)}"))
    return found


def once(ledger_directory):
    ledger = Ledger(ledger_directory)
    crew = Crew()
    began = time.monotonic()
    try:
        crew.spawn([Station(host=HOST, undo=ledger, scratch="", engine=engine())] * CLIENTS)
        rendezvous = Rendezvous(hosts=(HOST.name,) * CLIENTS, now_ns=HOST.monotonic_ns())
        dialogue = Dialogue(crew=crew, rendezvous=rendezvous)
        assert dialogue.drive(Stage.READY, Stage.ENDED) is Stage.READY
        dialogue.obey(rendezvous.arm("p", [config(client) for client in range(CLIENTS)], 10**10, HOST.monotonic_ns()))
        assert dialogue.drive(Stage.ARMED, Stage.ENDED) is Stage.ARMED
        armed = time.monotonic()
    finally:
        crew.close()
        closed = time.monotonic()
        assert ledger.unwind() == ()
        ledger.close()
    return armed - began, closed - armed


def config(client):
    settings = {"operation": "null", "ops": 10}
    return {"engine": "null", "client": client, "clients": CLIENTS, "seed": 1, "interval_ns": 10**8, "settings": settings}


def test_64_clients_are_armed_within_a_second_and_end_without_a_wait(times):
    assert min(armed for armed, _ in times) < WITHIN_S, times
    assert max(closed for _, closed in times) < LISTEN_S / 2, f"a listener waited on a pipe that was closed under it: {times}"
