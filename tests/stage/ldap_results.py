"""Results of the reader of captures, made by hand."""

from assay.dissect import result
from stage.ldap_captures import MS

TIMES = {"p50": MS, "p90": 2 * MS, "p99": 5 * MS, "p999": 9 * MS}
COUNTS = [
    "frames",
    "bytes",
    "ldap_frames",
    "messages",
    "malformed",
    "connections",
    "opaque_connections",
    "opaque_bytes",
    "entries",
    "references",
    "intermediate",
    "unanswered",
    "answers_lost",
    "answers_without_request",
    "abandoned",
    "notices",
    "unbinds",
    "untimed",
    "unfollowed",
    "slower_1s",
    "filters_together",
    "clients_together",
    "gaps",
    "gap_bytes",
    "cut_frames",
    "cut_bytes",
    "skipped_bytes",
    "retransmitted",
    "out_of_order",
    "zero_windows",
    "stalled_ns",
    "evicted_connections",
    "capture_drops",
    "unreadable_frames",
    "undescribed_frames",
    "fragments",
    "incomplete_datagrams",
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
    "authentications",
    "binds_together",
    "uses_together",
]
HABITS = (
    *("one_operation", "rebinding", "readable", "reset", "reset_by_server", "open_at_end", "without_unbind", "open_at_once"),
)


def times(n, **but):
    figures = TIMES if n else dict.fromkeys(TIMES)
    return {"n": n, "sum": n * MS, "max": 9 * MS if n else 0, **figures, "exact": True, **but}


def operation(name, n, **but):
    values = {
        "operation": name,
        "requests": n,
        "answered": n,
        "unanswered": 0,
        "open": 0,
        "response_ns": times(n),
        "first_entry_ns": times(n),
        "result_codes": {"0": n},
        "request_bytes": 70 * n,
        "answer_bytes": 200 * n,
    }
    return {**values, **but}


def used(shape, count, **but):
    values = {
        "filter": shape,
        "count": count,
        "answered": count,
        "entries": count,
        "bytes": 99,
        "result_codes": {"0": count},
        "response_ns": times(count),
    }
    return {**values, **but}


def searched(shape, count, **but):
    values = {
        "filter": shape,
        "scope": "sub",
        "attributes": 2,
        "size_limit": 0,
        "count": count,
        "answered": count,
        "entries": count,
        "empty": 0,
        "bytes": 99,
    }
    return {**values, **but}


def client(address, search):
    requests = {"search": search}
    figures = {"answered": search, "answer_bytes": 9, "response_sum_ns": search * MS, "response_max_ns": MS}
    return {"client": address, "connections": 1, "requests": requests, **figures}


def values(search=100, **but):
    """The JSON of a quiet capture of ten seconds with so many searches."""
    made = {
        **dict.fromkeys(COUNTS, 0),
        "frames": 10 * search,
        "bytes": 1000 * search,
        "messages": 2 * search,
        "connections": 2,
        "files": [{"path": "a.pcap", "format": "pcap", "frames": 10 * search, "ended": {"kind": "whole"}}],
        "start_ns": 1_700_000_000 * 10**9,
        "end_ns": 1_700_000_010 * 10**9,
        "operations": [operation("search", search)] if search else [],
        "result_codes": {"0": search},
        "result_names": {"0": "success"},
        "opaque": {"ldaps": 0, "start_tls": 0, "sasl": 0, "no_ldap": 0},
        "filters": [used("(uid=?)", search)] if search else [],
        "clients": [client("10.0.0.1", search)],
        "limits": [],
        "ports": [],
        "unknown_links": {},
        "checksums": {"good": 10 * search, "bad": 0, "offloaded": 0, "unchecked": 0},
        "habits": {**dict.fromkeys(HABITS, 0), "readable": 2},
        "connect_ns": times(0),
        "tls_handshake_ns": times(0),
        "cldap": {"requests": 0, "answered": 0, "entries": 0, "result_codes": {}, "response_ns": times(0)},
        "paged": {"searches": 0, "pages": 0},
        **{name: {} for name in ("tunnels", "controls", "extended")},
        **{name: [] for name in ("found_ports", "binds", "failed_binds", "uses", "slowest")},
        "timeline": {
            "start_ns": 1_700_000_000 * 10**9,
            "interval_ns": 10**9,
            "bytes": [100 * search] * 10,
            "frames": [search] * 10,
            "requests": {"search": [search // 10] * 10},
            "answered": [search // 10] * 10,
            "response_sum_ns": [search // 10 * MS] * 10,
            "response_max_ns": [9 * MS] * 10,
        },
        "profile": {
            "scopes": [0, 0, search, 0],
            "attributes_all": 0,
            "attributes_none": 0,
            "attributes_named": [[2, search]],
            "depth_sum": 2 * search,
            "depth_max": 4,
            "searches": [searched("(uid=?)", search)] if search else [],
            "searches_together": 0,
            "authentications": 0,
        },
    }
    return {**made, **but}


def found(search=100, **but):
    return result.read(values(search, **but))
