"""Whether a kernel's NFS or SMB client may answer reads itself, because the server has promised to tell it of changes. Pure.

The kernel's SMB client with `cache=strict` (its default) reads from its page cache only while it has an oplock or a lease. An NFS
client may also read from its cache after an attribute check, so there the server must have been seen to hold a delegation.
"""

from __future__ import annotations

from assay.evidence import ladder
from assay.records import Observations, Phase

FACTS = (("target.clients.filesystem", "target.clients.mount"), ("mount.target.fstype", "mount.target.options"))
"""File system and options of the clients' mounts that the lab made, else of the mount that holds the target."""
SMB, NFS = ("cifs", "smb3"), ("nfs4", "nfs")
STRICT = "cache=strict"


def lease(phase: Phase, observations: Observations) -> str | None:
    """Return which promise of the server covers reads from the client's cache; None where none is known of."""
    for system, options in ((observations.fact(system), observations.fact(options)) for system, options in FACTS):
        every = [words.split(",") for words in (options or "").split("; ")]
        if system in SMB and all(STRICT in words for words in every):
            return f"oplock or lease of SMB, {STRICT}"
        if system in NFS:
            held = [max(one.value) for one in ladder.gauges(phase, observations, "nfsd", "delegations") if one.value]
            return f"{sum(held):,.0f} delegations of NFS" if sum(held) else None
    return None
