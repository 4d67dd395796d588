"""A dissected capture in words: the answer as a sentence, the rows of its tables, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from assay.dissect.levels import Kept, LevelResult
from assay.dissect.result import (
    SECOND_NS,
    ClientUse,
    Dissection,
    FilterUse,
    OperationKind,
    ResponseTimes,
    traffic,
    unindexed,
)
from assay.units import Unit, counted, digits, human, percent

Shown = Callable[[float], str]
"""A number with its unit."""
MOST_FILTERS, MOST_CLIENTS, MOST_LEVELS = 6, 3, 8
"""Rows on a terminal."""
NONE = "-"

OPERATION_HEAD = ("operation", "requests", "rate", "answered", "p50", "p99", "max", "first entry p50", "result codes")
FILTER_HEAD = ("searches", "entries each", "p50", "p99", "max", "filter")
CLIENT_HEAD = ("client", "connections", "operations", "mean", "max", "answer bytes")


def answer(found: Dissection) -> str:
    """Return the answer in one sentence."""
    if not found.count("messages"):
        return _without_ldap(found)
    duration_s = found.duration_ns / SECOND_NS
    least = "" if found.complete else "At least "
    rate = f" in {human(found.duration_ns, Unit.NANOSECONDS)} ({digits(found.requests / duration_s)}/s)" if duration_s else ""
    whom = f"{counted(len(found.clients), 'client')}, {counted(found.count('connections'), 'connection')}"
    return f"{least}{counted(found.requests, 'operation')}{rate}: {whom}{_main_time(found)}."


def _main_time(found: Dissection) -> str:
    main = max(found.operations, key=lambda one: one.response_ns.n, default=None)
    if main is None or not main.response_ns.n:
        return ""
    figures = (f"{name} {time(at)}" for name, at in (("p50", main.response_ns.p50), ("p99", main.response_ns.p99)))
    return f"; {main.operation} {', '.join(figures)}"


def _without_ldap(found: Dissection) -> str:
    opaque = found.count("opaque_connections")
    if opaque:
        size = human(found.count("opaque_bytes"), Unit.BYTES)
        return f"No readable LDAP: {counted(opaque, 'connection')} encrypted or not LDAP, {size}."
    if not found.count("frames"):
        return "No frames."
    ports = ", ".join(f"{one['port']} ({one['frames']:,} frames)" for one in found.values["ports"])
    seen = f"TCP ports seen: {ports}. Name the port of the server with --port." if ports else "No TCP segment was found."
    return f"No LDAP in {counted(found.count('frames'), 'frame')}. {seen}"


def time(ns: float | None) -> str:
    """Return a time for people."""
    return NONE if ns is None else human(ns, Unit.NANOSECONDS)


def _longest(times: ResponseTimes) -> str:
    return time(times.max) if times.n else NONE


def codes(counts: Mapping[str, int], names: Mapping[str, str], most: int = 4) -> str:
    """Return result codes by their names, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], int(pair[0])))
    listed = [f"{names.get(code, 'result')} ({code}) {count:,}" for code, count in ordered[:most]]
    return ", ".join([*listed, *(["..."] if len(ordered) > most else [])]) or NONE


def operation_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row a kind of operation."""
    return tuple(_operation(one, found) for one in found.operations)


def _operation(one: OperationKind, found: Dissection) -> tuple[str, ...]:
    times, duration_s = one.response_ns, found.duration_ns / SECOND_NS
    return (
        one.operation,
        f"{one.requests:,}",
        f"{digits(one.requests / duration_s)}/s" if duration_s else NONE,
        NONE if one.operation in ("abandon", "unbind") else f"{one.answered:,}",
        *(time(times.p50), time(times.p99), _longest(times)),
        time(one.first_entry_ns.p50),
        codes(one.result_codes, found.values["result_names"]),
    )


def filter_rows(filters: tuple[FilterUse, ...]) -> tuple[tuple[str, ...], ...]:
    """Return a row a filter."""
    return tuple(
        (
            f"{one.count:,}",
            digits(one.entries / one.answered) if one.answered else NONE,
            *(time(one.response_ns.p50), time(one.response_ns.p99), _longest(one.response_ns)),
            one.filter,
        )
        for one in filters
    )


def client_rows(found: Dissection, most: int | None = None) -> tuple[tuple[str, ...], ...]:
    """Return a row a client, those with the most operations first; the last of a few is the one that took most time."""
    shown = found.clients[:most]
    longest = max(found.clients, key=lambda one: one.response_sum_ns, default=None)
    if longest is not None and longest not in shown:
        shown = (*shown[:-1], longest)
    return tuple(_client(one) for one in shown)


def _client(one: ClientUse) -> tuple[str, ...]:
    return (
        one.client,
        f"{one.connections:,}",
        f"{one.operations:,}",
        time(one.response_sum_ns / one.answered if one.answered else None),
        time(one.response_max_ns if one.answered else None),
        human(one.answer_bytes, Unit.BYTES),
    )


def total(found: Dissection, link: tuple[str, float] | None) -> str:
    """Return frames and bytes, over time and against a link."""
    seen = traffic(found)
    whole = f"Traffic: {counted(found.count('frames'), 'frame')}, {human(found.count('bytes'), Unit.BYTES)}"
    if seen is None:
        return f"{whole}."
    rates = [human(rate, Unit.BYTES_PER_S) for rate in (seen.mean_bytes_per_s, seen.highest_bytes_per_s)]
    window = human(seen.interval_ns, Unit.NANOSECONDS)
    share = f" ({percent(seen.highest_bytes_per_s / link[1])} of {link[0]} one way)" if link else ""
    return f"{whole}, {rates[0]} on average, {rates[1]} in the busiest {window}{share}."


def counts(found: Dissection) -> str:
    """Return what the operations returned and what became of them."""
    parts = [
        counted(found.count("entries"), "entry"),
        counted(found.count("references"), "reference"),
        f"{found.count('unanswered'):,} unanswered",
        f"{found.count('abandoned'):,} abandoned",
        f"{found.count('slower_1s'):,} slower than 1 s ({percent(_share_slow(found))})",
    ]
    return f"Answers: {', '.join(parts)}."


def _share_slow(found: Dissection) -> float:
    timed = sum(one.response_ns.n for one in found.operations)
    return found.count("slower_1s") / timed if timed else 0.0


def level_lines(results: tuple[LevelResult, ...], most: int | None = None) -> Iterator[str]:
    """Yield a sentence a service level; with a bound those that are met give way first."""
    kept = len(results) if most is None or len(results) <= most else most - 1
    order = sorted(range(len(results)), key=lambda at: results[at].state is Kept.MET)
    yield from (_level(results[at]) for at in sorted(order[:kept]))
    if rest := order[kept:]:
        met = sum(results[at].state is Kept.MET for at in rest)
        yield f"{counted(len(rest), 'more service level')}: {met:,} met, {len(rest) - met:,} not met or unknown: --json."


def _level(one: LevelResult) -> str:
    level = one.level
    if one.state is Kept.UNKNOWN:
        return f"Service level {level.text}: unknown, no {level.operation} was timed."
    value = f"{level.figure} {time(one.value_ns)}, " if one.value_ns is not None else ""
    share = percent(one.slower_share or 0.0)
    return f"Service level {level.text}: {one.state.value} ({value}{one.slower:,} of {one.n:,} above it, {share})."


def habits(found: Dissection) -> Iterator[str]:
    """Yield how connections are used, where that costs the server."""
    values, connections = found.values["habits"], found.count("connections")
    readable = connections - found.count("opaque_connections")
    if values["one_operation"] > readable / 2 and readable > 1:
        yield f"{values['one_operation']:,} of {counted(readable, 'connection')} carry one operation: keep connections open."
    if values["rebinding"]:
        yield f"{counted(values['rebinding'], 'connection')} bind before each operation: bind once."
    if values["without_unbind"]:
        yield f"{counted(values['without_unbind'], 'connection')} ended without an unbind."
    if values["open_at_end"] > readable / 2 and readable > 1:
        yield f"{values['open_at_end']:,} of {counted(connections, 'connection')} were never closed in the capture."


def candidates(found: Dissection) -> Iterator[str]:
    """Yield the filters that are likely not indexed."""
    slow = unindexed(found)
    if slow:
        first = "; ".join(f"{one.filter} (p50 {time(one.response_ns.p50)})" for one in slow[:3])
        more = "; ..." if len(slow) > 3 else ""
        yield f"Candidates for an index, slow with few entries: {first}{more}."


def remarks(found: Dissection) -> tuple[str, ...]:
    """Return what makes the counts lower bounds, what could be wrong with them, and habits; the gravest first."""
    return (*_files(found), *_losses(found), *_doubts(found), *_network(found), *candidates(found), *habits(found))


def _files(found: Dissection) -> Iterator[str]:
    for one in found.files:
        if one.ended != "whole":
            how = {"cut": "the file ends inside a frame", "damaged": "no frame begins there", "unread": one.reason}[one.ended]
            place = f"{counted(one.frames, 'frame')} read, up to byte {one.at_byte:,}"
            yield f"{one.path}: {place}: {how}. The counts are lower bounds."


def _losses(found: Dissection) -> Iterator[str]:
    texts = {
        "capture_drops": "The capture dropped {}. Every count is a lower bound.",
        "undescribed_frames": "{} of an interface without a description: not read.",
        "unreadable_frames": "{} cut or damaged before the TCP ports: not read.",
    }
    for name, text in texts.items():
        if found.count(name):
            yield text.format(counted(found.count(name), "frame"))
    if found.count("gaps"):
        lost = human(found.count("gap_bytes"), Unit.BYTES)
        yield (
            f"The capture lacks {lost} in {counted(found.count('gaps'), 'place')} that the receiver acknowledged: "
            "counts are lower bounds, times are not affected."
        )
    if found.count("cut_bytes"):
        cut = human(found.count("cut_bytes"), Unit.BYTES)
        yield f"Frames were cut short by {cut}: messages behind the cuts are missing. Capture with a larger snapshot length."
    if found.count("incomplete_datagrams"):
        yield f"{counted(found.count('incomplete_datagrams'), 'fragmented datagram')} never became whole."
    if found.count("malformed"):
        yield f"{counted(found.count('malformed'), 'message')} malformed: left out."
    if found.count("unfollowed") or found.count("evicted_connections"):
        left = (
            f"{counted(found.count('unfollowed'), 'operation')} and {counted(found.count('evicted_connections'), 'connection')}"
        )
        yield f"Too many were open at once: {left} were not followed to their end."


def _doubts(found: Dissection) -> Iterator[str]:
    if found.count("answers_without_request"):
        yield f"{counted(found.count('answers_without_request'), 'answer')} to requests that the capture lacks."
    if found.count("answers_lost"):
        yield f"{counted(found.count('answers_lost'), 'answer')} may be among the lost bytes: not counted as unanswered."
    if found.count("untimed"):
        yield f"{counted(found.count('untimed'), 'answered operation')} without a time: a frame of theirs was lost."
    if found.count("messages") and found.count("opaque_connections"):
        kinds = {"ldaps": "TLS", "start_tls": "StartTLS", "sasl": "SASL layer", "no_ldap": "no LDAP"}
        named = ", ".join(f"{kinds[kind]} {count:,}" for kind, count in found.values["opaque"].items() if count)
        size = human(found.count("opaque_bytes"), Unit.BYTES)
        opaque = counted(found.count("opaque_connections"), "connection")
        yield f"{opaque} opaque ({named}; {size}): operations inside are not counted."
    if found.count("filters_together") or found.count("clients_together"):
        yield "More than 512 filters or 4,096 clients: the rest is in the totals only."
    if found.values["unknown_links"]:
        numbers = ", ".join(found.values["unknown_links"])
        yield f"Link layer of type {numbers}: not read."


def _network(found: Dissection) -> Iterator[str]:
    sums = found.values["checksums"]
    if sums["bad"]:
        yield f"{counted(sums['bad'], 'frame')} with a bad checksum."
    if found.count("retransmitted") or found.count("out_of_order"):
        late = f"{found.count('out_of_order'):,} out of order"
        yield f"{counted(found.count('retransmitted'), 'segment')} retransmitted, {late}."
    if found.count("zero_windows"):
        stalled = time(found.count("stalled_ns"))
        yield f"A receive window was full {counted(found.count('zero_windows'), 'time')}, for {stalled} in all."
