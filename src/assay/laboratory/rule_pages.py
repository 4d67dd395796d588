"""The page of a rule, made from the rule itself: what `assay explain` prints, and a page of the site.

`python -m assay.laboratory.rule_pages DIR` writes all pages. The story stands once, in the rule: its docstring says how
the mistake is seen, its fields the rest, rules/limits.toml the thresholds.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from assay import catalogue
from assay.audit import limits
from assay.catalogue import Rule
from assay.evidence import sources
from assay.records import Scope
from assay.rulekit.soundness import ROWS

SENTENCE_END = re.compile(r"(?<=[.?!])(?<!^\d\.) (?=[A-Z0-9`(\"])", re.MULTILINE)
ITEM = re.compile(r"- |\d\. ")
"""How an item of a list begins."""


class EvidenceEntry(TypedDict):
    """One kind of evidence that a rule reads."""

    key: str
    source: str
    way: str


class Threshold(TypedDict):
    """A threshold with its source."""

    value: float
    source: str


class Page(TypedDict):
    """Everything that is known about a rule, as plain values."""

    id: str
    name: str
    summary: str
    wrong: str
    how: str
    judges: str
    applies: str
    severity: str
    needs: list[str]
    reads: list[EvidenceEntry]
    needed_by: list[str]
    thresholds: dict[str, Threshold]
    alternatives: list[str]
    advice: str
    at_shell: str
    sources: list[str]


def page(module: str, rule: Rule) -> Page:
    """The page of a rule that is in this module."""
    words = inspect.getdoc(importlib.import_module(f"assay.rules.{module}")) or ""
    summary, _, rest = words.partition("\n")
    keys = dict.fromkeys((*rule.reads, *rule.needs))
    return {
        "id": rule.id,
        "name": rule.name,
        "summary": summary,
        "wrong": rule.wrong,
        "how": rest.strip(),
        "judges": f"the {rule.part} of a claim, for each {subject(rule)}",
        "applies": limits.applies_text(rule.id),
        "severity": rule.severity.value,
        "needs": list(rule.needs),
        "reads": [{"key": key, "source": sources.words(key), "way": sources.of(key).way} for key in keys],
        "needed_by": [f"{row.part} = {row.value} ({row.work})" for row in ROWS if rule.id in row.rules],
        "thresholds": {name: {"value": value, "source": why} for name, (value, why) in limits.sourced(rule.id).items()},
        "alternatives": list(rule.alternatives),
        "advice": rule.advice,
        "at_shell": rule.at_shell,
        "sources": list(rule.sources),
    }


def subject(rule: Rule) -> str:
    """What a rule is shown, and the hosts whose evidence it judges."""
    return f"measure of a run, by the evidence of {rule.about}" if rule.scope is Scope.TRIAL else str(rule.scope)


def blocks(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, each on one line; examples as they are."""
    for part in re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE):
        if part.startswith("```"):
            yield part
            continue
        held = ""
        for line in part.splitlines():
            begins = not line or ITEM.match(line) or (ITEM.match(held) and not line.startswith("  "))
            if begins and held:
                yield held
            held = line if begins else f"{held} {line.strip()}".strip()
        if held:
            yield held


def markdown(one: Page) -> str:
    """The page as Markdown, one sentence on a line."""
    judged = [f"Judges {one['judges']}; a failure {one['severity']}.", f"Applies to: {one['applies']}."]
    judged += [f"SOUND needs it for {', '.join(one['needed_by'])}."] if one["needed_by"] else []
    read = dict.fromkeys(row["source"] for row in one["reads"])
    rows = [f"| `{name}` | {entry['value']:,.10g} | {entry['source']} |" for name, entry in one["thresholds"].items()]
    found = [
        f"# {one['id']} {one['name']}",
        one["summary"],
        sentences(f"**What goes wrong.** {one['wrong']}"),
        "## How it is seen",
        prose(one["how"]),
        "\n".join(judged),
        *(("## Evidence", listed(read)) if read else ()),
        *(("## Thresholds", "\n".join(("| threshold | value | reason |", "|---|---|---|", *rows))) if rows else ()),
        "## What else it could be",
        sentences(listed(one["alternatives"])),
        "## What to do",
        sentences(one["advice"]),
        *([sentences(f"**With `assay stat`.** {one['at_shell']}")] if one["at_shell"] else []),
        "## Literature",
        listed(one["sources"]),
    ]
    return "\n\n".join(found) + "\n"


def prose(text: str) -> str:
    """A docstring as Markdown: one sentence on a line, the items of a list one below the other."""
    joined = ""
    was_item = False
    for block in blocks(text):
        is_item = bool(ITEM.match(block))
        joined += ("\n" if is_item and was_item else "\n\n" if joined else "") + sentences(block)
        was_item = is_item
    return joined


def sentences(text: str) -> str:
    """One sentence on a line, indented below the first one of an item; examples as they are."""
    marker = ITEM.match(text)
    return text if text.startswith("```") else SENTENCE_END.sub("\n" + " " * (marker.end() if marker else 0), text)


def listed(entries: dict[str, None] | list[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {entry}" for entry in entries)


def pages() -> Iterator[tuple[str, str]]:
    """Name and Markdown of the page of every rule."""
    for name in catalogue.names("rules"):
        yield name, markdown(page(name, catalogue.find("rules", name)))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for stem, content in pages():
        (folder / f"{stem}.md").write_text(content, encoding="utf-8")
