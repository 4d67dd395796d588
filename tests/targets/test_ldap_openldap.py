"""A fresh slapd: settings read back, every transport, cold files, mistakes before anything is made, and nothing left."""

import dataclasses
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import ldap, service
from assay.machine.ldap import LdapAccess
from assay.targets import ldap_openldap
from assay.undo.ledger import Ledger
from directory_stage import PEOPLE, given, needs, people
from targets_host import HOST, leftovers

TARGET = catalogue.find("targets", "ldap_openldap")
pytestmark = needs("slapd", "slapadd", "ldapsearch", "openssl")


@pytest.fixture
def make(tmp_path):
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    yield lambda **knobs: given("ldap_openldap", ledger, tmp_path / "scratch", **{"ldif": people(tmp_path), **knobs})
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    ledger.close()
    assert leftovers(tmp_path / "scratch") == ([], [], [])


def client_of(endpoint):
    known = endpoint.details
    return LdapAccess(
        url=endpoint.address,
        bind_dn=str(known["bind_dn"]),
        password_file=str(known["password_file"]),
        ca_file=str(known.get("ca_file", "")),
        starttls=known.get("starttls") == "on",
    )


def test_the_life_of_a_server(make):
    setting = make(server__threads=4, indexes=("uid:eq", "cn:eq,sub"), durable=False, read_ahead=False)
    place = TARGET.prepare(HOST, setting)
    told = dict(TARGET.facts(HOST, place))
    assert told["setting.server.threads"] == "4"
    assert told["setting.indexes"] == "cn eq sub; eq uid"
    assert (told["setting.durable"], told["setting.read_ahead"]) == ("False", "False")
    assert told["setting.environment flags"] == "nordahead nosync"
    assert told["setting.entries"] == "3"
    assert told["setting.software"].startswith("OpenLDAP 2.")
    (node,) = place.server.nodes
    assert (node.software, node.data) == ("slapd", (place.storage,))
    assert place.directory == place.storage
    assert service.is_running(HOST, str(place.private["directory"]))
    endpoint = TARGET.attach(HOST, setting, place, 0)
    assert ldap.count(HOST, client_of(endpoint), "dc=example,dc=com") == 3
    TARGET.teardown(HOST, setting, place)
    assert not service.is_running(HOST, str(place.private["directory"]))


@pytest.mark.parametrize("transport", ["tcp", "tls", "starttls", "ldapi"])
def test_every_transport_is_answered_and_an_unknown_authority_is_refused(make, tmp_path, transport):
    setting = make(transport=transport)
    place = TARGET.prepare(HOST, setting)
    door = client_of(TARGET.attach(HOST, setting, place, 0))
    assert ldap.count(HOST, door, "dc=example,dc=com") == 3
    if transport in ("tls", "starttls"):
        other = ("-subj", "/CN=Other", "-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "other.pem"))
        HOST.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *other])
        stranger = dataclasses.replace(door, ca_file=str(tmp_path / "other.pem"))
        with pytest.raises(TrialError, match=r"contact|TLS|Connect"):
            ldap.count(HOST, stranger, "dc=example,dc=com")
    TARGET.teardown(HOST, setting, place)


def test_no_password_is_in_arguments_records_or_facts(make):
    setting = make()
    place = TARGET.prepare(HOST, setting)
    endpoint = TARGET.attach(HOST, setting, place, 0)
    password = Path(str(endpoint.details["password_file"])).read_text()
    pid = Path(place.server.nodes[0].pid_file).read_text().strip()
    seen = repr((place, endpoint, TARGET.facts(HOST, place), Path(f"/proc/{pid}/cmdline").read_text()))
    assert password not in seen
    assert Path(str(place.private["directory"])).stat().st_mode & 0o077 == 0
    TARGET.teardown(HOST, setting, place)


def test_a_server_without_entries_and_one_that_is_not_started(make):
    setting = make(state="empty")
    place = TARGET.prepare(HOST, setting)
    assert place.server is not None
    TARGET.teardown(HOST, setting, place)
    setting = make(state="stopped")
    place = TARGET.prepare(HOST, setting)
    assert place.server is None
    assert not service.is_running(HOST, str(place.private["directory"]))
    assert dict(TARGET.facts(HOST, place))["setting.server.threads"] == "16", "read back while it ran"
    TARGET.teardown(HOST, setting, place)


def test_cold_restarts_the_server(make):
    setting = make()
    place = TARGET.prepare(HOST, setting)
    before = Path(place.server.nodes[0].pid_file).read_text()
    TARGET.drop_caches(HOST, place)
    assert Path(place.server.nodes[0].pid_file).read_text() != before
    assert ldap.count(HOST, client_of(TARGET.attach(HOST, setting, place, 0)), "dc=example,dc=com") == 3
    TARGET.teardown(HOST, setting, place)


def test_a_setting_that_is_not_in_force_fails_the_trial(make, monkeypatch):
    monkeypatch.setattr(ldap_openldap, "_threads", lambda instance: 4)
    lying = dataclasses.replace(
        ldap_openldap.SOFTWARE,
        read_back=lambda host, instance: [
            dataclasses.replace(one, wanted="5") if one.knob == "server.threads" else one
            for one in ldap_openldap.read_back(host, instance)
        ],
    )
    with pytest.raises(TrialError, match=r"server\.threads: set to 5, and the running server has 4"):
        ldap_openldap.directory_server.prepare(lying, HOST, make())


SHOES = "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n"


@pytest.mark.parametrize(
    ("line", "knobs", "words"),
    [
        ("threads ", {"server__threads": 4}, r"server\.threads: set to 4, and the running server has 16"),
        ("tool-threads ", {"server__tool_threads": 2}, r"server\.tool_threads: set to 2, and the running server has 1"),
        ("index mail", {}, r"indexes: set to eq mail; eq objectclass; eq uid, and the running server has eq objectclass; eq uid"),
        ("envflags ", {"durable": False}, "environment flags: set to nosync, and the running server has "),
        ("envflags ", {"read_ahead": False}, "environment flags: set to nordahead, and the running server has "),
        (
            "include {scratch}",
            {"schema": ("shoes.schema",)},
            "schema: set to 1 definitions, and the running server has .*shoesize",
        ),
        ("index ", {"state": "empty"}, "indexes: set to eq mail"),
        ("index ", {"state": "stopped"}, "indexes: set to eq mail"),
    ],
)
def test_a_setting_that_the_running_server_lacks_fails_the_trial(make, tmp_path, monkeypatch, line, knobs, words):
    written = ldap_openldap._server_lines
    begins = line.format(scratch=tmp_path)

    def lines(*given):
        return [one for one in written(*given) if not one.startswith(begins)]

    monkeypatch.setattr(ldap_openldap, "_server_lines", lines)
    if "schema" in knobs:
        knobs = {"schema": (people(tmp_path, SHOES, "shoes.schema"),)}
    with pytest.raises(TrialError, match=words):
        TARGET.prepare(HOST, make(**knobs))


def test_entries_where_none_should_be_fail_the_trial(make, monkeypatch):
    real = ldap.count
    monkeypatch.setattr(ldap, "count", lambda *given: real(*given) + 1)
    with pytest.raises(TrialError, match="entries: set to 0, and the running server has 1"):
        TARGET.prepare(HOST, make(state="stopped"))
    with pytest.raises(TrialError, match="entries: set to 3, and the running server has 4"):
        TARGET.prepare(HOST, make())


def test_entries_that_the_server_refuses_fail_with_its_words(make, tmp_path):
    with pytest.raises(TrialError, match=r"str2ad\(msisdn\): attribute type undefined"):
        TARGET.prepare(HOST, make(ldif=people(tmp_path, f"{PEOPLE}msisdn: 1\n", "wrong.ldif")))


def test_mistakes_are_seen_before_anything_is_made(make, tmp_path):
    port = 28_389
    wrong = make(
        server__cache=1 << 20, backend="bdb", schema=("/etc/hostname",), server__port=port, indexes=("what:eq",), ldif=None
    )
    found = " ".join(TARGET.check(HOST, wrong))
    for words in ("slapd with mdb has no cache of its own", "no such backend. Use mdb", "ends with .schema"):
        assert words in found
    with pytest.raises(UsageError):
        TARGET.prepare(HOST, wrong)
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == []


def test_a_missing_server_is_named_with_its_package(make, monkeypatch):
    lost = dataclasses.replace(ldap_openldap.SOFTWARE, packages={"no-slapd": "slapd"})
    found = ldap_openldap.directory_server.check(lost, HOST, make())
    assert found == ("no-slapd: not found. Install slapd.",)


def test_a_long_path_gets_its_socket_elsewhere(tmp_path):
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    setting = given("ldap_openldap", ledger, deep, ldif=people(tmp_path))
    place = TARGET.prepare(HOST, setting)
    folder = Path(str(place.private["socket"])).parent
    assert folder.parent == Path("/tmp")
    TARGET.teardown(HOST, setting, place)
    assert not folder.exists()
    ledger.close()
