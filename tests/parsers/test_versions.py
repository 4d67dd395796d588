"""The table of parsers names the versions of the recordings that each is held against, and says what it lacks of three."""

import functools
import re
from pathlib import Path

from assay import catalogue
from assay.catalogue import console
from assay.errors import EvidenceError
from assay.watch import imported

ROOT = Path(__file__).parents[2]
VERSION = re.compile(r"-(\d{1,3}(?:\.\d+)*[a-z]?|20\d\d|50\d{3})(?=[-.])")
ROW = re.compile(r"^\| \[(\w+)\]\(\w+\.md#\w+\) \|.*\| ([^|]+?)(?: \(by hand\))? \|$", re.MULTILINE)
HELD = dict(ROW.findall((ROOT / "docs" / "parsers" / "README.md").read_text(encoding="utf-8")))
ENOUGH = 3


@functools.cache
def recorded():
    """Parser -> the versions in the names of the recordings that it reads."""
    found = {name: set() for name in catalogue.names("parsers")}
    for path in sorted((ROOT / "tests" / "fixtures").glob("*/*")):
        if path.parent.name in ("output", "published") and (version := VERSION.search(path.name)):
            try:
                found[imported.recognised(console.decoded(path.read_bytes())).tool].add(version[1])
            except EvidenceError:
                continue
    return found


def in_order(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def test_the_table_names_the_versions_that_are_recorded():
    failures = []
    for name in catalogue.names("parsers"):
        versions = sorted(recorded()[name], key=in_order)
        held, _, lacking = HELD.get(name, "").partition("; without a recording: ")
        if held != (", ".join(versions) or "forms without a version"):
            failures.append(f"{name}: found {held!r} in docs/parsers/README.md; expected {', '.join(versions)}")
        if len(versions) < ENOUGH and not lacking:
            failures.append(f"{name}: fewer than three versions; write '; without a recording: ...' behind them")
    assert failures == []
