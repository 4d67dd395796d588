"""Settings of a server or of its storage that deny durability: then no counter can show that data were stored at the answer.

A fact of the target counts by its last name, whatever has read it: the target itself, its `facts` command, or Assay in the
server's command line and configuration (`target.configured.*`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.records import Observations, When

OFF, ON = r"off|false|no|0|none|disabled", r"|on|true|yes|1"
UNFLUSHED = "changes are answered before they are stored"
IGNORED = "the server answers a flush without doing it"

AT_ANSWERS: Mapping[str, tuple[str, str]] = {
    "durable": (OFF, "the server flushes no change"),
    "strictsync": (OFF, IGNORED),
    "flush": ("ignored", IGNORED),
    "sync": (f"{OFF}|async|never|onclose", UNFLUSHED),  # ZFS: sync=disabled; OpenAFS: -sync onclose
    **dict.fromkeys(("fsync", "synchronouscommit", "walsync", "ensuredurability", "barrier", "barriers"), (OFF, UNFLUSHED)),
    **dict.fromkeys(
        ("chunkserverfsync", "hddfsyncbeforeclose", "appendonly", "forcesync", "storagejournalenabled"), (OFF, UNFLUSHED)
    ),
    **dict.fromkeys(("nsslapddbdurabletransaction", "nsslapddbdurabletransactions"), (OFF, UNFLUSHED)),
    "synchronous": ("off|0", UNFLUSHED),
    "journalmode": ("off|memory", UNFLUSHED),
    "syncbinlog": (r"(?!1$)\d+", UNFLUSHED),
    "innodbflushlogattrxcommit": ("0|2", UNFLUSHED),
    "innodbflushmethod": ("nosync|littlesync", UNFLUSHED),
    "appendfsync": ("everysec|no", UNFLUSHED),
    "commitlogsync": ("periodic", UNFLUSHED),
    **dict.fromkeys(("durability", "translogdurability"), (f"{OFF}|async|relaxed", UNFLUSHED)),
    **dict.fromkeys(
        ("nosync", "dbnosync", "olcdbnosync", "unsafenofsync", "nofsync", "nojournal", "disablewal"), (ON, UNFLUSHED)
    ),
    **dict.fromkeys(("delayedcommits", "nobarrier"), (ON, UNFLUSHED)),
    **dict.fromkeys(("envflags", "olcdbenvflags", "environmentflags"), (r".*(nosync|nometasync|mapasync).*", UNFLUSHED)),
    **dict.fromkeys(("mountoptions", "options"), (r"(.*,)?(nobarrier|barrier=0)(,.*)?", UNFLUSHED)),
    **dict.fromkeys(("export", "exports", "exportoptions"), (r"(.*[\s(,])?async([\s),].*)?", UNFLUSHED)),
    "cache": ("unsafe", UNFLUSHED),
    "noflush": (ON, IGNORED),  # QEMU: --blockdev ...,cache.no-flush=on
    "ldpreload": (r".*eatmydata.*", UNFLUSHED),
}
"""Name of a setting in small letters and digits -> values (a pattern) that deny that acknowledged data are stored; why."""
FOR_GOOD = "target.disk.flush"
"""The storage below: where it ignores flushes, nobody's flush makes data stable."""
EXPORT = re.compile(r"\((?:[^()]*,)?async(?:[,)]|$)")
"""A line of exportfs -v or of exports(5), split at its first `=` or not."""


def denied_at_answers(seen: Observations) -> str | None:
    """The setting by which the server answers before its data are stored; None without one."""
    return denied_for_good(seen) or next(_denied(seen), None)


def denied_for_good(seen: Observations) -> str | None:
    """The setting by which no flush stores anything; None without one."""
    return (
        f"flush = ignored: the disk {IGNORED.partition(' ')[2].partition(' ')[2]}" if seen.fact(FOR_GOOD) == "ignored" else None
    )


def _denied(seen: Observations) -> Iterator[str]:
    for fact in seen.facts:
        if fact.when is not When.BEFORE or not fact.key.startswith("target."):
            continue
        if EXPORT.search(f"{fact.key}={fact.value}"):
            yield f"an export with async: {UNFLUSHED}"
        name, value = fact.key.rpartition(".")[2], fact.value.strip().strip("\"'").lower()
        values, why = AT_ANSWERS.get(plain(name), ("(?!)", ""))
        if re.fullmatch(values, value):
            yield f"{name} = {value or 'on'}: {why}"


def plain(name: str) -> str:
    """A setting's name without case and marks: `olcDbNoSync`, `innodb_flush_log_at_trx_commit`, `--unsafe-no-fsync`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
