"""Pages name what exists: every call of docs/contracts.md, every room and first file of ARCHITECTURE.md, every link."""

import pkgutil
import re
from pathlib import Path

import pytest

from assay.selftest.lies import NO_CONTROL

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "assay"
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "DEVELOP.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
CALLS = sorted(set(re.findall(r"`(\w+(?:\.\w+)+)[(`]", (ROOT / "docs" / "contracts.md").read_text())))


@pytest.mark.parametrize("call", [call for call in CALLS if (SOURCE / call.split(".")[0]).is_dir()])
def test_every_call_between_the_stages_exists(call):
    assert pkgutil.resolve_name(f"assay.{call}")


def test_the_architecture_names_every_room_and_files_that_are_there():
    rows = [line.split(" | ") for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines() if line.startswith("| `")]
    named = {room.strip("/") for row in rows for room in re.findall(r"[\w.]+/?", row[0].replace("`", ""))}
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms <= named
    for row in rows:
        room = re.findall(r"`(\w+)/`", row[0])
        firsts = re.findall(r"`([\w/]+\.py)`", row[-1])
        assert not [first for first in firsts if len(room) == 1 and not (SOURCE / room[0] / first).exists()], row


def test_the_walks_of_the_architecture_name_as_many_files_as_they_count():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    walks = re.findall(r"(?ms)^### [^\n]*: (\d+) files, limit \d+\n(.*?)(?=^##|\Z)", text)
    assert len(walks) == 3
    for count, walk in walks:
        files = re.findall(r"`([\w/]+\.py)`", "".join(re.findall(r"(?m)^\d.*\n", walk)))
        assert len(files) == int(count)
        assert not [file for file in files if not (SOURCE / file).is_file()]


def test_every_control_has_its_count_and_the_counts_are_of_all_controls():
    """Two controls were added, and the page went on to count those of the day before."""
    text = (ROOT / "docs" / "audit.md").read_text()
    names = {path.stem for path in (SOURCE / "controls").glob("*.toml")} - {NO_CONTROL}
    counted = re.findall(r"(?m)^[A-Z]\d\d[a-z]? +(\w+) +\d+ of \d+ ", text)
    skipped = re.findall(r"(?m)^[A-Z]\d\d[a-z]? +(\w+) +.*\n +skipped: ", text)
    assert sorted((*counted, *skipped)) == sorted(names), "a row for each control: run `assay selftest --audit --rules ID`"
    assert f"There are {len(names)} controls: {len(counted)} have a row of counts below, and " in text
    assert len(skipped) == 3, "and three cannot run"
    for block in re.findall(r"(?ms)^```\n(\d+ of \d+ lies caught.*?)^```", text):
        rows = re.findall(r"(?m)^[A-Z]\d\d[a-z]? +\w+ +1 of 1 ", block)
        assert re.search(rf"(?m)^sum +{len(rows) + len(skipped)} controls +{len(rows)} of {len(rows)} ", block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]
