"""What the kernel's clients count: /proc/self/mountstats (NFS), /proc/fs/cifs/Stats and /proc/net/afs/stats as numbers. Pure.

Both grew over the years. Lines that are not known are passed over; a known line that is damaged is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.errors import EvidenceError
from assay.evidence.snapshots import number

Counters = Mapping[str, int]
_DEVICE = re.compile(r"device (.+) mounted on (.+) with fstype (\S+)(?: statvers=\S+)?$")
_OPERATION = re.compile(r"\s*([A-Z_0-9]+): ([\d ]+)$")
_ESCAPED = re.compile(r"\\([0-7]{3})")
BYTES = ("read", "written", "direct_read", "direct_written", "from_server", "to_server")
"""The first columns of the line `bytes:`; two of pages follow."""
ONE_OPERATION = ("count", "sent", "timeouts", "bytes_sent", "bytes_received", "queue_ms", "rtt_ms", "execute_ms")
"""Columns of an operation of NFS; since Linux 5.3 its errors follow."""
OWN = {"READ": "reads", "WRITE": "writes", "COMMIT": "commits"}
"""Operations of NFS that have a count of their own."""
_SHARE = re.compile(r"\d+\) (\\\\\S.*)$")
_SHARE_LINES: Sequence[tuple[re.Pattern[str], tuple[str, ...]]] = (
    (re.compile(r"SMBs: (\d+)\b"), ("operations",)),
    (re.compile(r"Bytes read: (\d+)\s+Bytes written: (\d+)$"), ("from_server_bytes", "to_server_bytes")),
    (re.compile(r"Reads: +(\d+) Bytes:? (\d+)$"), ("reads", "from_server_bytes")),
    (re.compile(r"Writes: +(\d+) Bytes:? (\d+)$"), ("writes", "to_server_bytes")),
    (re.compile(r"Reads: (\d+) (?:total|sent) (\d+) failed$"), ("reads", "failed_reads")),
    (re.compile(r"Writes: (\d+) (?:total|sent) (\d+) failed$"), ("writes", "failed_writes")),
    (re.compile(r"Flushes: (\d+)(?: (?:total|sent) \d+ failed)?$"), ("flushes",)),
)
"""Lines of a share in Stats: Linux before 3.6 and SMB 1, SMB 2 and later, the same with bytes since Linux 5.0."""


def nfs_mounts(text: str, where: str) -> dict[str, Counters]:
    """Return mount point -> counters of each NFS mount. Raises EvidenceError for a damaged line."""
    found: dict[str, Counters] = {}
    for point, kind, lines in _blocks(text):
        if kind in ("nfs", "nfs4"):
            found[point] = _of_nfs(lines, where)
    return found


def _blocks(text: str) -> Iterator[tuple[str, str, list[str]]]:
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        match = _DEVICE.match(line)
        if match and head:
            yield _plain(head[2]), head[3], lines
        if match:
            head, lines = match, []
        else:
            lines.append(line)
    if head:
        yield _plain(head[2]), head[3], lines


def _plain(point: str) -> str:
    """A mount point without the kernel's escapes of blanks."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), point)


def _of_nfs(lines: Sequence[str], where: str) -> Counters:
    found: dict[str, int] = {}
    totals = dict.fromkeys(ONE_OPERATION, 0)
    for line in lines:
        name, _, rest = line.strip().partition(":")
        if name == "age":
            found["age_s"] = number(rest.strip(), where)
        elif name == "bytes":
            found |= _bytes(rest.split(), where)
        elif match := _OPERATION.match(line):
            values = [int(word) for word in match[2].split()]
            if len(values) < len(ONE_OPERATION):
                raise EvidenceError(
                    f"found {len(values)} figures of {match[1]} in {where}; expected at least {len(ONE_OPERATION)}"
                )
            one = dict(zip(ONE_OPERATION, values, strict=False))
            totals = {key: totals[key] + one[key] for key in totals}
            if match[1] in OWN:
                found[OWN[match[1]]] = one["count"]
    retransmissions = max(0, totals["sent"] - totals["count"])
    kept = {name: totals[name] for name in ("timeouts", "queue_ms", "rtt_ms", "execute_ms")}
    return {**found, "operations": totals["count"], "retransmissions": retransmissions, **kept}


def _bytes(words: Sequence[str], where: str) -> Counters:
    if len(words) < len(BYTES):
        raise EvidenceError(f"found {len(words)} figures of bytes in {where}; expected at least {len(BYTES)}")
    one = dict(zip(BYTES, (number(word, where) for word in words), strict=False))
    return {
        "asked_read_bytes": one["read"] + one["direct_read"],
        "asked_write_bytes": one["written"] + one["direct_written"],
        "from_server_bytes": one["from_server"],
        "to_server_bytes": one["to_server"],
    }


def smb_shares(text: str) -> dict[str, Counters]:
    """Return `\\\\server\\share` -> counters; several connections to one share are added up."""
    found: dict[str, dict[str, int]] = {}
    share: dict[str, int] = {}  # lines before the first share are of none
    for line in text.splitlines():
        if match := _SHARE.match(line):
            share = found.setdefault(match[1].split("\t")[0].rstrip(), {})
            continue
        for pattern, names in _SHARE_LINES:
            if values := pattern.match(line):
                for name, value in zip(names, values.groups(), strict=True):
                    share[name] = share.get(name, 0) + int(value)
    return dict(found)


_AFS = re.compile(r"file-(rd|wr) *: *n=(\S+) +nb=(\S+)$")


def afs_client(text: str, where: str) -> Counters:
    """Return what the AFS client of a network namespace counts of files; directories are read as files. Raises EvidenceError.

    Before Linux 4.19 there is no such text. A kernel counts directories with the files that it reads.
    """
    found: dict[str, int] = {}
    for line in text.splitlines():
        if match := _AFS.match(line.strip()):
            names = ("reads", "from_server_bytes") if match[1] == "rd" else ("writes", "to_server_bytes")
            found |= dict(zip(names, (number(word, where) for word in match.groups()[1:]), strict=True))
    if text.strip() and len(found) < len(("reads", "from_server_bytes", "writes", "to_server_bytes")):
        raise EvidenceError(f"found {len(found)} of 4 figures in {where}; expected the lines file-rd and file-wr")
    return found
