"""What a directory server cannot do is said by the command: at once, with place and fix, before anything is made."""

import contextlib
import os
import re
import shutil
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from stage.assay_process import LET_GO
from stage.directory_servers import BASE, PASSWORD, Slapd, small_server
from stage.directory_stage import PEOPLE, needs, people

__all__ = ["small_server"]
TEXT = """
title = "Input"
question = "Is it refused in time?"
repeats = 1
observers = ["process_io"]
[targets.people]
kind = "{kind}"
{target}
[workloads.load]
kind = "{load}"
quiesce = "0 s"
{knobs}
"""
NO_TOOL = 'mount --bind /dev/null "$1"; shift; exec "$@"'
SLAPD, DS389 = "ldap_openldap", "ldap_389ds"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
pytestmark = needs("slapd", "ldapsearch", "openssl")


def written(bench, kind=SLAPD, target="", knobs="", load="ldap_load", factors=""):
    (bench.home / "e.toml").write_text(TEXT.format(kind=kind, target=target, knobs=knobs, load=load) + factors)
    return "e.toml"


def refused(done, *words):
    assert done.returncode == 2, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    missing = [word for word in words if word not in done.stderr]
    assert not missing, f"{missing} in {done.stderr}"


def refused_run(bench, *words, **file):
    """`assay run` says so and `assay plan` shows it; nothing was made."""
    name = written(bench, **file)
    refused(bench.run("run", name), *words)
    assert list(bench.home.glob("lab/*/trials/*")) == []
    assert bench.traces() == []


def loaded(bench, url, *words):
    return bench.run("load", "ldap_load", f"url={url}", f"base={BASE}", "population=100", "found=1", "ops=10", *words)


# ------------------------------------------------------------------------------------------- targets of ours


def test_every_mistake_of_an_openldap_at_once(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        target = f"""
template = "robot"
base = "cn=nowhere"
indexes = ["shoeSize:eq", "uid:telepathic"]
backend = "bdb"
server = {{ cache = "64 MiB", threads = 1, port = {port} }}
"""
        refused_run(
            bench,
            "found template = 'robot'; expected one of: person, account",
            "found base = 'cn=nowhere'; expected a DN that begins with dc=, o= or ou=, such as dc=example,dc=com",
            "found an index of 'shoeSize'; expected an attribute of the template",
            "found index uid:telepathic; expected ATTRIBUTE:KIND",
            "found backend = bdb; slapd 2.5 and later have no such backend. Use mdb.",
            "found server.cache; slapd with mdb has no cache of its own",
            "found server.threads = 1; expected at least 2",
            f"port {port} is in use on local. Choose another server.port, or leave it out for a free one.",
            target=target,
        )


@needs("ns-slapd")
def test_every_mistake_of_a_389ds_at_once(bench):
    target = 'read_ahead = false\nschema = ["/etc/hostname"]\nserver = { cache = "512 kB", tool_threads = 2 }'
    refused_run(
        bench,
        "found read_ahead; 389-ds has no such setting. Leave it out.",
        "found server.tool_threads; 389-ds chooses the threads of its import itself. Leave it out.",
        "found server.cache = 512 kB; 389-ds replaces exactly this size by one of its own choice. Use 512 KiB.",
        "found schema /etc/hostname; expected an LDIF file of cn=schema that ends with .ldif",
        kind=DS389,
        target=target,
    )


def test_no_level_of_a_factor_is_left_for_its_trial(bench):
    factors = '[factors]\n"people.indexes" = [["uid:eq"], ["uid:eq", "shoeSize:eq"]]\n"people.template" = ["person", "robot"]\n'
    refused_run(bench, "found an index of 'shoeSize'", "found template = 'robot'", factors=factors)


def test_a_filter_that_is_none_has_the_place_of_its_mistake(bench):
    refused_run(
        bench,
        "e.toml:9:12: ",
        "found the end at place 15 of the filter '(uid=u{key:08d}'; expected ')'",
        knobs='filter = "(uid=u{key:08d}"',
    )


def test_an_attribute_that_no_entry_has(bench):
    knobs = """
mix = ["search 1", "compare 1", "modify 1"]
filter = "(&(objectClass=person)(|(shoeSize>=4{key:08d})(uid=u{key:08d})))"
attributes = ["uid", "hat", "jpegPhoto;binary", "modifyTimestamp"]
compare = "collar=42"
change = "glove=7"
"""
    refused_run(
        bench,
        "filter with the attribute 'shoeSize', which no entry has, in workload 'load' on target 'people'",
        "attributes with the attribute 'hat', which no entry has",
        "compare with the attribute 'collar', which no entry has",
        "change with the attribute 'glove', which no entry has",
        "one of your own needs `schema` and `ldif`",
        knobs=knobs,
    )
    done = bench.run("plan", "e.toml")
    assert [word for word in ("objectClass", "'uid'", "jpegPhoto", "modifyTimestamp") if word in done.stderr] == []


def test_searches_that_the_entries_cannot_answer(bench):
    refused_run(
        bench,
        "found finds 60 for (a1=?*) in a population of 50",
        "searches with the attribute 'shoeSize', which no entry has",
        "found so many parts like (a2=?) in the shape (!(&(a1=?)(a2=?)))",
        "shapes without the indexes cn:eq, so that searches read all entries",
        'indexes = ["objectClass:eq", "uid:eq", "mail:eq", "cn:eq"] at the target',
        target="entries = 50",
        knobs='searches = ["(a1=?*) finds 60", "(shoeSize=4)", "(|(a1=?)(a2=?)(a3=?))", "(!(&(a1=?)(a2=?))) misses 9 %"]',
    )


def test_keys_beyond_the_population(bench):
    refused_run(
        bench,
        "population = 20,000 of workload 'load'",
        "at most the 10,000 entries of target 'people'",
        knobs="population = 20000",
    )


def test_keys_of_entries_of_a_file_need_their_number(bench, tmp_path):
    target = f'ldif = "{people(tmp_path, PEOPLE)}"'
    words = ("keys of entries that are not Assay's", "target 'people'", "population = the number of entries with keys from 0")
    refused_run(bench, *words, target=target)
    refused_run(bench, *words, target=target, knobs='filter = "(cn=printer)"\nmix = ["search 1", "compare 1"]')
    name = written(bench, target=target, knobs='filter = "(uid=u{key:08d})"\npopulation = 1')
    assert bench.run("plan", name).returncode == 0


def test_a_file_that_begins_above_or_beside_the_base(bench, tmp_path):
    path = people(tmp_path, PEOPLE)
    words = f"found base = 'dc=example,dc=org', and {path} begins with the entry dc=example,dc=com"
    refused_run(bench, words, target=f'ldif = "{path}"\nbase = "dc=example,dc=org"')
    refused_run(bench, "/no/such.ldif: no readable file. Correct `ldif` or `schema`.", target='ldif = "/no/such.ldif"')


def test_no_room_for_the_population(bench):
    most = 100_000_000
    if shutil.disk_usage(bench.home).free > most * 527 * 5:
        pytest.skip("this disk has room for the largest population")
    refused_run(bench, "no room for the population and its database, about 2", target=f"entries = {most}")


@pytest.mark.parametrize("kind", [SLAPD, pytest.param(DS389, marks=needs("ns-slapd"))])
def test_depth_on_starttls(bench, kind):
    refused_run(
        bench,
        "depth = 4 with StartTLS, in workload 'load' on target 'people'",
        "depth = 1, or TLS from the first byte",
        kind=kind,
        target='transport = "starttls"',
        knobs="depth = 4",
    )


MISSING = {
    "slapd": (SLAPD, "", "slapd: not found. Install slapd."),
    "ldapsearch": (SLAPD, "", "ldapsearch: not found. Install ldap-utils."),
    "openssl": (SLAPD, 'transport = "tls"', "openssl: not found. Install openssl, which makes the certificate"),
    "ns-slapd": (DS389, "", "ns-slapd: not found. Install 389-ds-base."),
    "certutil": (DS389, 'transport = "tls"', "certutil: not found. Install libnss3-tools."),
}


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("tool", [pytest.param(tool, marks=needs(tool)) for tool in MISSING])
def test_what_is_not_installed_is_named_with_its_package(bench, tool):
    kind, target, words = MISSING[tool]
    path = os.path.realpath(shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"))
    hidden = ("unshare", "--mount", "--propagation", "private", "sh", "-c", f"{LET_GO}\n{NO_TOOL}", "sh", path)
    refused_run(replace(bench, through=hidden), words, kind=kind, target=target)


# ------------------------------------------------------------------------------------------- a server of somebody else


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A slapd with TLS whose authority nobody knows."""
    started = Slapd(tmp_path_factory.mktemp("slapd"), 100)
    yield started
    started.close()


@pytest.fixture
def password(tmp_path):
    def write(text):
        (tmp_path / "password").write_text(text)
        (tmp_path / "password").chmod(0o600)
        return str(tmp_path / "password")

    return write


def test_a_bind_that_is_refused_has_the_words_of_the_server(bench, server, password):
    who = f"bind_dn=cn=admin,{BASE}"
    done = loaded(bench, server.address, who, f"password_file={password('wrong')}")
    refused(done, "Invalid credentials (49)", "Correct url, bind_dn, password_file or base.")
    path = password(PASSWORD)
    Path(path).chmod(0o644)
    refused(loaded(bench, server.address, who, f"password_file={path}"), "other users may read it", f"Run `chmod 600 {path}`.")
    refused(loaded(bench, server.address, who), "found bind_dn without password_file")


def test_a_base_that_is_not_there(bench, server):
    done = bench.run("load", "ldap_load", f"url={server.address}", "base=dc=nowhere,dc=com", "population=100", "ops=10")
    refused(done, "No such object (32)", "Correct url, bind_dn, password_file or base.")


def test_an_untrusted_certificate_is_refused_unless_it_is_allowed(bench, server):
    refused(loaded(bench, server.tls), server.tls, "Correct ca_file or the name in url")
    for trusts in (f"ca_file={server.certificate}", "any_certificate=true"):
        done = loaded(bench, server.tls, trusts)
        assert done.returncode == 0, done.stderr


def test_depth_on_starttls_of_somebody_else(bench, server):
    done = loaded(bench, server.address, "starttls=true", f"ca_file={server.certificate}", "depth=4")
    refused(done, "depth", "StartTLS", "expected depth = 1")


@contextlib.contextmanager
def answering(reply):
    """A server that answers everything with these bytes; without any it closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        if reply:
                            connection.recv(4096)
                            connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield f"ldap://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_a_server_that_closes_or_answers_no_ldap(subtests, bench):
    for reply in [b"", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]:
        with subtests.test(reply=reply), answering(reply) as url:
            refused(loaded(bench, url), f"{url}: ", "Can't contact LDAP server", "Correct url")


def test_a_server_that_closes_after_it_was_asked_fails_the_load_in_words(bench, small_server):
    done = loaded(bench, small_server(lambda uid, count: None).address, "attributes=uid")
    assert done.returncode == 1, done.stderr + done.stdout
    assert re.search(r"assay: load failed: .*(closed|reset|ended)", done.stderr), done.stderr


def test_writes_on_a_server_that_is_only_read(bench, server):
    refused(loaded(bench, server.address, "mix=modify 1"), "write = true")


def test_binds_and_keys_of_which_nothing_is_known(bench, server):
    words = ("binds without a DN", "bind_dn and password_file", "keys of entries that are not Assay's", "population = the number")
    target = f'url = "{server.address}"\nbase = "{BASE}"'
    refused_run(bench, *words, kind="ldap_existing", target=target, knobs='bind = "each"')


def test_a_url_or_dn_that_is_none(bench):
    done = bench.run("load", "ldap_load", "url=http://x", "base=nothing", "bind_dn=me", "starttls=true")
    refused(done, "expected ldap://HOST:PORT", "found base = 'nothing'", "found bind_dn = 'me'", "bind_dn without password_file")
