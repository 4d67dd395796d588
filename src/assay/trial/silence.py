"""How long is waited for what, and who of the clients shows no progress while a phase runs: looked at once a second, without I/O.

Silence is counted in looks and not by the clock: after a pause of the controller itself, what the clients said in it is heard
before the next look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.trial.protocol import ClientState, ClientStep, Message, completed

LOOK_NS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class SilenceLimit:
    """How long a client may be without progress, and how long all that are so are waited for."""

    mute_looks: int = 5
    """Without a line: engines tell their progress every interval, whatever their operations wait for."""
    stuck_looks: int = 20
    """Without an operation more, while the rest completed some: some operations just take long."""
    mute_ns: int = 30_000_000_000
    """From the end of the rest until those without a line are given up."""
    stuck_ns: int = 60_000_000_000
    """The same for those without an operation, on top of what the rest needed for all its work: a last flush may take that."""


@dataclass(frozen=True, kw_only=True)
class WaitLimits:
    """How long is waited for what."""

    hello_ns: int = 20_000_000_000
    arm_ns: int = 120_000_000_000
    stop_ns: int = 10_000_000_000
    """From `stop` to the result."""
    follow_ns: int = 1_000_000_000
    """From the last result of the load to `stop` for servers that have not ended by then: what is on the way still arrives."""
    grace_ns: int = 10_000_000_000
    """From the hard end of a phase to its result."""
    lease_ns: int = 30_000_000_000
    """A running client that hears nothing for this long ends itself: uncounted load is worse than none."""
    idle_lease_ns: int = 60_000_000_000
    """Between phases, while the lab prepares caches and drains."""
    margin_ns: int = 50_000_000
    """From `go` to T, so that every client has read it before; the following and three of the slowest round trips are added."""
    host_margin_ns: int = 8_000_000
    """For each further host: of 30 hosts some had read it only 157 ms later, and 300 ms were enough."""
    client_margin_ns: int = 200_000
    """For each further client: each is told by itself."""
    late_ns: int = 500_000_000
    """A client that began its work this long after its time started late; less is judged by what it does to the figures (W04)."""
    patience: SilenceLimit = field(default_factory=SilenceLimit)


@dataclass(kw_only=True)
class _Pulse:
    """What was last heard of one client."""

    heard: Message | None = None
    mute: int = 0
    stuck: int = 0


@dataclass(kw_only=True)
class Silence:
    """The clients of one phase. `named`: client -> what it lacks, as long as it lacks it."""

    start_ns: int
    patience: SilenceLimit = field(default_factory=SilenceLimit)
    named: dict[int, str] = field(default_factory=dict)
    _pulses: list[_Pulse] = field(default_factory=list)
    _alone_ns: int | None = None
    """Since when no other client runs than those that are named."""
    _counted: bool = False
    """Whether any client told of a completed operation: an external command is one operation, and tells of it at its end."""

    def look(self, clients: Sequence[ClientState], now_ns: int) -> Mapping[int, str]:
        """Look at all clients; those to be given up now, with the reason."""
        self._pulses = self._pulses or [_Pulse() for _ in clients]
        running = [index for index, one in enumerate(clients) if one.step is ClientStep.RUNNING]
        due = [index for index in running if now_ns >= clients[index].go_ns]
        moved = {index for index in due if self._beat(index, clients[index].progress)}
        rest_moves = bool(moved) or any(one.step is ClientStep.DONE for one in clients)
        for index in due:
            self._count(index, stuck=self._counted and rest_moves and index not in moved)
        self.named = {index: words for index in due if (words := self._words(index)) is not None}
        return self._given_up(running, now_ns)

    def _beat(self, index: int, progress: Message | None) -> bool:
        """Note a client's last line; whether it completed more operations since the former look."""
        pulse = self._pulses[index]
        before, pulse.heard = pulse.heard, progress
        pulse.mute = pulse.mute + 1 if progress is before else 0
        if progress is None or progress is before:
            return False
        if before is None:
            self._counted = self._counted or completed(progress) > 0
            return completed(progress) > 0
        done = progress.get("operations") != before.get("operations")
        self._counted = self._counted or done
        return done

    def _count(self, index: int, *, stuck: bool) -> None:
        pulse = self._pulses[index]
        pulse.stuck = pulse.stuck + 1 if stuck else 0

    def _words(self, index: int) -> str | None:
        pulse = self._pulses[index]
        if pulse.mute >= self.patience.mute_looks:
            return f"has sent nothing for {pulse.mute} s"
        if pulse.stuck >= self.patience.stuck_looks:
            return f"has completed no operation for {pulse.stuck} s"
        return None

    def _given_up(self, running: Sequence[int], now_ns: int) -> Mapping[int, str]:
        if not running or len(self.named) < len(running):
            self._alone_ns = None
            return {}
        self._alone_ns = now_ns if self._alone_ns is None else self._alone_ns
        waited_ns, rest_ns = now_ns - self._alone_ns, self._alone_ns - self.start_ns
        limits = {True: self.patience.mute_ns, False: self.patience.stuck_ns + rest_ns}
        mute = {index: self._pulses[index].mute >= self.patience.mute_looks for index in running}
        return {index: words for index, words in self.named.items() if waited_ns >= limits[mute[index]]}
