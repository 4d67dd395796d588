"""The way by ssh, over real sshds: host keys, channels, connections, and their ends."""

import os
import queue
import subprocess
import time

import pytest

from assay.errors import MissingError, RefusedError
from assay.hosts import ssh
from assay.hosts.addresses import parsed
from assay.hosts.ssh import Door

pytestmark = pytest.mark.root
SOON_S = 120.0


def door_to(machine, name="c.1"):
    return Door(name, parsed(machine.address))


class Ear:
    def __init__(self, channel):
        self.lines = queue.Queue()
        channel.listen(lambda line, at_ns: self.lines.put((line, at_ns)))

    def next(self):
        return self.lines.get(timeout=SOON_S)


@pytest.fixture
def machine(far):
    return far(1)[0]


@pytest.fixture
def door(machine):
    door = door_to(machine)
    yield door
    door.close()


def test_lines_go_there_and_back_on_as_many_connections_as_are_needed(door):
    channel = door.open("exec /bin/sh -s x")
    asked_ns = time.monotonic_ns()
    channel.send("printf 'one\\n\\ntwo\\nlast'; echo complaint >&2; exit 3")
    ear = Ear(channel)
    heard = [ear.next() for _ in range(5)]
    assert [line for line, _ in heard] == ["one", "", "two", "last", None]
    assert all(asked_ns < at_ns < time.monotonic_ns() for _, at_ns in heard)
    assert (channel.status, channel.complaint()) == (3, "complaint")
    with pytest.raises(OSError, match="complaint"):
        channel.send("more")
    channels = [door.open("exec cat") for _ in range(12)]
    ears = [Ear(channel) for channel in channels]
    for number, channel in enumerate(channels):
        channel.send(str(number))
    assert [ear.next()[0] for ear in ears] == [str(number) for number in range(12)]
    assert len(door._connections) == 2


def test_the_end_of_input_ends_the_command_and_close_waits_for_it(machine, door):
    channel = door.open("exec cat")
    ear = Ear(channel)
    channel.send("x")
    assert ear.next()[0] == "x"
    channel.close()
    assert ear.next()[0] is None
    assert channel.status == 0
    channel.close()
    assert "cat" not in machine.processes().values()


def test_a_killed_connection_is_heard_of_and_another_is_made(machine, door):
    channel = door.open("exec cat")
    ear = Ear(channel)
    channel.send("x")
    ear.next()
    (pid,) = machine.connections()
    os.kill(pid, 9)
    assert ear.next()[0] is None
    assert "connection" in channel.complaint()
    first = Ear(door.open("exec cat"))
    os.kill(machine.connections()[0], 9)
    assert first.next()[0] is None
    again = door.open("exec echo back")
    assert Ear(again).next()[0] == "back"


def never_reached(machine):
    """Nobody has logged in there: no process of a session was ever started."""
    return "Accepted" not in (machine.directory / "log").read_text()


def test_an_unknown_host_key_is_refused_before_anything_is_sent(far):
    fleet = far(1)
    fleet.know()
    with pytest.raises(RefusedError) as refused:
        door_to(fleet[0]).open("true")
    text = str(refused.value)
    assert "host c.1" in text
    assert "host key unknown" in text
    assert fingerprint(fleet[0]) in text
    assert f"ssh {fleet[0].address} true" in text
    assert never_reached(fleet[0])


def test_a_changed_host_key_is_refused_with_its_fingerprint(far):
    fleet = far(1)
    for kind in ("ed25519", "rsa"):
        former = fleet.home / f"former-{kind}"
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", former], check=True)
        key = " ".join(former.with_suffix(".pub").read_text().split()[:2])
        (fleet.home / ".ssh" / "known_hosts").write_text(f"{fleet[0].address} {key}\n")
        with pytest.raises(RefusedError, match="CHANGED") as refused:
            door_to(fleet[0]).open("true")
        assert fingerprint(fleet[0]) in str(refused.value)
        assert f"ssh-keygen -R '{fleet[0].address}'" in str(refused.value)
        assert never_reached(fleet[0])


def test_no_line_of_the_users_configuration_turns_the_check_off(subtests, far):
    fleet = far(1)
    fleet.know()
    for choice in ("UserKnownHostsFile none", "UserKnownHostsFile /dev/null", "StrictHostKeyChecking no"):
        with subtests.test(choice=choice):
            (fleet.home / ".ssh" / "config").write_text(f"Host *\n  {choice}\n")
            with pytest.raises(RefusedError, match="unknown"):
                door_to(fleet[0]).open("true")


def test_a_name_of_the_users_configuration_is_honoured(far):
    fleet = far(1)
    config = f"Host filer\n  HostName {fleet[0].address}\n  User root\n  ServerAliveInterval 1\n"
    (fleet.home / ".ssh" / "config").write_text(config)
    door = Door("s", parsed("filer"))
    assert Ear(door.open("exec hostname")).next()[0] == fleet[0].name
    door.close()


def test_without_a_key_that_is_accepted_nobody_is_asked_for_a_password(far):
    fleet = far(1)
    (fleet.directory / "authorized_keys").write_text("")
    with pytest.raises(RefusedError, match="accepts no key of this user"):
        door_to(fleet[0]).open("true")


def test_a_host_that_cannot_be_reached_is_named_with_the_reason(subtests, far, monkeypatch):
    monkeypatch.setattr(ssh, "CONNECT_S", 2.0)
    fleet = far(1)
    for address, words in (("{0}:23", "refused"), ("nobody.invalid", "not known|resolution"), ("{0}", "No route|answer")):
        with subtests.test(address=address):
            if address == "{0}":
                fleet[0].cut()
            with pytest.raises(MissingError, match=words) as refused:
                Door("c.7", parsed(address.format(fleet[0].address))).open("true")
            assert "host c.7" in str(refused.value)
            assert "Check with: ssh " in str(refused.value)


def fingerprint(machine):
    public = machine.directory / "host_key.pub"
    return subprocess.run(["ssh-keygen", "-lf", public], capture_output=True, text=True, check=True).stdout.split()[1]
