"""Finds writes that the client of a mount keeps and sends later, so that no flush or close of the load reaches the server.

rclone with a cache of files (`--vfs-cache-mode writes` or `full`) answers a close and an fsync at once and sends the file some
seconds later. The fact `target.mount.holds_back` names that for a directory of the user's, by the options of the process behind
the mount.
- Claims of the server, the device or of durability, and figures that count the flush (`synced_bytes_per_s`): invalid.
- Other writes: a note that names whose rate this is.

Mounts that the lab makes itself are drained until the server has every byte, and are not judged here.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.machine.held_back import NOTHING, UNKNOWN
from assay.records import Durability, Finding, Scope, Severity, State, Tier
from assay.rulekit.applicability import changes_only
from assay.rulekit.findings import found

FACT = "target.mount.holds_back"
SYNCED = "synced_bytes_per_s"


def applies(case: TrialCase) -> str | None:
    """None for writes to a mount whose client is known to hold data back."""
    return changes_only(case) or (None if case.observations.fact(FACT) else "no client that is known to hold data back")


def check(case: TrialCase) -> Finding:
    """A failure where more is claimed than that the client took the data."""
    words = case.observations.fact(FACT) or UNKNOWN
    if words.startswith(UNKNOWN):
        return found(RULE, case, State.UNVERIFIED, f"The client of the mount may hold data back: {words}.")
    if words.startswith(NOTHING):
        return found(RULE, case, State.PASS, f"The client of the mount holds back {words}.")
    reaches = case.claim.tier in (Tier.DEVICE, Tier.SERVER_CACHE) or case.measure.figure == SYNCED
    claimed = reaches or case.claim.durability in (Durability.ACKED, Durability.STABLE_MEDIA)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{words[:1].upper()}{words[1:]}: neither a close nor an fsync waits for the server.",
        severity=Severity.INVALIDATES if claimed else Severity.NOTES,
        relabel="writes into the cache of the mount's client, sent to the server later",
        detail=words,
    )


RULE = Rule(
    id="D10",
    name="sent-later",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    short="sent later",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    reads=(f"fact:{FACT}",),
    wrong="A cloud store is mounted with a cache, and a copy into it runs at the speed of the local disk. The rate is reported "
    "as that of the store. Nothing has been sent when the copy ends, and a power cut takes all of it.",
    alternatives=("The cache is what is measured. Claim tier = client-cache, and say so.",),
    advice="Mount without that cache (rclone: --vfs-cache-mode off). Or let Assay mount it (webdav, smb_samba): its drain "
    "waits until the server has every byte. Or use `transfer` with a program that ends when all is sent (rclone copyto).",
    at_shell="Mount without that cache (rclone: --vfs-cache-mode off), or copy with rclone copyto, which ends when all is sent.",
    sources=("rclone mount: VFS file caching, --vfs-write-back",),
)
