"""`assay load ldap_load` on a server that runs already: its answers, its verdict on servers that lie, and nothing left."""

import json

import pytest

from assay_process import Bench, kill
from directory_servers import BASE, LIES, monitored, slapd, small_server
from directory_stage import assert_trusted, needs

__all__ = ["slapd", "small_server"]
pytestmark = needs("ldapsearch")
VERIFIED = ("population=1000", "found=1", "attributes=uid", "verify=uid=u{key:08d}")


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    for pid in made.processes():
        kill(pid)
    assert made.traces() == []


def load(bench, url, *words):
    done = bench.run("load", "ldap_load", f"url={url}", f"base={BASE}", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found, {one["measure"].split(".")[1]: one for one in found["verdicts"]}


def test_an_honest_server_is_believed_and_its_answers_are_counted(bench, small_server):
    found, verdicts = load(bench, small_server().address, *VERIFIED, "ops=2000", "connections=2")
    assert (found["operations"]["search"]["ops"], found["errors"]) == (2000, 0)
    assert found["ops"] == 2000, "first entries are parts of searches"
    answers = found["directory"]
    assert set(answers) == {"ops", "entries", "wrong", "result_codes", "own_operations", "operations"}
    assert (answers["ops"], answers["entries"], answers["wrong"]) == (2000, 2000, 0)
    assert answers["result_codes"] == {"success": 2000}
    assert (answers["own_operations"]["search"], answers["own_operations"]["unbind"]) == (1, 2)
    search = answers["operations"]["search"]
    assert (search["ops"], search["entries"], search["references"], search["misses"]) == (2000, 2000, 0, 0)
    assert 0 < search["first_entry_ns"]["p50"] <= search["response_ns"]["p50"]
    assert search["first_entry_ns"]["max"] <= search["response_ns"]["max"]
    assert_trusted(verdicts["search"])


def test_a_server_that_lies_is_not_believed_and_one_that_closes_ends_the_load(bench, small_server, subtests):
    for lie in sorted(set(LIES) - {"closing"}):
        with subtests.test(lie=lie):
            found, verdicts = load(bench, small_server(LIES[lie]).address, *VERIFIED, "ops=1000")
            assert verdicts["search"]["state"] == "INVALID"
            assert [one["rule"] for one in verdicts["search"]["findings"] if one["severity"] == "invalidates"] == ["G04"]
            assert found["errors"] >= 100
    done = bench.run("load", "ldap_load", f"url={small_server(LIES['closing']).address}", f"base={BASE}", *VERIFIED, "ops=1000")
    assert (done.returncode, "assay: load failed: " in done.stderr) == (1, True)


def test_writes_are_below_an_entry_of_our_own_that_goes_away(bench, slapd):
    words = (f"bind_dn=cn=admin,{BASE}", f"password_file={slapd.password_file}", "write=true", "population=1000", "found=1")
    slapd.password_file.chmod(0o600)
    slapd.password_file.write_text(slapd.password_file.read_text().strip())
    before = monitored(slapd)
    found, _ = load(bench, slapd.address, *words, "mix=search 4,compare 2,add 1,modify 1,rename 1,delete 1", "ops=500")
    after = monitored(slapd)
    assert (found["directory"]["ops"], found["errors"], found["directory"]["wrong"]) == (500, 0, 0)
    done = {"compare": 100, "modify": 50, "modrdn": 50}
    assert {name: after[name] - before[name] for name in done} == done
    # What the load made is gone: with the entries that were laid out for delete, rename and modify.
    assert after["add"] - before["add"] == after["delete"] - before["delete"]


def test_every_mistake_is_told_at_once(bench):
    done = bench.run("load", "ldap_load", "url=http://x", "base=nothing", "mix=walk 1")
    assert (done.returncode, "'walk 1'" in done.stderr) == (2, True)
    done = bench.run("load", "ldap_load", "url=http://x", "base=nothing")
    assert (done.returncode, "ldap://HOST:PORT" in done.stderr, "distinguished name" in done.stderr) == (2, True, True)
