"""A client without the engine: it speaks the engine's protocol, and a shell of a far machine runs its command."""

import json
import os
import time
from pathlib import Path

import pytest

from assay.errors import MissingError
from assay.hosts.addresses import parsed
from assay.hosts.commands import ENGINE
from assay.hosts.shell import ShellHost
from assay.hosts.ssh import Door
from assay.records import Direction, PhasePlan
from assay.trial.answers import ClientReport
from assay.trial.harvest import harvest
from stage.assay_process import wait_until

pytestmark = pytest.mark.root
SOON_S = 120.0
MARGIN_NS = 200_000_000


class Client:
    def __init__(self, host, **more):
        self.process = host.spawn([ENGINE], **more)

    def ask(self, **message):
        self.process.send(json.dumps(message))

    def hear(self, *kinds):
        while True:
            message = json.loads(self.process.receive(SOON_S))
            if message["type"] in kinds:
                return message

    def arm(self, *argv, phase="run", engine="command", directory="/root", **more):
        settings = {"argv": argv, "env": {"A": "it's"}, "directory": directory, "operation": "command"}
        config = {"type": "config", "engine": engine, "phase": phase, "client": 0, "clients": 1, "seed": 7, "cpus": None}
        self.ask(**config, interval_ns=50_000_000, settings=settings, **more)
        return self.hear("armed", "error")


def greeted(host):
    client = Client(host)
    hello = client.hear("hello")
    assert (hello["engines"], hello["build"], hello["pid"]) == (["command"], "release", client.process.pid)
    return client


def start_ns(host):
    return host.monotonic_ns() + MARGIN_NS


def a_command_starts_at_its_time_and_its_result_is_harvested(machine, host, client):
    assert client.arm("sh", "-c", 'echo "$A $PWD"; echo why >&2; sleep 0.2; exit 3')["phase"] == "run"
    at_ns, bound_ns = start_ns(host), host._files.clock.bound_ns()
    client.ask(type="go", at_ns=at_ns)
    result = client.hear("result")
    bound_ns += result["clock"]["stamp_ns"]
    assert at_ns - bound_ns <= result["started_ns"] == result["first_ns"] <= result["last_ns"]
    assert result["last_ns"] - at_ns >= 0.2e9 - bound_ns, "a start is heard of late, so its distance to the end may be shorter"
    assert result["command"] == {"status": 3, "signal": None, "stdout": "it's /root\n", "stderr": "why", "truncated": False}
    plan = PhasePlan(name="run", operations=("read",), directions={"read": Direction.READ}, settings=({},))
    found = harvest(ClientReport(phase="w.run", plan=plan, client=0, host="s", t0_ns=at_ns, result=result))
    (total,) = found.client.operations
    assert (total.operation, total.count, total.errors) == ("command", 1, 0)
    assert found.client.printed.stdout == "it's /root\n"
    assert not [one for one in found.evidence.readings if one.source.startswith("engine:/proc")]


def its_cpu_time_is_that_of_the_command(machine, host, client):
    for _ in range(2):
        client.arm("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        client.ask(type="go", at_ns=start_ns(host))
        result = client.hear("result")
        wall_ns = result["last_ns"] - result["first_ns"]
        assert 0.02e9 <= result["cost"]["cpu_user_ns"] + result["cost"]["cpu_system_ns"] <= wall_ns + 20_000_000


def it_tells_progress_and_one_phase_follows_another(machine, host, client):
    for phase in ("one", "two"):
        client.arm("sleep", "0.3", phase=phase)
        client.ask(type="go", at_ns=start_ns(host))
        assert client.hear("progress")["phase"] == phase
        result = client.hear("result")
        assert (result["phase"], result["stopped_by"], result["command"]["status"]) == (phase, "work", 0)


def stop_ends_the_command_and_its_children(machine, host, client):
    client.arm("sh", "-c", "sleep 606; true")
    client.ask(type="go", at_ns=start_ns(host))
    wait_until(lambda: "sleep 606" in machine.processes().values())
    client.ask(type="stop")
    result = client.hear("result")
    assert (result["stopped_by"], result["command"]["signal"]) == ("stop", 9)
    wait_until(lambda: "sleep 606" not in machine.processes().values())


def stop_before_the_start_ends_it_at_once(machine, host, client):
    client.arm("sleep", "606")
    client.ask(type="go", at_ns=start_ns(host))
    client.ask(type="stop")
    assert client.hear("result")["stopped_by"] == "stop"


def the_hard_end(machine, host, client):
    client.arm("sleep", "606", limit_ns=100_000_000)
    client.ask(type="go", at_ns=start_ns(host))
    assert client.hear("result")["stopped_by"] == "limit"


def what_cannot_be_armed_is_said(machine, host, client):
    for argv, more, what, path in (
        (["nonesuch"], {}, "command", "nonesuch"),
        (["true"], {"directory": "/nowhere"}, "directory", "/nowhere"),
        (["true"], {"engine": "bulk"}, "settings", None),
        ([], {}, "settings", None),
    ):
        refused = client.arm(*argv, **more)
        assert (refused["type"], refused["what"], refused["path"]) == ("error", what, path)
        assert client.arm("true")["type"] == "armed"


def what_it_does_not_understand_is_said(machine, host, client):
    client.process.send("no json")
    assert client.hear("error")["what"] == "request"
    client.ask(type="go", at_ns=1)
    assert client.hear("error")["what"] == "go"


def its_clock_is_true_within_half_of_the_exchange(machine, host, client):
    for _ in range(5):
        asked_ns = time.monotonic_ns()
        client.ask(type="clock")
        theirs_ns = client.hear("clock")["mono_ns"]
        answered_ns = time.monotonic_ns()
        error_ns = (answered_ns - asked_ns + 1) // 2
        assert abs(theirs_ns - (asked_ns + answered_ns) // 2 - machine.offset_ns) <= error_ns


def names_are_taken_literally(machine, host, client):
    evil = "$(touch pwned) it's `touch pwned`\n\""
    (machine.home / evil.replace("\n", " ")).mkdir()
    client.arm("printf", "%s", evil, directory="/root/" + evil.replace("\n", " "))
    client.ask(type="go", at_ns=start_ns(host))
    assert client.hear("result")["command"]["stdout"] == evil
    assert not list(machine.home.rglob("pwned"))


def the_end_of_its_input_ends_it_and_its_command(machine, host, client):
    client = Client(host, env={"ASSAY_FAMILY": "abc"})
    assert "ASSAY_FAMILY=abc" in host.read(f"/proc/{client.process.pid}/environ").split("\0")
    client.arm("sleep", "607")
    client.ask(type="go", at_ns=start_ns(host))
    wait_until(lambda: "sleep 607" in machine.processes().values())
    assert client.process.wait(SOON_S) == 0
    wait_until(lambda: "sleep 607" not in machine.processes().values())


def a_host_that_is_lost_ends_it(machine, host, client):
    os.kill(machine.connections()[0], 9)
    assert client.hear("error")["what"] == "host"
    assert client.process.receive(SOON_S) is None


def no_other_engine_is_there(machine, host, client):
    with pytest.raises(MissingError):
        host.spawn(["/no/assay-engine"])


PARTS = (
    a_command_starts_at_its_time_and_its_result_is_harvested,
    its_cpu_time_is_that_of_the_command,
    it_tells_progress_and_one_phase_follows_another,
    stop_ends_the_command_and_its_children,
    stop_before_the_start_ends_it_at_once,
    the_hard_end,
    what_cannot_be_armed_is_said,
    what_it_does_not_understand_is_said,
    its_clock_is_true_within_half_of_the_exchange,
    names_are_taken_literally,
    the_end_of_its_input_ends_it_and_its_command,
    no_other_engine_is_there,
    a_host_that_is_lost_ends_it,
)


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/busybox"])
def test_a_client_behind_any_shell(far, shell, subtests):
    if not Path(shell).exists():
        pytest.skip(f"no {shell}")
    machine = far(1, shell=os.path.realpath(shell))[0]
    with ShellHost("s", Door("s", parsed(machine.address))) as host:
        for part in PARTS:
            with subtests.test(part=part.__name__):
                part(machine, host, greeted(host))
