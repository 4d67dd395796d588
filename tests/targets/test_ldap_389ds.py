"""A fresh 389-ds: made without dscreate, its cache by its own counter, every transport, and nothing left."""

import re
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import ldap, service
from assay.targets import ldap_389ds
from stage.directory_stage import door, needs, people
from stage.rows import each
from stage.targets_host import HOST, MIB, placing

TARGET = catalogue.find("targets", "ldap_389ds")
pytestmark = needs("ns-slapd", "ldapsearch", "openssl", "certutil")


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path, ldif=people(tmp_path)) as place:
        yield place


def semaphore(made):
    (folder,) = Path(str(made.place.private["directory"])).glob("slapd-*")
    return Path("/dev/shm", f"sem.{folder.name}.stats")


def test_the_life_of_a_server(placed):
    etc = {path: path.stat().st_mtime_ns for path in Path("/etc/dirsrv").rglob("*")}
    made = placed(server__cache=64 * MIB, server__threads=8, durable=False)
    place, told, shared = made.place, made.facts(), semaphore(made)
    assert told["setting.server.cache"] == str(64 * MIB), "maxentrycachesize, which the server counts itself"
    assert told["setting.server.threads"] == "8"
    assert told["setting.durable"] == "False"
    assert told["setting.backend"] == "bdb"
    assert "uid eq" in told["setting.indexes"]
    assert told["setting.software"].startswith("389-ds ")
    assert ldap.count(HOST, door(made.attached()), "dc=example,dc=com") == 3
    before = Path(place.server.nodes[0].pid_file).read_text()
    TARGET.drop_caches(HOST, place)
    assert Path(place.server.nodes[0].pid_file).read_text() != before
    assert shared.exists()
    made.end()
    assert not shared.exists()
    assert not service.is_running(HOST, str(place.private["directory"]))
    assert {path: path.stat().st_mtime_ns for path in Path("/etc/dirsrv").rglob("*")} == etc


def test_after_a_kill_of_the_lab_the_ledger_alone_removes_its_semaphore(tmp_path):
    with placing(TARGET, tmp_path, ldif=people(tmp_path)) as placed:
        made = placed()
        shared = semaphore(made)
        assert shared.exists()
        assert [one for one in placed.ledger.unwind() if one.state == "left"] == []
        made.place = None
    assert not shared.exists()


@each("transport", "tls", "starttls", "ldapi")
def test_every_transport_is_answered(placed, transport):
    made = placed(transport=transport)
    assert ldap.count(HOST, door(made.attached()), "dc=example,dc=com") == 3
    made.end()


def test_no_index_is_there_that_was_not_asked_for(placed, monkeypatch):
    indexes = placed(indexes=("uid:eq",)).facts()["setting.indexes"].split("; ")
    assert "uid eq" in indexes
    assert {one.split()[0] for one in indexes} - set(ldap_389ds.SYSTEM_INDEXES) == {"uid"}
    monkeypatch.setattr(ldap_389ds, "USUAL_INDEX", re.compile("never"))
    with pytest.raises(TrialError, match=r"indexes: set to .*, and the running server has .*telephonenumber"):
        placed()


@each(
    "line knobs words",
    ("nsslapd-threadnumber", {"server__threads": 8}, r"server\.threads: set to 8, and the running server has "),
    ("nsslapd-cachememsize", {"server__cache": 9 * MIB}, r"server\.cache: set to 9437184, and the running server has "),
    ("dn: cn=mail,cn=index", {}, r"indexes: set to .*mail eq; .*, and the running server has (?!.*mail)"),
    ("nsslapd-db-durable-transaction", {"durable": False}, "durable: set to False, and the running server has True"),
)
def test_a_setting_that_the_running_server_lacks_fails_the_trial(placed, monkeypatch, line, knobs, words):
    filled, own = ldap_389ds._filled, ldap_389ds._own_entries
    monkeypatch.setattr(ldap_389ds, "_filled", lambda *given: without(filled(*given), line))
    monkeypatch.setattr(ldap_389ds, "_own_entries", lambda *given: [text for one in own(*given) if (text := without(one, line))])
    with pytest.raises(TrialError, match=words):
        placed(**knobs)


def without(text, line):
    """The text without the lines that begin so; nothing of an entry without its name."""
    kept = [one for one in text.splitlines() if not one.startswith(line)]
    return "" if line.startswith("dn:") and len(kept) < len(text.splitlines()) else "\n".join(kept)


def test_mistakes_are_seen_before_anything_is_made(placed):
    wrong = {"server__cache": 512_000, "read_ahead": False, "server__tool_threads": 2, "backend": "mdb", "durable": False}
    wrong["schema"] = ("/etc/hostname",)
    found = placed.check(**wrong)
    for words in ("Use 512 KiB.", "found read_ahead", "found server.tool_threads", "for bdb only", "ends with .ldif"):
        assert any(words in text for text in found), words
    with pytest.raises(UsageError):
        placed(**wrong)
    (small,) = placed.check(server__cache=1000)
    assert "expected more than 512000" in small
    if port := next(iter(sorted(service.listening(HOST))), None):
        assert f"port {port} is in use" in " ".join(placed.check(server__port=port))
