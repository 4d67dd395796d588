"""A load of 15,000 searches a second on the loopback, read live: every one is counted, or the result says that it lacks some."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stage import pipelined_server
from stage.assay_process import Bench, wait_until
from stage.captured import passed, reads_frames

SERVER = Path(pipelined_server.__file__)
RATE, SECONDS = 15_000, 4


@contextlib.contextmanager
def serving():
    """The port of a cheap server."""
    process = subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate()


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root")
def test_no_frame_is_lost_in_silence(tmp_path):
    bench = Bench(tmp_path)
    with serving() as port:
        reader = bench.start("dissect", "-i", "lo", "--port", str(port), "--json")
        reads_frames(*wait_until(bench.engines))
        knobs = (f"url=ldap://127.0.0.1:{port}", "base=dc=example,dc=com", "population=1000", "found=0", f"rate={RATE} /s")
        shape = ("connections=4", "depth=16", f"duration={SECONDS} s")
        done = bench.run("load", "ldap_load", *knobs, *shape, "--json")
        passed()
        os.killpg(reader.pid, signal.SIGINT)
        output, error = reader.communicate()
    assert done.returncode == 0, done.stderr
    load, found = json.loads(done.stdout), json.loads(output)
    asked = load["directory"]["ops"]
    (search,) = [one for one in found["filters"] if one["filter"] == "(uid=?)"]  # the looks at the server have another one
    if found["complete"]:
        assert (search["count"], search["answered"], found["gaps"]) == (asked, asked, 0), error
    else:
        assert found["capture_drops"] + found["gaps"] > 0
        assert found["answer"].startswith("At least ")
        assert search["count"] <= asked
