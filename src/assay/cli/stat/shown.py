"""The block of `assay stat` for people: at most twelve lines, the verdict first. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.answer.wording import labels
from assay.audit.verdicts import failures, unverified
from assay.cli.stat.execution import Execution
from assay.evidence import rungs
from assay.records import Direction, Finding, State, Verdict, VerdictState
from assay.rulekit.soundness import required_rules
from assay.units import Unit
from assay.watch.as_run import ended
from assay.watch.invocations import in_turn

MOST_LINES = 12
INDENT = 11
LEAST_BYTES = 4 << 20
"""Devices and interfaces that moved less are left out of a line of the ladder, the lowest device never."""
LEAST_NETWORK_BYTES = 1 << 20
NOTHING = "no result: the command reported none, and its I/O is below library-loading noise"
SHORTENED = 170
LEAST_PRECISION = 0.001
"""A finer print precision is not shown."""


def block(execution: Execution) -> list[str]:
    """Return verdict and label, reported and corrected figures, ladder, drain, time, and failed rules."""
    head = [
        *verdict_lines(execution),
        *reported_lines(execution),
        *corrected_lines(execution),
        *ladder_lines(execution),
        *end_lines(execution),
    ]
    return [*head, *rule_lines(execution)][:MOST_LINES]


def line(name: str, text: str) -> str:
    """One line with its name in front."""
    return f"  {name:<{INDENT}}{text}"


def verdict_lines(execution: Execution) -> Iterator[str]:
    """The worst verdict with its label, then the others, worst first."""
    order = list(VerdictState)
    worst_first = sorted(execution.verdicts, key=lambda verdict: order.index(verdict.state))
    if not worst_first:
        yield f"assay: {execution.state}: {NOTHING}"
        return
    first, *further = worst_first
    yield f"assay: {first.state}: {labels.label(first)}{as_claimed(first)}"
    for verdict in further[:2]:
        yield line(str(verdict.state), f"{labels.label(verdict)}{as_claimed(verdict)}")


def as_claimed(verdict: Verdict) -> str:
    """What the number was judged as."""
    claim = verdict.claim
    parts = (claim.tier if claim.tier != "as-is" else None, claim.durability, claim.regime, claim.load, claim.path)
    named = ", ".join(str(part) for part in parts if part is not None)
    return f" (judged as: {named})" if named else ""


def operation_of(verdict: Verdict) -> str:
    """The operation that a verdict is on."""
    return verdict.measure.split(".")[1]


def reported_lines(execution: Execution) -> Iterator[str]:
    """Yield the figures of the tool with their print precision, else the observed figures."""
    reported, values = execution.external.reported, execution.external.values
    figures = [figure(execution, verdict) for verdict in execution.verdicts]
    if execution.unread:
        yield line("not read", f"figures of the tool: {execution.unread}")
    if not figures:
        return
    if reported is None:
        yield line("observed", f"{'; '.join(figures)} of the whole command; the command reported nothing")
        return
    summed = several_calls(execution) if reported.parts else ""
    volume = ", ".join(measures.with_unit(values[name], Unit.BYTES) for name in list(values)[:1] if name.endswith(".bytes"))
    yield line("reported", f"{reported.tool}: {'; '.join(figures)}{f', {volume}' if volume else ''}{summed}")


def several_calls(execution: Execution) -> str:
    """Return how the figures of several calls of one tool were added up."""
    reported = execution.external.reported
    assert reported is not None
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


def figure(execution: Execution, verdict: Verdict) -> str:
    """Return `read 5.10 GB/s (±1 % print precision)`."""
    value, share = execution.external.values[figure_of(verdict)], digits_share(execution, verdict)
    digits = f" (±{measures.percent(share)} print precision)" if share >= LEAST_PRECISION else ""
    return f"{operation_of(verdict)} {measures.with_unit(value, verdict.unit)}{digits}"


def figure_of(verdict: Verdict) -> str:
    """Return the name of the verdict's measure among the tool's figures: `read.bytes_per_s`."""
    return verdict.measure.split(".", 1)[1]


def digits_share(execution: Execution, verdict: Verdict) -> float:
    """Return the print precision of a figure: half of its last printed digit, as a share."""
    name = figure_of(verdict)
    value, half = (
        execution.external.values[name],
        execution.external.reported.resolution.get(name, 0.0) if execution.external.reported else 0.0,
    )
    return half / value if value else 0.0


def corrected_lines(execution: Execution) -> Iterator[str]:
    """The figures with the drain charged or what a cache answered taken out, or the bounds where that is all that is known."""
    figures = []
    for verdict in execution.verdicts:
        bound = verdict.bound
        if verdict.corrected is not None:
            most = "at most " if bound is not None and bound.low is None and bound.high is not None else ""
            figures.append(f"{operation_of(verdict)} {most}{measures.with_unit(verdict.corrected, verdict.unit)}")
        elif bound is not None and verdict.state is not VerdictState.SOUND:
            from assay.rulekit.findings import in_words

            figures.append(f"{operation_of(verdict)} {in_words(bound)}")
    if figures:
        yield line("corrected", "; ".join(figures))


def ladder_lines(execution: Execution) -> Iterator[str]:
    """For each direction in which something moved: application > calls > storage > devices."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    known = rungs.devices(phase, seen)
    for name, direction in (("read", Direction.READ), ("write", Direction.WRITE)):
        found = rungs.rungs(phase, seen, direction)
        below = [*device_steps(known, direction), *network_steps(execution, direction)]
        judged = direction in phase.directions.values()
        if max(found.storage or 0, (found.application or 0) if judged else 0) < LEAST_BYTES:
            continue  # what goes to a pipe or to nowhere is on no ladder
        hits = found.hit_share if direction is Direction.READ else None
        answered = "" if hits is None else f" (page cache hits {measures.percent(hits)})"
        layer = "dirtied" if direction is Direction.WRITE else "storage reads"
        steps = [
            f"{found.source} {bytes_text(found.application)}",
            f"calls {bytes_text(found.calls)}",
            f"{layer} {bytes_text(found.storage)}{answered}",
            *below,
        ]
        yield line(name, " > ".join(steps))


def bytes_text(count: float | None) -> str:
    """Return bytes with their unit; `?` for an unknown number."""
    return "?" if count is None else measures.with_unit(count, Unit.BYTES)


def device_steps(known: tuple[rungs.Device, ...], direction: Direction) -> Iterator[str]:
    """What each device of the stack moved; what it took in the drain apart."""
    for device in known:
        if direction is Direction.READ:
            yield f"{device.name} {bytes_text(device.read_bytes)}"
            continue
        drained = f" + {bytes_text(device.drain_write_bytes)} in the drain" if device.drain_write_bytes else ""
        flushes = device.flushes + device.drain_flushes
        yield f"{device.name} {bytes_text(device.write_bytes)}{drained}, {flushes:,} {'flush' if flushes == 1 else 'flushes'}"


def network_steps(execution: Execution, direction: Direction) -> Iterator[str]:
    """What passed the network, where it was more than a chat."""
    (phase,) = execution.external.run.phases
    for one in rungs.networks(phase, execution.external.observations):
        count = one.read_bytes if direction is Direction.READ else one.write_bytes
        if count >= LEAST_NETWORK_BYTES:
            yield f"{one.name} {bytes_text(count)}"


def dirty_bytes(execution: Execution) -> int | None:
    """What was dirty at exit; None where no written file is known."""
    known = [one.dirty_bytes for one in execution.watched.files if one.written and one.dirty_bytes is not None]
    return sum(known) if known else None


def end_lines(execution: Execution) -> Iterator[str]:
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


def rule_lines(execution: Execution) -> Iterator[str]:
    """The rules that failed, with what to do; then those that the claim needs and of which nothing is known."""
    said: set[str] = set()
    for finding in (one for verdict in execution.verdicts for one in (*failures(verdict.findings), *unknown(execution, verdict))):
        if finding.rule in said:
            continue
        said.add(finding.rule)
        text = finding.advice if finding.state is State.FAIL and finding.advice else finding.statement
        yield line(finding.rule, f"{finding.name}: {shortened(text)}{remedy(finding)}")


def remedy(finding: Finding) -> str:
    """Return the call that adds the missing evidence of an unverified rule."""
    return f" Use: assay stat --observe {','.join(finding.observers)}" if finding.observers else ""


def unknown(execution: Execution, verdict: Verdict) -> Iterator[Finding]:
    """Rules that the claim needs and that are unverified."""
    (phase,) = execution.external.run.phases
    rules = required_rules(verdict.claim, phase.directions.get(operation_of(verdict)))
    wanted = unverified(verdict.findings, rules)
    yield from (finding for finding in verdict.findings if finding.rule in wanted)


def shortened(text: str) -> str:
    """One line's worth of it."""
    return text if len(text) <= SHORTENED else f"{text[: SHORTENED - 1].rstrip()}\u2026"
