"""What stands against a workload over a path: every line of it at once, with file, line, what was found and the fix.

Mistakes in the file do not hide what the machine refuses, and neither hides the other's lines; nothing is set up and kept.
"""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from stage.assay_process import Bench, as_nobody, kill, running, wait_until

HEAD = """title = "Refused"
question = "Is it refused in time, with the fix?"
repeats = 1
observers = ["process_io"]
"""
PATHS = """[paths.wan]
rate = "100 Mbit/s"
delay = "2 ms"
queue = "500 kB"
[paths.narrow]
rate = "100 Mbit/s"
queue = "1 kB"
[paths.deaf]
loss = "100 %"
"""
LINE = """[targets.line]
kind = "line"
through = "van"
"""
WIRE = """[targets.wire]
kind = "socket"
address = "127.0.0.1:5201"
"""
WORK = """[workloads.n]
kind = "net_stream"
congestion = "vegas9"
window = "1 GiB"
mptcp = true
quiesce = "0 s"
"""
LISTENER = "import socket, time; s = socket.create_server(('127.0.0.1', 5201)); print(flush=True); time.sleep(300)"
NO_TUN = ("unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh")
OF_FILE = {
    'queue = "1 kB"': "found a queue of 1 kB for path 'narrow'; expected at least one packet on the wire, 1,538 bytes",
    'loss = "100 %"': "found loss of 100 % for path 'deaf'; expected a share below 100 %",
    'through = "van"': "found path 'van' of target 'line'; expected one of wan, narrow, deaf (did you mean 'wan'?)",
}
"""Line of the file -> what is said of it; the same of the machine below."""
OF_LINE = {
    "[targets.line]": (
        'target line: a line needs root (network namespaces). Run as root, or use kind = "socket" on the loopback.',
        "target line: /dev/net/tun does not exist: no TUN devices (modprobe tun).",
    ),
}
OF_SOCKETS = {
    'congestion = "vegas9"': ("workload n: found congestion 'vegas9'; expected one of those allowed on local: ",),
    'window = "1 GiB"': (
        "workload n: found window 1,073,741,824 bytes; expected at most ",
        "sysctl -w net.core.rmem_max=1073741824",
        "sysctl -w net.core.wmem_max=1073741824",
    ),
    "mptcp = true": ("workload n: MPTCP is off on local. Turn it on: sysctl -w net.mptcp.enabled=1",),
    'address = "127.0.0.1:5201"': (
        "workload n: port 5201 of local is in use (127.0.0.1:5201 listens). Free it, or leave the port of target wire out",
    ),
}

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and other users need root")]


@pytest.fixture
def poor():
    """A bench of an ordinary user without TUN devices and MPTCP, where port 5201 of the loopback is taken."""
    with running("unshare", "--net", "sleep", "300") as keeper, as_nobody() as bench:
        own = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - a link of the kernel's
        wait_until(lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != own)  # noqa: PTH115
        into = ("nsenter", "-t", str(keeper.pid), "--net")
        for command in ("ip link set lo up", "sysctl -qw net.mptcp.enabled=0"):
            subprocess.run([*into, *command.split()], check=True)
        with running(*into, sys.executable, "-c", LISTENER) as listener:
            listener.stdout.readline()
            yield replace(bench, through=(*into, *NO_TUN, *bench.through))
        for pid in bench.processes():
            kill(pid)


def said(bench, text, *words):
    """Line of the file -> all that the command says of it; every line of the answer has such a place."""
    (bench.home / "e.toml").write_text(text)
    done = bench.run(*words, "e.toml")
    assert done.returncode == 2, done.stderr + done.stdout
    assert done.stdout == ""
    found = {}
    for one in done.stderr.removeprefix("assay: ").splitlines():
        file, line, column, rest = one.split(":", 3)
        assert (file, column.isdigit()) == ("e.toml", True), one
        found.setdefault(text.splitlines()[int(line) - 1], []).append(rest.strip())
    return found


def assert_said(found, wanted):
    assert set(found) == set(wanted), found
    for line, parts in wanted.items():
        missing = [part for part in ((parts,) if isinstance(parts, str) else parts) if part not in "\n".join(found[line])]
        assert not missing, (line, missing, found[line])


def assert_untouched(bench):
    assert list(bench.home.glob("lab/*")) == []
    assert bench.traces() == []


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_mistakes_of_the_file_and_of_the_machine_come_together(poor, verb):
    found = said(poor, HEAD + PATHS + LINE + WIRE + WORK, verb)
    assert_said(found, {**OF_FILE, **OF_LINE, **OF_SOCKETS})
    assert_untouched(poor)


def test_what_the_machine_refuses_has_its_line_as_well(poor):
    text = HEAD + PATHS.partition("[paths.narrow]")[0] + LINE.replace("van", "wan") + WIRE + WORK
    assert_said(said(poor, text, "run"), {**OF_LINE, **OF_SOCKETS})
    assert_untouched(poor)


def test_levels_of_factors_have_their_own_places(poor):
    work = WORK.replace('congestion = "vegas9"\nwindow = "1 GiB"\n', "")
    factors = '[factors]\n"n.congestion" = [\n"reno",\n"vegas9",\n]\n"n.window" = [\n"64 KiB",\n"1 GiB",\n]\n'
    found = said(poor, HEAD + WIRE.replace(":5201", "") + work + factors, "run")
    assert_said(
        found,
        {
            '"vegas9",': OF_SOCKETS['congestion = "vegas9"'],
            '"1 GiB",': OF_SOCKETS['window = "1 GiB"'],
            "mptcp = true": OF_SOCKETS["mptcp = true"],
        },
    )


def test_a_kernel_without_tun_refuses_root_as_well(tmp_path):
    bench = Bench(tmp_path, through=NO_TUN)
    work = '[workloads.n]\nkind = "net_rr"\nops = 10\n'
    found = said(bench, HEAD + PATHS.partition("[paths.narrow]")[0] + LINE.replace("van", "wan") + work, "run")
    assert_said(found, {"[targets.line]": OF_LINE["[targets.line]"][1]})
    assert_untouched(bench)


def test_a_box_needs_root_and_says_so_beside_a_mistake_of_its_own():
    with as_nobody() as bench:
        box = '[targets.box]\nkind = "middlebox"\nrulez = 3\n'
        found = said(bench, HEAD + box + '[workloads.n]\nkind = "net_rr"\nops = 10\n', "run")
        assert "unknown knob 'rulez'" in found["rulez = 3"][0]
        assert any("network namespaces need root" in one for one in found["[targets.box]"]), found
        assert_untouched(bench)


ON_LOOPBACK = """[targets.here]
kind = "socket"
[workloads.n]
kind = "net_rr"
ops = 100
quiesce = "0 s"
"""


def test_an_ordinary_user_measures_over_the_loopback():
    with as_nobody() as bench:
        for kind in ("net_stream", "net_rr", "net_udp"):
            done = bench.run("load", kind, "duration=500ms")
            assert done.returncode == 0, done.stderr
            assert "loopback" in done.stdout, kind
        (bench.home / "e.toml").write_text(HEAD + ON_LOOPBACK)
        done = bench.run("run", "e.toml", "--progress", "none")
        assert done.returncode == 0, done.stderr
        assert "transaction" in done.stdout
        assert bench.traces() == []
