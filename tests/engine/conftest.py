"""The real load engine, spoken to line by line."""

import contextlib
import json
import subprocess
import time
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent.parent / "src" / "assay" / "bin" / "assay-engine"


class Engine:
    """One engine process, spoken to by lines."""

    def __init__(self, under=()):
        self.process = subprocess.Popen(
            [*under, ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.hello = self.receive()
        self.progress = []

    def send(self, **message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def arm(self, engine, settings, **envelope):
        self.send(type="config", engine=engine, settings=settings, **{"phase": "p"} | envelope)
        return self.receive()

    def go(self, delay_ns=10_000_000):
        at_ns = time.monotonic_ns() + delay_ns
        self.send(type="go", at_ns=at_ns)
        assert self.receive()["type"] == "told"
        return at_ns

    def result(self):
        while (message := self.receive()) and message["type"] == "progress":
            self.progress.append(message)
        return message

    def run(self, engine, settings, **envelope):
        armed = self.arm(engine, settings, **envelope)
        assert armed["type"] == "armed", armed
        self.go()
        return self.result()

    def close(self):
        self.process.stdin.close()
        self.process.wait(300)
        self.process.stdout.close()


@pytest.fixture
def engine():
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make build")
    started = Engine()
    yield started
    started.close()


@pytest.fixture
def engines():
    """Starts engines, each under the words before its command, and closes them at the end."""
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make build")
    with contextlib.ExitStack() as closing:

        def start(*under):
            started = Engine(under)
            closing.callback(started.close)
            return started

        yield start


@pytest.fixture
def uring(engine, tmp_path):
    """The engine, where the kernel lets it make an io_uring."""
    (tmp_path / "probe").write_bytes(bytes(4096))
    region = {"path": str(tmp_path / "probe"), "size": 4096}
    answer = engine.arm("bulk", {"operation": "read", "path": "io_uring", "regions": [region], "record_size": 4096})
    if answer["type"] == "error":
        pytest.skip(f"no io_uring here: {answer['message']}")
    return engine
