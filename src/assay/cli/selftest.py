"""`assay selftest`: the cost of the lab on this machine, with --audit its rules, with --same its conclusions."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import UsageError
from assay.laboratory.gate import Gate
from assay.terminal.progress import ProgressMode


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for, as typed."""

    audit: bool = False
    rules: str | None = None
    times: int | None = None
    sound: int | None = None
    observers: str | None = None
    same: int | None = None
    json_to: str | None = None
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


def selftest(request: Request) -> int:
    """Measure the lab or test its rules; the exit status. Raises UsageError with every mistake of the call."""
    if request.same is not None:
        return of_the_same(request, request.same)
    if request.observers is not None:
        return of_observers(request, request.observers)
    if request.audit and request.sound is not None:
        return of_sound_trials(request, request.sound)
    if request.audit:
        from assay.selftest import lies as audit

        asked = audit.Request(
            rules=request.rules,
            times=1 if request.times is None else request.times,
            json_to=request.json_to,
            gate=request.gate,
            progress=request.progress,
        )
        return audit.run_controls(asked)
    if words := typed(request):
        raise UsageError(f"found {words} without --audit; expected `assay selftest --audit {words} ...`")
    from assay.selftest.overhead import measure_overhead

    return measure_overhead(json_to=request.json_to)


def typed(request: Request) -> str:
    """The words of this call that only the audit knows."""
    given = {
        "--rules": request.rules is not None,
        "--times": request.times is not None,
        "--sound": request.sound is not None,
        "--gate": request.gate is not Gate.OFF,
    }
    return ", ".join(word for word, there in given.items() if there)


def of_sound_trials(request: Request, trials: int) -> int:
    """The audit of sound trials alone; the exit status. Raises UsageError where other words choose what is run."""
    chosen = typed(Request(rules=request.rules, times=request.times))
    if chosen:
        raise UsageError(f"found {chosen} with --sound; expected --sound alone: its trials are of all kinds")
    from assay.selftest import sound

    asked = sound.Request(trials=trials, json_to=request.json_to, gate=request.gate, progress=request.progress)
    return sound.run_sound_trials(asked)


def of_observers(request: Request, names: str) -> int:
    """The pairs with and without observers; the exit status. Raises UsageError where words of the audit stand beside it."""
    chosen = typed(Request(rules=request.rules, sound=request.sound))
    if chosen or request.audit:
        raise UsageError(f"found {chosen or '--audit'} with --observers; expected only --times, --json, --gate and --progress")
    from assay.selftest import observers as paired

    pairs = paired.PAIRS if request.times is None else request.times
    asked = paired.Request(names=names, pairs=pairs, json_to=request.json_to, gate=request.gate, progress=request.progress)
    return paired.measure_observers(asked)


def of_the_same(request: Request, comparisons: int) -> int:
    """The comparisons of the same with itself; the exit status. Raises UsageError where words of the others stand beside it."""
    chosen = typed(Request(rules=request.rules, times=request.times, sound=request.sound))
    others = {chosen: bool(chosen), "--audit": request.audit, "--observers": request.observers is not None}
    if any(others.values()):
        raise UsageError(
            f"found {', '.join(word for word, there in others.items() if there)} with --same; expected only --json,"
            " --gate and --progress"
        )
    from assay.selftest import same

    asked = same.Request(comparisons=comparisons, json_to=request.json_to, gate=request.gate, progress=request.progress)
    return same.compare_same(asked)
