"""`assay explain RULE`: what a rule means, how it sees it, what else it could be and what to do."""

from __future__ import annotations

from assay.catalogue import rule_named
from assay.laboratory import rule_pages
from assay.laboratory.rule_pages import Page
from assay.terminal.output import deliver


def explain(rule: str, json_to: str | None) -> int:
    """Print one rule by its id (`T01`) or name (`client-page-cache`). Raises UsageError naming the rules that exist."""
    page = rule_pages.page(*rule_named(rule))
    deliver(json_to, "explain", lambda: dict(page), lambda: text(page))
    return 0


def text(page: Page) -> str:
    """The page for people."""
    lines = [f"{page['id']} {page['name']}", page["summary"], ""]
    lines += labelled("what goes wrong", [page["wrong"]])
    lines += labelled("how it is seen", list(rule_pages.blocks(page["how"])))
    lines += [*labelled("judges", [page["judges"]]), *labelled("applies", [page["applies"]])]
    lines += labelled("severity", [page["severity"]])
    lines += labelled("evidence, and what a machine must have for it", evidence(page))
    for title, entries in (("needs", page["needs"]), ("SOUND needs it for", page["needed_by"])):
        lines += labelled(title, [", ".join(entries)] if entries else [])
    lines += labelled(
        "thresholds", [f"{name} = {one['value']:,.10g}: {one['source']}" for name, one in page["thresholds"].items()]
    )
    lines += labelled("what else it could be", page["alternatives"])
    lines += labelled("what to do", [page["advice"]])
    lines += labelled("sources", page["sources"])
    return "\n".join(lines).rstrip()


def evidence(page: Page) -> list[str]:
    """The sources in words, those together that want the same."""
    by_way = dict[str, dict[str, None]]()
    for row in page["reads"]:
        by_way.setdefault(row["way"], {})[row["source"]] = None
    return [f"{', '.join(names)}: {way}" for way, names in by_way.items()]


def labelled(title: str, entries: list[str]) -> list[str]:
    """A title with its entries below it; nothing where there are none."""
    return [title, *(line for entry in entries for line in wrapped(entry, "  ")), ""] if entries else []


def wrapped(words: str, indent: str = "") -> list[str]:
    """Lines of at most 100 characters; examples as they are."""
    import textwrap

    if words.startswith("```"):
        return [indent + line for line in words.splitlines()]
    return textwrap.wrap(words, width=100, initial_indent=indent, subsequent_indent=indent + ("  " if indent else ""))
