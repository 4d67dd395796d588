"""How a far host is lost: killed, frozen, closed, damaged, never there."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.errors import AssayError, LostHostError, RefusedError
from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost
from stage.agents import ENGINE, PATIENCE_S, agent_channel, far_host
from stage.assay_process import wait_until
from stage.processes import ended


@pytest.fixture
def host(tmp_path):
    with far_host(env={"XDG_RUNTIME_DIR": str(tmp_path)}) as made:
        yield made


def raises_lost(host, reason):
    for call in (lambda: host.read("/proc/uptime"), lambda: host.run(["true"]), host.probe, lambda: host.spawn(["cat"])):
        with pytest.raises(LostHostError, match=f"host filer is lost: .*{reason}") as seen:
            call()
        assert isinstance(seen.value, AssayError)
        assert isinstance(seen.value, OSError)
    with pytest.raises(LostHostError):
        host.look("x").end()


def test_a_killed_agent_is_lost_at_once_and_its_processes_with_it(host):
    engine, sleeper = host.spawn(["assay-engine"]), host.spawn(["sleep", "600"])
    assert json.loads(engine.receive(PATIENCE_S))["type"] == "hello"
    heard = []
    sleeper.listen(lambda line, _at_ns: heard.append(line))
    failed = []
    waiting = threading.Thread(target=lambda: failed.append(outcome_of(lambda: host.run(["sleep", "600"]))))
    waiting.start()
    os.kill(host.hello["pid"], signal.SIGKILL)
    waiting.join(PATIENCE_S)
    assert isinstance(failed[0], LostHostError)
    raises_lost(host, "its connection ended")
    wait_until(lambda: ended(engine.pid) and ended(sleeper.pid))
    assert engine.receive(PATIENCE_S) is None
    assert heard == [None]
    with pytest.raises(LostHostError, match="host filer is lost"):
        engine.wait(PATIENCE_S)
    with pytest.raises(LostHostError, match="host filer is lost"):
        engine.send("more")
    engine.kill()
    engine.end_input()


def outcome_of(call):
    try:
        return call()
    except (AssayError, OSError) as error:
        return error


@pytest.fixture
def little_patience(monkeypatch):
    """A frozen agent does not end by itself."""
    monkeypatch.setattr("assay.hosts.channel.FAREWELL_S", 0.5)


def test_an_agent_that_is_frozen_is_lost_after_its_lease(little_patience):
    with far_host(lease_s=3.0) as host:
        os.kill(host.hello["pid"], signal.SIGSTOP)
        began = time.monotonic()
        wait_until(lambda: host.lost() is not None)
        assert time.monotonic() - began > 1
        raises_lost(host, "nothing came from it for 3 s")


def test_a_frozen_agent_that_is_asked_much_is_lost_all_the_same(tmp_path, little_patience):
    with far_host(lease_s=3.0) as host, ThreadPoolExecutor(4) as pool:
        os.kill(host.hello["pid"], signal.SIGSTOP)
        asked = [pool.submit(host.write, str(tmp_path / "x"), "x" * 200_000) for _ in range(4)]
        assert all(isinstance(one.exception(PATIENCE_S), LostHostError) for one in asked)


def test_the_lease_is_renewed_as_long_as_we_live():
    with far_host(lease_s=3.0) as host:
        time.sleep(7)
        assert host.run(["true"]).status == 0


def test_a_closed_host_ends_its_agent_and_says_so(tmp_path):
    with far_host() as host:
        process = host.spawn(["sleep", "600"])
        host.close()
        host.close()
        assert ended(host.hello["pid"])
        assert ended(process.pid)
        raises_lost(host, "its connection was closed")


def test_something_that_is_no_agent_is_told_with_its_words():
    with pytest.raises(LostHostError, match="host x is lost: its connection ended: no space here"):
        FarHost("x", LocalChannel(["sh", "-c", "echo no space here >&2; exit 1"]))
    with pytest.raises(LostHostError, match=r"did not answer for 0\.3 s"):
        FarHost("x", LocalChannel(["cat"]), hello_s=0.3)


def test_what_a_login_shell_says_before_the_agent_is_left_out():
    channel = LocalChannel(["sh", "-c", f"echo Welcome; echo; echo '42'; exec {ENGINE} agent"])
    with FarHost("filer", channel) as host:
        assert host.run(["true"]).status == 0


class Damaging:
    """A channel that damages the lines of one direction from some moment on."""

    def __init__(self, channel):
        self.channel, self.outwards, self.inwards = channel, "", ""

    def send(self, line):
        self.channel.send(self.outwards or line)

    def listen(self, heard):
        self.channel.listen(lambda line, at_ns: heard(self.inwards if self.inwards and line else line, at_ns))

    def __getattr__(self, name):
        return getattr(self.channel, name)


def test_a_damaged_line_from_the_far_end_loses_the_host(subtests):
    for text in ["\x00rubbish", '{"id":', "[1]", '{"process":1}', '{"id":[]}', '{"type":"x"}']:
        with subtests.test(text=text):
            channel = Damaging(agent_channel())
            with FarHost("filer", channel) as host:
                process = host.spawn(["cat"])
                assert process._number == 2
                channel.inwards = text.replace('"process":1', '"process":2')
                raises_lost(host, "expected a message|damaged|KeyError")


def test_a_damaged_line_to_the_far_end_loses_the_host():
    channel = Damaging(agent_channel())
    with FarHost("filer", channel) as host:
        channel.outwards = '{"do":"clo'
        raises_lost(host, "it found a damaged line")


def test_a_request_that_the_agent_does_not_know_is_refused(host):
    with pytest.raises(RefusedError, match=r"filer: unknown variant .format_disk."):
        host._exchange.ask("format_disk")
    with pytest.raises(RefusedError, match=r"filer: unknown field .more."):
        host._exchange.ask("read", path="/proc/uptime", more=1)
    with pytest.raises(RefusedError, match=r"filer: missing field .path."):
        host._exchange.ask("read")
    assert host.run(["true"]).status == 0


FROZEN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from stage.agents import far_host
with far_host(lease_s=2.0) as host:
    print("ready", flush=True)
    while (lost := host.lost()) is None:
        time.sleep(0.05)
    print(lost, flush=True)
"""


def test_a_controller_that_was_frozen_blames_itself():
    argv = [sys.executable, "-c", FROZEN, str(Path(__file__).parents[1])]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as frozen:
        assert frozen.stdout.readline() == "ready\n"
        frozen.send_signal(signal.SIGSTOP)
        time.sleep(5)
        frozen.send_signal(signal.SIGCONT)
        said = frozen.stdout.readline()
    assert "nothing came" not in said
    assert re.search(r"Assay itself was stopped for [3-9] s|its connection ended", said), said
