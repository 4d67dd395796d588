"""Reads the counters of a directory server: operations by type, entries, bytes, connections, hits of its entry cache.

Sources: cn=Monitor of slapd, cn=snmp,cn=monitor and the monitor of the backend of 389-ds, through ldapsearch(1) at the edges
of each phase. Each look is itself a connection, a bind and a search; these are taken off, so that silence counts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_system
from assay.errors import AssayError, EvidenceError, TrialError
from assay.evidence.snapshots import Origin, counter, gauge
from assay.machine.ldap import Entry, parse_ldif
from assay.records import Series, ServerNode, Snapshot, Subject

LAYER = "directory"
SLAPD, DS389 = "slapd", "389-ds"
LONGEST_S = 10.0
OPERATIONS = ("bind", "unbind", "search", "compare", "modify", "modrdn", "add", "delete", "abandon", "extended")
COUNTED = (*OPERATIONS, "entries", "bytes", "connections")
HITS, TRIES, MOST = "cache_hits", "cache_tries", "cache_max_bytes"
OF_DS389 = {
    "bind": ("simpleauthbinds", "strongauthbinds"),
    "search": ("searchops",),
    "compare": ("compareops",),
    "modify": ("modifyentryops",),
    "modrdn": ("modifyrdnops",),
    "add": ("addentryops",),
    "delete": ("removeentryops",),
    "entries": ("entriesreturned",),
    "bytes": ("bytessent",),
    "connections": ("connectionseq",),
}
"""Metric -> the attributes of cn=snmp,cn=monitor that add up to it; an anonymous bind counts as a simple one, too."""
OWN_ALWAYS = ("bind", "search", "connections")
OWN_SLAPD = (*OWN_ALWAYS, "unbind")
"""What each command of a look adds by itself: counted from the look after it, or already in it, so always one a look."""
STARTTLS = "-ZZ"
"""The option of ldapsearch(1) with which a look secures its connection before anything else: an extended operation."""
BIND_ANSWER, SEARCH_DONE = 14, 14
"""Bytes of a bindResponse and a searchResultDone with success and no text, and a message id of one byte (RFC 4511, BER)."""
STARTTLS_ANSWERS = {SLAPD: 14, DS389: 97}
"""Bytes of the answer to StartTLS; 389-ds gives its name and a sentence in it, slapd neither."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return what each command of each node prints, by software; `{"error": reason}` where one fails."""
    found: dict[str, object] = {}
    for place, node in enumerate(watched(subject)):
        found[str(place)] = {"software": node.software, "texts": [_output(host, argv) for argv in node.monitor]}
    return found


def watched(subject: Subject) -> list[ServerNode]:
    """Return the nodes whose counters are known."""
    return [node for node in subject.server if node.monitor and node.software in (SLAPD, DS389)]


def _output(host: Host, argv: Sequence[str]) -> object:
    try:
        return host.run(argv, timeout_s=LONGEST_S).stdout
    except AssayError as error:
        return {"error": str(error)}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return counters since the first look without our own looks. Raises EvidenceError on an unknown format."""
    nodes = watched(subject)
    if not nodes:
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source="directory_monitor:ldapsearch", layer=LAYER)
    missing: dict[str, str] = {}
    series: list[Series] = []
    for place, node in enumerate(nodes):
        reason = next((text for one in snapshots if (text := refusal(one, str(place)))), None)
        if reason:
            missing |= {f"{LAYER}.{metric}": reason for metric in COUNTED}
            continue
        looks = [looked(one, str(place)) for one in snapshots]
        series += _series(origin, node, [one.at_ns for one in snapshots], looks)
    return Evidence(series=tuple(series), missing=missing)


def refusal(snapshot: Snapshot, place: str) -> str | None:
    """Return why a look has no counters; None where it has."""
    found = snapshot.raw.get(place)
    texts = found.get("texts") if isinstance(found, Mapping) else None
    if not isinstance(texts, list | tuple) or not texts:
        return "not read"
    return next((str(text["error"]) for text in texts if isinstance(text, Mapping)), None)


def looked(snapshot: Snapshot, place: str) -> tuple[tuple[Entry, ...], ...]:
    """Return the entries that each command of a look printed. Raises EvidenceError for what is no LDIF."""
    found = snapshot.raw[place]
    assert isinstance(found, Mapping)
    try:
        return tuple(tuple(parse_ldif(str(text))) for text in found["texts"])
    except TrialError as error:
        raise EvidenceError(str(error)) from error


Answers = tuple[tuple[Entry, ...], ...]


def _series(origin: Origin, node: ServerNode, at_ns: Sequence[int], looks: Sequence[Answers]) -> Iterator[Series]:
    """Yield one counter per metric, from 0 at the first look."""
    read_one = _of_slapd if node.software == SLAPD else _of_ds389
    counts = [read_one(look) for look in looks]
    own = list(_own(node, looks))
    for metric in COUNTED:
        if all(metric in one for one in counts):
            values = [one[metric] - mine.get(metric, 0) for one, mine in zip(counts, own, strict=True)]
            first = values[0]
            yield counter(
                origin, node.software or "", metric, "count", [*zip(at_ns, [value - first for value in values], strict=True)]
            )
    for metric in (HITS, TRIES):
        if all(metric in one for one in counts):
            yield counter(
                origin, node.software or "", metric, "count", [*zip(at_ns, [one[metric] for one in counts], strict=True)]
            )
    if all(MOST in one for one in counts):
        yield gauge(origin, node.software or "", MOST, "bytes", [*zip(at_ns, [float(one[MOST]) for one in counts], strict=True)])


NAME = re.compile(r"cn=([^,]+),cn=(Operations|Statistics|Connections),cn=Monitor", re.IGNORECASE)
STATISTICS = {"bytes": "bytes", "entries": "entries"}


def _of_slapd(look: Answers) -> dict[str, int]:
    """Return the counters of cn=Monitor; a search that runs is counted when it has ended."""
    found: dict[str, int] = {}
    for entry in look[0]:
        match = NAME.fullmatch(_first(entry, "dn"))
        if match is None:
            continue
        name, kind = match[1].lower(), match[2].lower()
        if kind == "operations" and name in OPERATIONS:
            found[name] = _number(entry, "monitoropcompleted")
        elif kind == "statistics" and name in STATISTICS:
            found[name] = _number(entry, "monitorcounter")
        elif kind == "connections" and name == "total":
            found["connections"] = _number(entry, "monitorcounter")
    if "search" not in found:
        raise EvidenceError("cn=Monitor of slapd has no cn=Search,cn=Operations. Load back_monitor, and let the bind DN read it.")
    return found


def _of_ds389(look: Answers) -> dict[str, int]:
    """Return the counters of cn=snmp,cn=monitor, and those of the entry cache where they were read."""
    entry: Entry = next(iter(look[0]), {})
    cache: Entry = next(iter(look[1]), {}) if len(look) > 1 else {}
    found = {metric: sum(_number(entry, name) for name in names) for metric, names in OF_DS389.items()}
    pairs = {HITS: "entrycachehits", TRIES: "entrycachetries", MOST: "maxentrycachesize"}
    return found | {metric: _number(cache, name) for metric, name in pairs.items() if name in cache}


def _first(entry: Entry, name: str) -> str:
    return next(iter(entry.get(name, ())), "")


def _number(entry: Entry, name: str) -> int:
    text = _first(entry, name)
    if not text.isdigit():
        raise EvidenceError(f"found {name} = {text!r} in {_first(entry, 'dn') or 'the server'}; expected a number")
    return int(text)


def _own(node: ServerNode, looks: Sequence[Answers]) -> Iterator[dict[str, int]]:
    """Yield what all looks so far have added by themselves, against the first one."""
    names = OWN_SLAPD if node.software == SLAPD else OWN_ALWAYS
    own = dict.fromkeys((*names, "extended", "entries", "bytes"), 0)
    for place, look in enumerate(looks):
        if place:
            before = looks[place - 1]
            for name in names:
                own[name] += len(look)
            own["extended"] += sum(STARTTLS in argv for argv in node.monitor)
            own["entries"] += sum(len(answer) for answer in before)
            own["bytes"] += _between(node, before, look)
        yield dict(own)


def _between(node: ServerNode, before: Answers, now: Answers) -> int:
    """Return the bytes that were sent to us from the reading of the counter at one look to that at the next one."""
    greetings = [_greeting(node, argv) for argv in node.monitor]
    whole = sum(greetings) + sum(map(_answer_bytes, before))
    return whole - _until_counter(node, before[0]) + _until_counter(node, now[0])


def _greeting(node: ServerNode, argv: Sequence[str]) -> int:
    """Return the bytes that the server sends before the answers to the bind and the search of one command."""
    return STARTTLS_ANSWERS[node.software or ""] if STARTTLS in argv else 0


def _until_counter(node: ServerNode, answer: Sequence[Entry]) -> int:
    """Return the bytes of a look that were sent before its counter of bytes was read."""
    sent = _greeting(node, node.monitor[0]) + BIND_ANSWER
    if node.software == SLAPD:
        for entry in answer:
            if _first(entry, "dn").lower().startswith("cn=bytes,"):
                return sent
            sent += _entry_bytes(entry)
    return sent


def _answer_bytes(answer: Sequence[Entry]) -> int:
    return BIND_ANSWER + sum(map(_entry_bytes, answer)) + SEARCH_DONE


def _entry_bytes(entry: Entry) -> int:
    """Return the length of a searchResultEntry in BER (RFC 4511, section 4.5.2) with a message id of one byte."""
    lists = 0
    for name, values in entry.items():
        if name != "dn":
            inner = sum(_wrapped(len(value.encode())) for value in values)
            lists += _wrapped(_wrapped(len(name)) + _wrapped(inner))
    return _wrapped(3 + _wrapped(_wrapped(len(_first(entry, "dn").encode())) + _wrapped(lists)))


def _wrapped(length: int) -> int:
    """Return the length of a value with its tag and its length, which takes the fewest bytes."""
    return length + 2 + (0 if length < 128 else (length.bit_length() + 7) // 8)


OBSERVER = Observer(
    name="directory_monitor",
    gives=tuple(f"{LAYER}.{metric}" for metric in (*COUNTED, HITS, TRIES, MOST)),
    sources=(
        Source(
            keys="directory.*",
            words="the directory server's own counters of operations, entries and cache hits",
            way="a target of kind ldap_openldap, ldap_389ds or ldap_existing, whose bind DN may read the server's monitor",
        ),
    ),
    cost="9 ms CPU per look",
    available=needs_system("Linux"),
    read=read,
    parse=parse,
    alone=True,
)
