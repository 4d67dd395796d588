"""What tests of hosts through Dask share: processes, who listens where, and what every way to a host must be good for."""

import contextlib
import json
import os
import queue
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from assay.hosts import certificates, dask
from stage.assay_process import wait_until

ENGINE = Path(dask.__file__).parent.parent / "bin" / "assay-engine"
WAIT_S = 120.0


def until(condition, message, wait_s=WAIT_S):
    deadline = time.monotonic() + wait_s
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.01)


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid):
    listed = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for group in listed for child in group]


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def listening(pids):
    """The addresses at which processes listen for TCP."""
    inodes = set()
    for pid in pids:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"socket:\[(\d+)\]", str(path.readlink())))
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    found = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in inodes]
    return [(socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)) for address, port in found]


def speak(host):
    """Start a command on a host that repeats lines; return what sends one and waits for its echo."""
    process, heard = host.spawn(["sh", "-c", 'while IFS= read -r line; do echo "$line"; done']), queue.SimpleQueue()
    process.listen(lambda line, at_ns: heard.put(line))

    def echo(line):
        process.send(line)
        return heard.get(timeout=WAIT_S)

    return echo


def use(host):
    """What every way to a host must be good for."""
    echo = speak(host)
    assert [echo(line) for line in ("one", "ü", "x" * 200_000)] == ["one", "ü", "x" * 200_000]
    asked_ns, theirs_ns, answered_ns = host.probe()
    assert asked_ns <= theirs_ns <= answered_ns, "it is this machine, so its clock is ours"
    assert host.read("/proc/sys/kernel/random/boot_id").strip() == host.machine().boot
    assert host.run(["sh", "-c", "echo $((6 * 7))"]).stdout == "42\n"


@contextlib.contextmanager
def running_scheduler(tmp_path):
    """Start a scheduler with one worker; give how it is reached, as fields of a HostSpec."""
    place = tmp_path / "certificates"
    files = certificates.written(certificates.issued(["controller", "scheduler", "worker"]), place)

    def dask_command(name, *words):
        certificate, key = map(str, files[name])
        tls = ("--tls-ca-file", str(place / "authority.pem"), "--tls-cert", certificate, "--tls-key", key)
        return [sys.executable, "-m", f"distributed.cli.dask_{name}", *words, "--protocol", "tls", *tls, "--no-dashboard"]

    with contextlib.ExitStack() as stack:

        def start(command):
            environment = {**os.environ, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
            log = stack.enter_context((tmp_path / "log").open("ab"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            stack.callback(process.kill)
            return process

        loopback = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
        told = tmp_path / "scheduler.json"
        start(dask_command("scheduler", "--port", "0", "--scheduler-file", str(told), *loopback))
        address = wait_until(lambda: address_in(told))
        start(dask_command("worker", address, "--nthreads", "2", "--no-nanny", *loopback))
        wait_until(lambda: "Registered to" in (tmp_path / "log").read_text())
        certificate, key = map(str, files["controller"])
        options = {"authority": str(place / "authority.pem"), "certificate": certificate, "key": key}
        yield {"via": "dask", "scheduler": address, "group": "n", "engine": True, "options": options}


def address_in(file):
    with contextlib.suppress(OSError, ValueError):
        return json.loads(file.read_text())["address"]
    return None
