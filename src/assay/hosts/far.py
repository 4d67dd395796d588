"""A far machine through its agent (`assay-engine agent`): every door of a host, over one channel."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from assay.catalogue import Completed, Host, Machine, Note, Process, Syscalls
from assay.errors import LostHostError, TrialError
from assay.hosts.channel import Channel
from assay.hosts.commands import succeeded
from assay.hosts.exchange import HELLO_S, LEASE_S, Asking, Exchange, Message
from assay.hosts.far_calls import FarCalls
from assay.hosts.far_look import Asked, OneExchange
from assay.hosts.far_process import FarProcess, missing
from assay.hosts.local import machine_of, machine_told
from assay.hosts.shared_looks import SharedLooks, recalled


class FarHost:
    """A far machine; any thread may use it. After it is lost everything raises LostHostError, an AssayError and an OSError."""

    far = True

    def __init__(
        self, name: str, channel: Channel, *, address: str = "", lease_s: float = LEASE_S, hello_s: float = HELLO_S
    ) -> None:
        """Take the agent at the far end of a channel. Raises LostHostError where it does not answer.

        `address` says in words for the user where it is reached.
        """
        self.name = name
        self.address = address
        self._exchange = Exchange(name, channel, lease_s=lease_s, hello_s=hello_s)
        self._asking: Asking = self._exchange
        self.syscalls: Syscalls | None = FarCalls(self._exchange)
        self._known: dict[str, Machine] = {}
        self._looks: dict[str, Asked] = {}
        self.shared: SharedLooks | None = None
        """What other hosts of the same experiment are asked."""
        self.lab_bytes: Callable[[], int] = int
        """What the lab's own connections to it moved over its interfaces, at least."""
        self.moved_before: int | None = None
        """The same when the look began that this host is of."""

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
        return succeeded(done, self.name) if check else done

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
        """Begin a look; what the last one of this name, or another host's, asked is asked in one exchange between two clocks."""
        former = recalled(self._looks, name) or (self.shared.recall(name) if self.shared else ())
        moved = self.lab_bytes()  # before anything is asked: what this look itself moves is not surely counted yet
        return FarLook(self, OneExchange(self._exchange, former), functools.partial(self._remember, name), moved)

    def _remember(self, name: str, asked: Asked) -> None:
        self._looks[name] = asked
        if self.shared is not None:
            self.shared.learn(name, asked)

    def note(self, n: int, kind: str, details: Mapping[str, str], back: str) -> str:
        """Write down on that host what will be done next and the /bin/sh script that undoes it; durable when this returns.

        The agent runs the scripts that are left when it ends. Returns the name of its file. Raises OSError, RefusedError where
        it cannot be kept.
        """
        return str(self._exchange.ask("note", n=n, kind=kind, details=dict(details), back=back)["file"])

    def strike(self, n: int, file: str = "") -> None:
        """Strike out a note of ours, or one of a file that `left` named; nothing where there is none. Raises OSError."""
        self._exchange.ask("strike", n=n, file=file or None)

    def left(self) -> tuple[Note, ...]:
        """Return the notes of owners that are gone, on that host. Raises OSError, RefusedError."""
        return tuple(_note(line) for line in self._exchange.ask("left")["left"])

    def over(self, asking: Asking) -> FarHost:
        """Return the same host, whose questions are answered by `asking`."""
        same = copy.copy(self)
        vars(same).update(_asking=asking, syscalls=FarCalls(asking))
        return same


class FarLook:
    """One look at a far host."""

    def __init__(self, far: FarHost, asking: OneExchange, remember: Callable[[Asked], None], moved: int) -> None:
        """`remember` keeps what this look asked for the next one of its name; `moved` is what the lab moved before it."""
        same = far.over(asking)
        same.moved_before = moved
        self.host: Host = same
        self._asking, self._remember = asking, remember

    def end(self) -> tuple[int, int]:
        """Return when the look began (CLOCK_MONOTONIC of that host, ns) and how long it took. Raises LostHostError."""
        self._remember(self._asking.questions)
        return self._asking.end()


def _note(line: Message) -> Note:
    machine = machine_told(line["machine"], line.get("names"), line["boot"])
    return Note(file=line["file"], machine=machine, n=line["n"], kind=line["kind"], details=line["details"])
