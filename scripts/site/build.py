"""Lay out all pages of the repository for Zensical and build the site in .build/site/html, readable without a network.

The pages keep their places, so that their links hold on the site as in the repository. A folder of entries (rules, targets, ...)
gets a list of its pages; links to a folder lead to that list. The pages of the rules are made from the rules; a rule's id in the
text of any page becomes a link to that rule's page.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from assay import catalogue
from assay.laboratory import rule_pages

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / ".build" / "site"
PAGES = WORK / "pages"
SITE = WORK / "html"

COPIED = ("README.md", "CHANGELOG.md", "ARCHITECTURE.md", "DEVELOP.md", "LICENSE", "docs", "experiments", "benchmarks")
KEPT = {".md", ".toml", ".png", ".svg", ".sh", ".json", ""}
DEVELOPERS = ("docs/engine-protocol.md", "docs/line-protocol.md", "docs/audit.md", "docs/howto/intervals.md")
"""Pages among those of users that only who works on Assay reads."""
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Start",
        (
            "README.md",
            "docs/howto/install.md",
            "docs/tutorial.md",
            "docs/cheat_sheet.md",
            "docs/concepts.md",
            "docs/howto/read-a-report.md",
        ),
    ),
    ("Tasks", ("docs/howto/",)),
    ("Reference", ("docs/",)),
    ("Casebook", ("docs/casebook/",)),
    ("Targets", ("docs/targets/",)),
    ("Workloads", ("docs/workloads/",)),
    ("Observers", ("docs/observers/",)),
    ("Parsers", ("docs/parsers/",)),
    ("Rules", ("docs/rules/",)),
    ("Measured", ("benchmarks/",)),
    ("Development", ("DEVELOP.md", "ARCHITECTURE.md", "CHANGELOG.md", *DEVELOPERS, "docs/decisions/")),
)
SHIM = "iframe-worker.js"
"""The search of a page from a file system runs in a frame, by this script that Zensical would load from the network."""
SHIM_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
FETCHED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(https?:[^"'> ]+)""")
"""What a browser would load from the network; links that a reader follows are no such thing."""
RULES = {catalogue.find("rules", name).id: name for name in catalogue.names("rules")}
AS_IT_IS = re.compile(r"(?ms)^```.*?^```|^#.*?$|`[^`\n]+`|\[[^\]]*\]\([^)]*\)")
"""Blocks of code, headings, code spans and links: an id in them stays as it is."""
ID = re.compile(rf"\b({'|'.join(RULES)})\b")
BEGINS = re.compile(r"(?:[-*] |\d+\. |\|)")
"""The first line of a list or of a table, or a further one."""
FOLDER = re.compile(r"\]\(((?:[\w.-]+/)+)\)")
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def main() -> int:
    """Build; return 1 for a link that leads nowhere, and for a page that would load something from the network."""
    shutil.rmtree(WORK, ignore_errors=True)
    for name in COPIED:
        laid_out(ROOT / name)
    rules = PAGES / "docs" / "rules"
    rules.mkdir(parents=True, exist_ok=True)
    for name, text in rule_pages.pages():
        (rules / f"{name}.md").write_text(linked(text, rules))
    for folder in sorted({page.parent for page in PAGES.rglob("*.md")}):
        listed(folder)
    config = WORK / "zensical.toml"
    config.write_text(settings())
    done = subprocess.run([Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict", "-f", config], check=False)
    if done.returncode:
        return done.returncode
    elsewhere = sorted({one for page in SITE.rglob("*.html") for one in alone(page)})
    shutil.copyfile(HERE / SHIM, SITE / "assets" / SHIM)
    print(f"from the network: {', '.join(elsewhere)}" if elsewhere else f"site: {SITE / 'index.html'}")
    return 1 if elsewhere else 0


def alone(page: Path) -> list[str]:
    """Let a page take the search's script from the site; return what it still loads from the network."""
    up = "../" * (len(page.relative_to(SITE).parts) - 1)
    text = page.read_text().replace(SHIM_ELSEWHERE, f"{up}assets/{SHIM}")
    page.write_text(text)
    return FETCHED.findall(text)


def laid_out(source: Path) -> None:
    """Copy a page or a folder of pages."""
    for one in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if one.is_file() and one.suffix in KEPT:
            copy = PAGES / one.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if one.suffix == ".md":
                copy.write_text(linked(apart(to_lists(one)), copy.parent))
            else:
                shutil.copyfile(one, copy)


def linked(text: str, folder: Path) -> str:
    """A page in which the id of each rule is a link to its page."""
    up = "../" * len(folder.relative_to(PAGES).parts)
    found, at = "", 0
    for kept in AS_IT_IS.finditer(text):
        found += ID.sub(lambda one: f"[{one[1]}]({up}docs/rules/{RULES[one[1]]}.md)", text[at : kept.start()]) + kept[0]
        at = kept.end()
    return found + ID.sub(lambda one: f"[{one[1]}]({up}docs/rules/{RULES[one[1]]}.md)", text[at:])


def apart(text: str) -> str:
    """A page with a blank line before each list and table that follows a sentence: the site's Markdown wants one."""
    found: list[str] = []
    fenced = False
    for line in text.split("\n"):
        before = found[-1] if found else ""
        begins = (
            BEGINS.match(line) is not None and before != "" and not BEGINS.match(before) and not before.startswith((" ", "#"))
        )
        found += ["", line] if begins and not fenced else [line]
        fenced ^= line.startswith("```")
    return "\n".join(found)


def to_lists(page: Path) -> str:
    """A page whose links to folders lead to the lists of their pages."""

    def to_list(link: re.Match[str]) -> str:
        has_its_own = (page.parent / link[1] / "README.md").exists()
        return f"]({link[1]}{'README' if has_its_own else 'index'}.md)"

    return FOLDER.sub(to_list, page.read_text())


def listed(folder: Path) -> None:
    """Write the list of a folder's pages, unless it has a page of its own for that."""
    if any((folder / name).exists() for name in ("README.md", "index.md")):
        return
    rows = [f"- [{title(page)}]({page.name})" for page in sorted(folder.glob("*.md"))]
    (folder / "index.md").write_text(f"# {folder.name.capitalize()}\n\n" + "\n".join(rows) + "\n")


def title(page: Path) -> str:
    """The first heading of a page, else its name."""
    heading = HEADING.search(page.read_text())
    return heading[1].replace("`", "") if heading else page.stem


def settings() -> str:
    """The configuration of Zensical: no font and no script from elsewhere, search and links that work from a file system."""
    return "\n".join(
        (
            "[project]",
            'site_name = "Assay"',
            'site_description = "Benchmarks that show what their numbers measure"',
            'docs_dir = "pages"',
            'site_dir = "html"',
            "use_directory_urls = false",
            f"nav = {navigation()}",
            "[project.theme]",
            "font = false",
            'features = ["content.code.copy", "navigation.indexes", "navigation.tabs", "toc.follow"]',
            "[[project.theme.palette]]",
            'media = "(prefers-color-scheme: light)"',
            'scheme = "default"',
            "[[project.theme.palette]]",
            'media = "(prefers-color-scheme: dark)"',
            'scheme = "slate"',
            "[project.plugins.search]",
            "[project.plugins.offline]",
            "",
        )
    )


def navigation() -> str:
    """The tabs with their pages, as TOML."""
    tabs = (f"{{ {json.dumps(name)} = [{', '.join(entries(places))}] }}" for name, places in SECTIONS)
    return f"[{', '.join(tabs)}]"


def entries(places: Sequence[str]) -> list[str]:
    """The pages of a tab: of each folder its list first, without those of another tab."""
    found: list[Path] = []
    for place in places:
        path = PAGES / place
        pages = (page for page in path.glob("*.md") if str(page.relative_to(PAGES)) not in DEVELOPERS)
        found += sorted(pages, key=lambda page: (page.stem not in ("index", "README"), page.stem)) if path.is_dir() else [path]
    return [f"{{ {json.dumps(title(page))} = {json.dumps(str(page.relative_to(PAGES)))} }}" for page in found]


if __name__ == "__main__":
    sys.exit(main())
