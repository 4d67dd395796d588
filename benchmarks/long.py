"""Everything that takes too long for `make test`: runs it group by group and writes benchmarks/LONG.md.

A group is a test file whose long tests are run, a file of properties that sees a hundred times as many examples, or a long run
of the lab's own `selftest`. What passed is remembered for the files that are tested, so a run that was ended goes on where it
was: groups that passed are not run again while those files stay. A group that is interrupted starts anew.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import resource
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import guest
from run import machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "LONG.md"
STATE = ROOT / ".build" / "long"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1")
TESTED = ("src", "crates", "tests", "experiments", "pyproject.toml", "Cargo.lock")
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
NOTHING_COLLECTED = 5
SELFTESTS = {
    "audit, every control five times": ("selftest", "--audit", "--times", "5"),
    "audit, 200 sound trials": ("selftest", "--audit", "--sound", "200"),
    "the same compared with itself 100 times": ("selftest", "--same", "100"),
}

GROUP_TESTS = (
    "tests/machine/test_cgroups.py",
    "tests/observers/test_cgroup.py",
    "tests/targets/test_loopfs.py::test_a_disk_of_known_speed",
)
WITH_NFS = ("sh", "-c", 'modprobe -a nfsd nfs nfsv3 nfsv4 veth loop && exec "$@"', "sh")
WITH_AFS = ("sh", "-c", 'modprobe -a kafs fcrypt pcbc veth loop && exec "$@"', "sh")
IN_GUEST = {
    "tests of the groups": (*PYTEST, *GROUP_TESTS),
    "bonds and routes over several ways": (*PYTEST, "tests/observers/test_link_groups.py"),
    "zerocopy over a network card": (*PYTEST, "tests/engine/test_card.py"),
    "audit": (*ASSAY, "selftest", "--audit", "--gate", "--progress", "none"),
    "the kernel's NFS server": (*WITH_NFS, *PYTEST, "tests/targets/test_nfs_kernel.py"),
    "the kernel's AFS client": (*WITH_AFS, *PYTEST, "tests/targets/test_afs_openafs.py", "tests/targets/test_afs_existing.py"),
    "a tape drive": ("bash", "benchmarks/guest_tape.sh", *PYTEST, "tests/targets/test_tape_drive.py"),
    "rules of tapes": (
        *("bash", "benchmarks/guest_tape.sh", *ASSAY),
        *("selftest", "--audit", "--gate", "--progress", "none", "--rules", "D11,L22,L23"),
    ),
}
GUEST_S = 6 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one group."""

    passed: bool
    says: str
    figures: list[str] = field(default_factory=list)
    cpu_s: float
    wall_s: float
    ended_utc: str


Run = Callable[[], tuple[bool, str, list[str]]]
"""Run a group: whether it passed, what it says in a few words, its figures."""


def main() -> int:
    asked = words()
    kept = STATE / f"{tested()}.json"
    done = {} if asked.again or not kept.exists() else {n: Result(**r) for n, r in json.loads(kept.read_text()).items()}
    every = {name: run for name, run in groups() if not asked.only or any(part in name for part in asked.only)}
    ends = time.monotonic() + 60 * asked.minutes if asked.minutes else float("inf")
    for number, (name, run) in enumerate(every.items(), 1):
        if name in done and done[name].passed:
            continue
        if time.monotonic() >= ends:
            break
        print(f"{number}/{len(every)} {name} ...", end=" ", flush=True)
        done[name] = timed(run)
        print(f"{done[name].says}, {done[name].wall_s:.0f} s", flush=True)
        STATE.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({name: asdict(result) for name, result in done.items()}))
        RESULTS.write_text(page(dict(groups()), done), encoding="utf-8")
    left = [name for name in every if name not in done]
    failed = [name for name in every if name in done and not done[name].passed]
    print(f"{len(every) - len(left) - len(failed)} groups passed, {len(failed)} failed, {len(left)} have not run; {RESULTS.name}")
    return 1 if failed else 0


def words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="groups whose name holds one of these")
    parser.add_argument("--minutes", type=float, metavar="N", help="start no further group after N minutes")
    parser.add_argument("--again", action="store_true", help="run what has passed once more")
    return parser.parse_args()


def tested() -> str:
    """A checksum of the files that are tested: their last commit and what differs from it."""
    trees = git("rev-parse", *(f"HEAD:{path}" for path in TESTED))
    return hashlib.sha256((trees + git("diff", "HEAD", "--", *TESTED)).encode()).hexdigest()[:12]


def commit() -> str:
    """The commit; with a word where tested files differ from it."""
    changed = git("status", "--porcelain", "--", *TESTED).strip()
    return git("rev-parse", "--short=12", "HEAD").strip() + (" with changes" if changed else "")


def git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True).stdout


def timed(run: Run) -> Result:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    passed, says, figures = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Result(
        passed=passed,
        says=says,
        figures=figures,
        cpu_s=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        wall_s=round(time.monotonic() - began, 1),
        ended_utc=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M"),
    )


# ---------------------------------------------------------------------------------------------------- groups


def groups() -> Iterator[tuple[str, Run]]:
    """Long tests first, as they are soonest done; then properties; then the lab's own tests of itself."""
    for path in files_with("long"):
        yield f"long tests of {path}", tests(path, "-m", "long")
    for path in files_with("hypothesis and not long"):
        yield f"properties of {path}", tests(path, "-m", "hypothesis and not long", "--hypothesis-profile=many")
    for name, call in SELFTESTS.items():
        yield f"selftest: {name}", command(*ASSAY, *call, "--gate", "--progress", "none")
    yield (
        "neighbours that harm and that do not, 30 times each",
        command(sys.executable, "benchmarks/noise_matrix.py", "--times", "30"),
    )
    yield "quick beside neighbours, 20 turns", command(sys.executable, "benchmarks/quick_beside.py", "--turns", "20")
    yield "ten million mutated captures", command(sys.executable, "benchmarks/mutations.py")
    for name, words in IN_GUEST.items():
        yield f"control groups v2 in an emulated guest: {name}", in_guest(words)


def files_with(marks: str) -> list[str]:
    """The test files that have tests with these marks."""
    listed = subprocess.run(
        [*PYTEST, "--collect-only", "-m", marks, "tests"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert listed.returncode in (0, NOTHING_COLLECTED), listed.stdout + listed.stderr
    return list(dict.fromkeys(line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line))


def tests(*what: str) -> Run:
    def run() -> tuple[bool, str, list[str]]:
        report = STATE / "junit.xml"
        report.unlink(missing_ok=True)
        log = STATE / f"{what[0].replace('/', '-')}.log"
        STATE.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            status = subprocess.run(
                [*PYTEST, f"--junit-xml={report}", *what], cwd=ROOT, stdout=out, stderr=out, check=False
            ).returncode
        return (status == 0, *of_report(report)) if report.exists() else (False, f"ended with {status}, see {log}", [])

    return run


def of_report(report: Path) -> tuple[str, list[str]]:
    """How many passed, and every name that failed, every reason to skip and every figure that a test noted."""
    cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = [case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skips = [skip.get("message", "") for case in cases if (skip := case.find("skipped")) is not None]
    noted = [f"{case.get('name')}: {one.get('name')} {one.get('value')}" for case in cases for one in case.iter("property")]
    says = f"{len(cases) - len(failed) - len(skips)} passed"
    says += f", {len(failed)} failed" if failed else ""
    says += f", {len(skips)} skipped" if skips else ""
    return says, [*(f"failed: {name}" for name in failed), *(f"skipped: {why}" for why in dict.fromkeys(skips)), *noted]


def command(*words: str) -> Run:
    def run() -> tuple[bool, str, list[str]]:
        done = subprocess.run(
            words,
            cwd=ROOT, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode == 0, f"exit {done.returncode}", telling(done.stdout or done.stderr)

    return run


def in_guest(words: Sequence[str]) -> Run:
    def run() -> tuple[bool, str, list[str]]:
        if (why := guest.obstacle()) is not None:
            return True, "skipped", [f"skipped: {why}"]
        status, output = guest.run(shlex.join(words), timeout_s=GUEST_S)
        STATE.mkdir(parents=True, exist_ok=True)
        (STATE / "guest.log").write_text(output, encoding="utf-8")
        figures = output.strip().splitlines()[-1:] if "pytest" in words else telling(output)
        return status == 0, "no end" if status is None else f"exit {status}", figures

    return run


def telling(output: str) -> list[str]:
    """The first line of what a self-test printed, and each line that names a control gone wrong."""
    lines = [line for line in output.splitlines() if line.strip()]
    return [*lines[:1], *(line for line in lines[1:] if ": lie missed" in line or ": twin accused" in line)]


# ---------------------------------------------------------------------------------------------------- page


def page(every: dict[str, Run], done: dict[str, Result]) -> str:
    passed = sum(done[name].passed for name in every if name in done)
    failed = sum(not done[name].passed for name in every if name in done)
    lines = [
        "# What `make long` ran",
        "",
        f"Commit {commit()}. {machine()}.",
        f"{passed} of {len(every)} groups passed, {failed} failed, {len(every) - passed - failed} have not run.",
        "",
        "| group | result | CPU-s | s | ended (UTC) |",
        "|---|---|---|---|---|",
    ]
    for name in every:
        if (one := done.get(name)) is None:
            lines.append(f"| {name} | not run | | | |")
        else:
            lines.append(
                f"| {name} | {one.says if one.passed else f'**{one.says}**'} | {one.cpu_s} | {one.wall_s} | {one.ended_utc} |"
            )
    noted = [(name, figure) for name in every if name in done for figure in done[name].figures]
    lines += ["", "## Figures", "", *(f"- {name}: {figure}" for name, figure in noted)] if noted else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
