"""Compares a rate with known limits, and names the limiter if the rate is at one.

Limits come from the target (a throttled disk) or the experiment's [limits] (a rate, or a link by name).
The file links.toml has line rates, coding and framing.
The same trial may have measured the layers below a client, with `side = "path"` and `side = "server"`.
These are limits too: the path from memory to memory, and the same operation in the server's own data.
A path that the lab made between clients and server is a limit of each figure in bytes, in the direction of the bytes.
A block throttle grants slices of 100 ms, so it is allowed `declared_share` of L plus `burst_s` x L / T. Links and declared
rates are allowed `above_share`, measured ones `measured_share`.
- Above the limit: a device or wire claim is invalid, other claims get a note. A ratio of 8, 2, 1.25, 1.1, 1.074, 1.049 or 1.024
  names the mistaken unit.
- Above the rate of the lab's own path: claims of the server, of durability or of a path are invalid. So are figures that count
  the flush. Other figures are at most the rate of the path; a claim of the client's cache gets a note.
- A figure that counts the flush (`synced_bytes_per_s`) above the limit of a device is at most that limit.
- Above a measured limit: the two figures contradict each other, and the client's is qualified.
- From `at_limit_share` on: pass, and the label names the limiter.
- The limit of a switch port (SNMP) is also held against what the port counted in its busier direction.
  The load must be at least `own_share` of that, and no more.
  If the port counted more than its limit, the limit is wrong: a note.

Latencies use the rate of their phase. Limits in operations apply to direct I/O only, since the page cache merges.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import links, measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import limits, stood_on
from assay.measures.limits import Credit, LimitUse
from assay.records import (
    Bound,
    Durability,
    Finding,
    Limiter,
    LimiterKind,
    Meaning,
    Path,
    Scope,
    Severity,
    State,
    Tier,
    WorkSide,
)
from assay.rulekit import made_paths
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import Figures, found, knob
from assay.units import Unit

SYNCED = "synced_bytes_per_s"
"""The figure that counts the time until both ends are flushed."""
NAMED = {WorkSide.PATH: "the path", WorkSide.SERVER: "the server's storage"}


def in_words(line: LimitUse) -> str:
    """`the declared 50 MB/s of loop0`."""
    return f"the {'measured' if line.measured else 'declared'} {measures.with_unit(line.per_s, line.unit)} of {line.name}"


def applies(case: TrialCase) -> str | None:
    """Reads and writes of data over something whose limit is known."""
    if why := data_only(case):
        return why
    return None if any(True for _ in lines(case)) else "no declared and no measured limit for this measure"


def check(case: TrialCase) -> Finding:
    """The rate against the nearest limit; of broken ones against that which says most of the claim."""
    line = max(lines(case), key=lambda line: (weight(case, line), line.rate / line.allowed))
    ratio = line.share
    observed: dict[str, float | str | None] = {
        "rate": line.rate,
        "limit": line.per_s,
        "ratio": ratio,
        "limited": line.name,
        "unit": line.unit.value,
    }
    times = f"{measures.percent(ratio)} of" if ratio < 2 else f"{ratio:.3g} times"
    use = f"{measures.with_unit(line.rate, line.unit)} is {times} {in_words(line)}"
    if line.rate > line.allowed:
        return above(case, line, use, observed)
    if ratio < case.thresholds["at_limit_share"]:
        return found(RULE, case, State.PASS, f"{use}.", observed=observed)
    limiter = Limiter(kind=LimiterKind.RATE, name=line.name, declared=not line.measured, amount=line.per_s, unit=line.unit)
    limited = f"limited by {in_words(line)}"
    return found(RULE, case, State.PASS, f"{use}: that is the limiter.", observed=observed, relabel=limited, limiter=limiter)


def severity_of(case: TrialCase, line: LimitUse) -> Severity:
    """How much it says that more passed than this limit permits."""
    claim = case.claim
    if line.by_device:
        return Severity.NOTES
    if line.measured:
        return Severity.QUALIFIES
    if line.of_path:
        kept = claim.durability in (Durability.ACKED, Durability.STABLE_MEDIA) or case.measure.figure == SYNCED
        if kept or claim.path is not None or claim.tier in (Tier.DEVICE, Tier.SERVER_CACHE):
            return Severity.INVALIDATES
        return Severity.NOTES if claim.tier is Tier.CLIENT_CACHE else Severity.QUALIFIES
    if claim.tier is Tier.DEVICE or claim.path is Path.WIRE:
        return Severity.INVALIDATES
    return Severity.QUALIFIES if case.measure.figure == SYNCED else Severity.NOTES


def weight(case: TrialCase, line: LimitUse) -> int:
    """How much it says that a limit is broken: 0 where it is not, then a note, a qualified claim, a disproved one."""
    gravest = list(reversed(Severity))
    return 0 if line.rate <= line.allowed else 1 + gravest.index(severity_of(case, line))


def above(case: TrialCase, line: LimitUse, use: str, observed: Figures) -> Finding:
    """The failure: more than the limit permits, with the unit mistake named where the ratio is one."""
    if line.measured:
        return contradicted(case, line, f"{use} (allowed {measures.with_unit(line.allowed, line.unit)}).", observed)
    mistake = links.unit_mistake(line.share, case.thresholds["unit_share"])
    hint = f" The ratio {line.share:.3g} is that of {mistake}." if mistake else ""
    why = "the bytes came later, or from the client's cache" if line.of_path else "memory, compression or wrong units"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{use} (allowed {measures.with_unit(line.allowed, line.unit)}).{hint}",
        severity=severity_of(case, line),
        observed=observed,
        threshold={"allowed": line.allowed},
        bound=None if line.by_device else Bound(low=None, high=line.per_s if line.of_path else line.allowed, unit=line.unit),
        relabel=None if line.by_device else f"faster than {line.name} can be: {why}",
        evidence=("counters of the port" if line.by_device else "L0 engine", "declared limit"),
        advice=OF_PATH if line.of_path else RULE.advice,
    )


def contradicted(case: TrialCase, line: LimitUse, use: str, observed: Figures) -> Finding:
    """A client that was faster than what it stands on: one of the two figures is not what it is called."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{use} A client cannot be faster than a layer below it: a cache answered, or the other figure is too low.",
        severity=Severity.QUALIFIES,
        observed=observed,
        threshold={"allowed": line.allowed},
        relabel=f"faster than {line.name} was: a cache, or a limit that was measured too low",
        evidence=("L0 engine", f"phase of {line.name}"),
    )


def lines(case: TrialCase) -> Iterator[LimitUse]:
    """Every limit that the measured bytes must have passed, with the rate to hold against it."""
    figure = measures.value(case.run, case.observations, case.measure)
    window = figure.window if figure and figure.window else None
    window = window or measures.common_window(case.phase, case.observations, case.measure.operation)
    if window is None or window.seconds <= 0:
        return
    direction = case.phase.directions[case.measure.operation]
    bytes_per_s = case.phase.values.get(f"{case.measure.operation}.bytes_per_s", window.bytes / window.seconds)
    if case.measure.figure in ("bytes_per_s", SYNCED) and case.value is not None:
        bytes_per_s = case.value
    unmerged = bool(knob(case, "direct"))  # the page cache merges and splits operations
    rates = (bytes_per_s or None, window.count / window.seconds if unmerged else None)
    slices = Credit(share=case.thresholds["declared_share"], burst_s=case.thresholds["burst_s"])
    for limit in (limit for place in case.run.places for limit in place.limits if limit.direction is direction):
        yield from limits.uses(limit, rates, window.seconds, slices)
    above = Credit(share=case.thresholds["above_share"])
    yield from ports(case, bytes_per_s)
    path = made_paths.limit(case)
    if path is not None and bytes_per_s:
        credit = Credit(share=case.thresholds["above_share"], burst_s=case.thresholds["burst_s"])
        yield LimitUse(
            name=path[0],
            per_s=path[1],
            rate=bytes_per_s,
            seconds=window.seconds,
            unit=Unit.BYTES_PER_S,
            credit=credit,
            of_path=True,
        )
    for name, per_s in declared(case) if bytes_per_s else ():
        yield LimitUse(name=name, per_s=per_s, rate=bytes_per_s, seconds=window.seconds, unit=Unit.BYTES_PER_S, credit=above)
    measured = Credit(share=case.thresholds["measured_share"])
    for name, per_s in measured_below(case) if bytes_per_s else ():
        yield LimitUse(
            name=name,
            per_s=per_s,
            rate=bytes_per_s,
            seconds=window.seconds,
            unit=Unit.BYTES_PER_S,
            credit=measured,
            measured=True,
        )


def measured_below(case: TrialCase) -> Iterator[tuple[str, float]]:
    """What the same trial measured below a client: the path from memory to memory, the same operation in the server's data."""
    if case.phase.side is not WorkSide.CLIENT or case.direction is None:
        return
    for side, one in stood_on.below(case.run, case.measure, case.direction).items():
        figure = measures.value(case.run, case.observations, one)
        if figure is not None and figure.value > 0:
            yield f"{NAMED[side]} ({one.workload} {one.operation})", figure.value


def declared(case: TrialCase) -> Iterator[tuple[str, float]]:
    """The [limits] of the experiment, in bytes a second, of devices of this trial, or of a wire where one is claimed."""
    devices = {f"{place.host}.{device}" for place in case.run.places for device in place.devices}
    for name, text in case.experiment.limits.items():
        capacity = links.capacity(text)
        if isinstance(capacity, float) and (name in devices or case.claim.path is Path.WIRE):
            yield f"{name} ({text})", capacity


def ports(case: TrialCase, bytes_per_s: float) -> Iterator[LimitUse]:
    """The limits of ports that the load passed, with what the ports counted themselves.

    A load that is faster than its port does not pass the port, and one that is far slower has other traffic beside it.
    """
    devices = [host.name for host in case.experiment.hosts if host.via == "snmp"]
    for name, text in case.experiment.limits.items() if case.everywhere is not None and devices else ():
        host = next((one for one in devices if name.startswith(f"{one}.")), None)
        capacity = links.counted(text)
        if host is not None and isinstance(capacity, float) and case.everywhere is not None:
            port = (host, name.removeprefix(f"{host}."))
            limit = (capacity, case.thresholds["above_share"])
            use = limits.of_port(case.phase, case.everywhere, port, f"{name} ({text}, with headers)", limit)
            if use is not None and case.thresholds["own_share"] * use.rate <= bytes_per_s <= use.rate * use.credit.share:
                yield use


OF_PATH = (
    "The bytes had not passed the path when the clock stopped, or a cache of the client answered. Let the client's flush wait for"
    " the server (`flush`, synced_bytes_per_s), drop the client's cache before reads, or claim tier = client-cache."
)

RULE = Rule(
    id="L04",
    name="roofline",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="above the declared limit",
    meaning=Meaning.LINK_LIMIT,
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A rate above the capacity of the link or disk is printed. It came from a cache, was compressed, or has the "
    "wrong unit: bits for bytes, MB for MiB, both directions added. A factor of eight is obvious, a factor of 1.05 is not.",
    alternatives=(
        "Not all bytes passed the limited device: a part came from or remained in memory (T01, D01).",
        "The limit was not in force: the load ran in another control group than the rule, or the link negotiated another speed.",
        "A measured limit was itself held back: by other programs, a small message, or one connection where the client has more.",
    ),
    advice="Find the cache that answered. Check the units (MB is 10^6 bytes, Mbit/s is an eighth) and the negotiated speed.",
    ask="find the cache that answered, or the other path. Check the units (MB is 10^6 bytes, Mbit an eighth of it), and the "
    "window over which parallel parts were summed",
    sources=("Gregg: did it break limits?", "Linux blk-throttle: slices of 100 ms", "FC-PI, IEEE 802.3: see links.toml"),
)
