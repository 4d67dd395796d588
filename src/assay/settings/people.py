"""What people of a population of Assay have in common, for searches that find so many of them (`crates/ldif` makes them)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.frozen import dataclass

DIGITS, TEAM, MARGIN = 8, 12, 6
"""Digits of a `uid`, people of one manager, and standard deviations by which a group that is drawn must be larger."""
ROOMS, FIRST_ROOM, NO_ROOM = 900, 100, 1000
GROUPS = {"sn": ("Smith", 151), "givenName": ("Anna", 108), "l": ("London", 40), "departmentNumber": ("4300", 22)}
"""Attribute -> one of its values, and how many it has, all equally frequent."""
CLASS = ("objectClass", "inetOrgPerson")
HELD = ("cn", "sn", "uid", "mail", "givenName", "title", "l", "telephoneNumber", "street", "postalCode", "roomNumber", "mobile")
"""Attributes that all people have."""
ABSENT = ("pager", "facsimileTelephoneNumber", "carLicense", "employeeType", "businessCategory", "homePhone", "initials")
"""Attributes that people may have and do not."""
OF_ENTRY = {"employeeNumber": "{key}", "uid": "u{key:08d}"}
"""Attributes whose values follow from the key of an entry."""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """People that one value of an attribute selects."""

    attribute: str
    value: str
    index: str = "eq"
    """The kind of index without which the server reads all entries."""
    size: int = 1
    """How many there are at least."""
    is_entry: bool = False
    """Whether the key is that of the only one."""
    first: int = 0
    count: int = 1
    missing: int | None = None
    """The first of `count` keys that select nobody; None where each key selects somebody."""


def of_value(finds: int, people: int, base: str) -> Crowd:
    """Return the smallest group with one value of an attribute that has so many people."""
    if finds == 1:
        return Crowd(attribute="uid", value=OF_ENTRY["uid"], is_entry=True, count=people, missing=people)
    teams = people // TEAM - 1
    if finds <= TEAM and teams > 0:
        value = f"uid=u{{key:08d}},ou=people,{base}"
        return Crowd(attribute="manager", value=value, size=TEAM, first=1, count=teams, missing=people)
    larger = people + 1
    """Whoever else is below the base may be among them, so that a size limit is needed."""
    if finds <= _least(people / ROOMS):
        return Crowd(attribute="roomNumber", value="{key}", size=larger, first=FIRST_ROOM, count=ROOMS, missing=NO_ROOM)
    for attribute, (value, count) in GROUPS.items():
        if finds <= _least(people / count):
            return Crowd(attribute=attribute, value=value, size=larger)
    return Crowd(attribute=CLASS[0], value=CLASS[1], size=larger)


def of_beginning(pattern: str, finds: int, people: int) -> Crowd | None:
    """Return 1, 10, 100, ... people whose `uid` begins alike, for `?*` or `*?*`; None where there are not so many."""
    cut = math.ceil(round(math.log10(finds), 9))
    alike = 10**cut
    if people < alike:
        return None
    return Crowd(
        attribute="uid",
        value=pattern.replace("?", f"u{{key:0{DIGITS - cut}d}}"),
        index="sub",
        size=alike,
        is_entry=not cut,
        count=people // alike,
        missing=-(-people // alike),
    )


def of_end(pattern: str, finds: int, people: int) -> Crowd | None:
    """Return people whose `uid` ends alike, whatever stands before; None where there are not so many."""
    is_entry = finds == 1
    kept = DIGITS if is_entry else int(math.log10(people / finds))
    if kept < 1:
        return None
    last = pattern.rindex("?")
    head = pattern[:last].replace("?", "u")
    letter = "u" if is_entry and not head.strip("*") else ""
    return Crowd(
        attribute="uid",
        value=f"{head}{letter}{{key:0{kept}d}}{pattern[last + 1 :]}",
        index="sub",
        size=1 if is_entry else people + 1,
        is_entry=is_entry,
        count=people if is_entry else 10**kept,
        missing=people if is_entry else None,
    )


def common(pattern: str, base: str, *, of_entry: bool) -> Mapping[str, str]:
    """Return attributes with values of this pattern that all people have, or the entry of the key."""
    domain = _domain(base)
    found = {
        "?*": {"telephoneNumber": "+*", "mobile": "+*", "uid": "u*"},
        "*?*": {"uid": "*u*", "mail": "*@*"},
        "*?": {"mail": f"*{domain}"},
        "*?*?": {"mail": f"*@*{domain}"},
    }.get(pattern, {})
    return {**found, "employeeNumber": pattern.replace("?", "{key}")} if of_entry and pattern.count("?") == 1 else found


def _least(mean: float) -> float:
    """Return the people that a group of this mean has at the very least: groups are drawn, so that they scatter."""
    return mean - MARGIN * math.sqrt(mean)


def _domain(base: str) -> str:
    """Return the domain of mail addresses below a base, as the template has it."""
    parts = [part.strip().partition("=") for part in base.split(",")]
    labels = [value for name, _, value in parts if name.lower() == "dc"]
    return "example.com" if not labels else f"{labels[0]}.example" if len(labels) == 1 else ".".join(labels)
