"""Dissected captures in a notebook: one JSON file each, and their rows for SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.errors import DamagedError, UsageError
from assay.notebook import files

FOLDER = "captures"
SCHEMA = "assay.dissect/1"
Row = tuple[object, ...]
TIMES = ("n", "sum", "max", "p50", "p90", "p99", "p999")
TIME_COLUMNS = ", ".join(f"response_{name}_ns BIGINT" for name in TIMES[1:])

COLUMNS: Mapping[str, str] = {
    "ldap_operations": (
        "capture VARCHAR, started_ns BIGINT, complete BOOLEAN, operation VARCHAR, requests BIGINT, answered BIGINT, "
        f"unanswered BIGINT, timed BIGINT, {TIME_COLUMNS}, first_entry_n BIGINT, first_entry_p50_ns BIGINT, "
        "first_entry_p99_ns BIGINT, request_bytes BIGINT, answer_bytes BIGINT, result_codes JSON"
    ),
    "ldap_filters": (
        "capture VARCHAR, filter VARCHAR, count BIGINT, answered BIGINT, entries BIGINT, bytes BIGINT, timed BIGINT, "
        f"{TIME_COLUMNS}, result_codes JSON"
    ),
    "ldap_clients": (
        "capture VARCHAR, client VARCHAR, connections BIGINT, operations BIGINT, answered BIGINT, answer_bytes BIGINT, "
        "response_sum_ns BIGINT, response_max_ns BIGINT, requests JSON"
    ),
    "ldap_uses": (
        "capture VARCHAR, client VARCHAR, operation VARCHAR, filter VARCHAR, code BIGINT, count BIGINT, entries BIGINT, "
        "timed BIGINT, response_sum_ns BIGINT, response_max_ns BIGINT"
    ),
    "ldap_binds": "capture VARCHAR, client VARCHAR, mechanism VARCHAR, layer VARCHAR, binds BIGINT, failed BIGINT",
}


def save(lab: Path, values: Mapping[str, object], now: datetime) -> Path:
    """Keep a dissected capture under the time of the call. Raises UsageError where it is taken, RefusedError."""
    path = lab / FOLDER / f"{now:%Y%m%dT%H%M%S.%f}Z.json"
    if path.exists():
        raise UsageError(f"found {path}; expected a name that is free")
    files.write_whole(path, json.dumps({"schema": SCHEMA, **values}).encode())
    return path


def kept(lab: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each capture's name and values; what cannot be read is left out."""
    for path in sorted((lab / FOLDER).glob("*.json")):
        try:
            found = files.read_json(path)
        except DamagedError:
            continue
        if isinstance(found, dict) and found.get("schema") == SCHEMA:
            yield path.stem, found


def rows(table: str, lab: Path) -> list[Row]:
    """Return the rows of a table."""
    return [(name, *row) for name, values in kept(lab) for row in ROWS[table](values)]


def _times(figures: Mapping[str, Any]) -> Row:
    return tuple(figures[name] for name in TIMES)


def _operations(values: Mapping[str, Any]) -> Iterator[Row]:
    for one in values["operations"]:
        first = one["first_entry_ns"]
        yield (
            *(values["start_ns"], values["complete"], one["operation"], one["requests"], one["answered"], one["unanswered"]),
            *_times(one["response_ns"]),
            *(first["n"], first["p50"], first["p99"], one["request_bytes"], one["answer_bytes"]),
            json.dumps(one["result_codes"]),
        )


def _filters(values: Mapping[str, Any]) -> Iterator[Row]:
    for one in values["filters"]:
        counts = (one["filter"], one["count"], one["answered"], one["entries"], one["bytes"])
        yield (*counts, *_times(one["response_ns"]), json.dumps(one["result_codes"]))


def _clients(values: Mapping[str, Any]) -> Iterator[Row]:
    for one in values["clients"]:
        yield (
            *(one["client"], one["connections"], sum(one["requests"].values()), one["answered"], one["answer_bytes"]),
            *(one["response_sum_ns"], one["response_max_ns"], json.dumps(one["requests"])),
        )


def _named(table: str) -> Callable[[Mapping[str, Any]], Iterator[Row]]:
    """Return the rows whose columns have the names in the result; a capture that was kept before has none."""
    names = [column.split()[0] for column in COLUMNS[table].split(", ")[1:]]
    field = table.removeprefix("ldap_")
    return lambda values: (tuple(one[name] for name in names) for one in values.get(field, ()))


ROWS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    "ldap_operations": _operations,
    "ldap_filters": _filters,
    "ldap_clients": _clients,
    "ldap_uses": _named("ldap_uses"),
    "ldap_binds": _named("ldap_binds"),
}
