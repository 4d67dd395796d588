"""One phase that is over: how it went on each host, and the records made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import Evidence
from assay.records import Histogram, HostClock, Missing, Outcome, Phase, SteadyState
from assay.sampler import Seen
from assay.trial.initial_state import Proof
from assay.trial.quiet import Quiet


@dataclass(frozen=True, kw_only=True)
class Performed:
    """One phase as it happened and what was seen of it."""

    phase: Phase
    seen: Mapping[str, Seen]
    """Host -> what its observers saw."""
    evidence: Evidence
    """What the engines said."""
    histograms: tuple[Histogram, ...]
    outcome: Outcome
    error: str | None
    missing: tuple[Missing, ...] = ()
    started_late: bool = False
    """Whether it is partial since a client started late, and for nothing else: it waited for a CPU or for a message."""


@dataclass(frozen=True, kw_only=True)
class EndsDrain:
    """How long the flush after a phase took on one host, in all and at either end of a server; None where nothing was flushed."""

    took_ns: int | None = None
    clients_ns: int | None = None
    server_ns: int | None = None
    sent_until_ns: int | None = None
    """When the flush began of a client that went on sending since the last operation, by our clock; None without one."""

    def since(self, end_ns: int) -> EndsDrain:
        """The same from the last operation on (our clock): what was sent while the lab took its last look counts."""
        gap_ns = max(0, self.sent_until_ns - end_ns) if self.sent_until_ns is not None else 0

        def longer(took_ns: int | None) -> int | None:
            return None if took_ns is None else took_ns + gap_ns

        return EndsDrain(took_ns=longer(self.took_ns), clients_ns=longer(self.clients_ns), server_ns=longer(self.server_ns))


@dataclass(frozen=True, kw_only=True)
class PhaseLife:
    """What was found before the phase, and how it went; mappings are by host."""

    proofs: Mapping[str, Proof]
    quiet: Mapping[str, Quiet]
    clocks: Mapping[str, HostClock]
    start_ns: int
    t0_ns: int
    drains: Mapping[str, EndsDrain]
    steady: SteadyState | None
    mounts_cpu_ns: Mapping[str, int]
    """CPU time of the programs of the clients' mounts there, drain included; without hosts that have none."""

    def t0_of(self, host: str) -> int:
        """T0 by that host's clock; by ours where it has none."""
        return self.clocks[host].t0_mono_ns if host in self.clocks else self.t0_ns
