"""Engine processes: heard, in the ledger while they live, gone afterwards whatever they do."""

import os
import signal
import time
from pathlib import Path

import pytest

from assay.errors import MissingError
from assay.trial import clients
from assay.trial import dialogue as dialogues
from assay.trial.clients import Crew
from assay.trial.clocks import compare
from assay.trial.dialogue import Dialogue
from assay.trial.fleet import Station
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.silence import SilenceLimit, WaitLimits
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.processes import ended, wait_ended
from stage.trial_stage import HOST, engine, fake


class Notes:
    """A ledger that only remembers."""

    def __init__(self):
        self.entries, self.struck = [], []

    def add(self, kind, **details):
        self.entries.append((kind, details))

    def undo(self, kind, **details):
        self.struck.append((kind, details))


def station(path, undo=None):
    return Station(host=HOST, undo=Notes() if undo is None else undo, scratch="", engine=str(path))


@pytest.fixture
def crew():
    made = Crew()
    yield made
    made.close()


@pytest.fixture
def notes():
    return Notes()


def test_every_client_says_hello_and_is_noted_with_its_start_time(crew, notes, tmp_path):
    crew.spawn([station(fake(tmp_path, "well"), notes)] * 2)
    heard = [crew.hear(120), crew.hear(120)]
    assert {one.client for one in heard} == {0, 1}
    assert {one.message["pid"] for one in heard} == set(crew.pids)
    noted = {details["pid"]: details["start_ticks"] for kind, details in notes.entries if kind == "process"}
    assert noted == {str(pid): clients.start_ticks(HOST, pid) for pid in crew.pids}
    assert "0" not in noted.values()


def test_what_comes_in_carries_the_time_at_which_it_came(crew, tmp_path):
    crew.spawn([station(fake(tmp_path, "well"))])
    crew.hear(120)
    asked = HOST.monotonic_ns()
    assert crew.send(0, {"type": "clock"}) is None
    heard = crew.hear(120)
    assert asked <= heard.message["mono_ns"] <= heard.at_ns <= HOST.monotonic_ns()


def test_nothing_said_is_nothing_heard(crew, tmp_path):
    crew.spawn([station(fake(tmp_path, "mute"))])
    assert crew.hear(0.3) is None


def test_a_process_that_ends_is_told(crew):
    crew.spawn([station("/bin/true")])
    assert crew.hear(120).message is None
    wait_until(lambda: crew.send(0, {"type": "clock"}) is not None)  # its output is closed a moment before its input


def test_what_is_no_message_is_told_with_its_words(crew, tmp_path):
    crew.spawn([station(fake(tmp_path, "garbage"))])
    crew.hear(120)
    crew.send(0, {"type": "config", "phase": "p"})
    heard = crew.hear(120)
    assert heard.message is None
    assert "Segmentation fault" in heard.reason


def test_only_objects_are_messages(subtests):
    for line in ["", "[1]", "3", "{", "nonsense"]:
        with subtests.test(line=line):
            assert clients.parse(line) is None


def test_closing_ends_the_real_engine_by_the_end_of_its_input(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    crew = Crew()
    crew.spawn([station(engine(), ledger)] * 2)
    pids = crew.pids
    crew.close()
    wait_ended(*pids)
    assert ledger.unwind() == ()
    ledger.close()


def test_closing_kills_the_one_that_does_not_go(notes, tmp_path, monkeypatch):
    monkeypatch.setattr(clients, "FAREWELL_S", 0.3)
    crew = Crew()
    crew.spawn([station(fake(tmp_path, "stays"), notes)])
    crew.hear(120)
    (pid,) = crew.pids
    crew.close()
    wait_ended(pid)
    assert notes.struck


def test_killing_ends_one_and_leaves_the_others(crew, tmp_path):
    crew.spawn([station(fake(tmp_path, "well"))] * 2)
    first, second = crew.pids
    crew.kill(0)
    crew.kill(0)
    wait_ended(first)
    assert not ended(second)


def test_an_engine_that_is_not_there_is_told_and_leaves_nothing(crew):
    with pytest.raises(MissingError):
        crew.spawn([station("assay-no-such-engine")])
    assert crew.pids == ()


def test_a_process_that_is_gone_has_no_start_time():
    assert clients.start_ticks(HOST, 2**22 + 1) == "0"


# ------------------------------------------------------------------------------------------ driven by the rendezvous


def gathered(crew, clients, pace=None):
    crew.spawn([station(engine())] * clients)
    rendezvous = Rendezvous(
        hosts=(HOST.name,) * clients, now_ns=HOST.monotonic_ns(), pace=pace or WaitLimits(), clocks=compare({HOST.name: HOST})
    )
    dialogue = Dialogue(crew=crew, rendezvous=rendezvous)
    assert dialogue.drive(Stage.READY, Stage.ENDED) is Stage.READY
    return dialogue


def started(dialogue, **settings):
    config = {"engine": "null", "interval_ns": 10**8, "settings": {"operation": "null", "load": {"think_ns": 10**6}, **settings}}
    rendezvous = dialogue.rendezvous
    dialogue.obey(rendezvous.arm("p", [config] * rendezvous.count, 60 * 10**9, HOST.monotonic_ns()))
    assert dialogue.drive(Stage.ARMED, Stage.ENDED) is Stage.ARMED
    dialogue.obey(rendezvous.start(HOST.monotonic_ns()))


def test_a_real_engine_confirms_its_start_in_time(crew):
    dialogue = gathered(crew, 2)
    started(dialogue, ops=3)
    assert dialogue.drive(Stage.ENDED) is Stage.ENDED
    assert all(one.told_ns is not None for one in dialogue.rendezvous.clients)
    assert dialogue.rendezvous.results.keys() == {0, 1}


def test_a_stopped_engine_is_named_and_given_up_after_the_other_has_ended(crew):
    dialogue = gathered(crew, 2, WaitLimits(patience=SilenceLimit(mute_looks=3, mute_ns=2 * 10**9)))
    started(dialogue, duration_ns=4 * 10**9)
    named = []
    os.kill(crew.pids[1], signal.SIGSTOP)
    dialogue.drive(Stage.ENDED, meanwhile=(lambda: named.extend(dialogue.rendezvous.silent),))
    assert 1 in named
    assert (dialogue.rendezvous.results.keys(), dialogue.rendezvous.lost) == ({0}, {1})
    assert "sent nothing for" in dialogue.rendezvous.failures[1]


def test_clients_that_wait_keep_their_lease_while_the_caller_is_busy(crew, monkeypatch):
    monkeypatch.setattr(dialogues, "KEEP_S", 0.05)
    dialogue = gathered(crew, 2, WaitLimits(idle_lease_ns=2 * 10**9))
    dialogue.obey(dialogue.rendezvous.tick(HOST.monotonic_ns()))
    with dialogue.kept():
        time.sleep(4)
    assert dialogue.catch_up() is Stage.READY, dialogue.rendezvous.failures
    assert all(Path(f"/proc/{pid}").exists() for pid in crew.pids)


def test_clients_that_nobody_keeps_end_with_their_lease(crew):
    dialogue = gathered(crew, 2, WaitLimits(idle_lease_ns=3 * 10**8))
    dialogue.obey(dialogue.rendezvous.tick(HOST.monotonic_ns()))
    wait_ended(*crew.pids)
