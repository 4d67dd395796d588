"""What drills of real targets share: a load with its events, and what came of the records."""

import re

from assay.records import Event, WorkloadSpec
from stage.trial_stage import HURRY

SECOND = 10**9


def drill(*events, **knobs):
    given = {"rate": 200, "duration": 6 * SECOND, **HURRY, **knobs}
    return WorkloadSpec(name="d", kind="drill", knobs=given, events=events)


def event(action, at_s=3.0, for_s=1.0, on=""):
    return Event(phase="append", at_ns=round(at_s * SECOND), on=on, action=action, for_ns=round(for_s * SECOND))


def fates(run):
    """(acknowledged, lost, changed, unreadable) of each check, over all clients."""
    found = {}
    for phase in run.phases[1:]:
        ends = [client.drill for client in phase.clients]
        found[phase.name] = tuple(
            sum(getattr(end, name) for end in ends) for name in ("acknowledged", "lost", "changed", "unreadable")
        )
    return found


def began_and_ended(seen):
    """When each event really was done (s after the start of its phase): from (begun, done)."""
    facts = sorted((one.key, one.value) for one in seen.facts if one.key.startswith("event."))
    return [tuple(float(word) for word in re.findall(r"(?:at|done at) ([0-9.]+) s", value)) for _, value in facts]
