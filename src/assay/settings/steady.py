"""A phase that runs until it is steady, for workloads that have a knob `duration`, which is then the longest time allowed.

- `STEADY`: the knobs `until_steady` and `round`; add them to KNOBS.
- `steady_mistakes(values)`: what contradicts what; add it to `check`.
- `stop_rule(values, is_timed)`: what ends a measured phase (PhasePlan.stop). The fleet reads `round` itself.

`values` are knobs with their defaults (`knobs.resolved`).
"""

from __future__ import annotations

from assay.catalogue import Unit
from assay.records import StopRule
from assay.settings.knobs import Values, integer, names, quantity, switch, told
from assay.units import format as written

ROUND_NS = 5_000_000_000
LEAST_ROUND_NS = 200_000_000
"""Ten progress messages of the clients in each round are not too many for them, and show what is inside it."""
LEAST_ROUNDS = 6
"""Five rounds must be alike, and the clients say how far they are a little late."""

STEADY = (
    switch("until_steady", "stop as soon as five rounds are alike; duration is then the longest time allowed"),
    quantity("round", "length of a round of until_steady", Unit.NANOSECONDS, ROUND_NS, (LEAST_ROUND_NS, None)),
)


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
