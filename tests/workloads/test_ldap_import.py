"""The plug `ldap_import`: its phases, its figures, its mistakes, and imports of real servers."""

import dataclasses

import pytest

from assay.catalogue import Order
from assay.errors import EvidenceError, UsageError
from assay.records import Direction, Endpoint, EndpointKind
from assay.workloads.ldap_import import WORKLOAD

DETAILS = {
    "state": "stopped",
    "importer": "/d/import",
    "counter": "/d/count",
    "storage": "/d/data",
    "ldif": "/d/x.ldif",
    "ldif_entries": 10_004,
    "ldif_bytes": 6_000_000,
    "data_files": ("/d/data/data.mdb",),
}
ENDPOINT = Endpoint(kind=EndpointKind.URL, address="ldap://h:1", details=DETAILS)


def phases(endpoint=ENDPOINT, **knobs):
    return WORKLOAD.phases(Order(workload="w", knobs=knobs, endpoints=(endpoint,), seed=1))


def test_an_import_is_followed_counted_and_flushed_inside_or_apart():
    imported, count = phases()
    assert imported.settings[0]["argv"] == ["/bin/sh", "/d/import", "none"]
    assert imported.settings[0]["follow"] == {"path": "/d/x.ldif", "entries": 10_004, "bytes": 6_000_000}
    assert (imported.directions, imported.data_files) == ({"import": Direction.WRITE}, ("/d/data/data.mdb",))
    assert (imported.flush_in_clock, imported.is_drained) == (False, True)
    assert (count.measured, count.settings[0]["argv"]) == (False, ["/bin/sh", "/d/count"])
    imported, _ = phases(flush="inside")
    assert imported.flush_in_clock
    assert imported.settings[0]["argv"][-1] == "inside"
    imported, flush, _ = phases(flush="apart")
    assert (imported.is_drained, flush.is_first) == (False, False), "nothing is flushed between the two"
    assert flush.settings[0]["argv"][-1] == "/d/data"
    assert WORKLOAD.operations({"flush": "apart"}) == {"import": "ops_per_s", "flush": "elapsed_ns"}


def test_the_clock_counts_and_the_importers_own_figure_stays_beside_it():
    own = "Import complete.  Processed 10004 entries in 10 seconds. (1000.40 entries/sec)"
    output = f"{own}\nassay-import entries=10004 bytes=6000000\n"
    found = WORKLOAD.parse({}, output, 12_000_000_000)
    assert found["import.ops_per_s"] == pytest.approx(10_004 / 12)
    assert found["import.bytes_per_s"] == 500_000
    assert (found["importer.count"], found["importer.elapsed_ns"]) == (10_004, 10e9)
    assert WORKLOAD.parse({}, "entries 10004 of 10004\n", 5) == {"count.count": 10_004, "count.elapsed_ns": 5}
    assert WORKLOAD.parse({}, "", 7) == {"flush.elapsed_ns": 7}
    with pytest.raises(EvidenceError, match="expected the end of an import"):
        WORKLOAD.parse({}, "something else", 7)


def test_an_import_online_adds_entry_after_entry_and_counts_by_a_search():
    online = {**DETAILS, "state": "empty", "base": "dc=x", "bind_dn": "cn=admin,dc=x", "password_file": "/d/password"}
    endpoint = dataclasses.replace(ENDPOINT, details=online)
    imported, count = phases(endpoint, mode="online", connections=8, flush="inside")
    (setting,) = imported.settings
    assert (imported.engine, imported.flush_in_clock, imported.directions) == ("ldap", True, {"import": Direction.WRITE})
    assert setting["operations"] == [{"name": "import", "kind": "add", "ldif": "/d/x.ldif"}]
    assert (setting["connections"], setting["bind"], setting["flush_directory"]) == (8, "once", "/d/data")
    assert "ldapsearch -H ldap://h:1 -D cn=admin,dc=x -y /d/password" in count.settings[0]["argv"][-1]
    assert "-eq 10004 ]" in count.settings[0]["argv"][-1]
    imported, flush, _ = phases(endpoint, mode="online", flush="apart")
    assert (imported.settings[0]["flush_directory"], imported.is_drained, flush.name) == (None, False, "flush")


def test_mistakes_offline_and_online():
    assert WORKLOAD.check({"clients": 2}) == ("found clients = 2; expected 1: one import fills one database",)
    running = dataclasses.replace(ENDPOINT, details={**DETAILS, "state": "running"})
    with pytest.raises(UsageError, match="found a target with state = running; expected state = stopped"):
        phases(running)
    with pytest.raises(UsageError, match="expected kind = ldap_openldap or ldap_389ds"):
        phases(dataclasses.replace(ENDPOINT, details={"base": "dc=x"}))
    assert WORKLOAD.check({"connections": 2, "depth": 3}) == (
        "found connections and depth with mode = offline; expected mode = online with them",
    )
    assert WORKLOAD.check({"mode": "online", "connections": 2}) == ()
    with pytest.raises(UsageError, match="found a target with state = stopped; expected state = empty"):
        phases(mode="online")
    secure = dataclasses.replace(ENDPOINT, details={**DETAILS, "state": "empty", "starttls": "on"})
    with pytest.raises(UsageError, match="found depth with StartTLS"):
        phases(secure, mode="online", depth=2)
    assert [plan.name for plan in phases(Endpoint(kind=EndpointKind.DIRECTORY, address="/"), flush="apart")] == [
        "import",
        "flush",
        "count",
    ]
