"""Finds datagrams that were lost in the receiver's own buffer and not on the way, and names the queue that dropped them.

Each receiver of the engine `net` counts the datagrams that never came, and its kernel those that found the socket's buffer full
(SO_MEMINFO). With foreign ends the counter RcvbufErrors of each end's network namespace counts. The backlog of a CPU
(softnet_stat), the queues of interfaces (/proc/net/dev), of an emulated path and of a middlebox are named if they dropped.
- Less than `lost_share` of the datagrams lost: a pass.
- At least `buffer_share` of the lost ones in the receiver's buffer: the loss is the receiver's, not the network's.

With `segment` one drop is a train of datagrams. It is a note under every claim but a wire's, which it qualifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.records import DatagramTotal, Finding, NetEnd, Observations, Path, Scope, Severity, State
from assay.rulekit.findings import found, knob

LAYER = "end_network"
MOST_TRAIN, MOST_SEGMENTS = 65_507, 64
BUFFER = "the receiver's socket buffer"
BETWEEN = (
    ("line", "dropped_segments", "the queue of path {}"),
    ("middlebox", "dropped", "the receive and send queues of the box"),
    ("middlebox", "shaper_dropped", "the shaper of the box"),
)
"""Layer and counter of what is between the ends -> the queue in words."""


@dataclass(frozen=True, kw_only=True)
class DatagramLoss:
    """Datagrams that were sent and never read, and where they stayed."""

    sent: float
    lost: float
    in_buffer: float
    """Of the lost ones, as far as the kernel tells."""

    @property
    def share(self) -> float:
        """Of all that were sent."""
        return self.lost / self.sent if self.sent else 0.0

    @property
    def buffer_share(self) -> float:
        """Of the lost ones, those that found the buffer full."""
        return min(1.0, self.in_buffer / self.lost) if self.lost else 0.0


def applies(case: TrialCase) -> str | None:
    """Datagrams between two ends of Assay, or of foreign ends that drop some."""
    if datagram_ends(case):
        return None
    foreign = not any(one.net for one in case.phase.clients) and bool(risen(case, "udp_received"))
    return None if foreign and served.server(case.run) is not None else "no datagrams"


def datagram_ends(case: TrialCase) -> list[tuple[NetEnd, DatagramTotal]]:
    """The ends that received datagrams, with their counts."""
    ends = (one.net for one in (*case.phase.clients, *case.phase.servers) if one.net is not None)
    return [(end, end.datagrams) for end in ends if end.datagrams is not None and end.datagrams.received is not None]


def check(case: TrialCase) -> Finding:
    """What was lost, and how much of it in the receiver's buffer."""
    loss, limits = own_loss(case) or foreign_loss(case), case.thresholds
    if loss is None:
        return found(RULE, case, State.UNVERIFIED, "Lost datagrams of the ends unknown.")
    queues = dict(other_queues(case))
    observed = {
        "lost": loss.lost,
        "lost_share": loss.share,
        "in_buffer": loss.in_buffer,
        "buffer_share": loss.buffer_share,
        **queues,
    }
    words = f"{loss.lost:,.0f} of {loss.sent:,.0f} datagrams lost ({measures.percent(loss.share)})"
    named = "".join(f", {count:,.0f} in {name}" for name, count in queues.items())
    if loss.share < limits["lost_share"]:
        return found(RULE, case, State.PASS, f"{words}; limit {measures.percent(limits['lost_share'])}.", observed=observed)
    if loss.buffer_share < limits["buffer_share"]:
        rest = f"; {loss.in_buffer:,.0f} in {BUFFER}{named}: most were lost elsewhere on the way."
        return found(RULE, case, State.PASS, f"{words}{rest}", observed=observed)
    inside = f"{words}; {measures.percent(loss.buffer_share)} of them in {BUFFER}{named}"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{inside}: the receiver read too slowly, and the way lost few or none.",
        severity=Severity.QUALIFIES if case.claim.path is Path.WIRE else Severity.NOTES,
        observed=observed,
        relabel=f"datagrams lost in {BUFFER}, not on the way",
        detail=inside,
    )


def own_loss(case: TrialCase) -> DatagramLoss | None:
    """The count of the ends' own receivers; None with foreign ends, and where the kernel does not tell its drops."""
    ends = datagram_ends(case)
    if not ends or any(total.lost is None or total.buffer_drops is None for _, total in ends):
        return None
    lost, drops = (float(sum(getattr(total, name) or 0 for _, total in ends)) for name in ("lost", "buffer_drops"))
    received = float(sum(total.received or 0 for _, total in ends))
    return DatagramLoss(sent=received + lost, lost=lost, in_buffer=min(lost, drops * train(case)))


def train(case: TrialCase) -> int:
    """The most datagrams that one drop stands for."""
    message = knob(case, "message")
    if not knob(case, "segment"):
        return 1
    return max(1, min(MOST_SEGMENTS, MOST_TRAIN // message)) if isinstance(message, int) and message else MOST_SEGMENTS


def foreign_loss(case: TrialCase) -> DatagramLoss | None:
    """The counters of the namespaces: what a buffer refused, among all that came; other losses are not seen there."""
    drops, received = (risen(case, name) for name in ("udp_receive_buffer_errors", "udp_received"))
    if drops is None or received is None:
        return None
    return DatagramLoss(sent=received + drops, lost=drops, in_buffer=drops) if received + drops else None


def risen(case: TrialCase, metric: str) -> float | None:
    """The rise of a counter under the clock in all network namespaces of the ends; None where one was not seen."""
    every = (one for seen in case.sides() for one in seen.over_time(case.phase.name, LAYER, metric))
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


def other_queues(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Queues other than the socket's that dropped something: of a CPU, of an interface, of what is between the ends."""
    for seen in case.sides():
        yield from queues_between(case, seen)
        backlog = ladder.host_rise(case.phase, seen, "network", "softnet_dropped") if len(seen.hosts) == 1 else None
        if backlog:
            yield "the backlog of a CPU (softnet)", backlog
        for metric, side in (("rx_drops", "receive"), ("tx_drops", "send")):
            for one in seen.over_time(case.phase.name, LAYER, metric):
                rose = ladder.rise(one, case.phase.start_ns, case.phase.end_ns)
                if rose:
                    yield f"the {side} queue of {one.subject.partition('@')[2]}", rose


def queues_between(case: TrialCase, seen: Observations) -> Iterator[tuple[str, float]]:
    """Queues of an emulated path and of a middlebox that dropped something."""
    for layer, metric, words in BETWEEN:
        for one in seen.over_time(case.phase.name, layer, metric):
            rose = ladder.rise(one, case.phase.start_ns, case.phase.end_ns)
            if rose:
                yield words.format(one.subject.removeprefix("line:")), rose


RULE = Rule(
    id="L16",
    name="receive-queue",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="datagrams lost in the receive buffer",
    reads=("udp.buffer_drops", "end_network.udp_receive_buffer_errors", "end_network.udp_received"),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A tool prints a loss of 56 % over a cable that lost nothing. All 79,736 datagrams reached the machine and found the "
    "receiver's socket buffer full. The network is repaired for weeks.",
    alternatives=(
        "The receiver's program was stopped or starved of CPU time (N02, N03). Then the buffer fills at any size.",
        "The path lost datagrams as well. Lost minus dropped is the path's part.",
    ),
    advice="Give the receiver a larger buffer (window, net.core.rmem_max), more CPU, or UDP segmentation (segment = true). "
    "Or offer a lower rate. Print sent and received, with RcvbufErrors of the receiver's own network namespace.",
    sources=(
        "udp(7), /proc/net/snmp: RcvbufErrors, for each network namespace",
        "measured: iperf3 lost 79,736 of 141,520 datagrams over veth; RcvbufErrors rose by 79,736",
    ),
)
