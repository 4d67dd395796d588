"""`assay stat` of programs that say themselves how their time was spent: its shares are theirs."""

import json
import subprocess
import sys
import textwrap

import pytest

from stage.stat_stage import root

LENGTH_S = 2.5
PROGRAM = """
import fcntl, os, select, socket, subprocess, sys, threading, time
spent = {"running": sum(map(int, open("/proc/self/schedstat").read().split()[:2])) / 1e9}  # until here, ready without a CPU too
def section(name, act):
    begun = time.monotonic()
    act()
    spent[name] = spent.get(name, 0) + time.monotonic() - begun
def burn(s):
    end = time.thread_time() + s
    while time.thread_time() < end: pass
"""
PROGRAMS = {
    "burn": "act = lambda: section('running', lambda: burn(0.05))",
    "sleep": "act = lambda: section('sleep', lambda: time.sleep(0.05))",
    "burn and sleep": "act = lambda: (section('running', lambda: burn(0.02)), section('sleep', lambda: time.sleep(0.04)))",
    "a pipe that a sleeper fills": """
        child = subprocess.Popen([sys.executable, '-c', 'import time\\nwhile True: time.sleep(.03); print(1, flush=True)'],
                                 stdout=subprocess.PIPE)
        child.stdout.readline()
        act = lambda: (section('sleep', lambda: os.read(child.stdout.fileno(), 10)), section('running', lambda: burn(0.02)))
    """,
    "a socket that answers late": """
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            while True: select.select([], [], [], 0.03); theirs.send(b'x')
        act = lambda: (section('read_socket', lambda: ours.recv(10)), section('running', lambda: burn(0.02)))
    """,
    "a lock of a file": """
        name = sys.argv[1]
        child = os.fork()
        if child == 0:
            mine = open(name, 'w')
            while True:
                fcntl.flock(mine, fcntl.LOCK_EX); select.select([], [], [], 0.03); fcntl.flock(mine, fcntl.LOCK_UN)
                select.select([], [], [], 0.02)
        own = open(name, 'w')
        def locked():
            section('lock', lambda: fcntl.flock(own, fcntl.LOCK_EX)); fcntl.flock(own, fcntl.LOCK_UN)
            section('running', lambda: burn(0.02))
        act = locked
    """,
    "events": """
        act = lambda: (section('events', lambda: select.select([], [], [], 0.04)), section('running', lambda: burn(0.01)))
    """,
    "a lock of threads": """
        lock = threading.Lock(); lock.acquire()
        act = lambda: (section('other_thread', lambda: lock.acquire(timeout=0.04)), section('running', lambda: burn(0.02)))
    """,
}
END = """
end = time.monotonic() + {length}
while time.monotonic() < end: act()
open(sys.argv[2], 'w').write(repr(spent))
os.kill(child, 9) if 'child' in globals() and isinstance(child, int) else None
child.kill() if 'child' in globals() and not isinstance(child, int) else None
"""


def shares(tmp_path, program):
    """What the program says, and what stat says, both by state."""
    source, told, result = tmp_path / "program.py", tmp_path / "told", tmp_path / "stat.json"
    source.write_text(PROGRAM + textwrap.dedent(program) + END.format(length=LENGTH_S))
    argv = [sys.executable, "-c", "from assay.cli.main import main; main()", "stat", f"--json={result}", "--"]
    subprocess.run([*argv, sys.executable, source, tmp_path / "lock", told], check=True, capture_output=True)
    spent = eval(told.read_text())
    ladder = json.loads(result.read_text())["time"]["load"]
    found = {}
    for part in ladder["parts"]:
        share, error = found.get(part["state"], (0.0, 0.0))
        found[part["state"]] = (share + part["share"], max(error, part["error"]))
    return {name: one / sum(spent.values()) for name, one in spent.items()}, found


@root
@pytest.mark.slow
def test_shares_are_those_that_programs_measured_themselves(tmp_path):
    wrong = []
    for name, program in PROGRAMS.items():
        truth, found = shares(tmp_path, program)
        ready, _ = found.get("ready", (0.0, 0.0))
        for state, share in truth.items():
            seen, error = found.get(state, (0.0, 0.0))
            off = max(0.06, 2 * error)
            if not seen - off <= share <= seen + ready + off:  # a thread that was woken waits on, in its own eyes, for a CPU
                wrong.append(f"{name}: {state} {share:.3f}, seen {seen:.3f} ±{error:.3f} of {found}")
    assert wrong == []
