"""The agent, spoken to by raw lines: numbers, damage, order, and that no line ends it."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage import sizes

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"


class Agent:
    """One agent process, spoken to by lines of bytes."""

    def __init__(self):
        self.process = subprocess.Popen(
            [ENGINE, "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
        )
        self.hello = self.receive()
        self.number = 1_000_000
        self.send(0, "lease", for_ns=3600 * 10**9)

    def say(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, number, do, **fields):
        self.say(json.dumps({"id": number, "do": do, **fields}).encode() + b"\n")

    def receive(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def answer(self, number):
        """The answer of this number, and what came before it."""
        before = []
        while (message := self.receive()) is not None and message.get("id") != number:
            before.append(message)
        return message, before

    def ask(self, do, **fields):
        self.number += 1
        self.send(self.number, do, **fields)
        return self.answer(self.number)[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait(300)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def agent():
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make build")
    started = Agent()
    yield started
    started.close()


def test_the_first_line_says_who_it_is(agent):
    assert agent.hello["type"] == "hello"
    assert agent.hello["pid"] == agent.process.pid
    assert agent.hello["uid"] == os.geteuid()
    assert agent.hello["build"] == "release"
    assert agent.hello["mono_ns"] <= time.monotonic_ns()
    assert "engines" not in agent.hello


def test_a_request_without_a_number_wants_no_answer(agent):
    agent.send(0, "read", path="/proc/uptime")
    agent.send(0, "clock")
    agent.send(0, "read", path="/nowhere")
    agent.send(0, "nonsense")
    agent.send(5, "clock")
    assert agent.answer(5)[1] == []


def test_what_concerns_no_process_is_left_out(agent):
    agent.send(0, "send", process=99, line="x")
    agent.send(0, "kill", process=99)
    agent.send(0, "end_input", process=99)
    assert agent.ask("clock")["mono_ns"] > 0
    assert agent.ask("release_memory", held=12)["bytes"] == 0


def test_a_process_can_be_spoken_to_before_its_start_is_answered(agent):
    agent.send(7, "spawn", argv=["cat"])
    agent.send(0, "send", process=7, line="early")
    agent.send(0, "end_input", process=7)
    heard = [agent.receive() for _ in range(3)]
    assert [message.get("line", message.get("ended", "started")) for message in heard] == ["started", "early", 0]
    agent.send(8, "spawn", argv=["sleep", "600"])
    agent.send(0, "kill", process=8)
    assert [agent.receive().get("ended") for _ in range(2)] == [None, -9]


def test_a_number_in_use_starts_no_second_process(agent):
    agent.send(9, "spawn", argv=["cat"])
    agent.send(9, "spawn", argv=["cat"])
    heard = [agent.receive() for _ in range(2)]
    assert sorted("error" in message for message in heard) == [False, True]
    agent.send(0, "send", process=9, line="still here")
    assert agent.receive()["line"] == "still here"
    agent.send(0, "kill", process=9)
    assert agent.receive()["ended"] == -9


def test_the_clock_does_not_wait_for_what_takes_long(agent):
    agent.send(20, "run", argv=["sleep", "0.5"])
    for number in range(21, 31):
        agent.send(number, "spin")
    agent.send(31, "clock")
    answer, before = agent.answer(31)
    assert answer["mono_ns"] > 0
    assert before == []
    for _ in range(11):
        assert "error" not in agent.receive()


def test_system_calls_of_a_look_may_fail_one_by_one(agent):
    asked = (("cachestat", "/nowhere"), ("space", "/proc"), ("real_path", "/proc/self/.."))
    calls = [{"do": do, "path": path} for do, path in asked]
    told = agent.ask("look", read=["/proc/uptime", "/nowhere"], list=["/nowhere"], exists=["/", "/nowhere"], calls=calls)
    assert told["before_ns"] < told["after_ns"]
    assert told["read"][1] == {"errno": 2}
    assert (told["list"], told["exists"]) == ([[]], [True, False])
    assert told["calls"][0]["error"]["errno"] == 2
    assert told["calls"][1:] == [{"free": 1.0, "free_inodes": 1.0}, {"path": "/proc"}]
    for call in ({"do": "run", "argv": ["true"]}, {"do": "nonsense"}, {"do": "space"}, {}):
        assert "error" in agent.ask("look", calls=[call])["calls"][0]


def test_a_line_that_is_no_request_is_told(subtests, agent):
    for line in [
        *(b"", b"[]", b"null", b"{}", b"\xff\xfe", b"\0" * 70_000, b"[" * 100_000),
        *(b'{"do":"clock"}', b'{"id":-1,"do":"clock"}', b'{"id":"1","do":"clock"}', b'{"id":1e99,"do":"clock"}'),
        *(b'{"id":1,"do":"clock"', b'{"id":1,"do":"read","path":"\\ud800"}'),
    ]:
        with subtests.test(line=line):
            agent.say(line + b"\n")
            told = agent.receive()
            assert (told["type"], told["what"]) == ("error", "request")
            assert agent.ask("clock")["mono_ns"] > 0


def test_a_request_that_cannot_be_done_is_answered_with_an_error(subtests, agent):
    for do, fields in [
        ("nonsense", {}),
        ("clock", {"more": 1}),
        ("read", {}),
        ("read", {"path": 5}),
        ("lease", {"for_ns": -1}),
        ("hold_memory", {"bytes": 1.5}),
        ("run", {"argv": "true"}),
        ("read", {"path": "\0"}),
        ("run", {"argv": []}),
        ("run", {"argv": ["true", "\0"]}),
        ("spawn", {"argv": []}),
        ("note", {"n": 1}),
        ("unmount_in", {"namespace": "/nowhere", "point": "/"}),
    ]:
        with subtests.test(do=do, fields=fields):
            told = agent.ask(do, **fields)
            assert told["error"]["message"] or told.get("missing")
            assert agent.ask("clock")["mono_ns"] > 0


WORDS = ("clock", "look", "read", "list", "exists", "real_path", "send", "kill", "strike", "fiemap", "space", "booted_ns")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.sampled_from(("path", "process", "line", "read", "list", "exists", "calls", "n", "file", "held", "details"))
REQUESTS = st.builds(
    lambda number, do, fields: json.dumps({**fields, "id": number, "do": do}).encode(),
    st.just(0) | st.integers() | VALUES,
    st.sampled_from(WORDS) | st.text(max_size=10),
    st.dictionaries(NAMES, VALUES, max_size=4),
)


@sizes.examples(sizes.EXAMPLES)
@given(st.lists(st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"")) | REQUESTS, max_size=20))
def test_no_line_ends_an_agent(agent, lines):
    agent.say(b"".join(line + b"\n" for line in lines))
    agent.number += 1
    agent.send(agent.number, "clock")
    while (message := agent.receive()) is not None:
        if message.get("id") == agent.number and "mono_ns" in message:
            break
    assert message is not None
    assert agent.process.poll() is None


def test_a_line_of_100_mb_is_refused_and_the_next_one_heard(agent):
    piece = b"x" * (1 << 20)
    for _ in range(100):
        agent.say(piece)
    agent.say(b"\n")
    assert agent.receive()["message"] == "found a line that is too long"
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 200_000
    assert agent.ask("clock")["mono_ns"] > 0


def test_an_agent_whose_output_nobody_reads_ends_by_itself():
    agent = Agent()
    agent.send(1, "spawn", argv=["yes"])
    agent.process.stdout.close()
    assert agent.process.wait(300) == 0
    agent.process.stdin.close()


def test_an_agent_whose_output_is_stuck_ends_at_the_end_of_its_input():
    agent = Agent()
    agent.send(1, "spawn", argv=["yes"])
    agent.send(2, "spawn", argv=["sleep", "600"])
    time.sleep(0.2)
    agent.process.stdin.close()
    assert agent.process.wait(300) == 0
    agent.process.stdout.close()


def test_a_first_lease_is_taken_without_being_asked_for():
    agent = Agent()
    agent.send(1, "lease", for_ns=200_000_000)
    assert agent.process.wait(300) == 0
    agent.process.stdin.close()
    agent.process.stdout.close()


def test_without_the_word_it_is_the_load_engine():
    done = subprocess.run([ENGINE], input=b'{"type":"clock"}\n', capture_output=True, check=False)
    hello, clock = map(json.loads, done.stdout.splitlines())
    assert "engines" in hello
    assert clock["type"] == "clock"
    assert done.returncode == 1
