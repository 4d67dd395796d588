"""The counters of real directory servers: silence counts nothing, and each operation counts once."""

import contextlib
import socket

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.machine.ldap import LdapAccess
from assay.observers.directory_monitor import OBSERVER
from assay.records import Edge, ServerNode, Snapshot, Subject
from assay.undo.ledger import Ledger
from stage.directory_stage import both, given, people
from stage.observer_looks import PHASE_EDGES, look, the_series
from stage.targets_host import HOST

BASE = "dc=example,dc=com"
OF_SLAPD = ("unbind", "extended")
COUNTS = ("bind", "search", "compare", "modify", "modrdn", "add", "delete", "entries", "bytes", "connections")
MONITOR = """\
dn: cn=Search,cn=Operations,cn=Monitor
monitorOpCompleted: {searches}

dn: cn=Bytes,cn=Statistics,cn=Monitor
monitorCounter: {bytes}

"""
NODE = ServerNode(software="slapd", monitor=(("true",),))


@pytest.fixture
def make(tmp_path):
    """Start servers of a few people, and take them away at the end."""
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    with contextlib.ExitStack() as closing:

        def start(kind, **knobs):
            target = catalogue.find("targets", kind)
            setting = given(kind, ledger, tmp_path / "scratch", **knobs)
            place = target.prepare(HOST, setting)
            closing.callback(target.teardown, HOST, setting, place)
            return place, target.attach(HOST, setting, place, 0)

        yield start
    ledger.close()


@both
def test_silence_counts_nothing_and_each_operation_once(make, tmp_path, kind):
    place, endpoint = make(kind, ldif=people(tmp_path))
    watched = Subject(server=place.server.nodes)
    looks = [look(OBSERVER, HOST, watched, edge, at) for at, edge in enumerate(PHASE_EDGES[:3])]
    silent = OBSERVER.parse("h", "p", looks, watched)
    assert silent.missing == {}
    name = place.server.nodes[0].software
    assert {metric: set(the_series(silent, metric, name).value) for metric in COUNTS} == {metric: {0.0} for metric in COUNTS}
    door = LdapAccess(
        url=endpoint.address, bind_dn=str(endpoint.details["bind_dn"]), password_file=str(endpoint.details["password_file"])
    )
    for _ in range(23):
        HOST.run(door.search(BASE, "sub", "(uid=u00000000)", "uid"))
    HOST.run(door.command("ldapcompare", BASE, "dc:example"), check=False)
    HOST.run(door.command("ldapadd"), input_text=f"dn: ou=x,{BASE}\nobjectClass: organizationalUnit\n")
    HOST.run(door.command("ldapmodrdn", f"ou=x,{BASE}", "ou=y"))
    HOST.run(door.command("ldapmodify"), input_text=f"dn: ou=y,{BASE}\nchangetype: modify\nadd: description\ndescription: z\n")
    HOST.run(door.command("ldapdelete", f"ou=y,{BASE}"))
    looks.append(look(OBSERVER, HOST, watched, Edge.DRAINED, 3))
    found = OBSERVER.parse("h", "p", looks, watched)
    last = {metric: the_series(found, metric, name).value[-1] for metric in COUNTS}
    moved = last.pop("bytes")
    assert last == {
        "bind": 28,
        "search": 23,
        "compare": 1,
        "modify": 1,
        "modrdn": 1,
        "add": 1,
        "delete": 1,
        "entries": 23,
        "connections": 28,
    }
    assert moved > 23 * 50


@both
def test_looks_that_secure_their_connection_count_nothing(make, tmp_path, kind):
    with contextlib.ExitStack() as taken:
        with contextlib.suppress(OSError):  # another server has the port of LDAPS: ours needs none there
            taken.enter_context(socket.create_server(("", 636)))
        _, endpoint = make(kind, ldif=people(tmp_path), transport="starttls")
    known = {name: endpoint.details[name] for name in ("base", "bind_dn", "password_file", "ca_file")}
    place, _ = make("ldap_existing", url=endpoint.address, starttls=True, **known)
    watched, name = Subject(server=place.server.nodes), place.server.nodes[0].software
    looks = [look(OBSERVER, HOST, watched, edge, at) for at, edge in enumerate(PHASE_EDGES[:3])]
    found = OBSERVER.parse("h", "p", looks, watched)
    counts = [*COUNTS, *OF_SLAPD * (name == "slapd")]
    assert {metric: set(the_series(found, metric, name).value) for metric in counts} == {metric: {0.0} for metric in counts}


def snapshots(*pairs):
    texts = [MONITOR.format(searches=searches, bytes=amount) for searches, amount in pairs]
    raws = [{"0": {"software": "slapd", "texts": [text]}} for text in texts]
    return [Snapshot(edge=Edge.POLL, at_ns=at, took_ns=1, raw=raw) for at, raw in enumerate(raws)]


def test_our_own_searches_are_taken_off():
    found = OBSERVER.parse("h", "p", snapshots((5, 1000), (16, 5000)), Subject(server=(NODE,)))
    assert list(the_series(found, "search", "slapd").value) == [0, 10]
    assert the_series(found, "bytes", "slapd").value[1] < 4000


def test_a_server_without_an_answer_or_of_another_kind():
    node = ServerNode(software="slapd", monitor=(("false",),))
    watched = Subject(server=(node,))
    found = OBSERVER.parse("h", "p", [look(OBSERVER, HOST, watched, Edge.ARMED, 0)], watched)
    assert "exit status" in found.missing["directory.search"]
    watched = Subject(server=(ServerNode(pid_file="/x"),))
    assert OBSERVER.read(HOST, watched) == {}
    found = OBSERVER.parse("h", "p", [Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})], watched)
    assert (found.series, found.missing) == ((), {})


def test_a_damaged_answer_is_an_unknown_format(subtests):
    for text, words in [
        ("", "has no cn=Search"),
        ("dn: cn=Search,cn=Operations,cn=Monitor\nmonitorOpCompleted: many\n", "expected a number"),
        ("no colon", "expected LDIF"),
    ]:
        with subtests.test(text=text, words=words):
            raw = {"0": {"software": "slapd", "texts": [text]}}
            with pytest.raises(EvidenceError, match=words):
                OBSERVER.parse("h", "p", [Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw=raw)], Subject(server=(NODE,)))
