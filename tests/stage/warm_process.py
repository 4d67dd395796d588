"""A process in which Assay is imported already: each call of `assay` is a fork of it, a process of its own that began warm.

A new interpreter with Assay's imports costs 0.2 to 0.3 CPU-s, a fork some milliseconds. The call has its own words,
environment, directory and streams, and its own process id; what it lacks are an interpreter's start and the imports,
so tests of these start an interpreter (`Bench.start`, or `Bench.run` with an environment that an interpreter reads).
"""

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

LIBRARIES = ("numpy", "scipy.stats", "scipy.optimize", "duckdb", "pydantic", "jinja2")
VERBS = "assay.cli"
USUAL = {"LC_ALL": "C.UTF-8"}
"""What calls of tests have in their environment."""
READ_BY_AN_INTERPRETER = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_", "OPENBLAS_", "OMP_")
"""Variables that are read when an interpreter or a library starts."""
REQUEST_BYTES = 1 << 20


class Warm:
    """The warm process of a process of tests; it ends with it."""

    def __init__(self):
        self.asks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for number in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            self.asks.setsockopt(socket.SOL_SOCKET, number, REQUEST_BYTES)
        command = [sys.executable, __file__, str(theirs.fileno())]
        environment = {**os.environ, **USUAL, "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
        theirs.close()
        self.environment = started_with({**os.environ, **USUAL})
        atexit.register(self.end)

    def end(self):
        self.asks.close()
        self.process.wait()

    def serves(self, environment):
        """Whether a call with this environment may be a fork: an interpreter started with it would be no other."""
        return started_with(environment) == self.environment

    def run(self, words, *, cwd, env, timeout, streams):
        """Call `assay` and wait: as `subprocess.run`, with the numbers of the streams in order."""
        order = [os.sched_getscheduler(0), os.sched_getparam(0).sched_priority]
        request = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env), "order": order}).encode()
        answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answers:
            with theirs:
                socket.send_fds(self.asks, [request], [*streams, theirs.fileno()])
            pid = int(answers.recv(32))
            yield pid
            answers.settimeout(timeout)
            try:
                yield int(answers.recv(32))
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, timeout) from None


@functools.cache
def started():
    """The warm process of this process of tests."""
    return Warm()


def started_with(environment):
    return {name: value for name, value in environment.items() if name.startswith(READ_BY_AN_INTERPRETER)}


def completed(warm, words, *, cwd, env, timeout, text, stdin=None):
    """Call `assay` in a fork and read both of its outputs: a `subprocess.CompletedProcess`."""
    ends = [os.pipe(), os.pipe()]
    deadline = time.monotonic() + timeout
    given = 0 if stdin is None else stdin.fileno()
    call = warm.run(words, cwd=cwd, env=env, timeout=timeout, streams=[given, ends[0][1], ends[1][1]])
    pid = next(call)
    for _, written in ends:
        os.close(written)
    out, err = until_closed([read for read, _ in ends], deadline, pid, words)
    status = next(call)
    if text:
        out, err = (io.TextIOWrapper(io.BytesIO(one), encoding="utf-8", errors="strict").read() for one in (out, err))
    return subprocess.CompletedProcess(words, status, out, err)


def until_closed(numbers, deadline, pid, words):
    """All bytes that come from each number until its writers are gone."""
    found = {number: bytearray() for number in numbers}
    left = select.poll()
    for number in numbers:
        left.register(number, select.POLLIN | select.POLLHUP)
    while numbers:
        ready = left.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, deadline)
        for number, _ in ready:
            if chunk := os.read(number, 1 << 16):
                found[number] += chunk
                continue
            left.unregister(number)
            os.close(number)
            numbers = [one for one in numbers if one != number]
    return [bytes(one) for one in found.values()]


def serve(asks):
    """Import everything, then answer each request by a fork, until the other end closes."""
    imported()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ordered(os.SCHED_OTHER, 0)  # also where the first call comes from a test that is ahead of all others
    waiting = {}
    watched = select.poll()
    watched.register(asks, select.POLLIN | select.POLLHUP)
    while True:
        for number, _ in watched.poll():
            if number != asks.fileno():
                watched.unregister(number)
                report(*waiting.pop(number))
                os.close(number)
                continue
            request, numbers, *_ = socket.recv_fds(asks, REQUEST_BYTES, 4)
            if not request:
                return
            pid, ended = forked(json.loads(request), numbers, asks, waiting)
            waiting[ended] = (pid, socket.socket(fileno=numbers.pop()))
            watched.register(ended, select.POLLIN)
            for number_given in numbers:
                os.close(number_given)


def report(pid, answers):
    """Wait for a fork that has ended and say its status, a signal as a negative number."""
    _, status = os.waitpid(pid, 0)
    with answers, contextlib.suppress(OSError):
        answers.send(str(os.waitstatus_to_exitcode(status)).encode())


def forked(request, numbers, asks, waiting):
    """The process of a call, and a number that becomes readable when it ends."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            for number in (asks.fileno(), numbers[-1], *waiting, *(one.fileno() for _, one in waiting.values())):
                os.close(number)
            status = called(request, numbers[:3])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    with socket.socket(fileno=os.dup(numbers[-1])) as answers:
        answers.send(str(pid).encode())
    return pid, os.pidfd_open(pid)


def ordered(policy, priority):
    """Have this place in the order of processes, as a process that is started inherits it."""
    if (policy, priority) != (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority):
        os.sched_setscheduler(0, policy, os.sched_param(priority))


def called(request, streams):
    """Run `assay` as an interpreter would run it; its status."""
    for number, given in enumerate(streams):
        os.dup2(given, number)
        os.close(given)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    ordered(*request["order"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-c", *request["words"]]
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = written(1, "strict")
    sys.stderr = sys.__stderr__ = written(2, "backslashreplace")
    from assay.cli.main import main

    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 120
    return status


def written(number, errors):
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), "utf-8", errors, line_buffering=number != 1)


def imported():
    """Import every verb and every entry of the catalogues, and what they import when they are called."""
    import importlib

    import assay
    from assay import catalogue

    folder = Path(assay.__file__).parent
    rooms = ("cli", "laboratory", "report", "answer", "audit", "analysis", "notebook", "experiment", "trial")
    for name in LIBRARIES:
        importlib.import_module(name)
    for room in rooms:
        for path in sorted((folder / room).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if parts[-1] not in ("__main__", "__init__"):
                importlib.import_module(".".join(("assay", *parts)))
    for kind in catalogue.CONSTANTS:
        for name in catalogue.names(kind):
            catalogue.find(kind, name)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as taken:
        serve(taken)
    os._exit(0)  # libraries that nobody used tell of what they still hold
