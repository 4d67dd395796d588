"""Events on targets in the file: each fits the target of every trial, and every mistake is named with its place."""

from assay.records import Action
from stage.drill_texts import DrillText, event
from stage.rows import each

HEAD = """
title = "t"
repeats = 1

[targets.mine]
kind = "directory"
path = "/srv/data"

[targets.disk]
kind = "crash_disk"
size = "64 MiB"

[targets.files]
kind = "sftp_openssh"
on = "disk"

[targets.bare]
kind = "sftp_openssh"

[workloads.d]
kind = "drill"
{events}

[factors]
target = [{targets}]
"""
DRILL = DrillText(HEAD, targets='"files"')
parsed, mistakes = DRILL.parsed, DRILL.mistakes


def test_an_event_is_done_to_the_target_or_below_it_never_below_a_file_system_of_the_users():
    fill = event("6 s", action="fill", on="disk")
    written = (event("2 s", action="kill"), event("4 s"), fill, event("8 s", action="stop"))
    found = parsed(*written).workloads[0].events
    assert [(one.action, one.on, one.for_ns) for one in found] == [
        (Action.KILL, "", 10**9),
        (Action.POWER, "", 10**9),
        (Action.FILL, "disk", 10**9),
        (Action.STOP, "", 10**9),
    ]
    power, fill = mistakes(event(), event("6 s", action="fill"), targets='"mine"')
    assert "never below a file system of yours" in power.found
    assert "crash_disk" in power.expected
    assert "it never fills yours" in fill.found
    assert (power.line, fill.line) == (25, 30), "each at its action"


@each("action", "kill", "stop")
def test_a_target_without_a_server_has_none_that_can_be_killed(action):
    (one,) = mistakes(event(action=action), targets='"files", "disk"')
    assert "on target 'disk', which has no server that the lab started" in one.found


def test_a_mistake_names_all_targets_and_hides_none_of_another():
    (one,) = mistakes(event(), targets='"mine", "bare", "files"')
    assert "on targets 'mine', 'bare', which have no power that can be cut" in one.found
    pathless, power = mistakes(event(action="cut"), event("5 s"), targets='"mine"')
    assert "an event on no path" in pathless.found
    assert "never below a file system of yours" in power.found
    assert power.line == 30, "at its own action"
    (one,) = mistakes(event(on="dsik"))
    assert "an event on target 'dsik'" in one.found
    assert "disk" in one.expected


def test_every_mistake_is_named_at_once():
    found = mistakes(
        event(lasts=None, action="kill"),
        event(on="dsik"),
        event(action="explode"),
        event(action="stop", run=["true"], rate="1 Mbit/s", host="local"),
        event(action="cut"),
        event(lasts="soon", action="fill"),
    )
    texts = [one.found for one in found]
    for said in (
        "without 'for'",
        "'explode'",
        "'run' with action",
        "'rate' with action",
        "'host' with action",
        "no path",
        "soon",
    ):
        assert any(said in text for text in texts), (said, texts)


NBD = """
[targets.san]
kind = "nbd"
size = "64 MiB"
on = "disk"
"""


@each("action", "kill", "power")
def test_a_client_that_does_not_connect_again_has_no_time_of_recovery(action):
    """The drill ran to its deadline, and had no figure."""
    (one,) = DrillText(HEAD + NBD, targets='"san"').mistakes(event(action=action))
    assert one.found == f"an event '{action}' on target 'san', which has a client that does not connect again"
    assert one.expected.startswith('reconnect = "60 s"')
    waits = DrillText(HEAD + NBD + 'reconnect = "60 s"\n', targets='"san"')
    assert waits.parsed(event(action=action)).workloads[0].events


def test_a_client_that_waits_or_need_not_connect_again_has_its_events():
    text = DrillText(HEAD + NBD, targets='"san"')
    assert text.parsed(event("2 s", action="stop"), event("4 s", action="fill", on="disk")).workloads[0].events
    text = DrillText(HEAD + NBD, targets='"san"]\n"san.reconnect" = ["10 s", "60 s"')
    assert text.parsed(event(action="kill")).workloads[0].events
