"""A fresh 389-ds: made without dscreate, its cache by its own counter, every transport, and nothing left."""

import re
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import ldap, service
from assay.machine.ldap import LdapAccess
from assay.targets import ldap_389ds
from assay.undo.ledger import Ledger
from directory_stage import given, needs, people
from rows import each
from targets_host import HOST, leftovers

TARGET = catalogue.find("targets", "ldap_389ds")
MIB = 1 << 20
pytestmark = needs("ns-slapd", "ldapsearch", "openssl", "certutil")


@pytest.fixture
def make(tmp_path):
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    yield lambda **knobs: given("ldap_389ds", ledger, tmp_path / "scratch", **{"ldif": people(tmp_path), **knobs})
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    ledger.close()
    assert leftovers(tmp_path / "scratch") == ([], [], [])


def test_the_life_of_a_server(make):
    etc = {path: path.stat().st_mtime_ns for path in Path("/etc/dirsrv").rglob("*")}
    setting = make(server__cache=64 * MIB, server__threads=8, durable=False)
    place = TARGET.prepare(HOST, setting)
    told = dict(TARGET.facts(HOST, place))
    assert told["setting.server.cache"] == str(64 * MIB), "maxentrycachesize, which the server counts itself"
    assert told["setting.server.threads"] == "8"
    assert told["setting.durable"] == "False"
    assert told["setting.backend"] == "bdb"
    assert "uid eq" in told["setting.indexes"]
    assert told["setting.software"].startswith("389-ds ")
    endpoint = TARGET.attach(HOST, setting, place, 0)
    door = LdapAccess(
        url=endpoint.address, bind_dn=str(endpoint.details["bind_dn"]), password_file=str(endpoint.details["password_file"])
    )
    assert ldap.count(HOST, door, "dc=example,dc=com") == 3
    before = Path(place.server.nodes[0].pid_file).read_text()
    TARGET.drop_caches(HOST, place)
    assert Path(place.server.nodes[0].pid_file).read_text() != before
    TARGET.teardown(HOST, setting, place)
    assert not service.is_running(HOST, str(place.private["directory"]))
    assert {path: path.stat().st_mtime_ns for path in Path("/etc/dirsrv").rglob("*")} == etc


@each("killed", False, True)
def test_its_semaphore_goes_with_it(tmp_path, killed):
    """A lab that was killed leaves the ledger alone."""
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    setting = given("ldap_389ds", ledger, tmp_path / "scratch", ldif=people(tmp_path))
    place = TARGET.prepare(HOST, setting)
    (folder,) = Path(str(place.private["directory"])).glob("slapd-*")
    semaphore = Path("/dev/shm", f"sem.{folder.name}.stats")
    assert semaphore.exists()
    if not killed:
        TARGET.teardown(HOST, setting, place)
        assert not semaphore.exists()
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    ledger.close()
    assert not semaphore.exists()


@pytest.mark.parametrize("transport", ["tls", "starttls", "ldapi"])
def test_every_transport_is_answered(make, transport):
    setting = make(transport=transport)
    place = TARGET.prepare(HOST, setting)
    known = TARGET.attach(HOST, setting, place, 0).details
    door = LdapAccess(
        url=place.address,
        bind_dn=str(known["bind_dn"]),
        password_file=str(known["password_file"]),
        ca_file=str(known.get("ca_file", "")),
        starttls=transport == "starttls",
    )
    assert ldap.count(HOST, door, "dc=example,dc=com") == 3
    TARGET.teardown(HOST, setting, place)


def test_no_index_is_there_that_was_not_asked_for(make):
    setting = make(indexes=("uid:eq",))
    place = TARGET.prepare(HOST, setting)
    indexes = dict(TARGET.facts(HOST, place))["setting.indexes"].split("; ")
    assert "uid eq" in indexes
    assert {one.split()[0] for one in indexes} - set(ldap_389ds.SYSTEM_INDEXES) == {"uid"}
    TARGET.teardown(HOST, setting, place)


def test_an_index_that_the_server_makes_by_itself_fails_the_trial(make, monkeypatch):
    monkeypatch.setattr(ldap_389ds, "USUAL_INDEX", re.compile("never"))
    with pytest.raises(TrialError, match=r"indexes: set to .*, and the running server has .*telephonenumber"):
        TARGET.prepare(HOST, make())


@pytest.mark.parametrize(
    ("line", "knobs", "words"),
    [
        ("nsslapd-threadnumber", {"server__threads": 8}, r"server\.threads: set to 8, and the running server has "),
        ("nsslapd-cachememsize", {"server__cache": 9 * MIB}, r"server\.cache: set to 9437184, and the running server has "),
        ("dn: cn=mail,cn=index", {}, r"indexes: set to .*mail eq; .*, and the running server has (?!.*mail)"),
        ("nsslapd-db-durable-transaction", {"durable": False}, "durable: set to False, and the running server has True"),
    ],
)
def test_a_setting_that_the_running_server_lacks_fails_the_trial(make, monkeypatch, line, knobs, words):
    filled, own = ldap_389ds._filled, ldap_389ds._own_entries
    monkeypatch.setattr(ldap_389ds, "_filled", lambda *given: without(filled(*given), line))
    monkeypatch.setattr(ldap_389ds, "_own_entries", lambda *given: [text for one in own(*given) if (text := without(one, line))])
    with pytest.raises(TrialError, match=words):
        TARGET.prepare(HOST, make(**knobs))


def without(text, line):
    """The text without the lines that begin so; nothing of an entry without its name."""
    kept = [one for one in text.splitlines() if not one.startswith(line)]
    return "" if line.startswith("dn:") and len(kept) < len(text.splitlines()) else "\n".join(kept)


def test_mistakes_are_seen_before_anything_is_made(make):
    wrong = make(
        server__cache=512_000, read_ahead=False, server__tool_threads=2, backend="mdb", durable=False, schema=("/etc/hostname",)
    )
    found = TARGET.check(HOST, wrong)
    for words in (
        "replaces exactly this size by one of its own choice. Use 512 KiB.",
        "found read_ahead; 389-ds has no such setting",
        "found server.tool_threads",
        "that switch for bdb only",
        "ends with .ldif",
    ):
        assert any(words in text for text in found), words
    with pytest.raises(UsageError):
        TARGET.prepare(HOST, wrong)
    (small,) = TARGET.check(HOST, make(server__cache=1000))
    assert re.search(r"expected more than 512000", small)


def test_a_port_in_use_is_refused(make):
    port = next(iter(sorted(service.listening(HOST))), None)
    if port is None:
        pytest.skip("nothing listens here")
    assert f"port {port} is in use" in " ".join(TARGET.check(HOST, make(server__port=port)))
