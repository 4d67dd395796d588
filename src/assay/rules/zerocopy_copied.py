"""Finds sends without a copy (MSG_ZEROCOPY) that the kernel copied all the same.

The kernel confirms every such send and says whether it copied the data. The rule divides the copied sends by the confirmed ones.
From `copied_share` on the figure is one of copies, with the cost of confirmations added: it is qualified.
Sends that ask for no zerocopy pass.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import connections
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob


def applies(case: TrialCase) -> str | None:
    """Streams whose ends are both Assay's."""
    ends = connections.stream_ends(case.phase, case.measure.operation)
    return None if ends else "no TCP stream between two ends of Assay"


def check(case: TrialCase) -> Finding:
    """Copied sends over confirmed ones, of all ends that send."""
    ends = connections.stream_ends(case.phase, case.measure.operation)
    totals = [one.net.zerocopy for one in (ends.senders if ends else ()) if one.net is not None and one.net.zerocopy is not None]
    if not totals and knob(case, "zerocopy"):
        return found(
            RULE, case, State.UNVERIFIED, "Sends without a copy were asked for; what the kernel did with them is unknown."
        )
    if not totals:
        return found(RULE, case, State.PASS, "Sends with a copy, as the workload says.")
    completed, copied = sum(one.completed for one in totals), sum(one.copied for one in totals)
    if not completed:
        return found(RULE, case, State.UNVERIFIED, "The kernel confirmed none of the sends without a copy.")
    share, limit = copied / completed, case.thresholds["copied_share"]
    observed = {"completed": completed, "copied": copied, "copied_share": share}
    words = f"{copied:,} of {completed:,} sends without a copy were copied ({measures.percent(share)}"
    if share < limit:
        return found(RULE, case, State.PASS, f"{words}).", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{words}, limit {measures.percent(limit)}): the figure is one of copies.",
        observed=observed,
        relabel="zerocopy sends that the kernel copied",
        detail=f"{measures.percent(share)} copied",
    )


RULE = Rule(
    id="G10",
    name="zerocopy-copied",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="zerocopy copied",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="Zerocopy is switched on, the rate falls, and zerocopy is called slow. Both ends were on one machine, where the "
    "kernel copies every send for the receiver. The figure has the copy and the confirmations.",
    alternatives=(
        "A packet capture on the way makes the kernel copy (tcpdump). Stop it and repeat.",
        "The card cannot gather (scatter-gather off). `ethtool -k` shows it.",
    ),
    advice="Measure zerocopy over a card with scatter-gather and checksum offload, to another machine, with messages above "
    "10 KB. Else switch it off.",
    sources=("Documentation/networking/msg_zerocopy.rst: notification SO_EE_CODE_ZEROCOPY_COPIED; loopback always copies",),
)
