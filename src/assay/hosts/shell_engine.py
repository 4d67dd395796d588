"""A client on a host without the load engine: speaks the engine's protocol here, and runs the engine `command` there by a shell.

Start and end are stamped when the shell's lines arrive, so both are late by one way over the network. The command's output comes
whole; its CPU time is what the shell's `times` tells, in hundredths of a second; its I/O stays unknown.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from assay.catalogue import Listener
from assay.frozen import dataclass
from assay.hosts.coarse_clock import CoarseClock
from assay.hosts.far_shell import FarShell, Printout, quoted
from assay.hosts.line_feed import LineFeed
from assay.hosts.shell_commands import Commands, body_of, status_of

ENGINE = "command"
KEPT_CHARACTERS = 1 << 20
LONGEST_NS = 600 * 10**9
STEP_S = 0.25
EARLY_SHARE = 0.4
"""Of a round trip: so long before T the shell is told to start. Less than one way, so that nothing starts before T."""
WAYS = 8
"""So many round trips are timed before the first phase. The shortest is that of the network: the longer ones waited for a CPU."""
TIMES = re.compile(r"([0-9]+)m([0-9.]+)s")
NO_DIRECTORY, NO_COMMAND = "assay-no-directory", "assay-no-command"

Message = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Armed:
    """A phase that is ready to go."""

    phase: str
    client: int
    operation: str
    script: str
    interval_ns: int
    limit_ns: int
    armed_ns: int


class ShellEngine:
    """A Process whose lines are those of docs/engine-protocol.md."""

    def __init__(self, name: str, commands: Commands, clock: CoarseClock, env: Mapping[str, str] | None) -> None:
        """Start its shell. Raises OSError."""
        self._name, self._commands, self._clock = name, commands, clock
        self._shell, self.pid = commands.fresh(env)
        self._mark = secrets.token_hex(8)
        self._out = LineFeed()
        self._in: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._armed: Armed | None = None
        self._running: _Run | None = None
        self._cpu_s = (0.0, 0.0)
        self._way_ns = 0
        hello = {"type": "hello", "version": metadata.version("assay-lab"), "pid": self.pid, "engines": [ENGINE]}
        self._say({**hello, "build": "release"})
        threading.Thread(target=self._serve, name=f"engine on {name}", daemon=True).start()

    def send(self, line: str) -> None:
        """Take one line; it is answered by a thread of its own."""
        if self._ended.is_set():
            raise BrokenPipeError(f"the client on host {self._name} has ended")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        self._in.put(message if isinstance(message, dict) else {"type": "no JSON"})

    def receive(self, timeout_s: float) -> str | None:
        """Return the next line; None when it has ended. Raises TimeoutError."""
        return self._out.next(timeout_s, f"the client on host {self._name} sent nothing")

    def listen(self, heard: Listener) -> None:
        """Give every line from now on to `heard`."""
        self._out.listen(heard)

    def end_input(self) -> None:
        """End it and its command."""
        self._in.put(None)

    def kill(self) -> None:
        """End it and its command at once."""
        self._in.put(None)
        self._ended.wait(STEP_S * 20)

    def wait(self, timeout_s: float | None = None) -> int:
        """End it and wait. Raises TimeoutError."""
        self.end_input()
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"the client on host {self._name} has not ended after {timeout_s} s")
        return 0

    def complaint(self) -> str:
        """Nothing: its reasons are in its messages."""
        return ""

    def _serve(self) -> None:
        try:
            while (message := self._next()) is not None:
                self._answer(message)
        except OSError as error:
            self._say({"type": "error", "phase": None, "what": "host", "path": None, "errno": error.errno, "message": str(error)})
        finally:
            self._ended.set()
            self._commands.discard(self._shell, self.pid)
            with self._out.turn:
                self._out.give(None, time.monotonic_ns())

    def _next(self) -> Message | None:
        """The next message; while a phase runs, its progress, its limit and its end are seen to."""
        while True:
            wait_s = STEP_S if self._running is None else self._running.armed.interval_ns / 1e9
            try:
                return self._in.get(timeout=wait_s)
            except queue.Empty:
                if self._shell.lost:
                    raise OSError(f"host {self._name} is lost") from None
            if self._running is not None:
                self._attend(self._running)

    def _attend(self, running: _Run) -> None:
        now_ns = self._clock.now_ns()
        if now_ns > running.go_ns + running.armed.limit_ns:
            running.stop("limit", self._kill_command)
        nothing = {running.armed.operation: {"count": 0, "bytes": 0}}
        self._say({"type": "progress", "phase": running.armed.phase, "at_ns": now_ns, "operations": nothing})

    def _answer(self, message: Message) -> None:
        answers: Mapping[str, Callable[[Message], None]] = {
            "config": self._arm,
            "clock": lambda _: self._tell_clock(),
            "go": self._go,
            "lease": lambda _: None,  # the lease of the host's first shell
            "stop": lambda _: self._stop(),
        }
        answer = answers.get(str(message.get("type")))
        if answer is None:
            self._refuse("request", f"unknown request {message.get('type')!r}")
        else:
            answer(message)

    def _arm(self, config: Message) -> None:
        settings = config.get("settings")
        argv = settings.get("argv") if isinstance(settings, dict) else None
        if config.get("engine") != ENGINE or not isinstance(settings, dict) or not isinstance(argv, list) or not argv:
            reason = f"found engine {config.get('engine')!r}; this host takes no engine, and so runs `command` alone"
            self._refuse("settings", reason, str(config.get("phase")))
            return
        directory, mark = str(settings.get("directory", "/")), self._mark
        found = self._shell.ask(
            f"( cd -- {quoted(directory)} || {{ echo {NO_DIRECTORY}; exit; }};"
            f" command -v -- {quoted(str(argv[0]))} >/dev/null || echo {NO_COMMAND} ) 2>/dev/null"
        )
        ways = [found, *(self._shell.ask(":") for _ in range(0 if self._way_ns else WAYS))]
        self._way_ns = min(self._way_ns or LONGEST_NS, *(one.answered_ns - one.asked_ns for one in ways))
        if found.text.strip():
            wrong = (directory, "directory", 20) if NO_DIRECTORY in found.text else (str(argv[0]), "command", 2)
            self._refuse(wrong[1], "No such file or directory", str(config.get("phase")), path=wrong[0], number=wrong[2])
            return
        words = tuple(map(str, argv))
        self._armed = Armed(
            phase=str(config["phase"]),
            client=int(config.get("client", 0)),
            operation=str(settings.get("operation", ENGINE)),
            script=_script(words, {str(k): str(v) for k, v in settings.get("env", {}).items()}, directory, mark),
            interval_ns=int(config.get("interval_ns") or STEP_S * 1e9),
            limit_ns=int(config.get("limit_ns") or LONGEST_NS),
            armed_ns=self._clock.now_ns(),
        )
        self._say({"type": "armed", "phase": self._armed.phase, "mono_ns": self._armed.armed_ns, "address": None})

    def _tell_clock(self) -> None:
        """Answer as late as the clock is uncertain, the clock in the middle: so the comparison's bound is true."""
        self._clock.probe()
        bound_s = self._clock.bound_ns() / 1e9
        time.sleep(bound_s)
        now_ns = self._clock.now_ns()
        time.sleep(bound_s)
        self._say({"type": "clock", "mono_ns": now_ns})

    def _go(self, message: Message) -> None:
        armed, self._armed = self._armed, None
        at_ns = message.get("at_ns")
        if armed is None or self._running is not None or not isinstance(at_ns, int):
            self._refuse("go", "no phase is armed")
            return
        early_ns = int(EARLY_SHARE * self._way_ns)
        self._running = _Run(armed, at_ns, self._shell, self._mark)
        self._running.begin(at_ns - self._clock.offset_ns() - early_ns, self._finished)

    def _stop(self) -> None:
        if self._running is not None:
            self._running.stop("stop", self._kill_command)

    def _kill_command(self) -> None:
        with contextlib.suppress(OSError):
            self._commands.kill_inside(self.pid)

    def _finished(self, running: _Run, answer: Printout | None) -> None:
        """In the run's own thread: say what became of the command."""
        if answer is None:
            self._in.put(None)
            return
        result = self._result(running, answer)
        self._running = None
        self._say(result)

    def _result(self, running: _Run, answer: Printout) -> Message:
        armed, offset_ns = running.armed, self._clock.offset_ns()
        stdout, _, rest = answer.text.rpartition(f"\n{self._mark} ended ")
        head, _, rest = rest.partition("\n")
        status = status_of(int(head))
        times, _, stderr = rest.partition(f"\n{self._mark}\n")
        cpu_s = _children_s(times)
        cost = {"cpu_user_ns": cpu_s[0] - self._cpu_s[0], "cpu_system_ns": cpu_s[1] - self._cpu_s[1]}
        self._cpu_s = cpu_s
        began_ns, ended_ns = running.began_ns + offset_ns, running.ended_ns(answer) + offset_ns
        started = running.started
        took_ns = max(1, ended_ns - began_ns)
        total = _operation(began_ns, ended_ns, took_ns) if started else _operation(0, 0, 0)
        return {
            "type": "result",
            "phase": armed.phase,
            "client": armed.client,
            "pid": self.pid,
            "workers": 1,
            "armed_ns": armed.armed_ns,
            "started_ns": began_ns,
            "first_ns": began_ns,
            "last_ns": ended_ns,
            "stopped_by": running.stopped_by if started else "error",
            "operations": {armed.operation: total},
            "errors": [] if started else [{"operation": armed.operation, "errno": 2, "count": 1, "path": None}],
            "load": None,
            "queue": None,
            "tree": None,
            "io": None,
            "cost": {name: round(seconds * 1e9) for name, seconds in cost.items()},
            "clock": {"source": "shell", "error_ppm": 0, "stamp_ns": self._clock.bound_ns(), "operation_ns": None},
            "command": {
                "status": status if status >= 0 else None,
                "signal": -status if status < 0 else None,
                "stdout": stdout[:KEPT_CHARACTERS],
                "stderr": stderr[:KEPT_CHARACTERS],
                "truncated": max(len(stdout), len(stderr)) > KEPT_CHARACTERS,
            },
        }

    def _refuse(
        self, what: str, reason: str, phase: str | None = None, *, path: str | None = None, number: int | None = None
    ) -> None:
        self._say({"type": "error", "phase": phase, "what": what, "path": path, "errno": number, "message": reason})

    def _say(self, message: Message) -> None:
        with self._out.turn:
            if not self._ended.is_set():
                self._out.give(json.dumps(message, separators=(",", ":")), time.monotonic_ns())


class _Run:
    """One phase that has got go."""

    def __init__(self, armed: Armed, go_ns: int, shell: FarShell, mark: str) -> None:
        self.armed, self.go_ns = armed, go_ns
        self.stopped_by = "work"
        self.started = False
        self.began_ns = self._ended_ns = 0
        self._shell, self._mark = shell, mark
        self._kill: Callable[[], None] | None = None
        self._mutex = threading.Lock()

    def begin(self, at_ns: int, finished: Callable[[_Run, Printout | None], None]) -> None:
        """Start the command at a time of our clock, in a thread of its own; `finished` gets the shell's answer."""

        def run() -> None:
            time.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
            answer = None
            with contextlib.suppress(OSError):
                answer = self._shell.ask(self.armed.script, None, self._take)
            finished(self, answer)

        threading.Thread(target=run, name=f"phase {self.armed.phase}", daemon=True).start()

    def stop(self, reason: str, kill: Callable[[], None]) -> None:
        """End the command now, or as soon as it has started."""
        with self._mutex:
            if self._kill is not None:
                return
            self._kill, self.stopped_by = kill, reason
            started = self.started
        if started:
            kill()

    def ended_ns(self, answer: Printout) -> int:
        """When its end was heard of."""
        return self._ended_ns or answer.answered_ns

    def _take(self, line: str, at_ns: int) -> bool:
        """In the channel's thread, which must not wait for the host."""
        if line.startswith(f"{self._mark} ended "):
            self._ended_ns = at_ns
        if not line.startswith(f"{self._mark} started"):
            return False
        with self._mutex:
            self.started, self.began_ns = True, at_ns
            kill = self._kill
        if kill is not None:
            threading.Thread(target=kill, daemon=True).start()
        return True


def _script(argv: Sequence[str], env: Mapping[str, str], directory: str, mark: str) -> str:
    """The command with its start, its status, the CPU times of all that the shell has waited for, and its standard error."""
    announced = ("sh", "-c", 'printf "%s started\n" "$0"; exec "$@"', mark)
    body = body_of(argv, env, directory, mark, through=announced)
    return (
        f"{{ A_E=$( {{ {body} </dev/null; }} 2>&1 >&3 3>&- ); A_S=$?; }} 3>&1;"
        f" printf '\\n%s ended %s\\n' {mark} \"$A_S\"; times; printf '\\n%s\\n%s' {mark} \"$A_E\"; A_E="
    )


def _children_s(text: str) -> tuple[float, float]:
    """User and system time of the shell's ended children, from what `times` prints (s)."""
    found = [int(minutes) * 60 + float(seconds) for minutes, seconds in TIMES.findall(text)]
    return (found[2], found[3]) if len(found) >= 4 else (0.0, 0.0)


def _operation(first_ns: int, last_ns: int, took_ns: int) -> Message:
    """One operation as the engine reports it: the whole command; nothing of one that never started."""
    count = 1 if took_ns else 0
    return {
        "count": count,
        "bytes": 0,
        "errors": 1 - count,
        "busy_ns": took_ns,
        "first_ns": first_ns,
        "last_ns": last_ns,
        "min_ns": took_ns,
        "max_ns": took_ns,
        "sampled_count": 0,
        "sampled_ns": 0,
        "histogram": {"upper_ns": [took_ns] * count, "count": [1] * count},
        "checkpoints": {"at_ns": [last_ns] * count, "count": [1] * count, "bytes": [0] * count, "busy_ns": [took_ns] * count},
        "spread": {"at_ns": [], "upper_ns": [], "count": []},
    }
