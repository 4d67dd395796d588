"""Events on targets in the file: each fits the target of every trial, and every mistake is named with its place."""

import pytest

from assay.errors import InputErrors
from assay.experiment import read
from assay.records import Action

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


def event(action="kill", **more):
    keys = {"phase": '"append"', "at": '"2 s"', "action": f'"{action}"', "for": '"1 s"'} | more
    return "[[workloads.d.events]]\n" + "".join(f"{name} = {value}\n" for name, value in keys.items() if value is not None)


def parsed(*events, targets='"files"'):
    return read.parse(HEAD.format(events="\n".join(events), targets=targets), "x.toml")


def mistakes(*events, targets='"files"'):
    with pytest.raises(InputErrors) as caught:
        parsed(*events, targets=targets)
    return caught.value.mistakes


def test_an_event_is_done_to_the_target_or_to_what_it_stands_on():
    times = {"power": '"4 s"', "fill": '"6 s"', "stop": '"8 s"'}
    fill = event("fill", on='"disk"', at=times["fill"])
    written = (event("kill"), event("power", at=times["power"]), fill, event("stop", at=times["stop"]))
    found = parsed(*written).workloads[0].events
    assert [(one.action, one.on, one.for_ns) for one in found] == [
        (Action.KILL, "", 10**9),
        (Action.POWER, "", 10**9),
        (Action.FILL, "disk", 10**9),
        (Action.STOP, "", 10**9),
    ]


def test_never_below_a_file_system_of_the_users():
    power, fill = mistakes(event("power"), event("fill", at='"6 s"'), targets='"mine"')
    assert "never below a file system of yours" in power.found
    assert "crash_disk" in power.expected
    assert "it never fills yours" in fill.found
    assert (power.line, fill.line) == (25, 31), "each at its action"


@pytest.mark.parametrize("action", ["kill", "stop"])
def test_a_target_without_a_server_has_none_that_can_be_killed(action):
    (one,) = mistakes(event(action), targets='"files", "disk"')
    assert "on target 'disk', which has no server that the lab started" in one.found


def test_an_event_is_named_once_with_all_targets_that_cannot_have_it():
    (one,) = mistakes(event("power"), targets='"mine", "bare", "files"')
    assert "on targets 'mine', 'bare', which have no power that can be cut" in one.found


def test_every_mistake_is_named_at_once():
    found = mistakes(
        event("kill", **{"for": None}),
        event("power", on='"dsik"'),
        event("explode"),
        event("stop", run='["true"]', rate='"1 Mbit/s"', host='"local"'),
        event("cut"),
        event("fill", **{"for": '"soon"'}),
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


def test_a_mistake_in_one_event_hides_none_of_another():
    pathless, power = mistakes(event("cut"), event("power", at='"5 s"'), targets='"mine"')
    assert "an event on no path" in pathless.found
    assert "never below a file system of yours" in power.found
    assert power.line == 31, "at its own action"


def test_a_target_that_is_not_there_is_named_with_a_likely_one():
    (one,) = mistakes(event("power", on='"dsik"'))
    assert "an event on target 'dsik'" in one.found
    assert "disk" in one.expected
