"""A server that runs already: asked only, or written to below one marked entry; what it refuses is said in its words."""

from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import RefusedError, UsageError
from assay.machine import ldap
from assay.undo.ledger import Ledger
from stage.directory_stage import door, given, needs, people
from stage.rows import each
from stage.targets_host import HOST, placing

TARGET, SERVER = catalogue.find("targets", "ldap_existing"), catalogue.find("targets", "ldap_openldap")
BASE = "dc=example,dc=com"
pytestmark = needs("slapd", "ldapsearch", "ldapadd")


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "scratch").mkdir()
    made = Ledger(tmp_path / "ledger")
    yield made
    assert [one for one in made.unwind() if one.state == "left"] == []
    made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A slapd that stands for that of somebody else, with three entries before and after all that is done to it."""
    home = tmp_path_factory.mktemp("theirs")
    with placing(SERVER, home, ldif=people(home)) as placed:
        endpoint = placed().attached()
        yield endpoint
        assert entries(endpoint) == 3


def asked(ledger, tmp_path, server, **knobs):
    known = {"url": server.address, "base": BASE, "bind_dn": str(server.details["bind_dn"])}
    return given("ldap_existing", ledger, tmp_path, **{**known, "password_file": str(server.details["password_file"]), **knobs})


def entries(server):
    return ldap.count(HOST, door(server), BASE)


def test_it_is_described_and_not_written_to(ledger, tmp_path, server):
    setting = asked(ledger, tmp_path, server)
    assert TARGET.check(HOST, setting) == ()
    place = TARGET.prepare(HOST, setting)
    assert dict(TARGET.facts(HOST, place))["software"] == "slapd"
    assert place.server.nodes[0].monitor, "its administrator may read cn=Monitor"
    endpoint = TARGET.attach(HOST, setting, place, 0)
    assert endpoint.details["base"] == BASE
    assert "writable_base" not in endpoint.details
    with pytest.raises(RefusedError, match="a server of somebody else"):
        TARGET.drop_caches(HOST, place)
    TARGET.teardown(HOST, setting, place)
    assert entries(server) == 3


def test_it_is_written_to_below_one_marked_entry_which_goes_away_with_all_below(ledger, tmp_path, server):
    setting = asked(ledger, tmp_path, server, write=True)
    place = TARGET.prepare(HOST, setting)
    own = str(TARGET.attach(HOST, setting, place, 0).details["writable_base"])
    assert own.startswith("ou=assay-")
    HOST.run(door(server).command("ldapadd"), input_text=f"dn: ou=x,{own}\nobjectClass: organizationalUnit\n")
    assert entries(server) == 5
    TARGET.teardown(HOST, setting, place)
    assert entries(server) == 3


def test_a_killed_lab_leaves_nothing_and_an_entry_without_our_mark_stays(ledger, tmp_path, server):
    setting = asked(ledger, tmp_path, server, write=True)
    place = TARGET.prepare(HOST, setting)
    own = str(place.private["own"])
    change = f"dn: {own}\nchangetype: modify\nreplace: description\ndescription: somebody else's now\n"
    HOST.run(door(server).command("ldapmodify"), input_text=change)
    TARGET.teardown(HOST, setting, place)
    assert entries(server) == 4, "it no longer has our mark"
    HOST.run([*door(server).command("ldapdelete"), own])


@each(
    "knobs words",
    ({"url": "http://x"}, "expected ldap://HOST:PORT"),
    ({"base": "nothing"}, "expected a distinguished name"),
    ({"base": "dc=other,dc=com"}, "No such object"),
    ({"password_file": None}, "found bind_dn without password_file"),
    ({"password_file": "/no/such"}, "/no/such: no such file"),
    ({"bind_dn": None}, "found password_file without bind_dn"),
    ({"url": "ldap://127.0.0.1:1"}, "Can't contact LDAP server"),
)
def test_mistakes(ledger, tmp_path, server, knobs, words):
    found = TARGET.check(HOST, asked(ledger, tmp_path, server, **knobs))
    assert any(words in text for text in found), found
    with pytest.raises(UsageError):
        TARGET.prepare(HOST, asked(ledger, tmp_path, server, **knobs))


def test_a_bind_that_is_refused_has_the_servers_words(ledger, tmp_path, server):
    wrong = tmp_path / "wrong"
    wrong.write_text("not the password")
    wrong.chmod(0o600)
    (found,) = TARGET.check(HOST, asked(ledger, tmp_path, server, password_file=str(wrong)))
    assert "Invalid credentials (49)" in found
    wrong.chmod(0o644)
    (found,) = TARGET.check(HOST, asked(ledger, tmp_path, server, password_file=str(wrong)))
    assert f"Run `chmod 600 {wrong}`" in found


@each("transport", "tls", "starttls")
def test_an_unknown_authority_is_refused_unless_any_certificate_is_accepted(ledger, tmp_path, transport):
    setting = given("ldap_openldap", ledger, tmp_path, ldif=people(tmp_path), transport=transport)
    place = SERVER.prepare(HOST, setting)
    endpoint = SERVER.attach(HOST, setting, place, 0)
    secure = {"starttls": True} if transport == "starttls" else {}
    (found,) = TARGET.check(HOST, asked(ledger, tmp_path, endpoint, **secure))
    assert "its certificate is not accepted: self-signed certificate" in found
    for trusts in ({"any_certificate": True}, {"ca_file": str(endpoint.details["ca_file"])}):
        believing = asked(ledger, tmp_path, endpoint, **secure, **trusts)
        assert TARGET.check(HOST, believing) == ()
        details = TARGET.attach(HOST, believing, TARGET.prepare(HOST, believing), 0).details
        assert details.get("any_certificate") == ("on" if "any_certificate" in trusts else None)
    SERVER.teardown(HOST, setting, place)


def test_where_it_may_not_write_it_says_so(ledger, tmp_path, server):
    anonymous = asked(ledger, tmp_path, server, bind_dn=None, password_file=None, write=True)
    with pytest.raises(RefusedError, match=f"no entry may be made below {BASE}"):
        TARGET.prepare(HOST, anonymous)
    assert Path(str(server.details["password_file"])).is_file()
