"""The two sides of a run, the load's and the target's, where they are on different machines: whose evidence is whose.

Evidence of the storage, of the server and of what lies below them is the target's; everything else is the load's. So a device
of a load host is never taken for the target's because it happens to have the same name.
"""

from __future__ import annotations

from assay.records.evidence import Missing, Observations, Rung
from assay.records.run import Run

TARGET_RUNGS = frozenset(
    {
        Rung.SERVER_NIC,
        Rung.SERVER_PROCESS,
        Rung.SERVER_CACHE,
        Rung.FILESYSTEM,
        Rung.UPPER_DEVICE,
        Rung.LOWEST_DEVICE,
    }
)
TARGET_LAYERS = frozenset({"server", "directory", "block", "layout"})
TARGET_SUBJECTS = ("device:", "backing:", "server:")
SERVER_GROUP = "server"
"""Subject of looks at all threads of a server together."""
GROUP_SUBJECT = "cgroup:"
"""A control group is that of a client on a load host, and that of a server on a target's host: both have their own."""
TARGET_FACTS = ("device.", "filesystem.", "semantics.", "health.", "target.")
LOAD_LAYERS = frozenset(
    {Rung.APPLICATION, Rung.SYSCALL, Rung.CLIENT_CACHE, "application", "process", "page_cache", "extents", "layout", "cgroup"}
)
"""Evidence of clients and of their files, which a host without clients does not have."""
ASKED_ON_LOAD = "target.server."
"""Facts of the way to the server, which begins on a load host."""
FACT = "fact:"
JOINED = "\0"
"""Before the name of the target's host in the key of a view: no host is called so."""


def of_target(key: str, subject: str = "") -> bool:
    """Whether an evidence key (`L9.read`, `server.requests`, `fact:device.0.name`) about a subject is the target's evidence."""
    if key.startswith(FACT):
        name = key.removeprefix(FACT)
        return name.startswith(TARGET_FACTS) and not name.startswith(ASKED_ON_LOAD)
    layer = key.partition(".")[0]
    return layer in TARGET_RUNGS | TARGET_LAYERS or subject == SERVER_GROUP or subject.startswith(TARGET_SUBJECTS)


def whole(run: Run, seen: Observations) -> Observations:
    """All evidence of a run together: of the load's side that of all load hosts, of the target's side that of its hosts."""
    if len(seen.hosts) < 2:
        return seen
    load = run.load_hosts or tuple(sorted(seen.hosts))
    return joined(seen, load, run.target_hosts or load)


def lacking(run: Run, seen: Observations) -> tuple[Missing, ...]:
    """What is missing of the evidence, without what a host of that side cannot have: devices of the target on a load host."""
    if not run.is_spread:
        return seen.missing
    load, targets = frozenset(run.load_hosts), frozenset(run.target_hosts)
    return tuple(
        one
        for one in seen.missing
        if (one.host in targets or not of_target(one.key)) and (one.host in load or one.key.partition(".")[0] not in LOAD_LAYERS)
    )


def joined(seen: Observations, load: tuple[str, ...], targets: tuple[str, ...]) -> Observations:
    """The evidence of load hosts together with that of the target's hosts: of each only what belongs to its side."""
    if load == targets and len(load) == 1:
        return seen.on(*load)
    key = frozenset((*load, *(JOINED + target for target in targets)))
    if key not in seen.views:
        seen.views[key] = _joined(seen, load, targets)
    return seen.views[key]


def _joined(seen: Observations, load: tuple[str, ...], targets: tuple[str, ...]) -> Observations:
    both = frozenset((*load, *targets))

    def wanted(host: str, key: str, subject: str = "") -> bool:
        if subject.startswith(GROUP_SUBJECT):
            return host in both
        return host in (targets if of_target(key, subject) else load)

    return Observations(
        readings=tuple(one for one in seen.readings if wanted(one.host, f"{one.rung}.{one.direction}", one.subject)),
        series=tuple(one for one in seen.series if wanted(one.host, f"{one.layer}.{one.metric}", one.subject)),
        histograms=tuple(one for one in seen.histograms if one.host in load),
        facts=tuple(one for one in seen.facts if wanted(one.host, f"{FACT}{one.key}")),
        missing=tuple(one for one in seen.missing if wanted(one.host, one.key)),
        gaps=tuple(one for one in seen.gaps if one.host in load),
        together=True,
    )
