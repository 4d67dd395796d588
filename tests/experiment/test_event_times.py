"""Events in the file happen within their phase, and none while another one has the same thing away."""

from stage.drill_texts import DrillText, event
from stage.rows import each

HEAD = """
title = "t"
repeats = 1

[paths.wan]
rate = "1 Gbit/s"
queue = "1 MB"

[targets.disk]
kind = "crash_disk"
size = "64 MiB"

[targets.files]
kind = "sftp_openssh"
on = "disk"
through = "wan"

[workloads.d]
kind = "drill"
duration = "10 s"
{events}
[factors]
target = ["files"]
{factors}
"""
EVENTS_AT = 22
"""The line of the first key of the first event; each event has five lines."""
DRILL = DrillText(HEAD, factors="")
parsed, mistakes = DRILL.parsed, DRILL.mistakes


def test_an_event_ends_within_its_phase():
    (one,) = mistakes(event("12 s"))
    assert (one.line, one.found) == (EVENTS_AT + 1, "an event at 12 s of phase 'append', which ends after 10 s")
    assert one.expected == "a time before 10 s, or a longer phase"
    (one,) = mistakes(event("8 s", "3 s", "stop"))
    assert one.line == EVENTS_AT + 3
    assert "taken back at 11 s" in one.found
    assert "less than 2 s" in one.expected
    assert len(mistakes(event("9 s", "1 s", "cut", "wan"))) == 1, "at the very end nobody would see it"
    assert parsed(event("8 s", "1 s"))
    (one,) = mistakes(event("6 s"), factors='"d.duration" = ["10 s", "5 s"]')
    assert "ends after 5 s" in one.found
    assert parsed(event("30 s", "1 s", "cut", "wan", phase="check"))


@each("second", "2 s", "3 s", "4 s")
def test_two_cuts_of_the_power_at_once_are_refused(second):
    (one,) = mistakes(event("2 s", "2 s"), event(second))
    assert one.line == EVENTS_AT + 6
    assert "action 'power' at 2 s lasts, until 4 s" in one.found
    assert one.expected == "a time after 4 s"


@each("action", "kill", "stop", "fill")
def test_nothing_else_befalls_a_target_without_power(action):
    assert len(mistakes(event("2 s", "3 s"), event("3 s", "1 s", action))) == 1
    assert len(mistakes(event("3 s"), event("2 s", "3 s", action))) == 1, "also where the power goes second"
    assert parsed(event("2 s", "2 s"), event("5 s", "1 s", action))


def test_a_thing_is_away_once_and_different_things_at_once():
    assert len(mistakes(event("2 s", "3 s", "stop"), event("3 s", "1 s", "kill", "files"))) == 1
    assert len(mistakes(event("2 s", "3 s", "cut", "wan"), event("3 s", "1 s", "cut", "wan"))) == 1
    assert parsed(event("2 s", "3 s", "stop"), event("3 s", "1 s", "fill"), event("3 s", "1 s", "cut", "wan"))
    assert parsed(event("2 s"), event("3 s", "1 s", "cut", "wan"))


def test_every_mistake_is_named_at_once():
    found = mistakes(event("12 s"), event("2 s", "3 s"), event("3 s"), event("20 s", "1 s", "cut", "wan"))
    assert sorted(one.line for one in found) == [EVENTS_AT + 1, EVENTS_AT + 11, EVENTS_AT + 16]
