"""When the schedules of open loops end: a rate is counted over all of it, not from its first to its last operation."""

from __future__ import annotations

from collections.abc import Mapping

from assay.records import PhasePlan, StopRule, Value
from assay.settings.load import scheduled_ns
from assay.trial.levels import whole


def due_ns(plan: PhasePlan, knobs: Mapping[str, Value], start_ns: int) -> int | None:
    """When the schedules of all clients end; None where they have none, or do not begin together."""
    planned = {scheduled_ns(settings) for settings in plan.settings}
    apart = whole(knobs, "start_delay") or any("start_delay_ns" in settings for settings in plan.settings)
    length = planned.pop() if len(planned) == 1 and plan.stop is StopRule.TIME and not apart else None
    return None if length is None else start_ns + length
