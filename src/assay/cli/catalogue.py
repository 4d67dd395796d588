"""`assay catalogue`: what there is, by kind, with a line of help each; `assay explain`: one rule in full."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from assay import catalogue as plugs
from assay.catalogue import CONSTANTS, Kind, Knob, Observer, Plug, Rule, Target, Workload, rule_named
from assay.experiment.knobs import default_text
from assay.laboratory import rule_pages
from assay.laboratory.rule_pages import Page
from assay.settings import profiles
from assay.terminal.output import at_most, deliver


def catalogue(json_to: str | None) -> int:
    """Print all targets, workloads, observers, rules and parsers, and the profiles that are shipped."""
    found: dict[str, list[dict[str, object]]] = {kind: entries(kind) for kind in CONSTANTS}
    found["profiles"] = [{"name": name, "help": profiles.read(name).summary} for name in profiles.shipped()]
    deliver(json_to, "catalogue", lambda: found, lambda: text(found))
    return 0


def entries(kind: Kind) -> list[dict[str, object]]:
    """The entries of one kind: name, help, and what else the kind has (knobs, evidence, id)."""
    return [{**described(plugs.find(kind, name)), "help": plugs.help_of(kind, name)} for name in plugs.names(kind)]


def described(entry: Plug) -> dict[str, object]:
    """What an entry says of itself."""
    if isinstance(entry, Rule):
        return {"name": entry.name, "id": entry.id, "scope": entry.scope.value, "severity": entry.severity.value}
    if isinstance(entry, Observer):
        return {"name": entry.name, "gives": list(entry.gives), "cost": entry.cost}
    if isinstance(entry, Target | Workload):
        return {"name": entry.name, "knobs": [knob(one) for one in entry.knobs]}
    return {"name": entry.name}


def knob(one: Knob) -> dict[str, object]:
    """A knob with what it takes and its default."""
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    takes = {"kind": one.kind.value, "choices": list(one.choices), "required": one.required}
    return {"name": one.name, "help": one.help, "default": default, **takes}


def text(found: dict[str, list[dict[str, object]]]) -> str:
    """One aligned block a kind; knobs below their owner."""
    lines: list[str] = []
    for kind, rows in found.items():
        titles = [f"{row['id']} {row['name']}" if "id" in row else str(row["name"]) for row in rows]
        width = max((len(title) for title in titles), default=0)
        lines += ["", kind]
        for title, row in sorted(zip(titles, rows, strict=True), key=lambda pair: pair[0]):
            lines.append(f"  {title:<{width}}  {row['help']}")
            if "knobs" in row:
                lines += knob_lines(plugs.find("targets" if kind == "targets" else "workloads", title).knobs)
    return "\n".join(lines[1:])


def knob_lines(knobs: Sequence[Knob]) -> list[str]:
    """The knobs of a target or workload, indented."""
    width = max((len(one.name) for one in knobs), default=0)
    return [f"      {one.name:<{width}}  {one.help}{defaulted(one)}" for one in knobs]


def defaulted(one: Knob) -> str:
    """What holds where the knob is not set."""
    if one.required:
        return " (required)"
    return "" if one.default in (None, "", ()) else f" (default: {default_text(one)})"


def explain(rule: str, json_to: str | None) -> int:
    """Print one rule by its id (`T01`) or name (`client-page-cache`). Raises UsageError naming the rules that exist."""
    page = rule_pages.page(*rule_named(rule))
    deliver(json_to, "explain", lambda: dict(page), lambda: page_text(page))
    return 0


def page_text(page: Page) -> str:
    """The page for people."""
    lines = [f"{page['id']} {page['name']}", page["summary"], ""]
    lines += labelled("what goes wrong", [page["wrong"]])
    lines += labelled("what to do", [page["advice"]])
    lines += labelled("what to do with `assay stat`", [page["at_shell"]] if page["at_shell"] else [])
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
    """Lines of at most 100 characters, or as the terminal has; examples as they are."""
    if words.startswith("```"):
        return [indent + line for line in words.splitlines()]
    return textwrap.wrap(words, at_most(100), initial_indent=indent, subsequent_indent=indent + ("  " if indent else ""))
