"""Pages name what exists: rooms and first files of ARCHITECTURE.md, links, rules, experiments."""

import re
from pathlib import Path

from assay import catalogue
from assay.catalogue import FREE, PLACEMENT
from assay.cli.catalogue import page_text
from assay.errors import InputErrors
from assay.experiment import read as experiment_file
from assay.laboratory import rule_pages

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "assay"
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "DEVELOP.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_the_architecture_names_every_room_and_files_that_are_there():
    rows = [line.split(" | ") for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines() if line.startswith("| `")]
    named = {room.strip("/") for row in rows for room in re.findall(r"[\w.]+/?", row[0].replace("`", ""))}
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    failures = [f"{room}/ has no row" for room in sorted(rooms - named)]
    for row in rows:
        room = re.findall(r"`(\w+)/`", row[0])
        firsts = re.findall(r"`([\w/]+\.py)`", row[-1]) if len(room) == 1 else []
        failures += [f"{room[0]}/{first} is not there" for first in firsts if not (SOURCE / room[0] / first).exists()]
    assert failures == []


def test_the_walks_of_the_architecture_name_as_many_files_as_they_count():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    walks = re.findall(r"(?ms)^### [^\n]*: (\d+) files, limit \d+\n(.*?)(?=^##|\Z)", text)
    assert len(walks) == 3
    for count, walk in walks:
        files = re.findall(r"`([\w/]+\.py)`", "".join(re.findall(r"(?m)^\d.*\n", walk)))
        assert len(files) == int(count)
        assert not [file for file in files if not (SOURCE / file).is_file()]


def test_every_link_leads_somewhere():
    failures = []
    for page in PAGES:
        text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
        links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
        failures += [f"{page.relative_to(ROOT)}: {link}" for link in links if not leads(page, link)]
    assert failures == []


def test_the_page_of_a_target_or_workload_names_every_knob():
    """But those of placement, which every workload has: docs/experiment-file.md has them."""
    failures = []
    for kind in ("targets", "workloads"):
        for name in catalogue.names(kind):
            page = page_of(kind, name)
            knobs = {knob.name.split(FREE)[0] for knob in catalogue.find(kind, name).knobs} - {one.name for one in PLACEMENT}
            failures += [f"docs/{kind}/{name}.md: {knob}" for knob in sorted(knobs) if knob not in page]
    assert failures == []


def test_whole_experiment_files_of_the_pages_are_accepted():
    """A reader copies them: a wrong knob or a missing key would be refused."""
    failures, files = [], 0
    for page in PAGES:
        for text in re.findall(r"(?ms)^```toml\n(.*?)^```$", page.read_text()):
            if not (text.count("[targets.") and text.count("[workloads.") and re.search(r"(?m)^title = ", text)):
                continue
            files += 1
            try:
                experiment_file.parse(text, page.name)
            except InputErrors as error:
                failures.append(f"{page.relative_to(ROOT)}: {error}")
    assert failures == []
    assert files > 6, "the law looked at these"


def page_of(kind: str, name: str) -> str:
    """Its own page, or the one that has a section of this name."""
    own = ROOT / "docs" / kind / f"{name}.md"
    shared = (page.read_text() for page in sorted((ROOT / "docs" / kind).glob("*.md")))
    return own.read_text() if own.is_file() else next((text for text in shared if f"\n## {name}\n" in text), "")


def leads(page: Path, link: str) -> bool:
    """To a file or a folder, and there to a heading where the link names one."""
    path, _, heading = link.partition("#")
    there = page.parent / path if path else page
    return there.exists() and (not heading or heading in headings(there))


def headings(page: Path) -> set[str]:
    """As they are named in links."""
    found = re.findall(r"(?m)^#+ (.+)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in found}


def test_rules_and_decisions_that_pages_and_code_name_are_there():
    ids = {catalogue.find("rules", name).id for name in catalogue.names("rules")}
    decisions = {path.name[:3] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    code = (*SOURCE.rglob("*.py"), *(ROOT / "crates").rglob("*.rs"), ROOT / "benchmarks" / "RESULTS.md")
    failures = []
    for page in (*PAGES, *code):
        text = page.read_text()
        named = re.findall(r"(?i)decisions?(?:/| )(\d{3})\b", text)
        failures += [f"{page.relative_to(ROOT)}: decision {one}" for one in named if one not in decisions]
        ruled = re.findall(r"[Rr]ules? ([TDWLGNESC]\d\d[a-z]?)\b", text) if page in PAGES else []
        failures += [f"{page.relative_to(ROOT)}: rule {one}" for one in ruled if one not in ids]
    assert failures == []


def test_the_page_of_a_rule_says_what_explain_prints():
    """Both are made from the rule: nothing of one is missing in the other."""
    failures = []
    for name in catalogue.names("rules"):
        page = rule_pages.page(name, catalogue.find("rules", name))
        made, printed = rule_pages.markdown(page), flat(page_text(page))
        told = [page[part] for part in ("id", "name", "summary", "wrong", "advice", "judges", "applies", "severity", "at_shell")]
        told += [*page["alternatives"], *page["sources"], *page["needed_by"], *page["thresholds"]]
        told += [*rule_pages.blocks(page["how"]), *(row["source"] for row in page["reads"])]
        failures += [f"{name}: {part[:60]} is not on the page" for part in told if flat(part) not in flat(made)]
        failures += [f"{name}: explain leaves out {part[:60]}" for part in told if flat(part) not in printed]
    assert failures == []


def flat(text: str) -> str:
    """The letters alone, however the lines are cut."""
    return "".join(text.replace("```", " ").split())
