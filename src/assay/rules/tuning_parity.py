"""Finds comparisons of a tuned system with an untuned one.

The rule counts each arm's settings that differ from the catalogue's defaults (each item of a list).
It also counts the combinations of settings that the experiment tries for each target.
Path, size, image, file system, `on`, `through`, `paths`, commands and `limit` do not count.
The `variables` of a target of kind commands count at any level of a factor but the first.
- More than `ratio` times the changed settings, and the combinations tried, of the other arm: qualified.
- More changed settings only: a note.

Between network arms it compares what both ends had: congestion control, MTU, message and window. By the sockets of the engine
`net`; with foreign ends by their network namespaces (observer end_settings). A difference besides the factor qualifies, unless
the file declares that it follows from the factor (`implied = ["target.ends.*"]`).
Other comparisons with a factor that is not `target` are n/a.

Tuning in other experiments, by hand or inside a system's own configuration is not visible. Report it beside the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from assay import catalogue
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.measures import connections
from assay.records import Factor, Finding, Phase, Run, Scope, Severity, State, TargetSpec, Value
from assay.rulekit.findings import found
from assay.units import counted

WHERE = ("path", "size", "image", "filesystem", "scratch", "keep", "direct_io", "on", "through", "paths")
"""Knobs that say what and where a target is, not how it is tuned."""
COMMANDS = ("prepare", "attach", "detach", "drop_caches", "facts", "teardown")
"""Commands that make and remove a target."""
LIMITS, FREE = "limit.", "variables."
"""Prefixes of knobs with a known speed and no known default: their first level serves as default."""


OF_SOCKETS = ("congestion", "MTU", "window")
OF_WORKLOAD = ("message", "request", "response")
WORDS = {"congestion": "congestion control"}
OF_SPACES = {".tcp_congestion_control": "congestion", ".mtu": "MTU"}
"""Ends of keys of facts about an end's network namespace."""
BY_KERNEL = "sized by the kernel"


def applies(case: ComparisonCase) -> str | None:
    """None for comparisons of two targets, and of loads between two ends of Assay."""
    factor = case.comparison.factor
    if factor == "target" or any(
        one.net for arm in case.arms for run, _ in arm for ph in phases(case, run) for one in ph.clients
    ):
        return None
    return f"one target in both arms, and the factor is {factor}"


def check(case: ComparisonCase) -> Finding:
    """Fail if the network settings of the arms differ, or one arm has tuned settings and far fewer were tried for the other."""
    differences = [*network_differences(case)]
    if differences:
        return of_network(case, differences)
    if case.comparison.factor == "target":
        return of_targets(case)
    return found(RULE, case, State.PASS, "Congestion control, MTU, message and window are alike in both arms.")


def of_network(case: ComparisonCase, differences: list[tuple[str, str, str]]) -> Finding:
    """The finding on network settings that differ besides the factor."""
    words = "; ".join(f"{name} {first} against {second}" for name, first, second in differences)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Network settings of the arms differ besides the factor: {words}.",
        observed={name: f"{first} against {second}" for name, first, second in differences},
        relabel=f"comparison of arms with different {' and '.join(name for name, _, _ in differences)}",
        evidence=("sockets of both ends (TCP_INFO, TCP_CONGESTION), settings of their network namespaces, knobs",),
    )


def network_differences(case: ComparisonCase) -> Iterator[tuple[str, str, str]]:
    """Each network setting that the arms have different values of, in words; not the one that is the factor."""
    arms = [network_settings(case, arm) for arm in case.arms]
    factor = case.comparison.factor.rpartition(".")[2]
    for name in (*OF_SOCKETS, *OF_WORKLOAD):
        first, second = (arm.get(name, set()) for arm in arms)
        if first and second and first != second and factor not in (name, name.lower()) and not is_declared(case, name):
            yield WORDS.get(name, name), ", ".join(sorted(first)), ", ".join(sorted(second))


def is_declared(case: ComparisonCase, name: str) -> bool:
    """Whether the file says that a setting of both ends follows from the factor (`implied = ["target.ends.*"]`)."""
    keys = (f"target.{ends}{key}" for key, of in OF_SPACES.items() if of == name for ends in ("ends", "line"))
    return any(map(case.experiment.implies, keys))


def network_settings(case: ComparisonCase, arm: Runs) -> Mapping[str, set[str]]:
    """Setting -> the values that the ends of an arm had; empty for loads that are not between two ends."""
    values: dict[str, set[str]] = {}
    for run, seen in arm:
        known = [pair for phase in phases(case, run) for pair in of_sockets(phase)]
        if known:
            known += [(name, str(value)) for name in OF_WORKLOAD if (value := knob_of(case, run, name)) is not None]
        else:
            ends = (fact for fact in seen.facts if fact.key.startswith("end."))
            known = [(name, fact.value) for fact in ends for end, name in OF_SPACES.items() if fact.key.endswith(end)]
        for name, value in known:
            values.setdefault(name, set()).add(value)
    return values


def phases(case: ComparisonCase, run: Run) -> Iterator[Phase]:
    """The measured phases of the measure's workload."""
    yield from (phase for phase in run.phases if phase.measured and phase.workload == case.measure.workload)


def of_sockets(phase: Phase) -> Iterator[tuple[str, str]]:
    """What the connections of both ends had."""
    for one in connections.connections((*phase.clients, *phase.servers)):
        asked = one.receive_buffer.asked
        yield "window", BY_KERNEL if asked is None else f"{asked:,} bytes"
        if one.congestion:
            yield "congestion", one.congestion
        if mtu := one.tcp.get("path_mtu"):
            yield "MTU", f"{mtu:,} bytes"


def knob_of(case: ComparisonCase, run: Run, name: str) -> Value:
    """What a knob of the measured workload was in a run; None for workloads without it."""
    spec = next((one for one in case.experiment.workloads if one.name == case.measure.workload), None)
    if spec is None:
        return None
    default = next((knob.default for knob in catalogue.find("workloads", spec.kind).knobs if knob.name == name), None)
    return run.trial.levels.get(f"{spec.name}.{name}", spec.knobs.get(name, default))


def of_targets(case: ComparisonCase) -> Finding:
    """Fail if one arm has tuned settings and far fewer were tried for the other."""
    names = (str(case.comparison.baseline), str(case.comparison.candidate))
    specs = [next((spec for spec in case.experiment.targets if spec.name == name), None) for name in names]
    if specs[0] is None or specs[1] is None:
        return found(RULE, case, State.UNVERIFIED, "Settings of an arm unknown: it is no target of the file.")
    changed = [changes(case, spec) for spec in specs if spec is not None]
    tried = [settings_tried(case, name) for name in names]
    more = max((0, 1), key=lambda arm: (len(changed[arm]), tried[arm]))
    ratio = case.thresholds["ratio"]
    lopsided = len(changed[more]) > ratio * len(changed[1 - more])
    searched = lopsided and tried[more] > ratio * tried[1 - more]
    settings = "; ".join(
        f"{name}: {len(those)} changed from their defaults{listed(those)}, {counted(number, 'setting')} tried"
        for name, those, number in zip(names, changed, tried, strict=True)
    )
    verdict = f"{names[more]} was tuned, {names[1 - more]} was not. " if lopsided else ""
    return found(
        RULE,
        case,
        State.FAIL if lopsided else State.PASS,
        f"{verdict}Settings: {settings}.",
        severity=Severity.QUALIFIES if searched else Severity.NOTES if lopsided else RULE.severity,
        observed={
            "baseline_changed": len(changed[0]),
            "candidate_changed": len(changed[1]),
            "baseline_tried": tried[0],
            "candidate_tried": tried[1],
        },
        relabel=f"comparison of a tuned {names[more]} with an untuned {names[1 - more]}" if searched else None,
        evidence=("the experiment file: knobs of the targets, factors", "the catalogue: defaults"),
    )


def listed(names: list[str]) -> str:
    """The names in brackets; nothing where there is none."""
    return f" ({', '.join(names)})" if names else ""


def changes(case: ComparisonCase, spec: TargetSpec) -> list[str]:
    """Settings of this comparison that differ from the default: knobs, of lists each item; free variables at a later level."""
    defaults = {knob.name: knob.default for knob in catalogue.find("targets", spec.kind).knobs}
    levels = own_factors(case, spec.name)
    first = {name: factor.levels[0] for name, factor in levels.items() if name.startswith(FREE)}
    here = {name: case.comparison.within.get(factor.path, factor.levels[0]) for name, factor in levels.items()}
    names: list[str] = []
    for name, value in sorted({**spec.knobs, **here}.items()):
        usual = first.get(name, value) if name.startswith(FREE) else defaults.get(name)
        if name not in (*WHERE, *COMMANDS) and not name.startswith(LIMITS) and value not in (None, usual):
            names += [f"{name} {item}" for item in value] if isinstance(value, tuple) else [f"{name} {value}"]
    return names


def own_factors(case: ComparisonCase, name: str) -> dict[str, Factor]:
    """Knob -> the factor that sets it, of one target."""
    own = f"{name}."
    return {factor.path.removeprefix(own): factor for factor in case.experiment.factors if factor.path.startswith(own)}


def settings_tried(case: ComparisonCase, name: str) -> int:
    """How many combinations of levels of this target's own knobs the experiment has."""
    return prod(len(factor.levels) for factor in own_factors(case, name).values())


RULE = Rule(
    id="C03",
    name="tuning-parity",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="comparability",
    short="only one arm was tuned",
    applies=applies,
    check=check,
    wrong="An expert tries a dozen settings of A and takes the best; B runs as installed. The comparison shows the value of a "
    "person's effort, and is printed as a comparison of the systems. The best of many is also the luckiest: a part of the gain "
    "is noise.",
    alternatives=(
        "The settings only make the systems alike (block size, journal, barrier). That is a reason, not tuning.",
        "One system has nothing to tune. Then it competes with the defaults of the other one.",
        "A path discovered another MTU in one arm (tcp_mtu_probing). Then the path differs, and no one tuned it.",
    ),
    advice="Spend the same effort on both: equally many settings tried, by an expert, and report the number. Or compare both "
    "as installed, as most people run them. Between network arms set congestion, message, window and MTU alike.",
    sources=(
        "van der Kouwe et al., arXiv 1801.02381: Benchmarking crimes (a tuned system against an untuned one)",
        "Heiser, Systems benchmarking crimes: unfair competitors",
    ),
)
