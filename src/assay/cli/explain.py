"""`assay explain RULE`: what a rule means, how it sees it, what else it could be and what to do."""

from __future__ import annotations

import inspect
import json

from assay.audit import limits
from assay.catalogue import Rule, rule_named
from assay.evidence import sources
from assay.rulekit.soundness import ROWS


def explain(rule: str, as_json: bool) -> int:
    """Print one rule by its id (`T01`) or name (`client-page-cache`). Raises UsageError naming the rules that exist."""
    module, found = rule_named(rule)
    page = described(module, found)
    print(json.dumps(page, indent=2) if as_json else text(page))
    return 0


def described(module: str, rule: Rule) -> dict[str, object]:
    """Everything that is known about a rule, as plain values."""
    import importlib

    words = inspect.getdoc(importlib.import_module(f"assay.rules.{module}")) or ""
    summary, _, rest = words.partition("\n")
    return {
        "id": rule.id,
        "name": rule.name,
        "summary": summary,
        "wrong": rule.wrong,
        "how": " ".join(rest.split()),
        "judges": f"the {rule.part} of a claim, for each {'measure of a run' if rule.scope == 'trial' else rule.scope}",
        "applies": limits.applies_text(rule.id),
        "severity": rule.severity.value,
        "needs": list(rule.needs),
        "reads": [{"key": key, "source": sources.words(key), "way": sources.of(key).way} for key in looked_at(rule)],
        "needed_by": [f"{row.part} = {row.value} ({row.work})" for row in ROWS if rule.id in row.rules],
        "thresholds": {name: {"value": value, "source": why} for name, (value, why) in limits.sourced(rule.id).items()},
        "alternatives": list(rule.alternatives),
        "advice": rule.advice,
        "sources": list(rule.sources),
    }


def looked_at(rule: Rule) -> tuple[str, ...]:
    """The evidence keys that a rule looks at: those that it takes where they are there, and those that it needs."""
    return tuple(dict.fromkeys((*rule.reads, *rule.needs)))


def text(page: dict[str, object]) -> str:
    """The page for people."""
    lines = [f"{page['id']} {page['name']}", str(page["summary"]), ""]
    lines += [*labelled("what goes wrong", [str(page["wrong"])]), *labelled("how it is seen", [str(page["how"])])]
    for title in ("judges", "applies", "severity"):
        lines += labelled(title, [str(page[title])])
    lines += labelled("evidence, as far as it is there, and what a machine must have for it", evidence(page))
    for title, key in (("needs", "needs"), ("SOUND needs it for", "needed_by")):
        lines += labelled(title, [", ".join(strings(page[key]))] if strings(page[key]) else [])
    lines += labelled("thresholds", thresholds(page))
    lines += labelled("what else it could be", strings(page["alternatives"]))
    lines += labelled("what to do", [str(page["advice"])])
    lines += labelled("sources", strings(page["sources"]))
    return "\n".join(lines).rstrip()


def strings(value: object) -> list[str]:
    """A list of texts out of a plain value."""
    return [str(item) for item in value] if isinstance(value, list) else []


def evidence(page: dict[str, object]) -> list[str]:
    """The sources in words, those together that want the same."""
    rows, by_way = page["reads"], dict[str, dict[str, None]]()
    assert isinstance(rows, list)
    for row in rows:
        by_way.setdefault(row["way"], {})[row["source"]] = None
    return [f"{', '.join(names)}: {way}" for way, names in by_way.items()]


def thresholds(page: dict[str, object]) -> list[str]:
    """Each threshold with its value and its source."""
    table = page["thresholds"]
    assert isinstance(table, dict)
    return [f"{name} = {entry['value']:g}: {entry['source']}" for name, entry in table.items()]


def labelled(title: str, entries: list[str]) -> list[str]:
    """A title with its entries below it; nothing where there are none."""
    return [title, *(line for entry in entries for line in wrapped(entry, "  ")), ""] if entries else []


def wrapped(words: str, indent: str = "") -> list[str]:
    """Lines of at most 100 characters."""
    import textwrap

    return textwrap.wrap(words, width=100, initial_indent=indent, subsequent_indent=indent + ("  " if indent else ""))
