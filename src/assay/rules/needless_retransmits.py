"""Finds segments that TCP sent again though nothing was lost: reordering or late acknowledgements, not a bad line.

A receiver reports a segment that it had already (DSACK, RFC 2883). The rule compares these reports with the retransmissions.
Both ends of the engine `net` have them for each connection (TCP_INFO), else the counters of each end's network namespace count.
Fewer than `least_count` retransmissions, or a smaller share of all segments than `least_share`, say nothing and pass.
From `needless_share` of them reported as needless, retransmissions are no evidence of loss: a note.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.records import Finding, Scope, Severity, State
from assay.rulekit import segments
from assay.rulekit.findings import found


def applies(case: TrialCase) -> str | None:
    """Loads over TCP between two ends of Assay, or to a server that is reached by an address."""
    if any(one.net is not None and one.net.datagrams is not None for one in case.phase.clients):
        return "datagrams, which nobody sends again"
    server = served.server(case.run)
    return None if server is not None and server.addresses else "the target names no address of a server"


def check(case: TrialCase) -> Finding:
    """The end with the most retransmissions: were they needed?"""
    every = segments.of_ends(case)
    if not every:
        return found(RULE, case, State.UNVERIFIED, "Retransmissions of the ends unknown.")
    worst, limits = max(every, key=lambda one: one.again), case.thresholds
    observed = {
        "sent_again": worst.again,
        "needless": worst.needless,
        "needless_share": worst.needless_share,
        "reorderings": worst.reorderings,
        "sent_again_share": worst.share,
    }
    words = f"{worst.end.capitalize()} sent {worst.again:,.0f} of {worst.sent:,.0f} segments again"
    if worst.again < limits["least_count"] or worst.share < limits["least_share"]:
        return found(RULE, case, State.PASS, f"{words}: too few to matter.", observed=observed)
    had = f"{words}; {worst.needless:,.0f} of these had arrived ({measures.percent(worst.needless_share)}"
    limit = f"{had}, limit {measures.percent(limits['needless_share'])})"
    if worst.needless_share < limits["needless_share"]:
        return found(RULE, case, State.PASS, f"{limit}: most were lost before.", observed=observed)
    every_one = worst.needless_share >= limits["all_share"]
    rest = "nothing was lost" if every_one else "most of it was not lost"
    cause = f"reordered {worst.reorderings:,.0f} times" if worst.reorderings else "acknowledgements came late"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{limit}: {rest}, {cause}.",
        observed=observed,
        relabel="sent again though nothing was lost" if every_one else "most of what was sent again was not lost",
        detail=f"{worst.needless:,.0f} of {worst.again:,.0f} retransmissions had arrived",
    )


RULE = Rule(
    id="L15",
    name="needless-retransmits",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    short="sent again though nothing was lost",
    reads=("tcp.retransmits", "tcp.dsacks", "end_network.tcp_retransmitted_segments", "end_network.tcp_dsacks"),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A run between two namespaces of one machine counts 1,071 retransmissions, and the line is called lossy. The "
    "receiver reports 982 of them as duplicates: packets overtook each other between two CPUs, and none was lost.",
    alternatives=(
        "Acknowledgements were lost on the way back. Then the data had arrived as well; count the drops of the other direction.",
        "The line duplicates packets itself. Then the receiver reports duplicates that nobody sent again.",
    ),
    advice="Look for the cause in placement (several CPUs for one flow), in paths of different length, or in a busy CPU. "
    "Report retransmissions with DSACK, and call only the rest loss.",
    sources=(
        "RFC 2883: duplicate SACK; RFC 8985: RACK-TLP, which reordering still deceives",
        "measured: 982 of 1,071 retransmissions reported as duplicates on a veth pair without loss",
    ),
)
