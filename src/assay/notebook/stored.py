"""Stored values as records: of any schema of the notebook, and of verdicts whose findings are mostly alike.

Schema 1. All that its notebooks kept without a host was of `local`. It is recognised by its fields and words, value by value: a
notebook may hold runs of both schemas.

Verdicts. Of the findings on thousands of runs most are alike but for their subject, and are decoded once. The text is taken apart
at marks that canonical JSON (`files.to_json`: names sorted, no spaces) has nowhere else: a quotation mark within a text has a
backslash before it, and one that ends a text has no letter behind it. What cannot be taken apart so is read as a whole.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from assay import plain
from assay.errors import DamagedError
from assay.frozen import altered
from assay.records import Finding, Verdict

HOST = "local"
OF_A_HOST = ("cache_proved", "cached_share_before", "quiesce_ns", "quiet", "drain_ns")
"""Fields of a phase that are kept by host today."""
KNOBS = {"io_path": "ioengine", "chill": "drop_caches"}
WORDS = {"as-left": "unchanged"}
LAYERS = {"foreign": "other_processes"}
Values = dict[str, Any]
T = TypeVar("T")


def read(kind: type[T], today: Callable[[Values], Values], values: Values) -> T:
    """A record from values of any schema. Raises DamagedError."""
    try:
        return plain.from_plain(kind, today(values))
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"no valid {kind.__name__} ({error})") from error


def run(values: Values) -> Values:
    """A run. Raises KeyError, TypeError or AttributeError where it is none."""
    phases, places = [_phase(one) for one in values["phases"]], [_place(one) for one in values["places"]]
    return {**values, "trial": _trial(values["trial"]), "phases": phases, "places": places}


def facts(values: Values) -> Values:
    """Facts, missing evidence and gaps of a run. Raises KeyError or AttributeError where they are none."""
    missing, gaps = values["missing"], values["gaps"]
    if isinstance(missing, Mapping):
        missing = [{"host": HOST, "phase": _cold(key), "key": _key(key), "reason": why} for key, why in missing.items()]
    if isinstance(gaps, Mapping):
        gaps = [{"host": HOST, "phase": None, "observer": name, "thousandths": gap} for name, gap in gaps.items()]
    return {**values, "missing": missing, "gaps": gaps}


def experiment(values: Values) -> Values:
    """An experiment. Raises KeyError, TypeError or AttributeError where it is none."""
    workloads = [{**_knobs(one), "events": [*map(_event, one.get("events", ()))]} for one in values["workloads"]]
    factors = [{**one, "path": _path(one["path"]), "levels": [*map(_word, one["levels"])]} for one in values["factors"]]
    targets, compare = [*map(_knobs, values["targets"])], values.get("compare")
    return {**values, "targets": targets, "workloads": workloads, "factors": factors, "compare": compare and _path(compare)}


def plan(values: Values) -> Values:
    """A plan. Raises KeyError, TypeError or AttributeError where it is none."""
    return {**values, "trials": [*map(_trial, values["trials"])]}


def column(name: str) -> str:
    """Return the SQL of a column of a Parquet file, with the words of today."""
    if name == "layer":
        words = " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in LAYERS.items())
        return f'CASE layer {words} ELSE layer END AS "layer"'
    return "replace(metric, '.band_', '.bucket_') AS \"metric\"" if name == "metric" else f'"{name}"'


def _trial(values: Values) -> Values:
    return {**values, "levels": {_path(path): _word(level) for path, level in values["levels"].items()}}


def _knobs(values: Values) -> Values:
    return {**values, "knobs": {KNOBS.get(name, name): _word(value) for name, value in values["knobs"].items()}}


def _path(path: str) -> str:
    """The path of a knob: TARGET or WORKLOAD, and the knob."""
    owner, dot, knob = path.partition(".")
    return f"{owner}{dot}{KNOBS.get(knob, knob)}"


def _word(value: object) -> object:
    return WORDS.get(value, value) if isinstance(value, str) else value


def _cold(key: str) -> str | None:
    """The phase that a key of missing evidence named behind a colon."""
    return key.partition(":")[2] or None


def _key(key: str) -> str:
    """The key without the phase."""
    layer, dot, metric = key.partition(":")[0].partition(".")
    return f"{LAYERS.get(layer, layer)}{dot}{metric}"


def _phase(values: Values) -> Values:
    kept = {name: _word(item) for name, item in values.items() if name not in OF_A_HOST}
    if "hosts" not in kept:
        kept["hosts"] = [{"host": HOST, **{name: values[name] for name in OF_A_HOST if name in values}}]
    return {**kept, "clients": [{**one, "errors": [*map(_error, one.get("errors", ()))]} for one in values["clients"]]}


def _error(values: Values) -> Values:
    return {("code" if name == "errno" else name): item for name, item in values.items()}


def _place(values: Values) -> Values:
    server = values.get("server")
    if not server or "nodes" in server:
        return values
    return {**values, "server": {"nodes": [{"host": values["host"], **server}]}}


def _event(values: Values) -> Values:
    if "run" not in values:
        return values
    kept = {name: item for name, item in values.items() if name not in ("run", "host")}
    return {**kept, "on": values.get("host", HOST), "argv": values["run"]}


MOST_TEXTS = 8192
"""So many different findings are remembered, about 2 kB each; those that many runs share come back soon."""
FIRST = min(one.name for one in fields(Finding))
BEFORE = '"findings":['
AFTER = f'],"{min(one.name for one in fields(Verdict) if one.name > "findings")}":'
OPEN, BETWEEN, CLOSE = f'{{"{FIRST}":', f'}},{{"{FIRST}":', "}"
"""Where the first finding of a list begins, where one ends and the next begins, where the last one ends."""
NOBODY = '"subject":0'
"""Stands for the subject of the verdict, which all of its findings have."""


def verdicts(text: str) -> tuple[Mapping[str, Verdict], Mapping[str, Any]]:
    """Return the verdicts by measure in the text of a file, and the rest of what it holds as plain values.

    Raises ValueError where it is no JSON; DamagedError, KeyError, TypeError or AttributeError where it holds something else.
    """
    try:
        return taken_apart(text)
    except (ValueError, DamagedError, KeyError, TypeError, AttributeError):
        whole = json.loads(text)
        return {measure: plain.from_plain(Verdict, one) for measure, one in whole["verdicts"].items()}, whole


def taken_apart(text: str) -> tuple[Mapping[str, Verdict], Mapping[str, Any]]:
    """As `verdicts`, equal findings decoded once. Raises one of the same errors where the text is of another form."""
    head, *lists = text.split(BEFORE)
    parts = [one.partition(AFTER) for one in lists]
    whole = json.loads(head + "".join(f"{BEFORE}{mark}{rest}" for _, mark, rest in parts))
    bare = {measure: plain.from_plain(Verdict, one) for measure, one in whole["verdicts"].items()}
    found = zip(bare.items(), parts, strict=True)
    return {measure: replace(one, findings=findings(listed, one.subject)) for (measure, one), (listed, _, _) in found}, whole


def findings(listed: str, subject: str) -> tuple[Finding, ...]:
    """Return the findings of a verdict on this subject, from the text between their brackets. Raises ValueError, DamagedError."""
    if not listed:
        return ()
    if not (listed.startswith(OPEN) and listed.endswith(CLOSE)):
        raise ValueError(f"found findings that do not begin with {OPEN} or do not end with {CLOSE}")
    own = f'"subject":{json.dumps(subject)}'
    texts = listed[len(OPEN) : -len(CLOSE)].replace(own, NOBODY).split(BETWEEN)
    if listed.count(own) != len(texts):
        raise ValueError("found findings on something else, too, or a subject within one")
    return altered(Finding, map(finding, texts), subject=subject)


@functools.lru_cache(MOST_TEXTS)
def finding(text: str) -> Finding:
    """Return a finding on nobody, from the text behind its first name. Raises ValueError, DamagedError."""
    value = json.loads(f"{OPEN}{text}{CLOSE}")
    if value.pop("subject") != 0:
        raise ValueError("found a subject within a finding")
    return plain.from_plain(Finding, {**value, "subject": ""})
