"""Files of threads that stay open between looks: they say what any host reads, of threads that are there now."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.hosts import thread_files
from assay.hosts.local import KeptOpen, Local
from assay.hosts.thread_files import ThreadFiles, watched


def open_files(word):
    return sum(word in str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink())


def of_thread(pid, name):
    return f"/proc/{pid}/task/{pid}/{name}"


def test_this_machine_alone_is_opened():
    recorded = Local("r", "/")
    with watched(recorded) as host:
        assert host is recorded
    live = Local("here")
    with watched(live) as host:
        assert isinstance(host, KeptOpen)
        assert host.name == "here"
        assert host.syscalls is live.syscalls, "the kernel's log goes on where the former look ended"
    with watched(host) as same:
        assert same is host


def test_it_reads_what_any_host_reads_and_closes_all():
    own, before = os.getpid(), open_files("/task/")
    with watched(Local()) as host:
        for _ in range(3):
            assert host.read(of_thread(own, "comm")) == Local().read(of_thread(own, "comm"))
            assert host.read(of_thread(own, "stat")).split()[0] == str(own)
        assert open_files("/task/") == before + 2
        with subprocess.Popen(["sleep", "60"]) as child:
            assert str(child.pid) in host.read(of_thread(own, "children")).split()
            assert str(child.pid) in host.read(of_thread(own, "children")).split()
            child.kill()
        assert str(child.pid) not in host.read(of_thread(own, "children")).split()
    assert open_files("/task/") == before


def test_what_has_ended_is_gone():
    with watched(Local()) as host:
        with subprocess.Popen(["sleep", "60"]) as child:
            path = of_thread(child.pid, "stat")
            assert [host.read(path).split()[0] for _ in range(3)] == [str(child.pid)] * 3
            child.kill()
        with pytest.raises(OSError, match="No such"):
            host.read(path)


def test_other_files_of_a_process_are_not_kept():
    own, before = os.getpid(), open_files(f"/{os.getpid()}/io")
    with watched(Local()) as host:
        assert [len(host.read(f"/proc/{own}/io").splitlines()) for _ in range(3)] == [7] * 3
        assert open_files(f"/{own}/io") == before


def test_each_is_opened_again_after_a_while(monkeypatch):
    now = [0]
    monkeypatch.setattr(thread_files.time, "monotonic_ns", lambda: now[0])
    opened = []
    real = os.open
    monkeypatch.setattr(thread_files.os, "open", lambda path, flags: opened.append(path) or real(path, flags))
    kept, path, before = ThreadFiles(), of_thread(os.getpid(), "comm"), open_files("/task/")
    assert kept.read(path) is None
    assert [bool(kept.read(path)) for _ in range(3)] == [True] * 3
    assert len(opened) == 1
    now[0] += thread_files.LONGEST_OPEN_NS
    assert kept.read(path)
    assert len(opened) == 2
    assert open_files("/task/") == before + 2, "another thread of the lab may be reading the former one"
    now[0] += thread_files.LONGEST_OPEN_NS
    assert kept.read(path)
    assert open_files("/task/") == before + 2, "the first one was closed"
    kept.close()
    assert open_files("/task/") == before


def test_no_more_are_open_than_may_be(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (8, 8))
    kept, own = ThreadFiles(), os.getpid()
    paths = [of_thread(own, name) for name in ("comm", "stat", "schedstat", "children")]
    assert [kept.read(path) for path in paths] == [None] * 4
    found = [kept.read(path) is not None for path in paths]
    assert found == [True, True, False, False]
    assert [kept.read(path) is not None for path in paths] == found
    kept.close()


THREADS = """import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(flush=True)
time.sleep(600)
"""


def test_threads_of_a_server_cost_a_fraction():
    with subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        tasks = f"/proc/{server.pid}/task"
        paths = [f"{tasks}/{thread}/children" for thread in Local().list(tasks)]
        spent = {}
        with watched(Local()) as kept:
            for name, host in (("kept", kept), ("plain", Local())) * 2:  # the first round opens them
                began = time.thread_time_ns()
                for _ in range(100):
                    assert [host.read(path) for path in paths] == [""] * len(paths)
                spent[name] = time.thread_time_ns() - began
        server.kill()
    assert len(paths) == 61
    assert spent["kept"] < spent["plain"]
