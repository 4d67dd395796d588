"""`assay selftest`: the cost of the lab; its rules (--audit), conclusions (--same, --inference), public reports (--casebook)."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import UsageError
from assay.laboratory.gate import Gate
from assay.selftest import Request


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The words that choose the self-test, as typed."""

    audit: bool = False
    rules: str | None = None
    times: int | None = None
    sound: int | None = None
    observers: str | None = None
    same: int | None = None
    inference: int | None = None
    casebook: bool = False
    cases: str | None = None


def selftest(choice: Choice, request: Request) -> int:
    """Measure the lab or test its rules; the exit status. Raises UsageError for words that do not go together."""
    if choice.casebook:
        expected = "with --casebook; expected only --cases, --json, --gate and --progress"
        refuse(choice, ("rules", "times", "sound", "audit", "observers", "same"), expected)
        from assay.selftest.casebook import run_casebook

        return run_casebook(request, choice.cases)
    if choice.inference is not None:
        others = ("rules", "times", "sound", "audit", "observers", "same", "cases")
        refuse(choice, others, "with --inference; expected only --json and --gate")
        from assay.selftest.inference import check_inference

        return check_inference(request, choice.inference)
    if choice.same is not None:
        refuse(
            choice,
            ("rules", "times", "sound", "audit", "observers", "cases"),
            "with --same; expected only --json, --gate and --progress",
        )
        from assay.selftest.same import compare_same

        return compare_same(request, choice.same)
    if choice.observers is not None:
        expected = "with --observers; expected only --times, --json, --gate and --progress"
        refuse(choice, ("rules", "sound", "audit", "cases"), expected)
        from assay.selftest import observers

        return observers.measure_observers(request, choice.observers, observers.PAIRS if choice.times is None else choice.times)
    if choice.audit and choice.sound is not None:
        refuse(choice, ("rules", "times", "cases"), "with --sound; expected --sound alone: its trials are of all kinds")
        from assay.selftest.sound import run_sound_trials

        return run_sound_trials(request, choice.sound)
    if choice.cases is not None:
        raise UsageError("found --cases without --casebook; expected `assay selftest --casebook --cases NAMES`")
    if choice.audit:
        from assay.selftest.lies import run_controls

        return run_controls(request, choice.rules, 1 if choice.times is None else choice.times)
    if alone := [*typed(choice, ("rules", "times", "sound")), *(["--gate"] if request.gate is not Gate.OFF else [])]:
        raise UsageError(f"found {', '.join(alone)} without --audit; expected `assay selftest --audit {', '.join(alone)} ...`")
    from assay.selftest.overhead import measure_overhead

    return measure_overhead(json_to=request.json_to)


def typed(choice: Choice, names: tuple[str, ...]) -> list[str]:
    """Those of these words that the call has."""
    return [f"--{name}" for name in names if getattr(choice, name) not in (None, False)]


def refuse(choice: Choice, names: tuple[str, ...], expected: str) -> None:
    """Raise UsageError where the call has one of these choice."""
    if found := typed(choice, names):
        raise UsageError(f"found {', '.join(found)} {expected}")
