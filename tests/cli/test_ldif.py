"""The verb as a user calls it: the same bytes for the same seed, a beginning of a larger one, every mistake at once."""

import subprocess

import pytest
import typer

from assay.cli.verbs import app
from assay.machine import population
from assay_process import Bench
from directory_stage import ENGINE

pytestmark = pytest.mark.skipif(not ENGINE.is_file(), reason="the engine is not built")


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_standard_output_has_the_population_and_nothing_else(bench):
    done = bench.run("ldif", "--entries", "50", "--seed", "3", "--base", "o=Lab", text=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"dn: o=Lab\n")
    assert done.stdout.count(b"\ndn: ") + 1 == 54
    assert done.stderr == b'{"entries": 54, "bytes": %d}\n' % len(done.stdout)
    assert bench.run("ldif", "--entries", "50", "--seed", "3", "--base", "o=Lab", text=False).stdout == done.stdout
    larger = bench.run("ldif", "--entries", "60", "--seed", "3", "--base", "o=Lab", text=False).stdout
    assert larger.startswith(done.stdout)
    assert bench.run("ldif", "--entries", "50", "--seed", "4", "--base", "o=Lab", text=False).stdout != done.stdout


def test_a_file_is_written(bench):
    done = bench.run("ldif", "--entries", "20", "--template", "account", "--out", "people.ldif")
    assert (done.returncode, done.stdout) == (0, "")
    text = (bench.home / "people.ldif").read_text()
    assert "userPassword: secret00000019\n" in text


def test_every_mistake_at_once(bench):
    done = bench.run(
        "ldif", "--entries", "many", "--seed", "-1", "--template", "robot", "--base", "cn=x", "--out", "/no/such/file"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    for words in (
        "--entries 'many'",
        "--seed '-1'",
        "one of: person, account",
        "such as dc=example,dc=com",
        "existing directory",
    ):
        assert words in done.stderr
    assert not (bench.home / "people.ldif").exists()


def test_a_reader_that_has_enough_ends_it_quietly(bench):
    with bench.start("ldif", "--entries", "1000000", stderr=subprocess.PIPE) as lab:
        assert lab.stdout.readline() == "dn: dc=example,dc=com\n"
        lab.stdout.close()
        assert lab.wait(30) == 0
        assert lab.stderr.read() == ""


def test_the_suffix_is_that_of_the_targets():
    (base,) = (one for one in typer.main.get_command(app).commands["ldif"].params if one.name == "base")
    assert base.default == population.BASE
