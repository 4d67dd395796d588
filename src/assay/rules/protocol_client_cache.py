"""Finds answers from the client's own cache: more operations than requests at the server.

Protocols let clients cache: leases and oplocks of SMB, delegations and attributes of NFS, FUSE, SSSD, caching proxies.
The target gives a command that prints the server's requests (`server.requests`), run at the edges of each phase. Examples are
`smbstatus`, a search of `cn=monitor`, or the lines of a log.
More than `ratio` operations per request invalidate a server-cache or device claim, with the server's rate as the bound; other
claims get a note.
T01 does the same by bytes if requests are unknown. C02s compares the caching of two arms.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.records import Finding, Meaning, Scope, Severity, State, Tier
from assay.rulekit.applicability import servers_only
from assay.rulekit.findings import at_most, found, in_words


def check(case: TrialCase) -> Finding:
    """Operations of the clients over requests at the server."""
    done = served.reported_operations(case.phase, case.measure.operation)
    requests = served.rose(case.phase, case.observations, "requests")
    if done is None or requests is None:
        of_server = "requests at the server (server.requests: a command that prints them)"
        lacking = "operations of the clients" if done is None else of_server
        return found(RULE, case, State.UNVERIFIED, f"Client cache unknown: no count of {lacking}.")
    observed = {"operations": done, "requests": requests, "ratio": done / max(1.0, requests)}
    counts = f"{done:,.0f} operations of the clients, {requests:,.0f} requests at the server"
    if done <= case.thresholds["ratio"] * requests:
        return found(RULE, case, State.PASS, f"{counts}: no answer from a client cache.", observed=observed)
    below, share = case.claim.tier in (Tier.DEVICE, Tier.SERVER_CACHE), requests / done
    bound = at_most(case, share) if below else None
    rate = f"; rate of the server {in_words(bound)}" if bound and share else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{counts}: the rest came from a client cache.",
        severity=Severity.INVALIDATES if below else Severity.NOTES,
        observed=observed,
        bound=bound,
        relabel="answers from the client's own cache",
        detail=f"server share {measures.percent(share)}{rate}",
    )


RULE = Rule(
    id="T09",
    name="protocol-client-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    meaning=Meaning.CLIENT_CACHE,
    reads=("server.requests",),
    applies=servers_only,
    check=check,
    about=About.TARGET_HOST,
    wrong="Leases and oplocks of SMB, delegations and attribute caches of NFS, FUSE, SSSD, nscd, a caching proxy. The second "
    "request never leaves the client. Two servers are compared, and one of them received ten times the requests.",
    alternatives=(
        "One request carries several operations (compounds, batches, READDIRPLUS). Count its content, or declare it.",
        "The server counts only some kinds of requests. Check the output of its command.",
    ),
    advice="Set the client's cache alike in all arms (oplocks, leases, actimeo, cache=), or let two clients share the files, "
    "which breaks leases. Or claim tier = client-cache.",
    sources=("smb.conf(5): oplocks, smb2 leases", "nfs(5): actimeo, lookupcache", "IOR user guide: reordering tasks (-C)"),
)
