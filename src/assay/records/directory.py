"""What the engine `ldap` says of the answers of a directory server in a phase, beside counts and times of its operations."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass, field


@dataclass(frozen=True, kw_only=True)
class RefusedEntry:
    """An entry of a file that the server did not take."""

    dn: str
    code: int
    """The result code of LDAP; 0 where there was no answer that has one."""
    what: str
    words: str
    """The server's words."""


@dataclass(frozen=True, kw_only=True)
class DirectoryAnswers:
    """The answers to one operation of the mix."""

    requests: int
    entries: int
    references: int
    misses: int
    """Requests for entries that are not there."""
    codes: Mapping[str, int] = field(default_factory=dict)
    """Result code by name -> how often."""
    wrong: Mapping[str, int] = field(default_factory=dict)
    """What was wrong with an answer -> how often; such an answer is an error, and no completed operation."""
    kind: str = ""
    """What it asks of the server: `search`, `add`; empty in old records, whose names are kinds."""
    refused: tuple[RefusedEntry, ...] = ()
    """The first entries of a file that were not taken."""


@dataclass(frozen=True, kw_only=True)
class DirectoryEnd:
    """All connections of one client to a directory server."""

    connections: int
    places: int
    """Requests that could be in flight at once, on all connections."""
    lost: int
    """Connections that the server closed, or that answered nothing that can be understood."""
    own: Mapping[str, int]
    """What arming and ending asked of the server, by operation: the server counts it, the load does not."""
    sent_bytes: int
    received_bytes: int
    unasked: int
    """Answers to no request."""
    notices: int
    operations: Mapping[str, DirectoryAnswers]
