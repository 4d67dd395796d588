"""A far machine through its agent (`assay-engine agent`): every door of a host, over one channel."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from assay.catalogue import Completed, Host, Machine, Process, Syscalls
from assay.errors import LostHostError, TrialError
from assay.hosts.channel import Channel
from assay.hosts.commands import failure
from assay.hosts.exchange import HELLO_S, LEASE_S, Asking, Exchange, Message
from assay.hosts.far_calls import FarCalls
from assay.hosts.far_look import Asked, OneExchange
from assay.hosts.far_process import FarProcess, missing
from assay.hosts.local import machine_of, serial_of

ENGINE = "assay-engine"
"""As the name of a command: the agent's own file, which is the load engine as well."""


@dataclass(frozen=True, kw_only=True)
class LeftNote:
    """What an owner that is gone wrote down on a host and nobody has undone; `file` and `n` name it there."""

    file: str
    machine: Machine
    n: int
    kind: str
    details: Mapping[str, str]
    back: str


class FarHost:
    """A far machine; any thread may use it. After it is lost everything raises LostHostError, an AssayError and an OSError."""

    def __init__(self, name: str, channel: Channel, *, lease_s: float = LEASE_S, hello_s: float = HELLO_S) -> None:
        """Take the agent at the far end of a channel. Raises LostHostError where it does not answer."""
        self.name = name
        self._exchange = Exchange(name, channel, lease_s=lease_s, hello_s=hello_s)
        self._asking: Asking = self._exchange
        self.syscalls: Syscalls | None = FarCalls(self._exchange)
        self._known: dict[str, Machine] = {}
        self._looks: dict[str, Asked] = {}
        self._mutex = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.close()

    def __hash__(self) -> int:
        return id(self._exchange)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FarHost) and other._exchange is self._exchange

    @property
    def hello(self) -> Message:
        """The first message of the agent: its version (`agent`), `build`, `pid` and `uid`."""
        return self._exchange.hello

    def lost(self) -> LostHostError | None:
        """Return why the host is lost; None while it is there."""
        return self._exchange.lost()

    def close(self) -> None:
        """End the agent; it kills what it started and undoes what is noted. May be called twice."""
        self._exchange.close()

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input_text: str | None = None,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Completed:
        """Run a command to its end, in the C locale. Raises as `Local.run`, and LostHostError."""
        timeout_ns = None if timeout_s is None else round(timeout_s * 1e9)
        fields = {"input": input_text, "timeout_ns": timeout_ns, "env": dict(env or {}), "cwd": cwd}
        told = self._asking.ask("run", argv=list(argv), **fields)
        if "missing" in told:
            raise missing(self.name, argv[0])
        if told["timed_out"]:
            raise TrialError(f"{self.name}: {' '.join(argv)}: stopped after {timeout_s} s (time limit)")
        if told["cut"]:
            raise TrialError(f"{self.name}: {' '.join(argv)}: gave more than 16 MiB of output")
        figures = {name: told[name] for name in ("status", "stdout", "stderr", "wall_ns")}
        done = Completed(argv=tuple(argv), **figures)
        if check and done.status != 0:
            raise TrialError(f"{self.name}: {failure(done)}")
        return done

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process:
        """Start a command in a process group of its own. Raises MissingError, OSError, LostHostError."""
        return FarProcess(self._exchange, argv, env, cwd)

    def read(self, path: str) -> str:
        """Return the text of a small file. Raises OSError."""
        return str(self._asking.ask("read", path=path)["text"])

    def write(self, path: str, text: str) -> None:
        """Write a small file as a whole. Raises OSError."""
        self._asking.ask("write", path=path, text=text)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty where there is none or the agent may not look."""
        return tuple(self._asking.ask("list", path=path)["names"])

    def exists(self, path: str) -> bool:
        """Return whether there is something at this path."""
        return bool(self._asking.ask("exists", path=path)["there"])

    def real_path(self, path: str) -> str:
        """Return the path without symbolic links."""
        return str(self._asking.ask("real_path", path=path)["path"])

    def is_root(self) -> bool:
        """Return whether commands run as root."""
        return self.hello.get("uid") == 0

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC of that machine (ns)."""
        return int(self._asking.ask("clock")["mono_ns"])

    def probe(self) -> tuple[int, int, int]:
        """Return our clock at asking, theirs, ours at the answer (ns)."""
        asked_ns, answer, answered_ns = self._exchange.timed("clock")
        return asked_ns, int(answer["mono_ns"]), answered_ns

    def machine(self) -> Machine:
        """Return which machine it is; asked once, for an agent does not outlive a boot."""
        if "machine" not in self._known:
            self._known["machine"] = machine_of(self)
        return self._known["machine"]

    def look(self, name: str) -> FarLook:
        """Begin a look; what the former look of this name asked is asked in one exchange, with the clock before and after."""
        return FarLook(self, name)

    def note(self, n: int, kind: str, details: Mapping[str, str], back: str) -> None:
        """Write down on that host what will be done next and the /bin/sh script that undoes it; durable when this returns.

        The agent runs the scripts that are left when it ends. Raises OSError, RefusedError where it cannot be kept.
        """
        self._exchange.ask("note", n=n, kind=kind, details=dict(details), back=back)

    def strike(self, n: int, file: str | None = None) -> bool:
        """Strike out a note of ours, or one of a file that `left` named; return whether there was one. Raises OSError."""
        return bool(self._exchange.ask("strike", n=n, file=file)["struck"])

    def left(self) -> tuple[LeftNote, ...]:
        """Return the notes of owners that are gone, on that host. Raises OSError, RefusedError."""
        return tuple(_note(line) for line in self._exchange.ask("left")["left"])

    def former(self, name: str) -> Asked:
        """Return what the former look of this name asked."""
        with self._mutex:
            return self._looks.get(name, ())

    def remember(self, name: str, asked: Asked) -> None:
        """Keep what a look asked for the next one of its name."""
        with self._mutex:
            self._looks[name] = asked

    def over(self, asking: OneExchange) -> FarHost:
        """Return the same host, whose questions are answered by `asking`."""
        same = copy.copy(self)
        same._asking, same.syscalls = asking, FarCalls(asking)
        return same

    def one_exchange(self, name: str) -> OneExchange:
        """Ask what the former look of this name asked."""
        return OneExchange(self._exchange, self.former(name))


class FarLook:
    """One look at a far host."""

    def __init__(self, far: FarHost, name: str) -> None:
        self._far, self._name = far, name
        self._asking = far.one_exchange(name)
        self.host: Host = far.over(self._asking)

    def end(self) -> tuple[int, int]:
        """Return when the look began (CLOCK_MONOTONIC of that host, ns) and how long it took."""
        self._far.remember(self._name, tuple(self._asking.asked))
        return self._asking.end()


def _note(line: Message) -> LeftNote:
    machine = Machine(serial=serial_of(line["machine"]), boot=line["boot"])
    return LeftNote(
        file=line["file"], machine=machine, n=line["n"], kind=line["kind"], details=line["details"], back=line["back"]
    )
