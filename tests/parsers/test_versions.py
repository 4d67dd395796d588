"""Each page of a parser names the versions of the recordings that it is held against, and says what it lacks of three."""

import functools
import re
from pathlib import Path

from assay import catalogue
from assay.catalogue import console
from assay.errors import EvidenceError
from assay.watch import imported
from stage.rows import each

ROOT = Path(__file__).parents[2]
VERSION = re.compile(r"-(\d{1,3}(?:\.\d+)*[a-z]?|20\d\d|50\d{3})(?=[-.])")
HELD = re.compile(r"^Held against: (.+)\.$", re.MULTILINE)
LACKING = re.compile(r"^Without a recording: .+\.$", re.MULTILINE)
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


@each("name", *catalogue.names("parsers"))
def test_the_page_names_the_versions_that_are_recorded(name):
    page = (ROOT / "docs" / "parsers" / f"{name}.md").read_text(encoding="utf-8")
    held = HELD.search(page)
    versions = sorted(recorded()[name], key=in_order)
    assert (held[1] if held else "") == (", ".join(versions) or "forms without a version")
    assert len(versions) >= ENOUGH or LACKING.search(page), "fewer than three versions: name what lacks"
