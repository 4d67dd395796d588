"""Read stored verdicts: of the findings on thousands of runs most are alike but for their subject, and are decoded once.

The text is taken apart at marks that canonical JSON (`files.to_json`: names sorted, no spaces) has nowhere else: a quotation
mark within a text has a backslash before it, and one that ends a text has no letter behind it. What cannot be taken apart so
is read as a whole.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from assay import plain
from assay.errors import DamagedError
from assay.frozen import altered
from assay.records import Finding, Verdict

MOST_TEXTS = 8192
"""So many different findings are remembered, about 2 kB each; those that many runs share come back soon."""
FIRST = min(one.name for one in fields(Finding))
BEFORE = '"findings":['
AFTER = f'],"{min(one.name for one in fields(Verdict) if one.name > "findings")}":'
OPEN, BETWEEN, CLOSE = f'{{"{FIRST}":', f'}},{{"{FIRST}":', "}"
"""Where the first finding of a list begins, where one ends and the next begins, where the last one ends."""
NOBODY = '"subject":0'
"""Stands for the subject of the verdict, which all of its findings have."""


def from_text(text: str) -> tuple[Mapping[str, Verdict], Mapping[str, Any]]:
    """Return the verdicts by measure in the text of a file, and the rest of what it holds as plain values.

    Raises ValueError where it is no JSON; DamagedError, KeyError, TypeError or AttributeError where it holds something else.
    """
    try:
        return taken_apart(text)
    except (ValueError, DamagedError, KeyError, TypeError, AttributeError):
        whole = json.loads(text)
        return {measure: plain.from_plain(Verdict, one) for measure, one in whole["verdicts"].items()}, whole


def taken_apart(text: str) -> tuple[Mapping[str, Verdict], Mapping[str, Any]]:
    """As `from_text`, equal findings decoded once. Raises one of the same errors where the text is of another form."""
    head, *others = text.split(BEFORE)
    parts = [one.partition(AFTER) for one in others]
    whole = json.loads(head + "".join(f"{BEFORE}{mark}{rest}" for _, mark, rest in parts))
    bare = {measure: plain.from_plain(Verdict, one) for measure, one in whole["verdicts"].items()}
    found = zip(bare.items(), parts, strict=True)
    return {measure: replace(one, findings=findings(listed, one.subject)) for (measure, one), (listed, _, _) in found}, whole


def findings(listed: str, subject: str) -> tuple[Finding, ...]:
    """Return the findings of a verdict on this subject, from the text between their brackets. Raises ValueError, DamagedError."""
    if not listed:
        return ()
    if not (listed.startswith(OPEN) and listed.endswith(CLOSE)):
        raise ValueError(f"found findings that do not begin with {OPEN} or do not end with {CLOSE}")
    own = f'"subject":{json.dumps(subject)}'
    texts = listed[len(OPEN) : -len(CLOSE)].replace(own, NOBODY).split(BETWEEN)
    if listed.count(own) != len(texts):
        raise ValueError("found findings on something else, too, or a subject within one")
    return altered(Finding, map(finding, texts), subject=subject)


@functools.lru_cache(MOST_TEXTS)
def finding(text: str) -> Finding:
    """Return a finding on nobody, from the text behind its first name. Raises ValueError, DamagedError."""
    value = json.loads(f"{OPEN}{text}{CLOSE}")
    if value.pop("subject") != 0:
        raise ValueError("found a subject within a finding")
    return plain.from_plain(Finding, {**value, "subject": ""})
