"""Dissected captures in a notebook: kept once, damaged ones left out, rows for SQL."""

from datetime import UTC, datetime

import pytest

from assay.dissect import result
from assay.errors import UsageError
from assay.notebook import captures, sql
from assay.plain import to_plain
from ldap_results import found, operation

NOW = datetime(2026, 11, 25, 12, 0, 0, 5, tzinfo=UTC)


def kept(made: result.Dissection) -> dict[str, object]:
    plain = {"filters": to_plain(made.filters), "clients": to_plain(made.clients)}
    return {**made.values, **plain, "complete": made.complete}


def test_the_tables_have_what_was_kept(tmp_path):
    made = found(operations=[operation("search", 100), operation("unbind", 2, answered=0)])
    captures.save(tmp_path, kept(made), NOW)
    rows = sql.query(tmp_path, "SELECT capture, operation, requests, response_p99_ns, complete FROM ldap_operations").rows
    assert rows == (("20261125T120000.000005Z", "search", 100, 5_000_000, True), (*rows[0][:1], "unbind", 2, 5_000_000, True))
    filters = "SELECT filter, count, entries, CAST(result_codes->>'0' AS INTEGER) FROM ldap_filters"
    assert sql.query(tmp_path, filters).rows == (("(uid=?)", 100, 100, 100),)
    assert sql.query(tmp_path, "SELECT client, operations FROM ldap_clients").rows == (("10.0.0.1", 100),)


def test_a_capture_is_never_overwritten_and_damaged_ones_are_left_out(tmp_path):
    assert sql.query(tmp_path, "SELECT * FROM ldap_operations").rows == ()
    captures.save(tmp_path, kept(found()), NOW)
    with pytest.raises(UsageError, match="free"):
        captures.save(tmp_path, kept(found()), NOW)
    (tmp_path / captures.FOLDER / "other.json").write_text("{")
    (tmp_path / captures.FOLDER / "later.json").write_text('{"schema": "assay.dissect/9"}')
    assert [name for name, _ in captures.kept(tmp_path)] == ["20261125T120000.000005Z"]
