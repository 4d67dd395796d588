"""What a target's own settings deny, as they were read back from what ran: then no counter can show that data were stored."""

from __future__ import annotations

from collections.abc import Mapping

from assay.records import Observations

AT_ANSWERS: Mapping[str, Mapping[str, str]] = {
    "target.setting.durable": {"False": "durable = false: the server flushes no change"},
    "target.setting.strict_sync": {"no": "strict_sync = false: the server answers a flush without doing it"},
    "target.setting.flush": {"ignored": "flush = ignored: the server answers a flush without doing it"},
}
"""Setting -> value -> what it does to data that the server has acknowledged."""
OF_DISKS: Mapping[str, Mapping[str, str]] = {
    "target.disk.flush": {"ignored": "flush = ignored: the disk answers a flush without doing it"}
}
"""The same of the storage below: nobody's flush makes data stable."""


def denied_at_answers(seen: Observations) -> str | None:
    """The setting by which the server answers before its data are stored; None without one."""
    return _first(seen, {**OF_DISKS, **AT_ANSWERS})


def denied_for_good(seen: Observations) -> str | None:
    """The setting by which no flush stores anything; None without one."""
    return _first(seen, OF_DISKS)


def _first(seen: Observations, denials: Mapping[str, Mapping[str, str]]) -> str | None:
    every = (values.get(fact) for key, values in denials.items() if (fact := seen.fact(key)) is not None)
    return next((words for words in every if words), None)
