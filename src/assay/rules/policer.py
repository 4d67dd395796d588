"""Names a rule that drops the load's packets above a rate, or by chance: nftables, a policer or a lossy qdisc of tc.

A queue holds packets back; a policer drops them, and TCP answers with a rate of its own below the limit. So the rate itself
names no policer (L03): its drops do. The rule reads nft and tc in the network namespaces of both ends and of routers on their
hosts.
- A rule dropped `drop_share` of the load's packets or more, at least `least_packets`: it was the limit. It was not where the
  ends sent fewer than `answered_share` of them again: these were packets of another load. TCP does not send again what the
  sender's own kernel refused, so that share is not asked there.
- A rule without a counter was the limit if the ends sent `drop_share` again, or lost as much, at `near_share` or more of its
  rate. A limit of packets per second, or of chance, is held against losses alone.
- If the losses of the load are unknown, a rule that nobody counts is unverified.

It qualifies tier = device and paths that are claimed (wire, emulated), and bounds the figure; other claims get a note with the
limiter. Other machines are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.frozen import dataclass
from assay.records import Finding, Path, Scope, Severity, State, Tier
from assay.rulekit import segments
from assay.rulekit.findings import Figures, found, held_back

LAYER = "policers"
COUNTS = ("dropped_packets", "refused_packets")
LIMITS = ("limit_bytes_per_s", "limit_packets_per_s", "uncounted")
FREE = (Path.WIRE, Path.EMULATED)
MOST_SEGMENTS = 64
"""Of one packet that is cut by the card (generic segmentation offload)."""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the load sent, and what of it is known to be lost."""

    sent: float
    lost: float | None

    @property
    def share(self) -> float | None:
        """Of what was sent; None where nobody knows."""
        return self.lost / self.sent if self.lost is not None and self.sent else None


def applies(case: TrialCase) -> str | None:
    """Loads that reach a server by an address."""
    server = served.server(case.run)
    return None if server is not None and server.addresses else "the target names no address of a server"


def check(case: TrialCase) -> Finding:
    """What each rule dropped, against what the load sent."""
    rules = [one for seen in case.sides() for one in seen.over_time(case.phase.name, LAYER, "rules")]
    if not rules:
        return found(RULE, case, State.UNVERIFIED, "Rules that drop packets on the way unknown.")
    losses, drops = losses_of(case), dict(dropped(case))
    most = sorted(drops.items(), key=lambda one: -one[1])
    biting = next((one for one in most if bites(case, *one, losses)), None)
    observed = {
        **{name: count for name, count in drops.items() if count},
        "sent_packets": losses.sent,
        "lost_share": losses.share,
    }
    if biting is not None:
        name, count = biting
        share = f", {measures.percent(count / (losses.sent + count))} of those of the load" if losses.sent else ""
        return limited(case, f"{name} dropped {count:,.0f} packets{share}: it was the limit.", name, observed)
    for name, limit in uncounted(case, drops):
        near = nearness(case, limit)
        if losses.share is None or near is None:
            text = f"{name} has no counter, and losses of the load or its rate are unknown. Add `counter` to the rule."
            return found(RULE, case, State.UNVERIFIED, text, observed=observed)
        if losses.share >= case.thresholds["drop_share"] and near >= case.thresholds["near_share"]:
            words = f"{name} (not counted): the ends lost {measures.percent(losses.share)}"
            return limited(
                case, f"{words} at {measures.percent(min(near, 1.0))} of its rate or more: it was the limit.", name, observed
            )
    many = sum(max(one.value, default=0) for one in rules)
    if many > len({*drops} | {name for name, _ in uncounted(case, {})}):
        return found(RULE, case, State.UNVERIFIED, "Drops of some rules on the way unknown.", observed=observed)
    text = f"{many:.0f} rules may drop packets on the way; none was the limit." if many else "No rule drops packets on the way."
    return found(RULE, case, State.PASS, text, observed=observed)


def dropped(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Each counted rule, and the packets that it dropped under the clock; none that was not looked at to the end."""
    for seen in case.sides():
        for metric in COUNTS:
            for one in seen.over_time(case.phase.name, LAYER, metric):
                if (risen := ladder.rise(one, case.phase.start_ns, case.phase.end_ns)) is not None:
                    yield one.subject, risen


def uncounted(case: TrialCase, drops: dict[str, float]) -> Iterator[tuple[str, tuple[str, float]]]:
    """Each rule that nobody counts, with the kind of its limit and the limit."""
    for seen in case.sides():
        for metric in LIMITS:
            for one in seen.over_time(case.phase.name, LAYER, metric):
                if one.subject not in drops and one.value:
                    yield one.subject, (metric, one.value[-1])


def bites(case: TrialCase, name: str, count: float, losses: Losses) -> bool:
    """Whether the packets that a rule dropped were the load's, and enough to matter; one may be MOST_SEGMENTS segments."""
    limits = case.thresholds
    if count < limits["least_packets"]:
        return False
    are_enough = count >= limits["drop_share"] * (losses.sent + count)
    if any(_of_rule(case, ("refused_packets",), name)):
        known = (
            near for metric, rate in _of_rule(case, LIMITS[:1], name) if (near := nearness(case, (metric, rate))) is not None
        )
        return are_enough or max(known, default=0.0) >= limits["near_share"]
    if losses.lost is None or losses.share is None:
        return are_enough
    are_many = losses.share >= limits["drop_share"] and count * MOST_SEGMENTS >= losses.lost
    return losses.lost >= limits["answered_share"] * count and (are_enough or are_many)


def _of_rule(case: TrialCase, metrics: tuple[str, ...], name: str) -> Iterator[tuple[str, float]]:
    for seen in case.sides():
        for metric in metrics:
            yield from ((metric, one.value[-1]) for one in seen.over_time(case.phase.name, LAYER, metric, name) if one.value)


def losses_of(case: TrialCase) -> Losses:
    """Segments or datagrams of both ends, and those sent again or never read."""
    ends = (*case.phase.clients, *case.phase.servers)
    datagrams = [one.net.datagrams for one in ends if one.net is not None and one.net.datagrams is not None]
    if datagrams:
        lost = [one.lost for one in datagrams if one.lost is not None]
        return Losses(sent=float(sum(one.sent or 0 for one in datagrams)), lost=float(sum(lost)) if lost else None)
    every = segments.of_ends(case)
    sent = sum(one.sent for one in every)
    went, came, full = (_counted(case, name) for name in ("udp_sent", "udp_received", "udp_receive_buffer_errors"))
    if went is not None and went > sent:
        return Losses(sent=went, lost=None if came is None else max(0.0, went - came - (full or 0.0)))
    return Losses(sent=sent, lost=sum(max(0.0, one.again - one.needless) for one in every) if every else None)


def _counted(case: TrialCase, metric: str) -> float | None:
    every = [one for seen in case.sides() for one in seen.over_time(case.phase.name, segments.LAYER, metric)]
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


def nearness(case: TrialCase, limit: tuple[str, float]) -> float | None:
    """The load's rate over a limit of bytes; 1 of others: of packets a kernel may count many as one."""
    metric, rate = limit
    if metric != LIMITS[0]:
        return 1.0
    moved, seconds = served.fuller_way(case.phase, case.observations), case.phase.lasted_ns / 1e9
    if moved is None and case.phase.servers and seconds > 0:
        moved = sum(total.bytes for one in case.phase.clients for total in one.operations) / seconds
    return None if moved is None or not rate else moved / rate


def limited(case: TrialCase, statement: str, name: str, observed: Figures) -> Finding:
    """The failure: it qualifies a claim that needs the way free, and is worth knowing under every other."""
    free = case.claim.tier is Tier.DEVICE or case.claim.path in FREE
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        severity=Severity.QUALIFIES if free else Severity.NOTES,
        observed=observed,
        bound=held_back(case) if free else None,
        relabel=f"limited by {name}",
    )


RULE = Rule(
    id="L24",
    name="policer",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="packets dropped by a rule",
    reads=tuple(f"{LAYER}.{metric}" for metric in ("rules", *COUNTS, *LIMITS)),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A firewall drops what is above 10 MB/s. Nothing shapes, no link is full, and TCP settles at 6 MB/s. The line is "
    "called bad, or the server slow.",
    alternatives=(
        "The rule drops packets of another load, and the path loses those of this one.",
        "A short burst was dropped at the start. Run longer: the share falls.",
    ),
    advice="Remove the rule or raise its limit, or report the figure as that of this limit. Use a shaper (tc-tbf) in its place: "
    "it holds packets back.",
    sources=(
        "nft(8), tc-police(8), tc-netem(8)",
        "Flach et al., SIGCOMM 2016: an internet-wide analysis of traffic policing",
    ),
)
