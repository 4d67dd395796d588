"""Streams between two ends of a phase, by the kernel's own account of their connections (TCP_INFO): rate, round trip, window.

The window is what the receiver grants (rcv_ssthresh), or the most that the sender was granted (snd_wnd).
Rate times round trip is what a stream has on the way. Where that is the window, the window decides the rate. The share of the
time that the kernel calls receiver-limited does not show it under every congestion control (0.2 to 0.3 with bbr).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures.cost import processor_ns
from assay.records import Client, NetConnection, Observations, Phase, Role, Series

LAYER = "tcp"
BEGINNING_S = 0.5
"""The first looks of a phase: a stream that is slow from there on was never fast."""
SENDS, RECEIVES = "send", "receive"


@dataclass(frozen=True, kw_only=True)
class StreamEnds:
    """The ends that send the bytes of an operation, and those that receive them."""

    senders: tuple[Client, ...]
    receivers: tuple[Client, ...]


@dataclass(frozen=True, kw_only=True)
class StreamUse:
    """What limited the senders of a stream, by their kernel; None where it does not tell."""

    bytes_per_s: float
    rtt_ns: float
    window_bytes: float | None
    """All connections together."""
    receiver_limited_share: float | None
    """Of the time in which there were bytes to send: the receiver's window was full."""
    buffer_limited_share: float | None
    """Of the same time: the sender's own buffer was too small."""

    @property
    def on_the_way_bytes(self) -> float:
        """Rate times round trip."""
        return self.bytes_per_s * self.rtt_ns / 1e9

    @property
    def window_share(self) -> float | None:
        """Of the window, the bytes that were on the way."""
        return self.on_the_way_bytes / self.window_bytes if self.window_bytes else None


def stream_ends(phase: Phase, operation: str) -> StreamEnds | None:
    """The ends of an operation's bytes; None for transactions, for datagrams and where a foreign program is an end."""
    load, servers = (tuple(one for one in ends if is_stream(one)) for ends in (phase.clients, phase.servers))
    if not load or not servers or operation not in (SENDS, RECEIVES):
        return None
    both = (load, servers) if operation == SENDS else (servers, load)
    return StreamEnds(senders=both[0], receivers=both[1])


def is_stream(client: Client) -> bool:
    """Whether an end has TCP connections."""
    return client.net is not None and any(one.tcp for one in client.net.connections)


def stream_use(phase: Phase, observations: Observations, ends: StreamEnds) -> StreamUse | None:
    """What the kernels of both ends say of a stream; None without their samples during the phase."""
    acked = [rate for one in ends.senders if (rate := _rate(phase, observations, one, "acked_bytes")) is not None]
    trips = [_middle(found) for one in ends.senders if (found := _samples(phase, observations, one, "rtt_ns"))]
    if len(acked) < len(ends.senders) or not trips:
        return None
    granted = [_middle(found) for one in ends.receivers if (found := _samples(phase, observations, one, "receive_threshold"))]
    seen = [max(found) for one in ends.senders if (found := _samples(phase, observations, one, "send_window"))]
    busy, starved, short = (
        ladder.total(_rate(phase, observations, one, f"{name}_ns") for one in ends.senders)
        for name in ("busy", "receiver_limited", "buffer_limited")
    )
    return StreamUse(
        bytes_per_s=sum(acked),
        rtt_ns=sum(trips) / len(trips),
        window_bytes=sum(granted) or sum(seen) or None,
        receiver_limited_share=starved / busy if starved is not None and busy else None,
        buffer_limited_share=short / busy if short is not None and busy else None,
    )


def _series(phase: Phase, observations: Observations, client: Client, metric: str) -> Series | None:
    subject = f"{'server' if client.role is Role.SERVER else 'client'}:{client.index}"
    every = observations.over_time(phase.name, LAYER, metric, subject)
    return next((one for one in every if one.host == client.host), None)


def _middle(values: Sequence[float]) -> float:
    """The upper median; the module `statistics` would make every start of `assay stat` dearer."""
    return sorted(values)[len(values) // 2]


def _samples(phase: Phase, observations: Observations, client: Client, metric: str) -> list[float]:
    """The values of a gauge during the phase."""
    series = _series(phase, observations, client, metric)
    pairs = zip(series.at_ns, series.value, strict=True) if series else ()
    return [value for at, value in pairs if phase.start_ns < at <= phase.end_ns and value > 0]


def _rate(phase: Phase, observations: Observations, client: Client, metric: str) -> float | None:
    """The rise of a counter per second between the first and the last sample during the phase."""
    series = _series(phase, observations, client, metric)
    pairs = zip(series.at_ns, series.value, strict=True) if series else ()
    points = [(at, value) for at, value in pairs if phase.start_ns <= at <= phase.end_ns]
    if len(points) < 2:
        return None
    (first_ns, first), (last_ns, last) = points[0], points[-1]
    return (last - first) * 1e9 / (last_ns - first_ns)


def restless_share(phase: Phase, observations: Observations, clients: Iterable[Client]) -> float | None:
    """The largest share of its time in which an end's workers ran or waited for a CPU; None where no end tells."""
    shares = []
    for one in clients:
        lasted = (one.until_ns - one.first_ns) * max(1, one.workers)
        if one.cost is None or lasted <= 0:
            continue
        every = [*observations.on(one.host).over_time(phase.name, "process", "run_delay_ns", f"pid:{one.pid}")]
        waited = ladder.rises(every, phase.start_ns, phase.end_ns) if every else 0.0
        if waited is None:
            continue
        shares.append(min(1.0, (processor_ns(one.cost) + waited) / lasted))
    return max(shares, default=None)


def connections(clients: Iterable[Client]) -> tuple[NetConnection, ...]:
    """All listed connections of these ends."""
    return tuple(connection for one in clients if one.net is not None for connection in one.net.connections)


def sums(clients: Iterable[Client], names: Iterable[str]) -> Mapping[str, int] | None:
    """Counters of TCP_INFO by name, over all listed connections; None without one, and where a kernel does not tell them."""
    clients = tuple(clients)
    if not any(is_stream(one) for one in clients):
        return None
    found = {name: [one.tcp.get(name) for one in connections(clients) if one.tcp] for name in names}
    known = {name: [value for value in values if value is not None] for name, values in found.items()}
    if any(not values or len(known[name]) < len(values) for name, values in found.items()):
        return None
    return {name: sum(values) for name, values in known.items()}


@dataclass(frozen=True, kw_only=True)
class StreamShare:
    """What one connection moved, and how much of the mean that is."""

    name: str
    bytes: int
    share: float
    slow_since_s: float | None
    """Since which time of the phase it was slow; None where nobody knows, or it was not at the end."""

    @property
    def since(self) -> str:
        """`, since 2.1 s`; empty where it is not known."""
        if self.slow_since_s is None:
            return ""
        return f", since {self.slow_since_s:.1f} s" if self.slow_since_s >= BEGINNING_S else ", from the beginning"


@dataclass(frozen=True, kw_only=True)
class StreamShares:
    """How the bytes of one operation were shared out among the connections."""

    each: tuple[StreamShare, ...]
    fairness: float
    """Jain's index: 1 where all moved the same, 1/n where one of n moved all."""

    @property
    def slowest(self) -> StreamShare:
        """The connection that moved least."""
        return min(self.each, key=lambda one: one.share)


def jains_index(amounts: Sequence[float]) -> float:
    """1 where all have the same, 1/n where one of n has all."""
    squares = sum(amount * amount for amount in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares else 1.0


def shares(phase: Phase, operation: str) -> StreamShares | None:
    """What each connection of an operation moved, by the kernels of its senders; None without several that tell it."""
    ends = stream_ends(phase, operation)
    listed = connections(ends.senders) if ends is not None else ()
    moved = [one.tcp.get("acked_bytes") for one in listed]
    known = [amount for amount in moved if amount is not None]
    if len(known) < 2 or len(known) < len(moved) or not sum(known):
        return None
    return shared_out(
        (
            f"{one.local} to {one.peer}",
            amount,
            None if one.slow_since_ns is None else (one.slow_since_ns - phase.start_ns) / 1e9,
        )
        for one, amount in zip(listed, known, strict=True)
    )


def shared_out(moved: Iterable[tuple[str, int, float | None]]) -> StreamShares:
    """Shares of the mean from the name of each, what it moved, and since when it was slow; the sum is above 0."""
    rows = tuple(moved)
    mean = sum(amount for _, amount, _ in rows) / len(rows)
    each = (StreamShare(name=name, bytes=amount, share=amount / mean, slow_since_s=since) for name, amount, since in rows)
    return StreamShares(each=tuple(each), fairness=jains_index([amount for _, amount, _ in rows]))
