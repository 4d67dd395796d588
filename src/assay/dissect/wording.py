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
    OperationUse,
    ResponseTimes,
    SlowOperation,
    times_of,
    traffic,
    unindexed,
)
from assay.terminal.printable import printable
from assay.units import Unit, counted, digits, human, percent

Shown = Callable[[float], str]
"""A number with its unit."""
MOST_FILTERS, MOST_CLIENTS, MOST_LEVELS = 6, 3, 8
"""Rows on a terminal."""
NONE = "-"

OPERATION_HEAD = ("operation", "requests", "rate", "answered", "p50", "p99", "max", "first entry p50", "result codes")
FILTER_HEAD = ("searches", "entries each", "p50", "p99", "max", "filter")
CLIENT_HEAD = ("client", "connections", "operations", "mean", "max", "answer bytes")
BIND_HEAD = ("client", "mechanism", "afterwards", "authentications", "failed")
FAILED_HEAD = ("client", "mechanism", "result code", "binds")
USE_HEAD = ("client", "operation", "result code", "operations", "entries each", "mean", "max", "filter")
SLOW_HEAD = ("operation", "client", "time", "request", "answer", "result code", "filter")
CONTROL_HEAD = ("object identifier", "requests", "name")
AFTERWARDS: Mapping[str, str] = {"none": "in clear", "signed": "signed", "sealed": "sealed", "unknown": "nothing"}
"""What follows an authentication, by its layer."""
TUNNELS: Mapping[str, str] = {
    **{name: name.upper() for name in ("vxlan", "gre", "erspan", "geneve", "mpls", "tzsp")},
    "ipip": "IP in IP",
    "pppoe": "PPPoE",
}
NAMES: Mapping[str, str] = {
    "1.2.840.113556.1.4.319": "paged results",
    "1.2.840.113556.1.4.473": "server side sort",
    "2.16.840.1.113730.3.4.9": "virtual list view",
    "1.2.840.113556.1.4.841": "DirSync",
    "1.2.840.113556.1.4.801": "security descriptor flags",
    "1.2.840.113556.1.4.417": "show deleted",
    "1.2.840.113556.1.4.528": "notification",
    "1.2.840.113556.1.4.529": "extended DN",
    "1.2.840.113556.1.4.805": "tree delete",
    "1.2.840.113556.1.4.1339": "domain scope",
    "1.2.840.113556.1.4.1340": "search options",
    "1.2.840.113556.1.4.1413": "permissive modify",
    "1.2.840.113556.1.4.2065": "show deactivated links",
    "2.16.840.1.113730.3.4.2": "ManageDsaIT",
    "2.16.840.1.113730.3.4.3": "persistent search",
    "2.16.840.1.113730.3.4.18": "proxied authorization",
    "1.3.6.1.4.1.4203.1.9.1.1": "content synchronization",
    "1.3.6.1.4.1.42.2.27.8.5.1": "password policy",
    "1.3.6.1.1.12": "assertion",
    "1.3.6.1.1.13.1": "pre-read",
    "1.3.6.1.1.13.2": "post-read",
    "1.3.6.1.4.1.1466.20037": "StartTLS",
    "1.3.6.1.4.1.4203.1.11.1": "password modify",
    "1.3.6.1.4.1.4203.1.11.3": "who am I",
    "1.3.6.1.1.8": "cancel",
    "1.3.6.1.4.1.1466.101.119.1": "dynamic refresh",
    "1.2.840.113556.1.4.1781": "fast bind",
}
"""Controls and extended operations by their object identifiers."""


def answer(found: Dissection) -> str:
    """Return the answer in one sentence."""
    if not found.count("messages"):
        return _without_messages(found)
    duration_s = found.duration_ns / SECOND_NS
    least = "" if found.complete else "At least "
    rate = f" in {human(found.duration_ns, Unit.NANOSECONDS)} ({_rate(found.requests, found)})" if duration_s else ""
    whom = f"{counted(len(found.clients), 'client')}, {counted(found.count('connections'), 'connection')}"
    never = f"; {found.count('unanswered'):,} never answered" if found.count("unanswered") else ""
    return f"{least}{counted(found.requests, 'operation')}{rate}: {whom}{_main_time(found)}{never}."


def _main_time(found: Dissection) -> str:
    main = max(found.operations, key=lambda one: one.response_ns.n, default=None)
    if main is None or not main.response_ns.n:
        return ""
    figures = (f"{name} {time(at)}" for name, at in (("p50", main.response_ns.p50), ("p99", main.response_ns.p99)))
    return f"; {main.operation} {', '.join(figures)}"


def _without_messages(found: Dissection) -> str:
    """Return what was there instead of readable messages."""
    if not found.count("frames"):
        return "No frames."
    frames = counted(found.count("frames"), "frame")
    if there := [*_opaque_kinds(found), *_attempts(found)]:
        return f"No readable LDAP over TCP in {frames}: {', '.join(there)}."
    if found.count("connections"):
        return f"No readable LDAP in {frames}: {counted(found.count('connections'), 'connection')} without a message."
    ports = ", ".join(f"{one['port']} ({one['frames']:,} frames)" for one in found.values["ports"])
    seen = f"TCP ports seen: {ports}. Name the port of the server with --port." if ports else "No TCP segment was found."
    return f"No LDAP in {frames}. {seen}"


def _opaque_kinds(found: Dissection) -> Iterator[str]:
    """Yield the connections that cannot be read, by kind."""
    kinds = {
        "ldaps": "encrypted by TLS",
        "start_tls": "encrypted after StartTLS",
        "sasl": "sealed by SASL",
        "no_ldap": "with something else than LDAP",
    }
    for kind, words in kinds.items():
        if count := int(found.values["opaque"][kind]):
            yield f"{counted(count, 'connection')} {words}"


def _attempts(found: Dissection) -> Iterator[str]:
    """Yield connections that carried nothing, and what passed without one."""
    kinds = {
        "refused_connections": "refused",
        "unanswered_syns": "without an answer to their SYN",
        "without_data": "opened without a byte of data",
    }
    for name, words in kinds.items():
        if count := found.count(name):
            yield f"{counted(count, 'connection')} {words}"
    datagrams = found.values["cldap"]
    if datagrams["requests"]:
        times = datagrams["response_ns"]
        took = f", p50 {time(times['p50'])}" if times["n"] else ""
        yield f"{counted(int(datagrams['requests']), 'operation')} over UDP ({datagrams['answered']:,} answered{took})"


LEAST_RATE = 0.001
"""A smaller rate is given over a longer time."""


def _rate(count: int, found: Dissection) -> str:
    """Return how many a second, an hour or a day."""
    if not found.duration_ns:
        return NONE
    per_s = count * SECOND_NS / found.duration_ns
    name, seconds = next(((name, size) for name, size in PERIODS if per_s * size >= LEAST_RATE), PERIODS[-1])
    return f"{digits(per_s * seconds)}/{name}"


PERIODS = (("s", 1), ("h", 3_600), ("day", 86_400), ("year", 31_557_600))


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
    times = one.response_ns
    return (
        one.operation,
        f"{one.requests:,}",
        _rate(one.requests, found),
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
            printable(one.filter),
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


def bind_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row a client, mechanism and what followed."""
    return tuple(
        (one.client or NONE, one.mechanism, AFTERWARDS[one.layer], f"{one.binds:,}", f"{one.failed:,}") for one in found.binds
    )


def failed_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row a client, mechanism and result code of failed binds."""
    return tuple((one.client or NONE, one.mechanism, _code(one.code, found), f"{one.count:,}") for one in found.failed_binds)


def use_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row a client, operation, filter and result code."""
    return tuple(_use(one, found) for one in found.uses)


def _use(one: OperationUse, found: Dissection) -> tuple[str, ...]:
    return (
        *(one.client or NONE, one.operation, _code(one.code, found), f"{one.count:,}"),
        digits(one.entries / one.count) if one.operation == "search" else NONE,
        time(one.response_sum_ns / one.timed if one.timed else None),
        time(one.response_max_ns if one.timed else None),
        printable(one.filter or NONE),
    )


def slowest_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row an operation of the slowest ones, with the numbers of its frames."""
    return tuple(_slow(one, found) for one in found.slowest)


def _slow(one: SlowOperation, found: Dissection) -> tuple[str, ...]:
    return (
        *(one.operation, one.client or NONE, time(one.ns) if one.answered else f"over {time(one.ns)}"),
        *(_frame(one.request_frame, one.file, found), _frame(one.answer_frame, one.answer_file, found)),
        _code(one.code, found) if one.answered else "no answer",
        printable(one.filter or NONE),
    )


def _frame(number: int | None, file: int | None, found: Dissection) -> str:
    """Return the number of a frame, with its file where there are several."""
    if number is None:
        return NONE
    several = file is not None and len(found.files) > 1 and file < len(found.files)
    return f"frame {number:,} of {printable(found.files[file or 0].path)}" if several else f"frame {number:,}"


def _code(code: int | None, found: Dissection) -> str:
    return NONE if code is None else f"{found.values['result_names'].get(str(code), 'result')} ({code})"


def control_rows(found: Dissection) -> tuple[tuple[str, ...], ...]:
    """Return a row a control or extended operation."""
    named = [*found.values["controls"].items(), *found.values["extended"].items()]
    return tuple((name, f"{count:,}", NAMES.get(name, NONE)) for name, count in sorted(named, key=lambda one: -one[1]))


def total(found: Dissection, link: tuple[str, float] | None) -> str:
    """Return frames and bytes, over time and against a link."""
    seen = traffic(found)
    whole = f"Traffic: {counted(found.count('frames'), 'frame')}, {human(found.count('bytes'), Unit.BYTES)}"
    if seen is None:
        return f"{whole}."
    rates = [human(rate, Unit.BYTES_PER_S) for rate in (seen.mean_bytes_per_s, seen.highest_bytes_per_s)]
    window = human(seen.interval_ns, Unit.NANOSECONDS)
    # Both directions and all protocols are in it: one direction has no more than that.
    share = f" (at most {percent(seen.highest_bytes_per_s / link[1])} of {link[0]} one way)" if link else ""
    return f"{whole}, {rates[0]} on average, {rates[1]} in the busiest {window}{share}."


def counts(found: Dissection) -> str:
    """Return what the operations returned and what became of them."""
    parts = [
        counted(found.count("entries"), "entry"),
        counted(found.count("references"), "reference"),
        f"{found.count('unanswered'):,} unanswered",
        *([f"{found.count('open'):,} open at the end"] if found.count("open") else []),
        f"{found.count('abandoned'):,} abandoned",
        f"{found.count('slower_1s'):,} slower than 1 s ({percent(_share_slow(found))})",
    ]
    return f"Answers: {', '.join(parts)}."


def _share_slow(found: Dissection) -> float:
    counted_in = sum(one.response_ns.n + one.unanswered + one.open for one in found.operations)
    return found.count("slower_1s") / counted_in if counted_in else 0.0


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
    readable = values["readable"]
    if values["one_operation"] > readable / 2 and readable > 1:
        yield f"{values['one_operation']:,} of {counted(readable, 'connection')} carry one operation: keep connections open."
    if values["rebinding"]:
        verb = "binds" if values["rebinding"] == 1 else "bind"
        yield f"{counted(values['rebinding'], 'connection')} {verb} before each operation: bind once."
    if values["without_unbind"]:
        yield f"{counted(values['without_unbind'], 'connection')} ended without an unbind."
    if values["reset_by_server"]:
        yield f"{counted(values['reset_by_server'], 'connection')} reset by the server."
    if found.count("notices"):
        yield f"{counted(found.count('notices'), 'notice')} of disconnection by the server."
    if values["open_at_end"] > connections / 2 and connections > 1:
        yield f"{values['open_at_end']:,} of {counted(connections, 'connection')} were never closed in the capture."


def candidates(found: Dissection) -> Iterator[str]:
    """Yield the filters that are likely not indexed."""
    slow = unindexed(found)
    if slow:
        first = "; ".join(f"{printable(one.filter)} (p50 {time(one.response_ns.p50)})" for one in slow[:3])
        more = "; ..." if len(slow) > 3 else ""
        yield f"Candidates for an index, slow with few entries: {first}{more}."


def remarks(found: Dissection) -> tuple[str, ...]:
    """Return what makes the counts lower bounds, what could be wrong with them, and habits; the gravest first."""
    return (
        *(*_files(found), *_losses(found), *_doubts(found), *_people(found), *candidates(found), *habits(found)),
        *(*_slowest(found), *_network(found), *_ways(found)),
    )


def _files(found: Dissection) -> Iterator[str]:
    for one in found.files:
        if one.ended != "whole":
            how = {"cut": "the file ends inside a frame", "damaged": "no frame begins there", "unread": one.reason}[one.ended]
            place = f"{counted(one.frames, 'frame')} read, up to byte {one.at_byte:,}"
            yield f"{printable(one.path)}: {place}: {how}. The counts are lower bounds."


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
    if found.sealed:
        size = human(found.count("opaque_bytes"), Unit.BYTES)
        kinds = ", ".join(_opaque_kinds(found)) or counted(found.sealed, "opaque connection")
        yield f"Not readable: {kinds} ({size}): operations inside are not counted."
    if found.count("answers_without_request"):
        yield f"{counted(found.count('answers_without_request'), 'answer')} to requests that the capture lacks."
    if found.count("unfollowed") or found.count("evicted_connections"):
        left = (
            f"{counted(found.count('unfollowed'), 'operation')} and {counted(found.count('evicted_connections'), 'connection')}"
        )
        yield f"Too many were open at once: {left} were not followed to their end."


def _doubts(found: Dissection) -> Iterator[str]:
    if found.count("answers_lost"):
        yield f"{counted(found.count('answers_lost'), 'answer')} may be among the lost bytes: not counted as unanswered."
    if found.count("untimed"):
        left = counted(found.count("untimed"), "answered operation")
        yield f"{left} without a time: a frame was lost, or its time is not known."
    if not found.sealed and found.values["opaque"]["no_ldap"]:
        yield f"{', '.join(_opaque_kinds(found))}."
    if found.count("messages") and (attempts := list(_attempts(found))):
        yield f"Beside that: {', '.join(attempts)}."
    if found.count("filters_together") or found.count("clients_together"):
        yield "More than 512 filters or 4,096 clients: the rest is in the totals only."
    if found.values["unknown_links"]:
        numbers = ", ".join(found.values["unknown_links"])
        yield f"Link layer of type {numbers}: not read."


def _network(found: Dissection) -> Iterator[str]:
    sums = found.values["checksums"]
    if sums["bad"]:
        used = f": {found.count('bad_used'):,} used, as the receiver acknowledged them" if found.count("bad_used") else ""
        yield f"{counted(sums['bad'], 'frame')} with a bad checksum{used}."
    if found.count("copies"):
        yield f"{found.count('copies'):,} copies of segments that were captured twice: each counted once."
    if found.count("backwards"):
        earlier = counted(found.count("backwards"), "frame")
        yield f"{earlier} earlier than one before it: {found.count('reordered'):,} put in order of time."
        if found.count("reordered") < found.count("backwards"):
            yield "The others acknowledge what they are earlier than: two clocks disagree."
    if found.count("retransmitted") or found.count("out_of_order"):
        late = f"{found.count('out_of_order'):,} out of order"
        yield f"{counted(found.count('retransmitted'), 'segment')} retransmitted, {late}."
    if found.count("zero_windows"):
        stalled = time(found.count("stalled_ns"))
        yield f"A receive window was full {counted(found.count('zero_windows'), 'time')}, for {stalled} in all."
    for name, words in (("connect_ns", "TCP connect"), ("tls_handshake_ns", "TLS handshake")):
        times = times_of(found, name)
        if times.n:
            yield f"{words}: {times.n:,}, p50 {time(times.p50)}, p99 {time(times.p99)}, longest {time(times.max)}."


def _people(found: Dissection) -> Iterator[str]:
    """Yield who authenticates how, and what failed."""
    clear = [one for one in found.binds if one.layer == "none" and one.mechanism in ("simple", "unauthenticated")]
    if clear:
        binds = counted(sum(one.binds for one in clear), "simple bind")
        whom = counted(len({one.client for one in clear}), "client")
        yield f"{binds} in clear by {whom}: their passwords can be read on the wire."
    others: dict[tuple[str, str], int] = {}
    for one in found.binds:
        if one not in clear:
            key = (one.mechanism, AFTERWARDS[one.layer])
            others[key] = others.get(key, 0) + one.binds
    if others:
        each = ", ".join(f"{count:,} {mechanism} (then {layer})" for (mechanism, layer), count in others.items())
        yield f"Other authentications: {each}."
    if found.failed_binds:
        worst = found.failed_binds[0]
        most = f"most of {worst.client or NONE}: {worst.count:,} {_code(worst.code, found)}"
        yield f"{counted(sum(one.count for one in found.failed_binds), 'failed bind')}, {most}."


def _slowest(found: Dissection) -> Iterator[str]:
    if found.slowest:
        one = found.slowest[0]
        frames = f"request in {_frame(one.request_frame, one.file, found)}"
        if one.answered:
            frames += f", answer in {_frame(one.answer_frame, one.answer_file, found)}"
        yield f"The slowest {'answer' if one.answered else 'wait'}: {one.operation}, {time(one.ns)}, {frames}."


def _ways(found: Dissection) -> Iterator[str]:
    """Yield how messages were found, and what they asked for beside their operation."""
    if tunnels := found.values["tunnels"]:
        each = ", ".join(f"{TUNNELS[name]} {counted(frames, 'frame')}" for name, frames in tunnels.items())
        yield f"In tunnels: {each}."
    if ports := found.values["found_ports"]:
        yield f"LDAP was found by its content on port {', '.join(map(str, ports))}."
    if found.count("proxied"):
        yield f"{counted(found.count('proxied'), 'connection')} with a PROXY header: clients are those that it names."
    if found.count("signed"):
        yield f"{counted(found.count('signed'), 'connection')} with SASL buffers that are only signed: read."
    paged = found.values["paged"]
    if paged["pages"]:
        searches = "1 paged search" if paged["searches"] == 1 else f"{paged['searches']:,} paged searches"
        yield f"{searches} in {counted(paged['pages'], 'page')}."
