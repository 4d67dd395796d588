"""Names the network as the limit of a server's figure: a full link or shaper, or TCP retransmissions.

The rule divides the bytes on the server's interfaces (L4, with headers, in the busier direction) by the slowest part of the
path. Link speed and shapers (`tc`) count on both sides.
With several load hosts each of them has its own bytes and its own link, and all of them share the server's link.
- Above `credit_share` of a limit, a burst passed on credit: a rate is qualified. If less than `same_way_share` of it passed the
  client's interface, the rest went another way, and it is unverified.
- From `used_share` on the network is the limit; a tool's own rate counts where it is higher, for its start is not in it.
- With operations that had no end it is unverified: a dead path is not full.
- Behind a router the way is unknown, so it is unverified there; a path of the lab's own is known.
- More than `sent_again_share` of at least `least_segments` TCP segments retransmitted without prior arrival: a full queue or a
  bad path. Loss is called the limit only of an emulated path that lost more than its queue dropped.
  Segments that the receiver reports as duplicates (DSACK) do not count.
  Two ends of Assay have these counts for each connection (TCP_INFO), foreign ends in the network namespace of the server. Over
  the loopback the latter are those of other connections, so they name no limit. A client's own namespace has what it sent again:
  it counts if `own_share` of that namespace's segments passed the server's interfaces, else it is unverified.

It qualifies tier = device and bounds it; other claims get a note with the limiter.
TCP window waits and drops inside the card are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import connections
from assay.records import Bound, Direction, Finding, Rung, Scope, Severity, State, Tier
from assay.rulekit import segments
from assay.rulekit.applicability import servers_only
from assay.rulekit.findings import Figures, found, held_back
from assay.rulekit.segments import SentAgain
from assay.units import Unit

INDIFFERENT = {"bbr"}
"""Congestion controls that do not slow down at a loss."""
SEGMENT_BYTES = 1448
"""Payload of a segment over Ethernet with time stamps."""
ONE_WAY = (Direction.SEND, Direction.RECEIVE)


def check(case: TrialCase) -> Finding:
    """How full the slowest known part of the way was, and how much was sent again."""
    rate = served.fuller_way(case.phase, case.observations) or own_rate(case)
    if rate is None:
        return found(RULE, case, State.UNVERIFIED, "Traffic of the server's interfaces unknown.")
    again = sent_again(case)
    link = by_figure(case, served.fullest_link(case.phase, case.observations, case.beyond)) or of_payload(case)
    used, name = (link.share, link.name) if link else (None, None)
    observed = {"bytes_per_s": rate, "used_share": used, "sent_again_share": again, "limit": name}
    if link is not None and link.share > case.thresholds["credit_share"]:
        return above(case, link, observed)
    if link is not None and link.share >= case.thresholds["used_share"]:
        full = f"{name} {measures.percent(link.share)} full ({measures.with_unit(link.rate, Unit.BYTES_PER_S)} {link.counted})"
        return limited(case, f"{full}: the network was the limit.", f"limited by {name}", observed)
    if again is not None and again > case.thresholds["sent_again_share"] and not is_of_others(case):
        limit = measures.percent(case.thresholds["sent_again_share"])
        lost = f"TCP retransmitted {measures.percent(again)} of its segments (limit {limit})"
        why, label = cause(case)
        return limited(case, f"{lost}: {why}.", label, observed)
    other = of_a_namespace(case)
    if other is not None and other.needed_share > case.thresholds["sent_again_share"] and is_mostly_own(case, other):
        lost = f"{other.end.capitalize()} sent {measures.percent(other.needed_share)} of its segments again"
        why, label = cause(case)
        observed["sent_again_share"] = other.needed_share
        return limited(case, f"{lost} (limit {measures.percent(case.thresholds['sent_again_share'])}): {why}.", label, observed)
    doubt = next(iter(doubts(case, link)), None)
    if doubt is not None:
        return found(RULE, case, State.UNVERIFIED, doubt, observed=observed)
    if used is None:
        statement = (
            "No link and no shaper was seen on the path to the server, and no loss: nothing shows the network as the limit."
        )
    else:
        statement = f"{name} {measures.percent(used)} full: the network was not the limit."
    return found(RULE, case, State.PASS, statement, observed=observed)


def above(case: TrialCase, link: served.NetworkUse, observed: Figures) -> Finding:
    """More than a limit lets through: on the credit of a shaper's burst, or a part of it went another way.

    A shaper lets so many bytes pass at once as its burst has; a shorter phase says nothing of its rate.
    """
    rate = measures.with_unit(link.rate, Unit.BYTES_PER_S)
    text = f"{rate} passed the server's interfaces, {link.share:.2f} times what {link.name} lets through"
    hosts = case.phase.load_hosts
    here = served.over_interface(case.phase, case.observations, hosts[0]) if len(hosts) == 1 else None
    if here is None or here < case.thresholds["same_way_share"] * link.rate:
        rest = "a burst, or bytes that went another way" if here is None else "the rest went another way"
        return found(RULE, case, State.UNVERIFIED, f"{text}: {rest}.", observed=observed)
    is_rate = case.value is not None and case.measure.figure == "bytes_per_s"
    bound = Bound(low=case.value / link.share, high=case.value, unit=Unit.BYTES_PER_S) if is_rate and case.value else None
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text}: burst credit, not the limit. Run longer.",
        severity=Severity.QUALIFIES if is_rate else Severity.NOTES,
        observed=observed,
        bound=bound,
        relabel=f"burst credit of {link.name}",
    )


def doubts(case: TrialCase, link: served.NetworkUse | None) -> Iterator[str]:
    """Why it is unknown whether the network was the limit, one reason after the other."""
    use = None if link is None else f"{link.name} {measures.percent(link.share)} full"
    if link is not None and not both_ways(case):
        yield "Only one direction of the server's interfaces was counted."
    if (left := sum(total.unfinished.count for one in case.phase.clients for total in one.operations if total.unfinished)) > 0:
        yield f"{left} operations had no end (W12): whether the path brought nothing, or the other end was silent, is unknown."
    if (router := beyond_sight(case)) is not None:
        up_to = use or "No link and no shaper on the way"
        yield f"{up_to}, as far as the router {router}; what is behind it is unknown."
    other = of_a_namespace(case)
    if other is not None and other.needed_share > case.thresholds["sent_again_share"]:
        share = measures.percent(other.needed_share)
        yield f"{other.end.capitalize()} sent {share} of its segments again; whether they are the load's is unknown."
    if use is None and not stays(case):
        yield "Capacity of the path to the server unknown: no link speed and no shaper."
    if use is None and not tells_losses(case):
        yield "No link and no shaper on the path to the server, and whether TCP retransmitted is unknown."


def both_ways(case: TrialCase) -> bool:
    """Whether both directions were counted, by the server's interfaces or by the load itself."""
    counted = (ladder.passed(case.phase, case.observations, Rung.SERVER_NIC, way) for way in (Direction.READ, Direction.WRITE))
    return all(step is not None for step in counted) or own_rate(case) is not None


def own_rate(case: TrialCase) -> float | None:
    """Bytes/s of both directions by the load's own account, where both ends are Assay's; None elsewhere."""
    seconds = case.phase.lasted_ns / 1e9
    amount = sum(total.bytes for client in case.phase.clients for total in client.operations)
    return amount / seconds if case.phase.servers and amount and seconds > 0 else None


def by_figure(case: TrialCase, link: served.NetworkUse | None) -> served.NetworkUse | None:
    """The same by the figure, where that is higher: an external tool leaves its own start and end out of its time.

    A rate above the limit is none of this way.
    """
    told = bool(case.phase.values) and case.measure.figure == "bytes_per_s"
    if link is None or not link.share or not told or case.value is None:
        return link
    share = case.value * link.share / link.rate
    return replace(link, rate=case.value, share=share, counted="by the figure") if link.share < share <= 1 else link


def of_payload(case: TrialCase) -> served.NetworkUse | None:
    """How full the slowest part was at least, where both ends are Assay's and nobody counted headers: by the fuller direction.

    An operation that sends and receives had at least half of its bytes in one direction.
    """
    seconds = case.phase.lasted_ns / 1e9
    limit, name = (case.observations.fact(key, host=case.host) for key in (served.LINK_FACT, served.LINK_NAME))
    if own_rate(case) is None or limit is None or not limit.isdigit() or not int(limit):
        return None
    moved: Counter[str] = Counter()
    for total in (one for client in case.phase.clients for one in client.operations):
        is_one_way = case.phase.directions.get(total.operation) in ONE_WAY
        moved[total.operation] += total.bytes if is_one_way else total.bytes // 2
    rate = max(moved.values()) / seconds
    return served.NetworkUse(name=name or "the link", rate=rate, share=rate / int(limit), counted="of payload")


def beyond_sight(case: TrialCase) -> str | None:
    """The first router on the way to the server, where no limit of the lab's own path is known; None without one."""
    hosts = case.phase.load_hosts or (None,)
    routers, kinds, links = (
        [case.observations.fact(key, host=host) for host in hosts]
        for key in (served.ROUTER_FACT, served.KIND_FACT, served.LINK_FACT)
    )
    return None if {*kinds} <= {"loopback", "virtual"} and any(links) else next((one for one in routers if one is not None), None)


def stays(case: TrialCase) -> bool:
    """Whether the way of no client leaves its machine."""
    kinds = {case.observations.fact(served.KIND_FACT, host=host) for host in case.phase.load_hosts or (None,)}
    return case.beyond is None and kinds <= {"loopback", "virtual"}


def is_of_others(case: TrialCase) -> bool:
    """Whether retransmissions cannot be the load's: the loopback loses nothing, and its namespace has other connections."""
    kinds = {case.observations.fact(served.KIND_FACT, host=host) for host in case.phase.load_hosts or (None,)}
    own = connections.sums((*case.phase.clients, *case.phase.servers), ("segments_out",))
    return own is None and case.beyond is None and kinds == {"loopback"}


def tells_losses(case: TrialCase) -> bool:
    """Whether segments that were sent again would be known; the loopback loses none."""
    kinds = {case.observations.fact(served.KIND_FACT, host=host) for host in case.phase.load_hosts or (None,)}
    names = ("sent_segments", "retransmitted_segments")
    counted = all(served.rose(case.phase, case.observations, name) is not None for name in names)
    return kinds == {"loopback"} or counted or own_segments(case) is not None


def own_segments(case: TrialCase) -> Mapping[str, int] | None:
    """Segments of the connections between the lab's own ends; None where a kernel does not tell them."""
    return connections.sums((*case.phase.clients, *case.phase.servers), ("segments_out", "retransmits", "dsacks"))


def sent_again(case: TrialCase) -> float | None:
    """The share of TCP segments lost and sent again; None if too few were sent, 0 where most had arrived (L15).

    Where processors are short acknowledgements come late: a segment is then sent again although its receiver has it, and says so.
    """
    own = own_segments(case)
    names = ("sent_segments", "retransmitted_segments", "needless_segments")
    counted: Iterable[float | None] = (served.rose(case.phase, case.observations, name) for name in names)
    sent, again, needless = counted if own is None else own.values()
    if not sent or again is None or sent < case.thresholds["least_segments"]:
        return None
    most_had_arrived = (needless or 0.0) >= case.thresholds["needless_share"] * again
    return 0.0 if most_had_arrived else max(0.0, again - (needless or 0.0)) / sent


def of_a_namespace(case: TrialCase) -> SentAgain | None:
    """What an end's network namespace sent again most, where foreign ends tell nothing; None over the loopback, and of little.

    The server's own namespace has what the server sent alone: an upload is sent again by the client.
    """
    if own_segments(case) is not None or is_of_others(case):
        return None
    known = [one for one in segments.by_namespace(case) if one.sent >= case.thresholds["least_segments"]]
    known = [one for one in known if one.needless_share < case.thresholds["needless_share"]]
    return max(known, key=lambda one: one.needed_share, default=None)


def is_mostly_own(case: TrialCase, end: SentAgain) -> bool:
    """Whether most of what a namespace sent passed the server's interfaces, so that it was the load's."""
    rate, seconds = served.fuller_way(case.phase, case.observations), case.phase.lasted_ns / 1e9
    return rate is not None and rate * seconds >= case.thresholds["own_share"] * end.sent * SEGMENT_BYTES


def cause(case: TrialCase) -> tuple[str, str]:
    """Why segments were sent again, and the label: a flow that fills a short queue loses some, whatever the path is like."""
    lost, dropped = (by_line(case, name) for name in ("lost_segments", "dropped_segments"))
    ends = (one for client in (*case.phase.clients, *case.phase.servers) if client.net for one in client.net.connections)
    heeds_loss = not {one.congestion for one in ends if one.congestion} & INDIFFERENT
    if lost > dropped and heeds_loss:
        return f"the path lost {lost:,.0f}, and congestion control answers losses", "limited by packet loss"
    if lost > dropped:
        return f"the path lost {lost:,.0f}, which this congestion control does not heed", "segments lost by the path"
    if dropped > lost:
        return f"the queue of the path was full and dropped {dropped:,.0f}", "segments sent again: a full queue"
    return "a full queue, or a bad path", "segments sent again: a full queue or a bad path"


def by_line(case: TrialCase, metric: str) -> float:
    """What the lab's own line between the ends counted of this; 0 without one, as it only names a cause."""
    every = case.observations.over_time(case.phase.name, "line", metric)
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns) or 0.0


def limited(case: TrialCase, statement: str, label: str, observed: Figures) -> Finding:
    """The failure: it qualifies a claim of the storage below, and is worth knowing under every other."""
    device = case.claim.tier is Tier.DEVICE
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        severity=Severity.QUALIFIES if device else Severity.NOTES,
        observed=observed,
        bound=held_back(case) if device else None,
        relabel=label,
    )


RULE = Rule(
    id="L03",
    name="network-limit",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    reads=(
        "L4.read",
        "L4.write",
        "server.retransmitted_segments",
        "server.needless_segments",
        "fact:target.server.limit_bytes_per_s",
    ),
    applies=servers_only,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A disk behind a full gigabit link is compared with another disk behind a full gigabit link, and they are found equal.",
    alternatives=(
        "The shaper is the subject (a slow line). Then the figure describes the line.",
        "A bond sends each connection over one of its links: one link is full while the sum is not.",
        "The counters include other traffic. Check its rate before the clock.",
        "Late acknowledgements cause needless retransmissions; without DSACK (net.ipv4.tcp_dsack) they cannot be separated.",
    ),
    advice="Measure the same path with iperf3 on the same day, and report the figure as a share of it. Use a wider link or "
    "more connections if the storage behind it is the subject.",
    sources=(
        "tc-tbf(8)",
        "Gregg: Systems Performance, 2nd edition, 2020, chapter 10",
        "RFC 5681: a lost segment halves the rate",
    ),
)
