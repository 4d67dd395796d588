"""The way to a host by a command: lines there and back, carriage returns, delays, ends; and whole runs over it."""

import json
import queue
import subprocess
import time

import pytest

from assay.errors import AssayError, LostHostError, MissingError
from assay.hosts.exec_door import ExecDoor
from assay.hosts.placing import start_agent
from assay.machine.engine_file import engine_path
from stage.rows import each

SOON_S = 60.0
KUBECTL = {
    "plain": 'exec "$@"',
    "carriage returns": 'exec "$@" | sed -u "s/$/\\r/"',
    "delays": 'sleep 1; exec "$@"',
    "talks": 'echo "Defaulted container main out of: main, side" >&2; echo "welcome"; exec "$@"',
}
"""What stands for `kubectl exec -i POD --`: each is a script whose words end with those of a shell."""


def fake(tmp_path, script, name="kubectl"):
    path = tmp_path / name
    path.write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\n{script}\n')
    path.chmod(0o755)
    return (str(path), "exec", "-i", "pod", "--")


class Ear:
    def __init__(self, channel):
        self.lines = queue.Queue()
        channel.listen(lambda line, at_ns: self.lines.put(line))

    def all(self):
        found = []
        while (line := self.lines.get(timeout=SOON_S)) is not None:
            found.append(line)
        return found


@pytest.fixture
def door(tmp_path):
    made = ExecDoor("pod", fake(tmp_path, KUBECTL["plain"]))
    yield made
    made.close()


def test_lines_go_there_and_back_and_the_end_has_a_status(door):
    channel = door.open("exec env 'A=b c' /bin/sh -s x")
    channel.send("printf 'one\\n\\n%s\\nlast' \"$A\"; echo complaint >&2; exit 3")
    assert Ear(channel).all() == ["one", "", "b c", "last"]
    assert (channel.status, channel.complaint()) == (3, "complaint")
    with pytest.raises(OSError, match="complaint"):
        channel.send("more")


def test_carriage_returns_are_dropped_at_the_ends_of_lines_alone(tmp_path):
    door = ExecDoor("pod", fake(tmp_path, KUBECTL["carriage returns"]))
    channel = door.open("exec /bin/sh -s x")
    channel.send("printf 'a\\rb\\nlong%040000d\\n' 1; exit")
    first, second = Ear(channel).all()
    assert (first, len(second), second[-1]) == ("a\rb", 40004, "1")
    door.close()


def test_a_closed_door_ends_what_it_opened_and_stays_closed(door):
    channel = door.open("exec /bin/sh -s x")
    channel.send("echo $$; trap '' HUP; exec sleep 1000")
    ear = Ear(channel)
    pid = int(ear.lines.get(timeout=SOON_S))
    door.close()
    assert ear.lines.get(timeout=SOON_S) is None
    waited = time.monotonic() + SOON_S
    while subprocess.run(["kill", "-0", str(pid)], check=False, capture_output=True).returncode == 0:
        assert time.monotonic() < waited
        time.sleep(0.01)
    with pytest.raises(LostHostError, match="pod is lost"):
        door.open("exec /bin/sh -s x")


def test_a_command_that_is_not_there_says_so():
    with pytest.raises(MissingError, match=r"host pod: /no/kubectl: No such file or directory\. Check `command` of \[hosts\]"):
        ExecDoor("pod", ("/no/kubectl", "exec")).open("exec /bin/sh -s x")


@each("script", *KUBECTL.values())
def test_the_agent_starts_over_it_and_says_hello(script, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    door = ExecDoor("pod", fake(tmp_path, script))
    channel, placed = start_agent(door, engine_path())
    ear = Ear(channel)
    assert json.loads(ear.lines.get(timeout=SOON_S))["type"] == "hello"
    assert placed.fresh
    assert placed.path.startswith(str(tmp_path / "cache"))
    channel.close()
    door.close()


@each(
    "script said",
    ("exit 1", "its shell ended"),
    ("echo 'Error from server: pods \"pod\" not found' >&2; exit 1", 'pods "pod" not found'),
    ("exec head -c 10 >/dev/null", "its shell ended"),
)
def test_a_way_that_ends_gives_its_reason(script, said, tmp_path):
    door = ExecDoor("pod", fake(tmp_path, script))
    with pytest.raises(AssayError, match=said):
        start_agent(door, engine_path())
    door.close()


EXPERIMENT = """
title = "A pod"
repeats = 2
[hosts]
pod = { via = "exec", command = %s, load = true }
[targets.none]
kind = "existing"
path = "%s"
[workloads.w]
kind = "null"
rate = "500/s"
duration = "%s"
hosts = { load = ["pod"] }
"""


def experiment(bench, command, lasts="500 ms"):
    text = EXPERIMENT % (json.dumps(list(command)), bench.home, lasts)
    (bench.home / "pod.toml").write_text(text)


def test_an_experiment_runs_its_load_behind_the_command(bench):
    experiment(bench, fake(bench.home, KUBECTL["carriage returns"]))
    done = bench.run("run", "pod.toml", "--json=found.json", "--progress", "none")
    assert done.returncode == 0, done.stderr
    found = json.loads((bench.home / "found.json").read_text())
    assert [one["run"]["outcome"] for one in found["runs"]] == ["finished"] * 2
    assert {client["host"] for one in found["runs"] for phase in one["run"]["phases"] for client in phase["clients"]} == {"pod"}


def test_a_way_that_dies_in_the_middle_is_named_and_nothing_is_left(bench):
    experiment(bench, fake(bench.home, '"$@" & sleep 6; kill -9 $!'), "20 s")
    done = bench.run("run", "pod.toml", "--progress", "none")
    assert done.returncode == 1
    assert "pod" in done.stdout + done.stderr
    assert "Leftovers of killed runs: none" in bench.run("doctor").stdout


def test_hosts_check_tells_what_is_behind_the_command(bench):
    experiment(bench, fake(bench.home, KUBECTL["talks"]))
    done = bench.run("hosts", "pod.toml", "check")
    assert done.returncode == 0, done.stderr
    assert "pod" in done.stdout
    listed = bench.run("hosts", "pod.toml").stdout
    assert "exec" in listed
    assert "kubectl exec -i pod --" in listed


@pytest.mark.root
def test_a_process_namespace_is_reached_by_nsenter(bench):
    argv = [
        "unshare",
        "--pid",
        "--mount",
        "--uts",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        "hostname pod; echo up; sleep 1000",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as inside:
        try:
            assert inside.stdout.readline() == "up\n"
            (first,) = subprocess.run(["pgrep", "-P", str(inside.pid)], capture_output=True, text=True, check=True).stdout.split()
            experiment(bench, ("nsenter", "-t", first, "--pid", "--mount", "--uts"))
            done = bench.run("run", "pod.toml", "--json=found.json", "--progress", "none")
            assert done.returncode == 0, done.stderr
            assert json.loads((bench.home / "found.json").read_text())["runs"][0]["run"]["outcome"] == "finished"
        finally:
            inside.kill()
