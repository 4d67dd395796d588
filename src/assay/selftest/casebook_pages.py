"""The pages of the casebook: a public report of a figure that fooled somebody, its cause, and the commands that show it.

A page is Markdown of at most 25 lines: what was believed, what it was, what Assay must say, the source and what a machine needs;
then a block of shell in parts: `# setup` for both sides, `# fault`, and `# control` where there is a sound control.
Numbers that `assay check` judges without a run are the rows of one table, published.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.errors import UsageError
from assay.records import VerdictState

FOLDER = Path(assay.__file__).parent / "casebook"
STAGE = FOLDER / "stage.sh"
PUBLISHED = FOLDER / "published.md"
ITEM = re.compile(r"^- \*\*(Believed|It was|Assay|Source|Needs):\*\* (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(r"^# (setup|fault|control)\n", re.MULTILINE)
ROW = re.compile(
    r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| `([^`|]+)` \| `([^`|]+)` \| <(https://[^|>]+)> \|$", re.MULTILINE
)
MOST_LINES = 25


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What Assay must say of the lie."""

    states: frozenset[VerdictState]
    """Any of these; empty where a command has no claim and so no verdict: then every one but SOUND and BOUNDED."""
    rules: tuple[frozenset[str], ...]
    """Of each of these groups one does not pass. Rules and words name the cause; one at least is there."""
    words: tuple[str, ...]
    """All of these are in the answer, in any case of letters."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """One case."""

    name: str
    title: str
    believed: str
    was: str
    source: str
    needs: tuple[str, ...]
    expected: Expected
    setup: str
    lie: str
    twin: str | None

    @property
    def is_posted(self) -> bool:
        """Whether it is a figure without a run, which arithmetic judges."""
        return "assay check" in self.lie


def pages(names: str | None = None) -> tuple[Page, ...]:
    """All cases, or those of these names by commas. Raises UsageError where there is none of such a name."""
    paths = (path for path in FOLDER.glob("*.md") if path.name not in ("README.md", PUBLISHED.name))
    every = (
        *(page(path.stem, path.read_text(encoding="utf-8")) for path in paths),
        *published(PUBLISHED.read_text(encoding="utf-8")),
    )
    found = {one.name: one for one in sorted(every, key=lambda one: one.name)}
    wanted = list(found) if names is None else names.split(",")
    if unknown := [name for name in wanted if name not in found]:
        raise UsageError(f"found no case {', '.join(map(repr, unknown))}; expected names of cases of docs/casebook")
    return tuple(found[name] for name in wanted)


def published(text: str) -> Iterator[Page]:
    """The cases of the table. Raises UsageError for a row that lacks something."""
    rows = ROW.findall(text)
    if len(rows) != (count := text.count("\n| `")):
        raise UsageError(
            f"docs/casebook/{PUBLISHED.name}: found {count} rows, {len(rows)} of them whole; expected seven cells in each"
        )
    for name, title, was, expects, lie, twin, source in rows:
        yield Page(
            name=name,
            title=title,
            believed=lie,
            was=was,
            source=source,
            needs=(),
            expected=expected(expects),
            setup="",
            lie=f'assay check "{lie}"\n',
            twin=f'assay check "{twin}"\n',
        )


def page(name: str, text: str) -> Page:
    """The case of a page. Raises UsageError with everything that it lacks."""
    items, parts = dict(ITEM.findall(text)), parts_of(text)
    if wrong := list(mistakes(text, items, parts)):
        raise UsageError("\n".join(f"docs/casebook/{name}.md: {one}" for one in wrong))
    needs = items.get("Needs", "")
    return Page(
        name=name,
        title=text.partition("\n")[0].removeprefix("# "),
        believed=items["Believed"],
        was=items["It was"],
        source=items["Source"].strip("<>"),
        needs=tuple(need.strip(" .`") for need in needs.split(",") if need.strip(" .`")),
        expected=expected(items["Assay"]),
        setup=parts.get("setup", ""),
        lie=parts["fault"],
        twin=parts.get("control"),
    )


def parts_of(text: str) -> dict[str, str]:
    """The parts of the one block of shell, each by its name."""
    block = BLOCK.search(text)
    found = PART.split(block[1]) if block else [""]
    return dict(zip(found[1::2], found[2::2], strict=True))


def mistakes(text: str, items: dict[str, str], parts: dict[str, str]) -> Iterator[str]:
    """What a page lacks."""
    lines = text.rstrip("\n").count("\n") + 1
    if lines > MOST_LINES:
        yield f"found {lines} lines; expected at most {MOST_LINES}"
    if not text.startswith("# "):
        yield "found no title; expected '# TITLE' on the first line"
    yield from (f"no line '- **{one}:** ...'" for one in ("Believed", "It was", "Assay", "Source") if one not in items)
    if "fault" not in parts:
        yield "no part '# fault' in a block '```sh'"
    if "Assay" in items and not ((found := expected(items["Assay"])).rules or found.words):
        yield f'found {items["Assay"]!r}; expected verdicts, and ids of rules or "words" of the answer'


def expected(text: str) -> Expected:
    """`INVALID or TAINTED, T06 or T03, "never written"`."""
    outside = re.sub(r'"[^"]*"', "", text)
    groups = (frozenset(re.findall(r"\b[A-Z][0-9]{2}[a-z]?\b", part)) for part in outside.split(","))
    return Expected(
        states=frozenset(state for state in VerdictState if re.search(rf"\b{state}\b", outside)),
        rules=tuple(group for group in groups if group),
        words=tuple(re.findall(r'"([^"]*)"', text)),
    )
