"""Finds trials during which the kernel logged errors: of the disk, of the link, or of stalled CPUs.

The observer `kernel_log` reads /dev/kmsg from arming to the end of the drain. Level (warning or graver) and words decide:
- A storage error that names a device of the trial's stack, or none, qualifies the claim. It is a note under a cache claim.
  Errors of other devices are notes.
- Stalled or throttled CPUs (lockup, stall, hung task, machine check) qualify.
- A failed link or an unresponsive server qualifies under a wire claim, else it is a note.
- Any other warning is a note.

The log does not tell how much time an error took, so there is no bound. Noise never invalidates.

A phase in which the experiment cuts the power of a disk (drill, crash_disk) is not judged: its errors are the experiment's.

Messages that programs wrote into the log are counted and are no evidence.
Containers may lack /dev/kmsg, and kernel.dmesg_restrict = 1 limits it to root: then the rule is unverified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Path, Scope, Severity, State, Tier
from assay.rulekit.applicability import power_cuts, rests_on_storage
from assay.rulekit.findings import found

FACTS = "kernel.log."
NETWORK = re.compile(
    r"NETDEV WATCHDOG|[Ll]ink (is )?[Dd]own|carrier lost|server \S+ (not responding|timed out)|has not responded"
)
PROCESSORS = re.compile(
    r"blocked for more than \d+ seconds|(soft|hard) lockup|\brcu\b.*(stall|starved)|\[Hardware Error\]|[Mm]achine [Cc]heck|"
    r"clock throttled|temperature above threshold|CPU\d* .*thrott",
    re.IGNORECASE,
)
STORAGE = re.compile(
    r"I/O error|(medium|target|media|hardware|metadata|checksum|csum|fs|filesystem) error|lost (a?sync )?page write|"
    r"\btimed? ?out\b|timeout|\breset(ting)?\b|failed command|offline|read-only|corrupt|csum failed|abort|shut(ting)? ?down|"
    r"^(EXT[234]-fs|XFS|BTRFS|F2FS-fs|JBD2|FAT-fs|md|device-mapper|nvme|ata\d|sd |scsi|zram|loop|nbd|bcache).*\b(err|fail)",
    re.IGNORECASE,
)
DEVICE = re.compile(
    r"(?<![\w.-])(sd[a-z]+\d*|vd[a-z]+\d*|xvd[a-z]+\d*|hd[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+(?:p\d+)?|loop\d+(?:p\d+)?|"
    r"md\d+(?:p\d+)?|dm-\d+|nbd\d+(?:p\d+)?|zram\d+|ram\d+|sr\d+|bcache\d+)(?:-\d+)?(?![\w-])"
)
"""Devices in a message; a journal is named by its device and inode (`loop0-8`, linux/fs/jbd2/journal.c)."""
WHOLE = (re.compile(r"(.*\d)p\d+"), re.compile(r"((?:s|v|xv|h)d[a-z]+)\d+"), re.compile(r"(nvme\d+)n\d+"))
"""The disk that a partition is a part of (`loop0p2`, `sda1`), and the controller that a disk is on (`nvme0n1`)."""
MOST_QUOTED = 3
LONGEST = 140


@dataclass(frozen=True, kw_only=True)
class JudgedMessage:
    """One message with what it does to the claim."""

    severity: Severity
    kind: str
    text: str


def applies(case: TrialCase) -> str | None:
    """All but phases in which the experiment itself cuts the power of a disk."""
    return "the experiment cut the power of the disk: the kernel's errors are its own" if power_cuts(case) else None


def check(case: TrialCase) -> Finding:
    """The gravest of what the kernel said decides."""
    events = sorted(messages(case), key=lambda one: list(Severity).index(one.severity))
    lost = counted(case, "lost")
    observed: dict[str, float | str | None] = {"messages": counted(case, "messages"), "lost": lost}
    observed |= {kind: float(sum(one.kind == kind for one in events)) for kind in dict.fromkeys(one.kind for one in events)}
    if events:
        worst = [one for one in events if one.severity is events[0].severity]
        return found(
            RULE,
            case,
            State.FAIL,
            in_words(worst),
            severity=worst[0].severity,
            observed=observed,
            relabel=None if worst[0].severity is Severity.NOTES else f"with kernel messages about {worst[0].kind}",
            evidence=tuple(f"/dev/kmsg: {one.text}" for one in events),
        )
    if lost:
        return found(RULE, case, State.UNVERIFIED, "Kernel messages were lost: errors may be among them.", observed=observed)
    logged = f"{observed['messages']:,.0f} kernel messages, no error" if observed["messages"] else "No kernel messages"
    return found(RULE, case, State.PASS, f"{logged}.", observed=observed)


def messages(case: TrialCase) -> Iterator[JudgedMessage]:
    """Every message of this phase that is worth knowing."""
    key = f"{FACTS}{case.phase.name}."
    for fact in case.observations.facts:
        level, _, text = fact.value.removeprefix("<").partition("> ")
        if not fact.key.startswith(key) or not level.isdigit():
            continue
        if NETWORK.search(text):
            wire = case.claim.path is Path.WIRE
            yield JudgedMessage(severity=Severity.QUALIFIES if wire else Severity.NOTES, kind="a failed link", text=text)
        elif PROCESSORS.search(text):
            yield JudgedMessage(severity=Severity.QUALIFIES, kind="stalled CPUs", text=text)
        elif int(level) <= case.thresholds["level"]:
            kind = "a storage error" if STORAGE.search(text) else "something else"
            yield JudgedMessage(severity=of_storage(case, text) if STORAGE.search(text) else Severity.NOTES, kind=kind, text=text)


def of_storage(case: TrialCase, text: str) -> Severity:
    """Effect of a storage error on this claim: on its own device, an unnamed device, or a different one."""
    ours = {device for place in case.run.places for device in place.devices if case.host in (None, place.host)}
    named = set(DEVICE.findall(text))
    if not ours or (named and not any(same(name, device) for name in named for device in ours)):
        return Severity.NOTES
    cached = case.claim.tier in (Tier.CLIENT_CACHE, Tier.SERVER_CACHE)
    return Severity.NOTES if cached and not rests_on_storage(case.claim) else Severity.QUALIFIES


def same(name: str, device: str) -> bool:
    """Whether a message about `name` is about `device`: the same, or the disk or the controller that it is a part of."""
    above = [device]
    for pattern in WHOLE:
        if match := pattern.fullmatch(above[-1]):
            above.append(match[1])
    return name in above


def in_words(worst: list[JudgedMessage]) -> str:
    """The first messages, quoted."""
    quoted = "; ".join(f"`{one.text[:LONGEST]}`" for one in worst[:MOST_QUOTED])
    more = f" and {len(worst) - MOST_QUOTED} more" if len(worst) > MOST_QUOTED else ""
    return f"Kernel messages about {worst[0].kind}: {quoted}{more}."


def counted(case: TrialCase, metric: str) -> float:
    """A count of the whole phase, over all hosts that were watched."""
    every = case.observations.over_time(case.phase.name, "kernel", metric)
    return ladder.total(series.value[-1] for series in every if series.value) or 0.0


RULE = Rule(
    id="N07",
    name="kernel-log",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    needs=("kernel.messages",),
    applies=applies,
    check=check,
    about=About.EACH_HOST,
    wrong="A disk was reset and answered after thirty seconds, a hot CPU was throttled, a file system met a broken block. The "
    "calling program sees only a longer time, or nothing. The kernel logs it, and no benchmark reads the log.",
    alternatives=(
        "The message concerns other work on an unnamed device. Read the lines before it with dmesg -T.",
        "A device was unplugged, or a link taken down, on purpose. Repeat without that.",
    ),
    advice="Read the full messages (dmesg -T, journalctl -k), find and replace the faulty part, and repeat. If the log is not "
    "readable, run as root or set kernel.dmesg_restrict = 0.",
    sources=(
        "Linux: ABI/testing/dev-kmsg; admin-guide/lockup-watchdogs.rst",
        "Gunawi et al., FAST 2018: fail-slow at scale",
    ),
)
