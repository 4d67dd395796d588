"""What frozen texts leave out or replace, all in one place: what differs from run to run, and what would be too long to read.

A text that was shortened ends with the SHA-256 of the whole, so that a change in what was left out is seen, too.
`frozen.py whole` writes the texts as they were before, for a comparison of two commits.
"""

import csv
import hashlib
import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIGITS = 9
"""Of a number with more decimals than this: the last ones differ between processors and libraries."""
LINE = 240
"""A value of JSON that fits is on one line."""
SHORT, FEW, MANY = 200, 2, 24
"""Of a list so many elements are shown: FEW where one is longer than SHORT, else MANY. A list of findings is whole."""
TABLE_ROWS = 3
EMPTY = (None, "", [], {})
WHOLE = False
"""Whether nothing is cut."""

BEGUN = datetime.now(UTC)


def dated(found: re.Match[str]) -> str:
    """A time as it is, or a word where it is of this call."""
    return "{now}" if datetime.fromisoformat(found[0]) >= BEGUN - timedelta(minutes=1) else found[0]


REPLACED = (
    (re.compile(r"(a block device or a network interface of local: )[^\n]*"), r"\1{devices of this machine}"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), dated),
    (re.compile(r"\b\d+\.\d+\.\d+-[0-9a-f]{12}\b"), "{ruleset}"),
    (re.compile(r"\b(assay(?:-engine|-line|-lab)?)([ \"':,]+)\d+\.\d+\.\d+\b"), r"\1\2{version}"),
    (re.compile(r"\d+\.\d{9,}(?:e[-+]?\d+)?"), lambda found: f"{float(found[0]):.{DIGITS}g}"),
)


def pinned(text: str, home: Path) -> str:
    """The text without what differs from run to run: the directory of the call, the tree of Assay, versions, last digits."""
    for path, name in ((home, "{dir}"), (ROOT, "{assay}")):
        text = text.replace(str(path), name)
    for pattern, word in REPLACED:
        text = pattern.sub(word, text)
    return text


def digest(text: str) -> str:
    """The first letters of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def short_json(text: str) -> str:
    """JSON with one value a line where it fits, without what is empty, with long lists cut."""
    value = json.loads(text)
    if WHOLE:
        return json.dumps(value, indent=1, ensure_ascii=False)
    return "\n".join([*lines(value), f"whole {digest(json.dumps(value, sort_keys=True))}"])


def lines(value: object, key: str = "", depth: int = 0) -> list[str]:
    """The lines of a value of JSON below its key."""
    indent = "  " * depth
    name = f"{key}: " if key else ""
    if key == "findings" and isinstance(value, list):
        return [f"{indent}{name}{len(value)}", *(f"{indent}  {finding(one)}" for one in value if shown(one))]
    if not isinstance(value, dict | list) or not longer(value, LINE - len(indent) - len(name)):
        return [f"{indent}{name}{compact(value)}"]
    found = [f"{indent}{name}{'{' if isinstance(value, dict) else '['}"]
    if isinstance(value, dict):
        for word, one in value.items():
            if one not in EMPTY:
                found += lines(one, word, depth + 1)
    else:
        for number, one in enumerate(cut(value)):
            found += lines(one if number == 0 or not isinstance(one, dict) else without_raw(one), "", depth + 1)
        if (left := len(value) - len(cut(value))) > 0:
            found.append(f"{indent}  ... {left} more")
    return found


def without_raw(value: dict) -> dict:
    """A record with the digest of its raw run alone: the first of a list has it whole."""
    return {word: digest(json.dumps(one, sort_keys=True)) if word == "run" else one for word, one in value.items()}


def cut(value: list) -> list:
    """The elements of a list that are shown."""
    return value[: FEW if any(longer(one, SHORT) for one in value) else MANY]


def longer(value: object, most: int) -> bool:
    """Whether a value on one line has more letters than this; it is not written where its texts alone have more."""
    return letters(value, most) > most or len(compact(value)) > most


def letters(value: object, most: int) -> int:
    """The letters of the texts in a value, counted until they are more than this."""
    if not isinstance(value, dict | list):
        return len(value) if isinstance(value, str) else 1
    count = 0
    for word, one in value.items() if isinstance(value, dict) else (("", one) for one in value):
        if count > most:
            break
        count += len(word) + letters(one, most - count) if not word or one not in EMPTY else 0
    return count


def compact(value: object) -> str:
    """A value on one line, without what is empty."""
    return json.dumps(full(value), ensure_ascii=False)


def full(value: object) -> object:
    """The value without keys that have nothing."""
    if isinstance(value, dict):
        return {word: full(one) for word, one in value.items() if one not in EMPTY}
    return [full(one) for one in value] if isinstance(value, list) else value


def shown(found: dict) -> bool:
    """Whether a finding is shown: what does not apply is only counted."""
    return found.get("state") != "n/a"


def finding(found: dict) -> str:
    """A finding on one line."""
    told = ("rule", "name", "state", "severity", "statement", "subject", "phase", "part", "alternatives", "threshold")
    rest = {word: one for word, one in found.items() if word not in told and one not in EMPTY}
    return f"{found['rule']} {found['name']} {found['state']} {found['severity']}: {found['statement']} {compact(rest)}"


def short_table(name: str, text: str) -> str:
    """A table of CSV: columns, number of rows, the first rows, and the digest of all."""
    if WHOLE:
        return f"{name}\n{text}"
    header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    told = [f"{name}: {len(rows)} rows of {', '.join(header)}", *("  " + " | ".join(row)[:LINE] for row in rows[:TABLE_ROWS])]
    return "\n".join([*told, f"  whole {digest(text)}"] if rows else told)
