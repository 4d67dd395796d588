"""Directory operations by kind: what a file of `assay dsio` makes of their rates, and what a flush leaves to one writer."""

import json

import pytest

from assay.errors import InputErrors
from assay.sizing import read, wording
from assay.sizing.sized import WRITER, size
from sizing.test_read import nowhere
from stage.rows import each

ROW = {
    "count": 1000,
    "time_ns": 10**9,
    **dict.fromkeys(("reads", "read_bytes", "writes", "write_bytes", "flushes", "flush_ns"), 0),
    **dict.fromkeys(("device_reads", "device_read_bytes", "device_writes", "device_write_bytes", "device_flushes"), 0),
    "page_faults": 0,
}
SEARCH = {**ROW, "device_reads": 1500, "device_read_bytes": 1500 * 4096}
MODIFY = {**ROW, "device_writes": 9000, "device_write_bytes": 36_000_000, "flushes": 2000, "flush_ns": 2000 * 500_000}
DOCUMENT = {
    "schema": "assay.dsio/1",
    "elapsed_ns": 10 * 10**9,
    "operations": {"search": SEARCH, "modify": MODIFY, "bind": {**ROW, "count": 3}},
    "outside": ROW,
    "others": {"jbd2/vda-8": {**ROW, "device_writes": 500}},
}
DISKS = '[[part]]\nname = "disks"\nspeed = "20 x SAS 15k"\n'
PORT = '[[part]]\nname = "port"\nspeed = "1 GbE"\n'


@pytest.fixture
def chain(tmp_path):
    """Reads a chain whose file of I/O lies beside it."""
    (tmp_path / "dsio.json").write_text(json.dumps(DOCUMENT))

    def made(ldap, parts=DISKS + PORT, more=""):
        text = f"[load]\n{more}ldap = {{ {ldap} }}\n{parts}"
        return read.parse(text, str(tmp_path / "chain.toml"), nowhere)

    return made


def test_each_kind_needs_what_it_was_seen_to_need(chain):
    load = chain('search = "3000 /s", modify = "200 /s", io = "dsio.json"').load
    assert (load.read_ops_per_s, load.write_ops_per_s) == (4500, 1800)
    assert (load.reading, load.writing) == (4500 * 4096, 200 * 36_000)
    assert load.ldap_ops_per_s == 3200


def test_what_the_file_says_itself_is_added(chain):
    load = chain('search = "1000 /s", io = "dsio.json"', more='random_reads = "100 /s"\noperation_size = "8 KiB"\n').load
    assert load.read_ops_per_s == 1600
    assert load.reading == 1500 * 4096 + 100 * 8192


def test_one_flush_after_the_other_bounds_commits_whatever_the_disks(chain):
    found = size(chain('search = "10 /s", modify = "1500 /s", io = "dsio.json"', parts=DISKS.replace("20 x", "900 x")))
    assert found.first == WRITER
    assert found.carries == pytest.approx(1000 / 1500)
    assert "The chain does not carry" in wording.answer(found)
    assert "1,500/s commits of at most 1,000/s (150 %), 2 flushes of 500" in " ".join(wording.remarks(found))


def test_upgrades_of_disks_gain_nothing_and_a_faster_flush_is_of_the_file(chain):
    found = size(chain('modify = "1500 /s", io = "dsio.json", flush = "10 us"', parts=DISKS.replace("20 x", "900 x")))
    assert found.first == "disks"
    assert "at most 50,000/s (3 %)" in " ".join(wording.remarks(found))
    parts = '[[part]]\nname = "disks"\nspeed = "900 x SAS 15k"\nupgrade = "1800 x SAS 15k"\n'
    found = size(chain('modify = "1500 /s", io = "dsio.json"', parts=parts))
    assert found.upgrades[0].gain == 1
    assert found.upgrades[0].then_first == WRITER


def test_what_belongs_to_no_operation_is_told_and_not_spread(chain):
    found = size(chain('modify = "100 /s", bind = "1 /s", io = "dsio.json"'))
    said = " ".join(wording.remarks(found))
    assert "50 writes/s in" in said
    assert "few operations of bind (3)" in said
    assert found.chain.load.write_ops_per_s == 900


@each(
    "ldap expected",
    ('modify = "100 /s"', "found no io; expected io ="),
    ('io = "dsio.json"', "found no kind of operation"),
    ('add = "1 /s", io = "dsio.json"', "found add, which dsio.json did not count; expected a kind that it counted: search"),
    ('serach = "1 /s", io = "dsio.json"', "'serach'"),
    ('search = "1 /s", io = "nothing.json"', "No such file"),
    ('search = "1 /s", io = "other.json"', "schema assay.size/1"),
    ('search = "1 /s", io = "text.json"', "no JSON"),
    ('search = "1 /s", io = "damaged.json"', "damaged: 'device_reads'"),
    ('search = "fast", io = "dsio.json", flush = "soon"', "'soon'"),
)
def test_mistakes(chain, tmp_path, ldap, expected):
    (tmp_path / "other.json").write_text('{"schema": "assay.size/1"}')
    (tmp_path / "text.json").write_text("search 3")
    (tmp_path / "damaged.json").write_text(json.dumps({**DOCUMENT, "operations": {"search": {"count": 3}}}))
    with pytest.raises(InputErrors) as caught:
        chain(ldap)
    assert expected in str(caught.value)
