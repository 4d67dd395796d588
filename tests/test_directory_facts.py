"""What is known of a directory server after a run: settings by its own words, cold by its files, codes by name, no password."""

import contextlib
import json
import os
import re
import threading
from pathlib import Path

import pytest

from stage.directory_servers import BASE, slapd
from stage.directory_stage import PEOPLE, both, needs, people

__all__ = ["slapd"]
TEXT = """
title = "Facts"
question = "What is known of the server?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
{target}
{loads}
"""
LOAD = """
[workloads.{name}]
kind = "ldap_load"
quiesce = "0 s"
{knobs}
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a memory limit needs root")
pytestmark = needs("ldapsearch", "openssl")
OF_SLAPD = """
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'shoeSize'
  EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
objectclass ( 1.3.6.1.4.1.99999.2 NAME 'shod' SUP top AUXILIARY MAY shoeSize )
"""
OF_389DS = """\
dn: cn=schema
objectClass: top
objectClass: ldapSubentry
objectClass: subschema
cn: schema
attributeTypes: ( 1.3.6.1.4.1.99999.1 NAME 'shoeSize' EQUALITY integerMatch SYN
 TAX 1.3.6.1.4.1.1466.115.121.1.27 )
objectClasses: ( 1.3.6.1.4.1.99999.2 NAME 'shod' SUP top AUXILIARY MAY shoeSize )
"""
SCHEMA = {"ldap_openldap": ("shoes.schema", OF_SLAPD), "ldap_389ds": ("99shoes.ldif", OF_389DS)}
SHOD = PEOPLE.replace("inetOrgPerson\n", "inetOrgPerson\nobjectClass: shod\n") + "shoeSize: 42\n"


def load(name="load", **knobs):
    return LOAD.format(name=name, knobs="\n".join(f"{key} = {json.dumps(value)}" for key, value in knobs.items()))


def ran(bench, kind, target, loads):
    """The answer of a run, and what it kept of it."""
    (bench.home / "e.toml").write_text(TEXT.format(kind=kind, target=target, loads=loads))
    done = bench.run("run", "e.toml", "--json", "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    (path,) = bench.home.glob("lab/*/trials/*/attempt-*/run.json")
    return json.loads(done.stdout), json.loads(path.read_text())


def facts(bench):
    done = bench.run("sql", "SELECT DISTINCT key, value FROM facts WHERE key LIKE 'target.%'", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = [dict(zip(found["columns"], row, strict=True)) if isinstance(row, list) else row for row in found["rows"]]
    return {row["key"].removeprefix("target.setting."): row["value"] for row in rows}


OWN = {
    "ldap_openldap": (
        'backend = "mdb"\nread_ahead = false\nserver = { threads = 6, tool_threads = 2, cpus = [0], memory = "512 MiB" }',
        {"backend": "olcMdbConfig", "read_ahead": "False", "server.threads": "6", "server.tool_threads": "2"},
    ),
    "ldap_389ds": (
        'backend = "bdb"\nserver = { cache = "32 MiB", threads = 6, cpus = [0], memory = "1 GiB" }',
        {"backend": "bdb", "server.cache": str(32 << 20), "server.threads": "6"},
    ),
}


@pytest.mark.root
@needs_root
@pytest.mark.slow
@both
def test_every_knob_is_read_back_from_the_running_server_and_kept(bench, tmp_path, kind):
    name, text = SCHEMA[kind]
    path = people(tmp_path, SHOD)
    knobs, wanted = OWN[kind]
    target = f"""
ldif = "{path}"
schema = ["{people(tmp_path, text, name)}"]
indexes = ["objectClass:eq", "uid:eq", "shoeSize:eq,pres"]
durable = false
transport = "tls"
{knobs}
"""
    ran(bench, kind, target, load(ops=10, population=1, filter="(shoeSize=42)", found=1))
    found = facts(bench)
    shared = {
        "entries": "3",
        "schema": "2 definitions",
        "base": BASE,
        "durable": "False",
        "transport": "tls",
        "state": "running",
        "server.cpus": "0",
        "population": path,
    }
    assert {key: found.get(key) for key in (*shared, *wanted)} == shared | wanted
    assert int(found["server.memory"]) in (512 << 20, 1 << 30)
    assert re.search(r"shoesize", found["indexes"])
    assert re.match(r"(OpenLDAP|389-ds) \d", found["software"])


@pytest.mark.slow
@both
def test_cold_is_proved_on_the_files_of_the_server(bench, kind):
    _, run = ran(bench, kind, "entries = 20000", load(ops=200, cache="cold"))
    (phase,) = run["phases"]
    (host,) = phase["hosts"]
    assert (host["cache_proved"], host["server_cached_before"] <= 0.01) == ("cold", True), host


@pytest.mark.slow
@both
def test_entries_that_are_used_up_are_in_the_offline_load(bench, kind):
    mix = ["search 8", "delete 1", "rename 1"]
    answer, run = ran(bench, kind, "entries = 500", load(mix=mix, ops=1000, connections=2))
    assert [phase["name"] for phase in run["phases"]] == ["load.load"], "nothing had to be laid out"
    assert facts(bench)["entries"] == str(504 + 2 * 101)
    assert facts(bench)["population"] == "person, 500 entries, seed 1"
    (found,) = answer["directory"].values()
    assert (found["result_codes"], found["wrong"]) == ({"success": 1000}, 0)


def test_a_result_code_is_no_errno(bench, slapd):
    """32 is noSuchObject; as an errno it is a broken pipe."""
    words = (f"url={slapd.address}", f"base={BASE}", "mix=compare 1", "population=1200", "ops=1200", "keys=once", "bind=never")
    done = bench.run("load", "ldap_load", *words)
    assert "result codes: compareTrue 1,000, noSuchObject 200" in done.stdout
    assert "roken pipe" not in done.stdout + done.stderr


def test_misses_that_are_expected_end_no_phase_however_many_come_in_a_row(bench, slapd):
    words = (f"url={slapd.address}", f"base={BASE}", "mix=compare 1", "population=1000", "ops=3000", "misses=99 %", "bind=never")
    done = bench.run("load", "ldap_load", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["directory"]["ops"], found["errors"]) == (3000, 0)
    assert found["directory"]["result_codes"]["noSuchObject"] > 2800


# ------------------------------------------------------------------------------------------- passwords


class Arguments:
    """The argument lists of all processes that there are while it looks."""

    def __init__(self):
        self.seen, self.ends = set(), threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.ends.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    self.seen.add(path.read_bytes())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


def holding(folder, password):
    """Every file with the password in it."""
    return [path for path in folder.rglob("*") if path.is_file() and password in path.read_bytes()]


@pytest.mark.slow
@both
def test_no_password_is_in_arguments_notebook_or_report(bench, tmp_path_factory, kind):
    copy = tmp_path_factory.mktemp("elsewhere") / "password"
    script = (
        f"cp {{password_file}} {copy}; for n in 1 2 3 4 5 6 7 8 9; do LDAPTLS_CACERT={{ca_file}} ldapsearch -LLL -x -H {{url}} "
        "-D '{bind_dn}' -y {password_file} -b {base} '(uid=u0000000'$n')' uid; done"
    )
    peer = f'[workloads.peer]\nkind = "command"\nquiesce = "0 s"\nargv = ["sh", "-c", {json.dumps(script)}]\n'
    with Arguments() as arguments:
        ran(bench, kind, 'entries = 100\ntransport = "tls"', peer + load(mix=["search 1", "bind 1"], ops=100))
        assert bench.run("report", "--out", "report.html").returncode == 0
    password = copy.read_bytes()
    assert len(password) == 32
    assert any(b"ldapsearch" in words for words in arguments.seen), "it looked while they ran"
    assert [words for words in arguments.seen if password in words] == []
    assert (bench.home / "report.html").is_file()
    assert holding(bench.home, password) == []


def test_no_password_of_the_user_is_kept(bench, slapd, tmp_path_factory):
    secret = "a-word-that-is-nowhere-else"
    path = tmp_path_factory.mktemp("elsewhere") / "password"
    path.write_text(secret)
    path.chmod(0o600)
    with Arguments() as arguments:
        words = (f"url={slapd.address}", f"base={BASE}", f"bind_dn=cn=admin,{BASE}", f"password_file={path}")
        refused = bench.run("load", "ldap_load", *words, "population=1000", "ops=100", "--json")
    assert "Invalid credentials" in refused.stderr
    assert secret not in refused.stderr + refused.stdout
    assert [one for one in arguments.seen if secret.encode() in one] == []
    assert holding(bench.home, secret.encode()) == []
