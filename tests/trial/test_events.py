"""What an event's placeholders stand for."""

import time

import pytest

from assay.errors import UsageError
from assay.hosts.local import Local
from assay.records import Action, EndpointKind, Event, Place
from assay.trial.events import Events, TimedCommand, Ways, commands_of, mending, values_of
from stage.assay_process import wait_until

PLACE = Place(target="disk", host="local", kind=EndpointKind.DIRECTORY, address="/d", private={"loop": "loop3"})

SECOND = 10**9


def test_an_event_may_name_the_target_the_workloads_variables_and_its_clients():
    values = values_of(PLACE, {"variables.stop": 1, "size": 4096}, (11, 12))
    event = Event(phase="read", at_ns=5, argv=("{directory} {loop} {disk.loop} {variables.stop}", "{client.pid} {client.1.pid}"))
    assert commands_of([event], "read", values) == [TimedCommand(at_ns=5, argv=("/d loop3 loop3 1", "11 12"))]
    assert commands_of([event], "write", values) == []
    assert "size" not in values
    assert "client.pid" not in values_of(PLACE, {}, ())


def test_every_event_that_never_ran_is_told_each_once():
    host = Local()
    events = Events(
        {"local": host},
        "read",
        [
            TimedCommand(at_ns=3_600_000_000_000, argv=("true", "later")),
            TimedCommand(at_ns=0, argv=("true", "now")),
            TimedCommand(at_ns=7_200_000_000_000, argv=("true", "last")),
        ],
    )
    events.start(host.monotonic_ns())
    wait_until(lambda: events.facts)
    events.finish()
    events.finish()
    assert [failure.partition("event ")[2] for failure in events.failures] == ["'true later' at 3600 s", "'true last' at 7200 s"]
    assert len(events.facts) == 1


def test_events_of_a_phase_that_never_started_did_not_happen():
    events = Events({"local": Local()}, "read", [TimedCommand(at_ns=0, argv=("true",))])
    events.finish()
    assert events.failures == ["phase read ended before its event 'true' at 0 s"]


def test_what_happens_to_a_path_is_said_to_the_line_and_undone_after_its_time():
    ways = Ways(line=77, rates={"wan": {"up": 1_250_000, "down": None}})
    cut = Event(phase="p", at_ns=5, on="wan", action=Action.CUT, for_ns=10)
    first, second = commands_of([cut], "p", {}, ways)
    assert (first.at_ns, first.words, first.argv[-2:]) == (
        5,
        "cut path wan for 1e-08 s",
        ("77", '{"type": "cut", "link": "wan"}'),
    )
    assert (second.at_ns, second.argv[-1]) == (15, '{"type": "mend", "link": "wan"}')
    rate = Event(phase="p", at_ns=5, on="wan", action=Action.RATE, for_ns=10, rate_bytes_per_s=125_000)
    slow, back = commands_of([rate], "p", {}, ways)
    assert str(slow).startswith("rate 1 Mbit/s path wan")
    assert slow.argv[-1].endswith('"up_bytes_per_s": 125000, "down_bytes_per_s": 125000}')
    assert back.argv[-1].endswith('"up_bytes_per_s": 1250000, "down_bytes_per_s": null}')


def test_without_a_line_no_path_can_be_cut():
    with pytest.raises(UsageError, match="expected a target of kind line"):
        commands_of([Event(phase="p", at_ns=5, on="wan", action=Action.CUT)], "p", {})


def test_a_path_that_the_events_leave_cut_is_mended_after_the_phase():
    ways = Ways(line=77)

    def left(*events):
        return [(due.words, due.is_late, due.at_ns > SECOND) for due in mending(events, "p", SECOND, ways)]

    cut = Event(phase="p", at_ns=5, on="wan", action=Action.CUT)
    assert left(cut) == [("mend path wan after the end", True, True)]
    assert left(cut, Event(phase="p", at_ns=9, on="wan", action=Action.MEND)) == []
    assert left(Event(phase="p", at_ns=5, on="wan", action=Action.CUT, for_ns=3)) == []
    assert left(Event(phase="q", at_ns=5, on="wan", action=Action.CUT)) == []


def test_what_is_late_is_done_when_the_load_has_ended_and_is_no_event_that_was_missed(tmp_path):
    mended, missed = tmp_path / "mended", tmp_path / "missed"
    late = TimedCommand(at_ns=100 * SECOND, argv=("touch", str(mended)), is_late=True)
    events = Events({"local": Local()}, "read", [late, TimedCommand(at_ns=50 * SECOND, argv=("touch", str(missed)))])
    events.start(time.monotonic_ns())
    assert not mended.exists()
    events.mend()
    assert mended.exists()
    events.finish()
    assert not missed.exists()
    assert events.failures == [f"phase read ended before its event 'touch {missed}' at 50 s"]
