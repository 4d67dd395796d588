"""Run a control: a planted lie that a rule must catch, and its sound twin that it must not."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import catalogue
from assay.catalogue import Host
from assay.experiment import plan as planning
from assay.experiment import read as reading
from assay.experiment.read import Control
from assay.hosts.local import Local
from assay.laboratory.campaign import Campaign, conduct
from assay.laboratory.results import current
from assay.machine import cgroups, group_mounts, server, tape
from assay.machine.stack import rotates, stack
from assay.notebook.store import Store
from assay.records import Experiment, Finding, Judged, Outcome, Results, Scope, Severity, State, Value


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a rule said of the lie and of its twin, one finding a run or comparison."""

    control: Control
    of_lie: tuple[Finding, ...]
    of_twin: tuple[Finding, ...]
    false_alarms: tuple[Finding, ...] = ()
    """What other rules wrongly say of the twin's runs: every failure that invalidates and is no noise of the platform."""
    lie_spoiled: tuple[str, ...] = ()
    """Why the lie may not have come out, for which the rule can do nothing: runs that failed, noise of the platform."""
    twin_spoiled: tuple[str, ...] = ()

    @property
    def caught(self) -> bool:
        """Whether every telling of the lie was caught."""
        return bool(self.of_lie) and all(finding.state == self.control.says for finding in self.of_lie)

    @property
    def cleared(self) -> bool:
        """Whether every twin passed, but for remarks."""
        return bool(self.of_twin) and all(finding.state is State.PASS or self.is_remark(finding) for finding in self.of_twin)

    @property
    def accusing(self) -> tuple[Finding, ...]:
        """What the rule says against twins."""
        failed = (finding for finding in self.of_twin if finding.state in (State.FAIL, self.control.says))
        return tuple(finding for finding in failed if not self.is_remark(finding))

    def is_remark(self, finding: Finding) -> bool:
        """Whether a finding is a mere note, of a rule that says more of the lie."""
        return finding.state is State.FAIL and not finding.counts and any(one.counts for one in self.of_lie)


def obstacle(needs: Iterable[str]) -> str | None:
    """Why a control that needs this cannot run on this machine, or None; each need is of NEEDS, or the name of a tool."""
    host = Local()
    each = (NEEDS[need](host) if need in NEEDS else _tool(need) for need in needs)
    return next((why for why in each if why is not None), None)


def _tool(name: str) -> str | None:
    return None if shutil.which(name) else f"needs the tool {name}"


def _files(what: str, *paths: str) -> Callable[[Host], str | None]:
    """What is lacking where one of these files is missing."""
    return lambda host: None if all(map(host.exists, paths)) else f"needs {what}"


def _rotating(host: Host) -> str | None:
    turns = any(rotates(host, device) for device in stack(host, tempfile.gettempdir()))
    return None if turns else "needs a rotating disk"


def _way_out(host: Host) -> str | None:
    """192.0.2.1 is an address for documentation (RFC 5737): the kernel is asked for the way to it, nothing is sent."""
    out = (path := server.way(host, "192.0.2.1")) is not None and path.kind == "physical"
    return None if out else "needs a route over a network interface with a device"


def _virtual_tape(host: Host) -> str | None:
    """The drive that tgtd makes of an image, which the controls may overwrite; nobody's cartridge is in it."""
    is_virtual = tape.serial(host, "st0") == "beaf11" and "VIRTUAL-TAPE" in tape.model(host, "st0")
    return None if is_virtual else "needs the virtual tape drive of the guest (make long)"


def _clock_sources(host: Host) -> str | None:
    """Some CPUs offer the kernel no other clock than the one that it uses."""
    listed = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
    several = host.exists(listed) and len(host.read(listed).split()) > 1
    return None if several else "needs a kernel with two clock sources"


def _cachestat(host: Host) -> str | None:
    try:
        found = host.syscalls and host.syscalls.cachestat(__file__)
    except OSError:
        found = None
    return None if found else "needs cachestat(2), Linux 6.5 or newer"


CPU = "/sys/devices/system/cpu"
NEEDS: Mapping[str, Callable[[Host], str | None]] = {
    "root": lambda host: None if host.is_root() else "needs root",
    "loop": _files("loop devices", "/dev/loop-control"),
    "zram": _files("zram, a block device in memory", "/sys/class/zram-control/hot_add"),
    "fuse": _files("FUSE", "/dev/fuse"),
    "throttle": cgroups.throttle_obstacle,
    "block groups": lambda host: None if cgroups.hierarchy(host, "io") else "needs control groups for block I/O",
    "cpu groups": lambda host: None if "cpu" in group_mounts.group_mounts(host) else "needs control groups for CPU time",
    "memory groups": lambda host: None if cgroups.hierarchy(host, "memory") else "needs control groups for memory",
    "clocksources": _clock_sources,
    "tun": _files("TUN devices", "/dev/net/tun"),
    "cpufreq": _files("a settable clock rate (cpufreq), which virtual machines lack", f"{CPU}/cpufreq/policy0/scaling_max_freq"),
    "idle states": _files(
        "several idle states (cpuidle) and /dev/cpu_dma_latency", "/dev/cpu_dma_latency", f"{CPU}/cpu0/cpuidle/state1/latency"
    ),
    "memory nodes": _files("a machine with two memory nodes", "/sys/devices/system/node/node1"),
    "rotating": _rotating,
    "way out": _way_out,
    "cachestat": _cachestat,
    "virtual tape": _virtual_tape,
}
"""What a control may need of a machine: why it is not there, or None."""


def run_control(path: Path, lab: Path) -> Heard:
    """Run the experiment of a control file into a notebook of its own and gather what its rule said."""
    control = reading.control(path)
    assert control is not None, f"{path} has no [control] table"
    text = with_files(path.read_text(encoding="utf-8"), control.files, lab)
    experiment = reading.parse(text, str(path))
    whole = scope_of(control) is Scope.EXPERIMENT
    twin = measured(fixed(experiment, control.passes) if whole else experiment, text, lab / "twin")
    lie = twin
    if whole or control.blind:
        lie = measured(without(fixed(experiment, control.fail) if whole else experiment, control.blind), text, lab / "lie")
    return Heard(
        control=control,
        of_lie=tuple(findings(lie, control, control.fail)),
        of_twin=tuple(findings(twin, control, control.passes)),
        false_alarms=tuple(false_alarms(twin, control)),
        lie_spoiled=tuple(spoiled(lie, control, control.fail)),
        twin_spoiled=tuple(spoiled(twin, control, control.passes)),
    )


def with_files(text: str, named: Mapping[str, str], lab: Path) -> str:
    """The text of a control after its files were written below the lab: `{files}` is their directory there."""
    if not named:
        return text
    folder = lab.resolve() / "files"
    folder.mkdir(parents=True)
    for name, content in named.items():
        (folder / name).write_text(content, encoding="utf-8")
    return text.replace("{files}", str(folder))


def fixed(experiment: Experiment, levels: Mapping[str, Value]) -> Experiment:
    """The experiment at these levels alone."""
    factors = (replace(one, levels=(levels[one.path],)) if one.path in levels else one for one in experiment.factors)
    return replace(experiment, factors=tuple(factors))


def without(experiment: Experiment, blind: Sequence[str]) -> Experiment:
    """The experiment with some observers left out."""
    if not blind:
        return experiment
    names = catalogue.watchers_of(experiment)
    return replace(experiment, observers=tuple(name for name in names if name not in blind))


def measured(experiment: Experiment, text: str, lab: Path) -> Results:
    """Conduct all trials and judge them."""
    with Store.create(lab, experiment, planning.plan(experiment), text) as store:
        sittings = range(len(store.plan.sittings))
        for sitting in sittings:
            conduct(
                Campaign(store=store, on_progress=lambda news: None, sitting=sitting if len(sittings) > 1 else None),
            )
        return current(store.folder)


def findings(results: Results, control: Control, levels: Mapping[str, Value]) -> Iterator[Finding]:
    """What the rule said about the measure where these levels were set: of the last attempt of each run, or of comparisons."""
    if scope_of(control) is Scope.EXPERIMENT:
        yield from (finding for finding in results.findings if finding.rule == control.rule)
        return
    if scope_of(control) is Scope.TRIAL:
        judged = [(run.verdicts, control.measure) for run in last_runs(results) if matches(run.run.trial.levels, levels)]
    else:
        judged = [(results.comparison_verdicts, subject) for subject in subjects(results, control, levels)]
    for verdicts, name in judged:
        if (verdict := verdicts.get(name)) is not None:
            yield from (finding for finding in verdict.findings if finding.rule == control.rule)


def spoiled(results: Results, control: Control, levels: Mapping[str, Value]) -> Iterator[str]:
    """What spoiled the runs that the rule looks at: a failure, or noise of the platform that the rule is not itself about."""
    for run in last_runs(results):
        if scope_of(control) is Scope.TRIAL and not matches(run.run.trial.levels, levels):
            continue
        if run.run.outcome is not Outcome.FINISHED:
            yield f"a run {run.run.outcome.value}: {run.run.error or 'no reason is known'}"
        for finding in (one for verdict in run.verdicts.values() for one in verdict.findings):
            if finding.counts and finding.rule.startswith("N") and finding.rule != control.rule:
                yield f"{finding.rule} {finding.name}: {finding.statement}"


def scope_of(control: Control) -> Scope:
    """What the rule of a control judges."""
    return catalogue.rule_named(control.rule)[1].scope


def last_runs(results: Results) -> tuple[Judged, ...]:
    """The last attempt of each trial."""
    return tuple({run.run.trial.id: run for run in results.runs}.values())


def false_alarms(results: Results, control: Control) -> Iterator[Finding]:
    """What invalidates any measure of the last attempt of a twin's runs, though nothing is wrong with them."""
    for run in last_runs(results):
        if matches(run.run.trial.levels, control.passes):
            yield from (one for verdict in run.verdicts.values() for one in verdict.findings if accuses(one))


def accuses(finding: Finding) -> bool:
    """Whether a finding says that a number is not what it is called; noise never does."""
    return (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)


def subjects(results: Results, control: Control, levels: Mapping[str, Value]) -> Iterator[str]:
    """The subjects of the comparisons of the measure whose candidate and conditions have these levels."""
    for comparison in results.comparisons:
        set_here = {**comparison.within, comparison.factor: comparison.candidate}
        if comparison.measure == control.measure and matches(set_here, levels):
            yield comparison.id


def matches(found: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    """Whether all wanted levels are set so."""
    return all(found.get(path) == level for path, level in wanted.items())
