"""How much load is offered: think time, a rate of all clients together, or a schedule of rates.

For a workload whose engine takes `load` (`bulk`, `metadata`, `null`, see docs/engine-protocol.md, "The load"):

- `LOAD`: its knobs `think`, `rate`, `arrivals`, `late`, `schedule`; add them to KNOBS.
- `load_setting(values, clients)`: what each of so many clients is told as `load`; their rates add up to what was asked for.
- `load_mistakes(values)`: what contradicts what, `depth` included where there is such a knob; `timed_mistakes(values)`: the same
  for knobs `duration` and `ops`, where a workload has them. Add both to `check`.
- `is_open(values)`: whether operations are due whether or not the earlier ones have ended. `lasts_ns(values)`: how long a
  schedule is, which then ends the phase (StopRule.TIME). `least_s(values, operations, workers)`: for a guess of how long it runs.

`values` are knobs with their defaults (`knobs.resolved`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import Unit
from assay.records import StopRule
from assay.settings.knobs import Values, choice, integer, names, quantity, switch, text, texts, told
from assay.units import Refusal, attempt
from assay.units import format as written

MOST_PER_S = 10**9
"""What the engine takes at most."""
LATE_NS = 100_000
"""What the engine takes for late where nothing else is said."""

LOAD = (
    quantity("think", "time from the end of an operation to the start of the next", Unit.NANOSECONDS),
    quantity(
        "rate",
        "operations a second of all clients together, due whether or not earlier ones have ended",
        Unit.PER_S,
        None,
        (1, MOST_PER_S),
    ),
    choice("arrivals", "how the operations of a rate or a schedule follow each other", "constant", "poisson"),
    quantity("late", "from so much after it was due an operation counts as late; 100 us", Unit.NANOSECONDS),
    texts("schedule", 'rates one after the other: "10 s at 100 /s", "10 s from 100 /s to 900 /s", "5 s pause"'),
)

ROUND_NS = 5_000_000_000
LEAST_ROUND_NS = 200_000_000
"""Ten progress messages of the clients in each round are not too many for them, and show what is inside it."""
LEAST_ROUNDS = 6
"""Five rounds must be alike, and the clients say how far they are a little late."""

STEADY = (
    switch("until_steady", "stop as soon as five rounds are alike; duration is then the longest time allowed"),
    quantity("round", "length of a round of until_steady", Unit.NANOSECONDS, ROUND_NS, (LEAST_ROUND_NS, None)),
)

_STAGE = re.compile(r"(?P<time>.+?)\s+(?:at\s+(?P<at>.+)|from\s+(?P<low>.+?)\s+to\s+(?P<high>.+)|(?P<pause>pause))")
_EXAMPLES = 'stages such as "10 s at 100 /s", "10 s from 100 /s to 900 /s" or "5 s pause"'


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One rate of all clients together for some time; with `to` a straight line from one to the other."""

    duration_ns: int
    per_s: int
    to_per_s: int | None = None

    @property
    def operations(self) -> float:
        """How many operations are due in it."""
        end = self.per_s if self.to_per_s is None else self.to_per_s
        return self.duration_ns / 1e9 * (self.per_s + end) / 2


def stage(written: str) -> Stage | tuple[Refusal, ...]:
    """A stage as a person writes it, or all that is wrong with it."""
    match = _STAGE.fullmatch(written.strip())
    if match is None:
        return (Refusal(found=repr(written), expected=_EXAMPLES),)
    rates = [match[name] for name in ("at", "low", "high") if match[name] is not None]
    parts = [attempt(match["time"], Unit.NANOSECONDS), *(attempt(rate, Unit.PER_S) for rate in rates)]
    refusals = tuple(
        Refusal(found=f"{part.found} in {written!r}", expected=part.expected) for part in parts if isinstance(part, Refusal)
    )
    return refusals or _stage(written, [int(part) for part in parts if not isinstance(part, Refusal)])


def _stage(written: str, parts: list[int]) -> Stage | tuple[Refusal, ...]:
    """A stage of a duration and of no, one or two rates, if the engine can do it."""
    duration_ns, rates = parts[0], parts[1:]
    wrong = (
        (duration_ns == 0, "a stage that lasts at least 1 ns"),
        (max(rates, default=0) > MOST_PER_S, f"rates of at most {MOST_PER_S:,} /s"),
        (rates and not any(rates), "a rate above 0 /s, or a pause"),
    )
    refusals = tuple(Refusal(found=repr(written), expected=expected) for expected in told(wrong))
    if refusals:
        return refusals
    return Stage(duration_ns=duration_ns, per_s=rates[0] if rates else 0, to_per_s=rates[1] if len(rates) > 1 else None)


def stages(values: Values) -> tuple[Stage, ...]:
    """The stages of the schedule that are right."""
    return tuple(one for one in map(stage, names(values, "schedule")) if isinstance(one, Stage))


def is_open(values: Values) -> bool:
    """Whether operations are due whether or not the earlier ones have ended."""
    return bool(integer(values, "rate") or names(values, "schedule"))


def lasts_ns(values: Values) -> int | None:
    """How long the schedule is; None where there is none."""
    return sum(one.duration_ns for one in stages(values)) if names(values, "schedule") else None


def load_setting(values: Values, clients: int) -> dict[str, object]:
    """What each of so many clients is told as `load`: its own part of the rates; nothing where all wait for answers only."""
    if not is_open(values):
        think = integer(values, "think")
        return {"think_ns": think} if think else {}
    spacing = {"arrivals": text(values, "arrivals"), "late_ns": integer(values, "late", LATE_NS)}
    if integer(values, "rate"):
        return {"rate": integer(values, "rate") / clients, **spacing}
    return {"schedule": tuple(_told_stage(one, clients) for one in stages(values)), **spacing}


def _told_stage(one: Stage, clients: int) -> dict[str, object]:
    ramp = {} if one.to_per_s is None else {"to": one.to_per_s / clients}
    return {"duration_ns": one.duration_ns, "rate": one.per_s / clients, **ramp}


def load_mistakes(values: Values) -> tuple[str, ...]:
    """Stages that are none, and knobs of the load that contradict each other."""
    written = names(values, "schedule")
    refusals = [refusal for one in map(stage, written) if not isinstance(one, Stage) for refusal in one]
    rate, think, depth = integer(values, "rate"), integer(values, "think"), integer(values, "depth", 1)
    still = bool(written) and not refusals and not any(one.operations for one in stages(values))
    mistakes = (
        (rate and written, "found rate with schedule; expected one of them"),
        (rate and think, "found think with rate; expected one of them: a rate does not wait for answers"),
        (written and think, "found think with schedule; expected one of them: a schedule does not wait for answers"),
        (think and depth > 1, f"found think with depth {depth}; expected depth 1: one operation after the other"),
        (still, "found a schedule of pauses alone; expected a stage with a rate"),
        (
            not is_open(values) and text(values, "arrivals") == "poisson",
            "found arrivals poisson without rate or schedule; expected one of them",
        ),
        (not is_open(values) and integer(values, "late"), "found late without rate or schedule; expected one of them"),
    )
    return (*(f"found {one.found} in schedule; expected {one.expected}" for one in refusals), *told(mistakes))


def timed_mistakes(values: Values) -> tuple[str, ...]:
    """What of the load contradicts the knobs `duration` and `ops`."""
    ends = integer(values, "duration") or integer(values, "ops")
    mistakes = (
        (
            integer(values, "rate") and not ends and not names(values, "schedule"),
            "found rate without duration or ops; expected one of them",
        ),
        (
            names(values, "schedule") and integer(values, "duration"),
            "found schedule with duration; expected one of them: a schedule has its end",
        ),
    )
    return told(mistakes)


def least_s(values: Values, operations: int, workers: int) -> float:
    """Seconds that so many operations of so many workers of all clients take at least; 0 where nothing holds them back."""
    rate, schedule = integer(values, "rate"), lasts_ns(values)
    if schedule is not None:
        return schedule / 1e9
    return operations / rate if rate else operations / workers * integer(values, "think") / 1e9


def scheduled_ns(setting: Mapping[str, object]) -> int | None:
    """How long the schedule is that an engine's settings give to one client; None for a closed loop or one of an amount."""
    load = setting.get("load")
    if not isinstance(load, Mapping) or setting.get("ops") is not None or not ("rate" in load or "schedule" in load):
        return None
    told = setting.get("duration_ns")
    planned = load.get("schedule")
    stages = sum(int(stage["duration_ns"]) for stage in planned) if isinstance(planned, tuple | list) else 0
    return min((one for one in (told, stages) if isinstance(one, int) and one), default=None)


def steady_mistakes(values: Values) -> tuple[str, ...]:
    """What of the steady state contradicts the other knobs."""
    if not values.get("until_steady"):
        return ()
    duration, least = integer(values, "duration"), LEAST_ROUNDS * integer(values, "round", ROUND_NS)
    found, expected = written(duration, Unit.NANOSECONDS), written(least, Unit.NANOSECONDS)
    mistakes = (
        (not duration, "found until_steady without duration; expected the longest time allowed"),
        (
            0 < duration < least,
            f"found duration {found} with until_steady; expected at least {LEAST_ROUNDS} rounds, {expected}",
        ),
        (integer(values, "ops"), "found until_steady with ops; expected one of them"),
        (names(values, "schedule"), "found until_steady with schedule; expected one of them: a schedule has its end"),
    )
    return told(mistakes)


def stop_rule(values: Values, *, is_timed: bool) -> StopRule:
    """What ends a measured phase; `is_timed`: whether it has a time limit of its own."""
    if values.get("until_steady"):
        return StopRule.STEADY
    return StopRule.TIME if is_timed else StopRule.WORK
