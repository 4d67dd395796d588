"""Whether what the kernel's clients of a server send is encrypted, by the options and connections of their mounts. Pure.

The two ends of a tenfold difference may do the same work but for this. Of programs in user space nothing is known.
"""

from __future__ import annotations

from assay.records import Observations

FILESYSTEM, OPTIONS, AFS = "target.clients.filesystem", "target.clients.mount", "target.clients.encryption"
CLEAR = "clear"
ENCRYPTS = {
    "nfs": ("sec=krb5p", "xprtsec=tls", "xprtsec=mtls"),
    "nfs4": ("sec=krb5p", "xprtsec=tls", "xprtsec=mtls"),
    "cifs": ("seal",),
    "smb3": ("seal",),
}
"""File system -> the options of a mount that encrypt."""


def encryption(observations: Observations) -> str | None:
    """Return how the clients' mounts send; None where their kind tells nothing."""
    if (seen := observations.fact(AFS)) is not None:
        return seen
    options = ENCRYPTS.get(observations.fact(FILESYSTEM) or "")
    mounts = observations.fact(OPTIONS)
    if options is None or mounts is None:
        return None
    each = {next((word for word in mount.split(",") if word in options), CLEAR) for mount in mounts.split("; ")}
    return " and ".join(sorted(each))
