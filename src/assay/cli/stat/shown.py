"""The block of `assay stat` for people: at most fourteen lines, the verdict first, or what moved without a claim. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay import catalogue, measures
from assay.answer.wording import labels, time_spent
from assay.audit.verdicts import failures, unverified
from assay.cli.stat.described import (
    LEAST_BYTES,
    LEAST_PRECISION,
    MOSTLY,
    bytes_text,
    described,
    digits_share,
    dirty_bytes,
    figure,
    nothing,
    operation_of,
)
from assay.cli.stat.execution import JudgedExecution
from assay.evidence import rungs
from assay.records import Bound, Direction, Finding, Meaning, Scope, Severity, State, Verdict, VerdictState
from assay.rulekit.soundness import required_rules
from assay.units import Unit
from assay.watch import reports
from assay.watch.as_run import ended, place_of, used_places
from assay.watch.invocations import in_turn
from assay.watch.reports import SIDES, tools, uses

MOST_LINES = 14
INDENT = 11
LEAST_NETWORK_BYTES = 1 << 20
LADDERS = {Direction.READ: "from", Direction.WRITE: "to"}
MENDS = {Meaning.PAGE_CACHE: "direct"} | dict.fromkeys((Meaning.DIRTY, Meaning.NOT_FLUSHED, Meaning.NEVER_WRITTEN), "flush")
"""What a finding is -> which argument of the tool mends it (`Parser`)."""
DEVICES = "devtmpfs"
"""The file system of /dev."""
LATENCIES = {"latency_mean_ns": "mean", "latency_p99_ns": "p99"}
"""Latencies that a tool says beside the judged figure, with their words."""


def block(execution: JudgedExecution) -> list[str]:
    """Return verdict and label or what moved; figures and ladder of each direction; drain, time, and failed rules."""
    return [*verdict_lines(execution), *body(execution)][:MOST_LINES]


def body(execution: JudgedExecution) -> Iterator[str]:
    """Yield all lines below the verdicts."""
    if execution.watched.stdout.refused:
        yield line(
            "output", f"standard output: not written ({execution.watched.stdout.refused}); what the command wrote there is lost"
        )
    if execution.unread:
        yield line("not read", f"figures of the tool: {execution.unread}")
    (phase,), seen = execution.external.run.phases, execution.external.observations
    yield from (line(name, text) for name, text in time_spent.lines(phase, seen))
    for direction in dict.fromkeys((*SIDES.values(), *phase.directions.values())):
        yield from direction_lines(execution, direction)
    yield from end_lines(execution)
    yield from (line("not seen", reason) for reason in execution.unobserved)
    yield from (line("trap", text) for text in traps(execution))
    yield from rule_lines(execution)


def traps(execution: JudgedExecution) -> Iterator[str]:
    """What the tool's own words or the place of the files make of the figures."""
    yield from (text for parser, argv in tools(execution.watched.argv) if (text := parser.trap(argv)) is not None)
    held = [place_of(execution.watched, one.path) for one in execution.watched.files]
    for place in used_places(execution.watched):
        if place.is_in_memory and (place in held or place.filesystem != DEVICES):  # /dev/null holds nothing
            yield f"{place.address} is {place.filesystem}: its files are in memory only. Use a directory on a disk."
        elif place.memory_device is not None:
            yield f"{place.address} is on {place.memory_device}, which is in memory only. Use a directory on a disk."
        elif place.volatile is not None:
            yield f"{place.address} is {place.filesystem} and writes into {place.volatile}: what is written is in memory only."


def line(name: str, text: str) -> str:
    """One line with its name in front."""
    return f"  {name:<{INDENT}}{text}"


def verdict_lines(execution: JudgedExecution) -> Iterator[str]:
    """The worst verdict with its label and its claim, then the others, worst first; without a claim what moved."""
    if execution.state is None:
        wrong = dict.fromkeys(
            f"but {one.relabel or one.name} ({one.rule})" for verdict in execution.verdicts for one in refuting(verdict.findings)
        )
        yield f"assay: {'; '.join((described(execution), *wrong))}"
    elif not execution.judged:
        yield f"assay: {execution.state}: {nothing(execution)}"
    for at, verdict in enumerate(execution.judged[:3]):
        text = f"{labels.label(verdict)}{as_claimed(execution, verdict)}"
        yield line(str(verdict.state), text) if at else f"assay: {verdict.state}: {text}"


def as_claimed(execution: JudgedExecution, verdict: Verdict) -> str:
    """Return what the number was judged as, and whose claim that is."""
    claim, tool = verdict.claim, execution.external.by_default
    parts = (claim.tier if claim.tier != "as-is" else None, claim.durability, claim.regime, claim.load, claim.path)
    named = ", ".join(str(part) for part in parts if part is not None)
    return f" (claim: {named}{f', by default of {tool}' if tool else ''})" if named else ""


def direction_lines(execution: JudgedExecution, direction: Direction) -> Iterator[str]:
    """The figures of one direction, then its bytes from rung to rung."""
    directions = execution.external.run.phases[0].directions
    mine = [verdict for verdict in execution.verdicts if directions[operation_of(verdict)] is direction]
    if mine:
        yield line(
            str(direction), f"{reporter(execution)}{'; '.join(in_full(execution, one) for one in mine)}{several_calls(execution)}"
        )
    if direction in LADDERS:
        yield from ladder_lines(execution, direction)


def reporter(execution: JudgedExecution) -> str:
    """Return who says a figure: the tool, or Assay of the whole command."""
    reported = execution.external.reported
    return f"{reported.tool}: " if reported else "whole command: "


def in_full(execution: JudgedExecution, verdict: Verdict) -> str:
    """Return a figure with its bytes, operations and latencies, and what is true of it instead."""
    values, name = execution.external.values, operation_of(verdict)
    amount, direction = values.get(f"{name}.bytes"), execution.external.run.phases[0].directions[name]
    parts = [
        figure(execution, verdict).removeprefix(f"{direction} "),
        *([measures.with_unit(amount, Unit.BYTES)] if amount else []),
    ]
    also = {kind: values[full] for kind in ("ops_per_s", *LATENCIES) if (full := f"{name}.{kind}") in values}
    also.pop(verdict.measure.rpartition(".")[2], None)
    if "ops_per_s" in also:
        parts.append(f"{measures.with_unit(also.pop('ops_per_s'), Unit.PER_S).removesuffix('/s')} IOPS")
    parts += [f"{LATENCIES[kind]} {measures.with_unit(value, Unit.NANOSECONDS)}" for kind, value in also.items()]
    return ", ".join((*parts, *(words for words in corrected(execution, verdict) if not words.endswith(f" {parts[0]}"))))


def several_calls(execution: JudgedExecution) -> str:
    """Return how the figures of several calls of one tool were added up."""
    reported = execution.external.reported
    if reported is None or not reported.parts:
        return ""
    calls = f"; {len(reported.parts)} calls"
    if not reported.are_observed:
        rates = ((name.split(".")[0], rate) for name, rate in reported.rates.items() if "bytes" in name)
        most = ", ".join(f"{operation} {measures.with_unit(rate, Unit.BYTES_PER_S)}" for operation, rate in rates)
        return f"{calls}, total bytes over total time (the sum of their rates, {most}, was never observed)"
    if in_turn(reported.parts):
        return f"{calls} in sequence"
    if len({part.operations for part in reported.parts}) > 1:
        return calls
    share = measures.overlap_share([(part.from_ns, part.to_ns) for part in reported.parts])
    return f"{calls}, rate while all ran ({measures.percent(share)} of their time)"


def corrected(execution: JudgedExecution, verdict: Verdict) -> Iterator[str]:
    """The figure with the drain charged or what a cache answered taken out; between what it is true, and by which rules."""
    bound = verdict.bound
    if verdict.corrected == 0:
        yield "storage read nothing"
    elif verdict.corrected is not None:
        most = "at most " if bound is not None and bound.low is None and bound.high is not None else ""
        value = measures.with_unit(verdict.corrected, verdict.unit)
        yield f"corrected {most}{value}{precision(execution, verdict)}"
    told = verdict.corrected is not None and (
        verdict.state is VerdictState.INVALID or bound is None or bound.high == verdict.corrected
    )
    if bound is not None and not told and verdict.state is not VerdictState.SOUND:
        yield from true_value(execution, verdict, bound)


def precision(execution: JudgedExecution, verdict: Verdict) -> str:
    """`(±1 % print precision)` of a correction that is made of a rounded rate; nothing where bytes and time are told."""
    name, values = operation_of(verdict), execution.external.values
    exact = all(f"{name}.{part}" in values for part in ("bytes", "elapsed_ns"))
    share = digits_share(execution, verdict)
    return "" if exact or share < LEAST_PRECISION else f" (±{measures.percent(share)} print precision)"


def true_value(execution: JudgedExecution, verdict: Verdict, bound: Bound) -> Iterator[str]:
    """`true value between 1.00 GB/s and 1.76 GB/s without dd, cc1 (N03)`: with its reason; noise only of what is claimed."""
    from assay.audit.verdicts import bounding
    from assay.rulekit.findings import in_words

    reasons = bounding(verdict.findings, verdict.value if verdict.corrected is None else verdict.corrected)
    claimed = operation_of(verdict) in execution.external.judged
    if not in_words(bound) or not reasons or (not claimed and all(one.part == "noise" for one in reasons)):
        return
    names = ", ".join(str(name) for one in reasons if (name := one.observed.get("neighbours")))
    without = f" without {names}" if names else ""
    yield f"true value {in_words(bound)}{without} ({', '.join(one.rule for one in reasons)})"


def ladder_lines(execution: JudgedExecution, direction: Direction) -> Iterator[str]:
    """Where something moved in a direction: application > calls > storage > devices."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    found = rungs.rungs(phase, seen, direction, execution.external.run)
    judged = direction in phase.directions.values()
    if max(found.storage or 0, (found.application or 0) if judged else 0) < LEAST_BYTES:
        return  # what goes to a pipe or to nowhere is on no ladder
    hits = found.hit_share if direction is Direction.READ else None
    how = "without storage" if reports.asks_direct(execution.watched.argv) else "page cache hits"
    answered = "" if hits is None else f" ({how} {measures.percent(hits)})"
    layer = "dirtied" if direction is Direction.WRITE else "storage reads"
    uncounted = (found.calls or 0) < MOSTLY * (found.application or 0)
    steps = [
        *([f"application {bytes_text(found.application)}"] if found.source == "application" else []),
        f"calls {bytes_text(found.calls)}{' (without mmap and io_uring)' if uncounted else ''}",
        f"{layer} {bytes_text(found.storage)}{answered}" if found.is_counted else f"behind the mount {bytes_text(found.behind)}",
        *device_steps(rungs.devices(phase, seen), direction, dirty_bytes(execution)),
        *network_steps(execution, direction),
    ]
    yield line(LADDERS[direction], " > ".join(steps))


def device_steps(known: tuple[rungs.Device, ...], direction: Direction, dirty: int | None) -> Iterator[str]:
    """What each device of the stack moved; what it took in the drain apart, whose flush is Assay's own.

    More than was dirty is of other processes too: the flush of a file system is of all its files.
    """
    for device in known:
        if direction is Direction.READ:
            yield f"{device.name} {bytes_text(device.read_bytes)}"
            continue
        whose = " (other processes' too)" if dirty is not None and device.drain_write_bytes > dirty + LEAST_BYTES else ""
        drained = f" + {bytes_text(device.drain_write_bytes)} in the drain{whose}" if device.drain_write_bytes else ""
        flushes = f"{device.flushes:,} {'flush' if device.flushes == 1 else 'flushes'}"
        yield f"{device.name} {bytes_text(device.write_bytes)}, {flushes}{drained}"


def networks(execution: JudgedExecution) -> tuple[rungs.Network, ...]:
    """Return the interfaces that the command's data can have passed."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    return rungs.networks(phase, seen) if execution.external.on_network else ()


def network_steps(execution: JudgedExecution, direction: Direction) -> Iterator[str]:
    """What passed the network, where it was more than a chat."""
    for one in networks(execution):
        count = one.read_bytes if direction is Direction.READ else one.write_bytes
        if count >= LEAST_NETWORK_BYTES:
            yield f"{one.name} {bytes_text(count)}"


def end_lines(execution: JudgedExecution) -> Iterator[str]:
    """What was dirty at exit and how long it took to drain; the time, and the CPU time."""
    watched, account = execution.watched, execution.watched.account
    dirty = dirty_bytes(execution)
    if dirty is not None:
        drained = "" if watched.drain_ns is None else f", drained in {measures.with_unit(watched.drain_ns, Unit.NANOSECONDS)}"
        yield line("at exit", f"{bytes_text(dirty)} dirty{drained}")
    used = "CPU time unknown"
    if account is not None:
        kernel = account.cpu_system_ns / 1e9
        used = f"{account.cpu_user_ns / 1e9 + kernel:.3f} s of CPU ({kernel:.3f} s in the kernel)"
        used += f"; {account.lost} processes not counted" if account.lost else ""
    end = ended(watched)
    yield line("time", f"{watched.elapsed_ns / 1e9:.3f} s, {used}{f'; {end}' if end else ''}")


def rule_lines(execution: JudgedExecution) -> Iterator[str]:
    """The rules that failed, with what to do; then those that the claim needs and of which nothing is known."""
    said: set[str] = set()
    for finding in (one for verdict in execution.verdicts for one in worth_saying(execution, verdict)):
        if finding.rule in said:
            continue
        said.add(finding.rule)
        yield line(finding.rule, f"{finding.name}: {finding.statement}{remedy(execution, finding)}")


def worth_saying(execution: JudgedExecution, verdict: Verdict) -> list[Finding]:
    """Return the findings to show: of a figure without a claim those alone that refute it."""
    failed = failures(verdict.findings)
    if operation_of(verdict) in execution.external.judged:
        return [*failed, *unknown(execution, verdict)]
    return refuting(failed)


def refuting(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings by which a figure is not what it is called, whatever it is claimed to be."""
    failed = (one for one in failures(findings) if not one.is_disturbance)
    return [one for one in failed if one.severity is Severity.INVALIDATES or one.meaning is Meaning.FAILURES]


def remedy(execution: JudgedExecution, finding: Finding) -> str:
    """Return what to do: by means of a shell and of the tool itself; the call that adds missing evidence."""
    if finding.state is not State.FAIL:
        return f" Use: assay stat --observe {','.join(finding.observers)}" if finding.observers else ""
    rule = next(rule for rule in catalogue.rules_of(Scope.TRIAL) if rule.id == finding.rule)
    advice = (rule.at_shell if finding.advice == rule.advice else None) or finding.advice or ""
    kind = MENDS.get(finding.meaning) if finding.meaning is not None else None
    found = [(getattr(parser, kind), parser.name, argv) for parser, argv in tools(execution.watched.argv)] if kind else []
    own = [one for one in found if one[0] and finding.advice == rule.advice]
    if kind and own and all(uses(argv, words) for words, _, argv in own):
        return f" {USED[kind].format(words=own[0][0])}"
    option = next((f"`{words}` of {name.partition('_')[0]}" for words, name, argv in own if not uses(argv, words)), None)
    return f" {advice}{f' Or use {option}.' if option else ''}" if advice or option else ""


USED = {
    "direct": "`{words}` was used. Look for what answers such reads without storage: holes and preallocated space (T06), "
    "compression (T07), a file system in memory or in user space.",
    "flush": "`{words}` was used. Look for where the data went: a file system in memory, an upper layer of overlay, "
    "another device.",
}
"""What to do where the argument that mends it was given."""


def unknown(execution: JudgedExecution, verdict: Verdict) -> Iterator[Finding]:
    """Rules that the claim needs and that are unverified."""
    (phase,) = execution.external.run.phases
    rules = required_rules(verdict.claim, phase.directions.get(operation_of(verdict)))
    wanted = unverified(verdict.findings, rules)
    yield from (finding for finding in verdict.findings if finding.rule in wanted)
