"""A fresh slapd: settings read back, every transport, cold files, mistakes before anything is made, and nothing left."""

import dataclasses
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import ldap, service
from assay.targets import ldap_openldap
from stage.directory_stage import PEOPLE, door, needs, people
from stage.rows import each
from stage.targets_host import HOST, placing

TARGET = catalogue.find("targets", "ldap_openldap")
BASE = "dc=example,dc=com"
pytestmark = needs("slapd", "slapadd", "ldapsearch", "openssl")


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path, ldif=people(tmp_path)) as place:
        yield place


def test_the_life_of_a_server(placed):
    made = placed(server__threads=4, indexes=("uid:eq", "cn:eq,sub"), durable=False, read_ahead=False)
    place, told = made.place, made.facts()
    assert told["setting.server.threads"] == "4"
    assert told["setting.indexes"] == "cn eq sub; eq uid"
    assert (told["setting.durable"], told["setting.read_ahead"]) == ("False", "False")
    assert told["setting.environment flags"] == "nordahead nosync"
    assert told["setting.entries"] == "3"
    assert told["setting.software"].startswith("OpenLDAP 2.")
    (node,) = place.server.nodes
    assert (node.software, node.data, place.directory) == ("slapd", (place.storage,), place.storage)
    assert service.is_running(HOST, str(place.private["directory"]))
    endpoint = made.attached()
    assert ldap.count(HOST, door(endpoint), BASE) == 3
    pid = Path(node.pid_file).read_text()
    password = Path(str(endpoint.details["password_file"])).read_text()
    assert password not in repr((place, endpoint, told, Path(f"/proc/{pid.strip()}/cmdline").read_text()))
    assert Path(str(place.private["directory"])).stat().st_mode & 0o077 == 0
    TARGET.drop_caches(HOST, place)
    assert Path(node.pid_file).read_text() != pid, "cold: the server was started again"
    assert ldap.count(HOST, door(made.attached()), BASE) == 3
    made.end()
    assert not service.is_running(HOST, str(place.private["directory"]))


@each("transport", "tcp", "tls", "starttls", "ldapi")
def test_every_transport_is_answered_and_an_unknown_authority_is_refused(placed, tmp_path, transport):
    made = placed(transport=transport)
    known = door(made.attached())
    assert ldap.count(HOST, known, BASE) == 3
    if transport in ("tls", "starttls"):
        other = ("-subj", "/CN=Other", "-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "other.pem"))
        HOST.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *other])
        with pytest.raises(TrialError, match=r"contact|TLS|Connect"):
            ldap.count(HOST, dataclasses.replace(known, ca_file=str(tmp_path / "other.pem")), BASE)
    made.end()


def test_a_server_without_entries_and_one_that_is_not_started(placed):
    assert placed(state="empty").place.server is not None
    made = placed(state="stopped")
    assert made.place.server is None
    assert not service.is_running(HOST, str(made.place.private["directory"]))
    assert made.facts()["setting.server.threads"] == "16", "read back while it ran"


SHOES = "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n"


@each(
    "line knobs words",
    ("threads ", {"server__threads": 4}, r"server\.threads: set to 4, and the running server has 16"),
    ("tool-threads ", {"server__tool_threads": 2}, r"server\.tool_threads: set to 2, and the running server has 1"),
    ("index mail", {}, r"indexes: set to eq mail; eq objectclass; eq uid, and the running server has eq objectclass; eq uid"),
    ("envflags ", {"durable": False}, "environment flags: set to nosync, and the running server has "),
    ("envflags ", {"read_ahead": False}, "environment flags: set to nordahead, and the running server has "),
    ("include ", {"schema": ("shoes.schema",)}, "schema: set to 1 definitions, and the running server has .*shoesize"),
    ("index ", {"state": "empty"}, "indexes: set to eq mail"),
    ("index ", {"state": "stopped"}, "indexes: set to eq mail"),
)
def test_a_setting_that_the_running_server_lacks_fails_the_trial(placed, tmp_path, monkeypatch, line, knobs, words):
    written = ldap_openldap._server_lines
    begins = f"{line}{tmp_path}" if "schema" in knobs else line
    monkeypatch.setattr(
        ldap_openldap, "_server_lines", lambda *given: [one for one in written(*given) if not one.startswith(begins)]
    )
    if "schema" in knobs:
        knobs = {"schema": (people(tmp_path, SHOES, "shoes.schema"),)}
    with pytest.raises(TrialError, match=words):
        placed(**knobs)


def test_entries_where_none_should_be_or_that_the_server_refuses_fail_the_trial(placed, tmp_path, monkeypatch):
    with pytest.raises(TrialError, match=r"str2ad\(msisdn\): attribute type undefined"):
        placed(ldif=people(tmp_path, f"{PEOPLE}msisdn: 1\n", "wrong.ldif"))
    real = ldap.count
    monkeypatch.setattr(ldap, "count", lambda *given: real(*given) + 1)
    with pytest.raises(TrialError, match="entries: set to 0, and the running server has 1"):
        placed(state="stopped")
    with pytest.raises(TrialError, match="entries: set to 3, and the running server has 4"):
        placed()


def test_mistakes_are_seen_before_anything_is_made(placed):
    wrong = {"server__cache": 1 << 20, "backend": "bdb", "schema": ("/etc/hostname",), "indexes": ("what:eq",), "ldif": None}
    found = " ".join(placed.check(**wrong))
    for words in ("slapd with mdb has no cache of its own", "no such backend. Use mdb", "ends with .schema"):
        assert words in found
    with pytest.raises(UsageError):
        placed(**wrong)
    assert list(placed.scratch.iterdir()) == []


def test_a_missing_server_is_named_with_its_package_and_a_long_path_gets_its_socket_elsewhere(tmp_path):
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    with placing(TARGET, deep, ldif=people(tmp_path)) as placed:
        made = placed()
        lost = dataclasses.replace(ldap_openldap.SOFTWARE, packages={"no-slapd": "slapd"})
        found = ldap_openldap.directory_server.check(lost, HOST, made.setting)
        assert found == ("no-slapd: not found. Install slapd.",)
        folder = Path(str(made.place.private["socket"])).parent
        assert folder.parent == Path("/tmp")
        made.end()
        assert not folder.exists()
