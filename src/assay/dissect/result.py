"""What the reader of captures found: its counts as records, and what makes them lower bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from assay.errors import MissingError

Counted = TypeVar(
    "Counted",
    "ResponseTimes",
    "FilterUse",
    "SearchUse",
    "ClientUse",
    "OperationKind",
    "OperationUse",
    "Authentications",
    "FailedBinds",
    "SlowOperation",
)
SECOND_NS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class ResponseTimes:
    """Response times in nanoseconds; percentiles by nearest rank, None without a time."""

    n: int
    sum: int
    max: int
    p50: int | None
    p90: int | None
    p99: int | None
    p999: int | None
    exact: bool
    """Whether the percentiles are exact, else at most 1/128 too high."""

    @property
    def mean_ns(self) -> float | None:
        """The mean; None without a time."""
        return self.sum / self.n if self.n else None


@dataclass(frozen=True, kw_only=True)
class OperationKind:
    """The operations of one kind."""

    operation: str
    requests: int
    answered: int
    unanswered: int
    open: int
    """Not answered yet when the capture ended."""
    response_ns: ResponseTimes
    first_entry_ns: ResponseTimes
    result_codes: Mapping[str, int]
    request_bytes: int
    answer_bytes: int


@dataclass(frozen=True, kw_only=True)
class FilterUse:
    """The searches with filters of one shape."""

    filter: str
    count: int
    answered: int
    entries: int
    bytes: int
    result_codes: Mapping[str, int]
    response_ns: ResponseTimes


@dataclass(frozen=True, kw_only=True)
class SearchUse:
    """The searches with filters of one shape that are alike in scope, attributes wanted and size limit."""

    filter: str
    scope: str | None
    """`base`, `one`, `sub` or `children`."""
    attributes: str | int | None
    """`all`, `none`, or how many are named; None if the list was cut off."""
    size_limit: int | None
    count: int
    answered: int
    entries: int
    empty: int
    """Answers without an entry."""
    bytes: int


@dataclass(frozen=True, kw_only=True)
class ClientUse:
    """What one address asked for."""

    client: str
    connections: int
    requests: Mapping[str, int]
    answered: int
    answer_bytes: int
    response_sum_ns: int
    response_max_ns: int

    @property
    def operations(self) -> int:
        """All its requests."""
        return sum(self.requests.values())


@dataclass(frozen=True, kw_only=True)
class OperationUse:
    """The operations of one client that are alike in kind, filter and result."""

    client: str | None
    """None: those that are counted together."""
    operation: str
    filter: str | None
    code: int | None
    count: int
    entries: int
    timed: int
    response_sum_ns: int
    response_max_ns: int


@dataclass(frozen=True, kw_only=True)
class Authentications:
    """How one client authenticates: by which mechanism, and what protects the operations after it."""

    client: str | None
    mechanism: str
    """`simple`, `anonymous`, `unauthenticated`, `Sicily`, or that of SASL."""
    layer: str
    """`none`, `signed`, `sealed`, or `unknown` where nothing follows."""
    binds: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class FailedBinds:
    """Binds of one client that failed alike."""

    client: str | None
    mechanism: str
    code: int
    count: int


@dataclass(frozen=True, kw_only=True)
class SlowOperation:
    """One of the slowest operations, with the frames of its request and its answer."""

    operation: str
    client: str | None
    filter: str | None
    ns: int
    """How long it took, or waited at least."""
    answered: bool
    code: int | None
    file: int | None
    request_frame: int | None
    answer_file: int | None
    answer_frame: int | None


@dataclass(frozen=True, kw_only=True)
class CaptureFile:
    """A file that was read, and how it ended."""

    path: str
    format: str
    frames: int
    ended: str
    """`whole`, `cut`, `damaged` or `unread`."""
    at_byte: int | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Dissection:
    """All counts of a capture; `values` has each under its name in docs/dissect-json.md."""

    values: Mapping[str, Any]
    files: tuple[CaptureFile, ...]
    operations: tuple[OperationKind, ...]
    filters: tuple[FilterUse, ...]
    """The most frequent first."""
    searches: tuple[SearchUse, ...]
    """The most frequent first."""
    clients: tuple[ClientUse, ...]
    """Those with the most operations first."""
    uses: tuple[OperationUse, ...]
    """The most frequent first."""
    binds: tuple[Authentications, ...]
    """The most frequent first."""
    failed_binds: tuple[FailedBinds, ...]
    """The most frequent first."""
    slowest: tuple[SlowOperation, ...]

    def count(self, name: str) -> int:
        """Return a count by its name."""
        return int(self.values[name])

    @property
    def requests(self) -> int:
        """Return the requests of all kinds."""
        return sum(one.requests for one in self.operations)

    @property
    def duration_ns(self) -> int:
        """The time from the first frame to the last."""
        start, end = self.values["start_ns"], self.values["end_ns"]
        return 0 if start is None else int(end) - int(start)

    @property
    def complete(self) -> bool:
        """Whether nothing says that the capture lacks something of what passed."""
        return not any(True for _ in self.losses())

    @property
    def sealed(self) -> int:
        """Return the connections whose operations cannot be read."""
        return self.count("opaque_connections") - int(self.values["opaque"]["no_ldap"])

    def lacking(self, name: str) -> int:
        """Return a count of losses; what is no LDAP is none."""
        return self.sealed if name == "opaque_connections" else self.count(name)

    def losses(self) -> Iterator[str]:
        """Name the counts that make every other count a lower bound."""
        yield from (name for name in LOSSES if self.lacking(name))
        if any(one.ended != "whole" for one in self.files):
            yield "files"


LOSSES = (
    "capture_drops",
    "gaps",
    "cut_bytes",
    "incomplete_datagrams",
    "unreadable_frames",
    "undescribed_frames",
    "unfollowed",
    "evicted_connections",
    "malformed",
    "opaque_connections",
    "answers_without_request",
)
"""Counts of what the capture lacks, or could not be read."""


FIELDS = frozenset(
    (
        *("files", "operations", "filters", "clients", "limits", "ports", "timeline", "profile", "habits", "checksums"),
        *("frames", "bytes", "ldap_frames", "start_ns", "end_ns", "capture_drops", "unreadable_frames", "undescribed_frames"),
        *("unknown_links", "fragments", "incomplete_datagrams", "messages", "malformed", "connections", "opaque"),
        *("opaque_connections", "opaque_bytes", "result_codes", "result_names", "entries", "references", "intermediate"),
        *("unanswered", "answers_lost", "answers_without_request", "abandoned", "notices", "unbinds", "untimed", "unfollowed"),
        *("slower_1s", "filters_together", "clients_together", "gaps", "gap_bytes", "cut_frames", "cut_bytes"),
        *(
            "open",
            "copies",
            "bad_used",
            "backwards",
            "reordered",
            "signed",
            "proxied",
            "refused_connections",
            "unanswered_syns",
            "without_data",
        ),
        *("connect_ns", "tls_handshake_ns", "cldap", "tunnels", "found_ports", "authentications", "binds", "binds_together"),
        *("failed_binds", "controls", "extended", "paged", "uses", "uses_together", "slowest"),
        *("skipped_bytes", "retransmitted", "out_of_order", "zero_windows", "stalled_ns", "evicted_connections"),
    )
)
"""Every field of the reader's JSON."""


def read(values: Mapping[str, Any]) -> Dissection:
    """Return the records in the reader's JSON. Raises MissingError for that of another version."""
    try:
        if lacking := sorted(FIELDS - values.keys()):
            raise KeyError(", ".join(lacking[:3]))
        filters = [_record(FilterUse, one) for one in values["filters"]]
        searches = [_record(SearchUse, one) for one in values["profile"]["searches"]]
        clients = [_record(ClientUse, one) for one in values["clients"]]
        return Dissection(
            values=values,
            files=tuple(_file(one) for one in values["files"]),
            operations=tuple(_record(OperationKind, one) for one in values["operations"]),
            filters=tuple(sorted(filters, key=lambda one: (-one.count, one.filter))),
            searches=tuple(sorted(searches, key=lambda one: -one.count)),
            clients=tuple(sorted(clients, key=lambda one: (-one.operations, one.client))),
            uses=tuple(_record(OperationUse, one) for one in values["uses"]),
            binds=tuple(_record(Authentications, one) for one in values["binds"]),
            failed_binds=tuple(_record(FailedBinds, one) for one in values["failed_binds"]),
            slowest=tuple(_record(SlowOperation, one) for one in values["slowest"]),
        )
    except KeyError as error:
        raise MissingError(f"the result of the reader of captures lacks {error.args[0]}. {OTHER_READER}") from error


OTHER_READER = "The reader is of another version than Assay. Run `make build`."


def _record(kind: type[Counted], one: Mapping[str, Any]) -> Counted:
    """Return a record with its own fields of an object. Raises KeyError where one is missing."""
    values = {field.name: one[field.name] for field in fields(kind)}
    times = {name: _record(ResponseTimes, values[name]) for name in ("response_ns", "first_entry_ns") if name in values}
    return kind(**{**values, **times})


def times_of(found: Dissection, name: str) -> ResponseTimes:
    """Return the times under a name that belong to no operation."""
    return _record(ResponseTimes, found.values[name])


def _file(one: Mapping[str, Any]) -> CaptureFile:
    ended = one["ended"]
    return CaptureFile(
        path=one["path"],
        format=one["format"],
        frames=one["frames"],
        ended=ended["kind"],
        at_byte=ended.get("at_byte"),
        reason=ended.get("reason", ""),
    )


@dataclass(frozen=True, kw_only=True)
class WireTraffic:
    """Bytes over time: the mean and the busiest interval."""

    mean_bytes_per_s: float
    highest_bytes_per_s: float
    interval_ns: int


INTERVAL_NS = SECOND_NS
"""The shortest interval whose rate is called the highest."""


def traffic(found: Dissection) -> WireTraffic | None:
    """Return the bytes of the whole capture over time; None for a capture of no duration."""
    timeline = found.values["timeline"]
    if not found.duration_ns:
        return None
    merged, interval_ns = widened(timeline["bytes"], timeline["interval_ns"], INTERVAL_NS)
    whole_s = found.duration_ns / SECOND_NS
    mean = found.count("bytes") / whole_s
    if len(merged) < 2:
        return WireTraffic(mean_bytes_per_s=mean, highest_bytes_per_s=mean, interval_ns=found.duration_ns)
    highest = max(merged) * SECOND_NS / interval_ns
    if highest <= mean:  # the last interval is not full
        return WireTraffic(mean_bytes_per_s=mean, highest_bytes_per_s=mean, interval_ns=found.duration_ns)
    return WireTraffic(mean_bytes_per_s=mean, highest_bytes_per_s=highest, interval_ns=interval_ns)


def widened(values: Sequence[int], interval_ns: int, least_ns: int) -> tuple[list[int], int]:
    """Add neighbouring intervals until one is at least so long; the sums, and how long one is."""
    step = max(1, -(-least_ns // interval_ns))
    return [sum(values[at : at + step]) for at in range(0, len(values), step)], step * interval_ns


SLOW_TIMES, FEW_ENTRIES, ENOUGH, COMMON_SHARE = 10, 5, 5, 0.1
"""A likely unindexed filter: so many times the usual search, so few entries each, at least so many searches.

The usual search is that of the fastest filter with this share of all: the median is itself slow where most are not indexed.
"""


def unindexed(found: Dissection) -> tuple[FilterUse, ...]:
    """Return the filters that are likely not indexed: slow, with few entries; candidates, the one that cost most first."""
    search = next((one for one in found.operations if one.operation == "search"), None)
    if search is None or not search.response_ns.n:
        return ()
    least = max(ENOUGH, COMMON_SHARE * search.response_ns.n)
    common = [one.response_ns.p50 for one in found.filters if one.response_ns.n >= least]
    usual_ns = min(time_ns for time_ns in (*common, search.response_ns.p50) if time_ns is not None)
    if not usual_ns:
        return ()
    slow = [
        one
        for one in found.filters
        if one.response_ns.n >= ENOUGH
        and (one.response_ns.p50 or 0) >= SLOW_TIMES * usual_ns
        and one.entries <= FEW_ENTRIES * one.answered
    ]
    return tuple(sorted(slow, key=lambda one: -one.response_ns.sum))
