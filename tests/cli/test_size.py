"""`assay size` as a user calls it: the answer first, JSON that owns its stream, pictures, mistakes of the file."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import cli_notebook
from assay.cli.size import measured
from assay.sizing.directory import beside
from assay.units import Refusal, Unit

CHAINS = sorted((Path(__file__).parents[2] / "experiments" / "chains").glob("*.toml"))
ANSWERS = {
    "backup_over_fibre": ("6.25 times", "paths (16 % used)"),
    "cheap_san": ("1.06 times", "switch port (94.2 % used)"),
    "directory_import": ("disks (179 %", "55.9 % of the load"),
}


def test_a_shipped_chain_is_answered_first_and_drawn(bench, tmp_path, subtests):
    for chain in CHAINS:
        with subtests.test(chain=chain):
            page, drawing = tmp_path / "chain.html", tmp_path / "chain.svg"
            done = bench.run("size", chain, "--picture", page)
            assert (done.returncode, done.stderr) == (0, "")
            for text in (done.stdout.split("\n\n")[1], page.read_text()):
                assert [part for part in ANSWERS[chain.stem] if part not in text] == []
            assert bench.run("size", chain, "--picture", drawing).returncode == 0
            assert ET.parse(drawing).getroot().tag.endswith("svg")


def test_the_document_owns_its_stream(bench):
    done = bench.run("size", CHAINS[0], "--json")
    told = json.loads(done.stdout, parse_constant=pytest.fail)
    assert told["schema"] == "assay.size/1"
    assert told["first"] == "paths"
    assert told["carries"] == pytest.approx(6.25, rel=0.01)
    assert any("1.09 times its limit" in one for one in told["remarks"])


def test_mistakes_are_told_with_their_places_and_a_wrong_call_is_refused(bench, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[load]\nread = "fast"\n[[part]]\nname = "a"\nspeed = "slow"\nmeasured = { notebook = "lab", read = "x" }\n')
    done = bench.run("size", wrong)
    assert done.returncode == 2
    assert [line.split(".toml:")[1].split(":")[0] for line in done.stderr.splitlines() if ".toml:" in line] == ["2", "5", "6"]
    for words in (("missing.toml",), (CHAINS[0], "--picture", "a.gif")):
        done = bench.run("size", *words)
        assert (done.returncode, "expected" in done.stderr) == (2, True)


def test_a_notebook_is_looked_for_beside_the_file_and_then_here(tmp_path, monkeypatch):
    there, here = tmp_path / "chains", tmp_path / "here"
    for place in (there, here):
        place.mkdir()
    monkeypatch.chdir(here)
    assert beside(there / "chain.toml", "lab") == there / "lab"
    (here / "lab").mkdir()
    assert beside(there / "chain.toml", "lab") == Path("lab")
    (there / "lab").mkdir()
    assert beside(there / "chain.toml", "lab") == there / "lab"
    assert beside(there / "chain.toml", str(here / "lab")) == here / "lab"


def test_a_measure_in_another_unit_is_no_speed(tmp_path):
    """A latency of 5,000,000 ns is not 5 MB/s."""
    lab = cli_notebook.lab(tmp_path / "lab")
    rate = measured(lab, "spool.create.ops_per_s", Unit.PER_S)
    assert isinstance(rate, float)
    wrong = measured(lab, "spool.create.ops_per_s", Unit.BYTES_PER_S)
    assert isinstance(wrong, Refusal)
    assert wrong.found == "'spool.create.ops_per_s', which is in 1/s"
