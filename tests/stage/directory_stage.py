"""What the tests of directory servers share: a setting with the engine, an import, a few people, and why a server is missing."""

import contextlib
import shutil

import pytest

from assay import catalogue
from assay.machine.ldap import LdapAccess
from stage import targets_host
from stage.assay_process import Bench, kill
from stage.stat_stage import loop_disk

ENGINE = targets_host.ENGINE
PATHS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
SERVERS = {"ldap_openldap": "slapd", "ldap_389ds": "ns-slapd"}
"""Kind of target -> its program."""
IMPORT = """
title = "Import"
question = "Is it on disk?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = {entries}
state = "stopped"
[workloads.load]
kind = "ldap_import"
flush = "{flush}"
[measures]
"load.import.ops_per_s" = {{ claim = {{ durability = "stable-media" }} }}
"""
"""An import that claims to be on stable media."""
PEOPLE = """\
dn: dc=example,dc=com
objectClass: top
objectClass: organization
objectClass: dcObject
o: example
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=u00000000,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: u00000000
cn: Ann Able
sn: Able
mail: ann@example.com
"""


@pytest.fixture
def apart(tmp_path):
    """A bench on a file system of its own: whoever flushes the one of all tests would flush what nobody here flushed."""
    with contextlib.contextmanager(loop_disk)(tmp_path, size=2 << 30) as place:
        made = Bench(place)
        yield made
        for pid in made.processes():
            kill(pid)
        made.run("doctor")


def needs(*tools):
    """Skip where a program is missing, naming it."""
    missing = [tool for tool in tools if shutil.which(tool, path=PATHS) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def server(kind):
    """A case with this kind of server, skipped where it is not installed."""
    return pytest.param(kind, marks=needs(SERVERS[kind], "ldapsearch"))


both = pytest.mark.parametrize("kind", [server(kind) for kind in SERVERS])


def pairs(name, values):
    """Both kinds of servers with these values of a parameter: in every run each value with one kind, in `make long` with both."""
    cases = [(kind, value, (at + other) % 2) for at, value in enumerate(values) for other, kind in enumerate(SERVERS)]
    marked = [(kind, value, [*server(kind).marks, *[pytest.mark.long] * rest]) for kind, value, rest in cases]
    return pytest.mark.parametrize(("kind", name), [pytest.param(kind, value, marks=marks) for kind, value, marks in marked])


def given(target, undo, scratch, **knobs):
    """A setting of a target with the defaults of its other knobs."""
    return targets_host.given(catalogue.find("targets", target), undo, scratch, **knobs)


def door(endpoint):
    """How a client of this endpoint asks."""
    known = endpoint.details
    return LdapAccess(
        url=endpoint.address,
        bind_dn=str(known["bind_dn"]),
        password_file=str(known["password_file"]),
        ca_file=str(known.get("ca_file", "")),
        starttls=known.get("starttls") == "on",
    )


def people(tmp_path, text=PEOPLE, name="people.ldif"):
    """A file of a few people."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def is_disturbance(finding):
    """Whether a finding is about other work on the machine, not about the figure."""
    return finding["rule"].startswith("N") or finding["rule"] == "W07" or "other processes" in finding["statement"]


def assert_trusted(verdict):
    """SOUND or BOUNDED; where a busy machine disturbed the run, nothing else may be against the figure."""
    failed = [one for one in verdict["findings"] if one.get("state", "fail") == "fail"]
    against = [one for one in failed if one["severity"] != "notes"]
    others = [(one["rule"], one["statement"]) for one in against if not is_disturbance(one)]
    unknown = [(one["rule"], one["statement"]) for one in verdict["findings"] if one.get("state") == "unverified"]
    doubtful = [one for one in verdict["findings"] if one.get("state") == "unverified"]
    disturbed = verdict["state"] == "TAINTED" or (verdict["state"] == "UNVERIFIED" and any(map(is_disturbance, doubtful)))
    spoiled = disturbed and any(map(is_disturbance, (*against, *doubtful))) and not others
    assert spoiled or verdict["state"] in ("SOUND", "BOUNDED"), (verdict["state"], others, unknown)
