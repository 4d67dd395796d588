"""`assay catalogue`: what there is, by kind, with a line of help each."""

from __future__ import annotations

from assay import catalogue as plugs
from assay.catalogue import CONSTANTS, Kind, Knob, Observer, Plug, Rule, Target, Workload
from assay.settings import profiles
from assay.terminal.output import deliver


def catalogue(json_to: str | None) -> int:
    """Print all targets, workloads, observers, rules and parsers, and the profiles that are shipped."""
    found: dict[str, list[dict[str, object]]] = {kind: entries(kind) for kind in CONSTANTS}
    found["profiles"] = [{"name": name, "help": profiles.read(name).summary} for name in profiles.shipped()]
    deliver(json_to, "catalogue", lambda: found, lambda: text(found))
    return 0


def entries(kind: Kind) -> list[dict[str, object]]:
    """The entries of one kind: name, help, and what else the kind has (knobs, evidence, id)."""
    return [{**described(plug(kind, name)), "help": plugs.help_of(kind, name)} for name in plugs.names(kind)]


def plug(kind: Kind, name: str) -> Plug:
    """One entry; the kinds are spelled out, since each has a type of its own."""
    match kind:
        case "targets":
            return plugs.find("targets", name)
        case "workloads":
            return plugs.find("workloads", name)
        case "observers":
            return plugs.find("observers", name)
        case "rules":
            return plugs.find("rules", name)
        case "parsers":
            return plugs.find("parsers", name)


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
            lines += knob_lines(row.get("knobs"))
    return "\n".join(lines[1:])


def knob_lines(knobs: object) -> list[str]:
    """The knobs of a target or workload, indented."""
    if not isinstance(knobs, list) or not knobs:
        return []
    width = max(len(one["name"]) for one in knobs)
    return [f"      {one['name']:<{width}}  {one['help']}{defaulted(one)}" for one in knobs]


def defaulted(one: dict[str, object]) -> str:
    """What holds where the knob is not set."""
    if one["required"]:
        return " (required)"
    return "" if one["default"] is None else f" (default: {one['default']})"
