"""Offered load: think time, a rate of all clients together, or a schedule of rates; and stopping at the steady state.

For a workload whose engine takes `load` (`bulk`, `metadata`, `ldap`, `null`, see docs/engine-protocol.md, "The load"):

- `LOAD`: the knobs `think`, `rate`, `arrivals`, `late`, `schedule`; add them to KNOBS.
- `load_setting(values, clients)`: the setting `load` of each client; the clients' rates add up to the requested rate.
- `load_mistakes(values)`: contradictions, `depth` included if there is such a knob; `timed_mistakes(values)`: contradictions
  with the knobs `duration` and `ops`, if a workload has them. Add both to `check`.
- `is_open(values)`: open loop. `lasts_ns(values)`: length of a schedule, which ends the phase (StopRule.TIME).
  `least_s(values, operations, workers)`: for the estimate of the run time.

For a workload with a knob `duration`, which is then the time limit:

- `STEADY`: the knobs `until_steady` and `round`. `steady_mistakes(values)`: contradictions. The trial reads `round` itself.
- `stop_rule(values, is_timed)`: the end of a measured phase (PhasePlan.stop).

`values` are knobs with their defaults (`knobs.resolved`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import Unit
from assay.records import StopRule
from assay.settings.knobs import Values, choice, integer, messages, names, quantity, switch, text, texts
from assay.units import Refusal, attempt
from assay.units import format as formatted

MOST_PER_S = 10**9
"""Highest rate of the engine."""
LATE_NS = 100_000
"""Default of the engine for `late`."""

LOAD = (
    quantity("think", "pause from the end of an operation to the start of the next", Unit.NANOSECONDS),
    quantity(
        "rate",
        "open loop: operations per second of all clients together; each is due on time, even if earlier ones are slow",
        Unit.PER_S,
        None,
        (1, MOST_PER_S),
    ),
    choice("arrivals", "spacing of the operations of a rate or schedule", "constant", "poisson"),
    quantity("late", "an operation that starts this long after it was due counts as late; default 100 us", Unit.NANOSECONDS),
    texts("schedule", 'sequence of rates: "10 s at 100 /s", "10 s from 100 /s to 900 /s", "5 s pause"'),
)

ROUND_NS = 5_000_000_000
LEAST_ROUND_NS = 200_000_000
"""Each client sends ten progress messages a round; shorter rounds would disturb the load."""
LEAST_ROUNDS = 6
"""Five equal rounds are needed, and progress messages arrive a little late."""

STEADY = (
    switch("until_steady", "stop at the steady state (five equal rounds); duration is then the time limit"),
    quantity("round", "length of a round for until_steady", Unit.NANOSECONDS, ROUND_NS, (LEAST_ROUND_NS, None)),
)

_STAGE = re.compile(r"(?P<time>.+?)\s+(?:at\s+(?P<at>.+)|from\s+(?P<low>.+?)\s+to\s+(?P<high>.+)|(?P<pause>pause))")
_EXAMPLES = 'stages such as "10 s at 100 /s", "10 s from 100 /s to 900 /s" or "5 s pause"'


@dataclass(frozen=True, kw_only=True)
class LoadStage:
    """One rate of all clients together for some time; with `to_per_s` a linear ramp."""

    duration_ns: int
    per_s: int
    to_per_s: int | None = None

    @property
    def operations(self) -> float:
        """Operations that are due in it."""
        end = self.per_s if self.to_per_s is None else self.to_per_s
        return self.duration_ns / 1e9 * (self.per_s + end) / 2


def stage(written: str) -> LoadStage | tuple[Refusal, ...]:
    """Parse a stage as a person writes it; return it or every mistake in it."""
    match = _STAGE.fullmatch(written.strip())
    if match is None:
        return (Refusal(found=repr(written), expected=_EXAMPLES),)
    rates = [match[name] for name in ("at", "low", "high") if match[name] is not None]
    parts = [attempt(match["time"], Unit.NANOSECONDS), *(attempt(rate, Unit.PER_S) for rate in rates)]
    refusals = tuple(
        Refusal(found=f"{part.found} in {written!r}", expected=part.expected) for part in parts if isinstance(part, Refusal)
    )
    return refusals or _stage(written, [int(part) for part in parts if not isinstance(part, Refusal)])


def _stage(written: str, parts: list[int]) -> LoadStage | tuple[Refusal, ...]:
    """Build a stage of a duration and up to two rates, if the engine supports it."""
    duration_ns, rates = parts[0], parts[1:]
    wrong = (
        (duration_ns == 0, "a stage that lasts at least 1 ns"),
        (max(rates, default=0) > MOST_PER_S, f"rates of at most {MOST_PER_S:,} /s"),
        (rates and not any(rates), "a rate above 0 /s, or a pause"),
    )
    refusals = tuple(Refusal(found=repr(written), expected=expected) for expected in messages(wrong))
    if refusals:
        return refusals
    return LoadStage(duration_ns=duration_ns, per_s=rates[0] if rates else 0, to_per_s=rates[1] if len(rates) > 1 else None)


def stages(values: Values) -> tuple[LoadStage, ...]:
    """Return the valid stages of the schedule."""
    return tuple(one for one in map(stage, names(values, "schedule")) if isinstance(one, LoadStage))


def is_open(values: Values) -> bool:
    """Return True for an open loop: operations are due on time, even if earlier ones are slow."""
    return bool(integer(values, "rate") or names(values, "schedule"))


def lasts_ns(values: Values) -> int | None:
    """Return the length of the schedule; None without a schedule."""
    return sum(one.duration_ns for one in stages(values)) if names(values, "schedule") else None


def load_setting(values: Values, clients: int) -> dict[str, object]:
    """Return the setting `load` of each client: its part of the rates; empty for a closed loop without pauses."""
    if not is_open(values):
        think = integer(values, "think")
        return {"think_ns": think} if think else {}
    spacing = {"arrivals": text(values, "arrivals"), "late_ns": integer(values, "late", LATE_NS)}
    if integer(values, "rate"):
        return {"rate": integer(values, "rate") / clients, **spacing}
    return {"schedule": tuple(_client_stage(one, clients) for one in stages(values)), **spacing}


def _client_stage(one: LoadStage, clients: int) -> dict[str, object]:
    ramp = {} if one.to_per_s is None else {"to": one.to_per_s / clients}
    return {"duration_ns": one.duration_ns, "rate": one.per_s / clients, **ramp}


def load_mistakes(values: Values) -> tuple[str, ...]:
    """Return mistakes: invalid stages, and load knobs that contradict each other."""
    written = names(values, "schedule")
    refusals = [refusal for one in map(stage, written) if not isinstance(one, LoadStage) for refusal in one]
    rate, think, depth = integer(values, "rate"), integer(values, "think"), integer(values, "depth", 1)
    still = bool(written) and not refusals and not any(one.operations for one in stages(values))
    mistakes = (
        (rate and written, "found rate with schedule; expected one of them"),
        (rate and think, "found think with rate; expected one of them: an open loop has no think time"),
        (written and think, "found think with schedule; expected one of them: an open loop has no think time"),
        (think and depth > 1, f"found think with depth {depth}; expected depth 1: operations one at a time"),
        (still, "found a schedule of pauses only; expected a stage with a rate"),
        (
            not is_open(values) and text(values, "arrivals") == "poisson",
            "found arrivals poisson without rate or schedule; expected one of them",
        ),
        (not is_open(values) and integer(values, "late"), "found late without rate or schedule; expected one of them"),
    )
    return (*(f"found {one.found} in schedule; expected {one.expected}" for one in refusals), *messages(mistakes))


def timed_mistakes(values: Values) -> tuple[str, ...]:
    """Return contradictions between the load and the knobs `duration` and `ops`."""
    ends = integer(values, "duration") or integer(values, "ops")
    mistakes = (
        (
            integer(values, "rate") and not ends and not names(values, "schedule"),
            "found rate without duration or ops; expected one of them",
        ),
        (
            names(values, "schedule") and integer(values, "duration"),
            "found schedule with duration; expected one of them: a schedule has its own end",
        ),
    )
    return messages(mistakes)


def least_s(values: Values, operations: int, workers: int) -> float:
    """Return the shortest possible run time in seconds of these operations on all workers; 0 without a rate or think time."""
    rate, schedule = integer(values, "rate"), lasts_ns(values)
    if schedule is not None:
        return schedule / 1e9
    return operations / rate if rate else operations / workers * integer(values, "think") / 1e9


def scheduled_ns(setting: Mapping[str, object]) -> int | None:
    """Return the length of one client's schedule from its engine settings; None for a closed loop or a fixed amount."""
    load = setting.get("load")
    if not isinstance(load, Mapping) or setting.get("ops") is not None or not ("rate" in load or "schedule" in load):
        return None
    limit_ns, rows = setting.get("duration_ns"), load.get("schedule")
    stages_ns = sum(int(row["duration_ns"]) for row in rows) if isinstance(rows, tuple | list) else 0
    return min((one for one in (limit_ns, stages_ns) if isinstance(one, int) and one), default=None)


def steady_mistakes(values: Values) -> tuple[str, ...]:
    """Return contradictions between `until_steady` and the other knobs."""
    if not values.get("until_steady"):
        return ()
    duration, least = integer(values, "duration"), LEAST_ROUNDS * integer(values, "round", ROUND_NS)
    found, expected = formatted(duration, Unit.NANOSECONDS), formatted(least, Unit.NANOSECONDS)
    mistakes = (
        (not duration, "found until_steady without duration; expected duration, the time limit"),
        (
            0 < duration < least,
            f"found duration {found} with until_steady; expected at least {LEAST_ROUNDS} rounds, {expected}",
        ),
        (integer(values, "ops"), "found until_steady with ops; expected one of them"),
        (names(values, "schedule"), "found until_steady with schedule; expected one of them: a schedule has its own end"),
    )
    return messages(mistakes)


def stop_rule(values: Values, *, is_timed: bool) -> StopRule:
    """Return the end of a measured phase; `is_timed`: it has a time limit of its own."""
    if values.get("until_steady"):
        return StopRule.STEADY
    return StopRule.TIME if is_timed else StopRule.WORK
