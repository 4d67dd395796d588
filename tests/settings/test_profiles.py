"""Profiles of workloads: what is published is what is shipped, and every mistake in a file is named with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputErrors
from assay.settings import profiles
from assay.settings.profiles import WHOLE, parse, read, shipped
from stage.rows import each

GOOD = """\
title = "Mine"
source = "measured"
read_share = "75 %"
random_share = "50 %"
requests = [
    { bytes = "4 KiB", share = "60 %" },
    { bytes = "64 KiB", share = "40 %" },
]
"""
KIB = 1024
PUBLISHED = {
    "file_server": (0.8, 1.0, {0.5: 10, 1: 5, 2: 5, 4: 60, 8: 2, 16: 4, 32: 4, 64: 10}),
    "web_server": (1.0, 1.0, {0.5: 22, 1: 15, 2: 8, 4: 23, 8: 15, 16: 2, 32: 6, 64: 7, 128: 1, 512: 1}),
    "workstation": (0.8, 0.8, {8: 100}),
    "database": (0.67, 1.0, {8: 100}),
    "mail_spool": (0.68, 1.0, {32: 100}),
}


def wrong(text):
    with pytest.raises(InputErrors) as caught:
        parse(text, "p.toml")
    return [str(mistake) for mistake in caught.value.mistakes]


def test_what_is_shipped_is_known():
    assert set(shipped()) == set(PUBLISHED)


@each("name", *PUBLISHED)
def test_a_shipped_profile_is_what_was_published_and_says_where(name):
    profile = read(name)
    reads, random, sizes = PUBLISHED[name]
    assert (profile.read_share, profile.random_share) == (reads, random)
    assert {request.bytes: request.weight for request in profile.requests} == {
        round(size * KIB): share * WHOLE // 100 for size, share in sizes.items()
    }
    assert "checked" in profile.source
    assert (profile.depth, profile.think_ns, profile.align) == (1, 0, None)


def test_everything_is_read(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(GOOD + 'think = "2 ms"\nalign = "1 KiB"\ndepth = 1\n')
    monkeypatch.chdir(tmp_path)
    profile = read("mine.toml")
    assert profile == read(str(tmp_path / "mine.toml"))
    assert (profile.read_share, profile.random_share, profile.think_ns, profile.align) == (0.75, 0.5, 2_000_000, KIB)
    assert (profile.largest, profile.mean_bytes) == (64 * KIB, 0.6 * 4 * KIB + 0.4 * 64 * KIB)


@each(
    "old new told",
    ('share = "40 %"', 'share = "39 %"', "p.toml:5:12: found shares that add to 99 %; expected 100 %"),
    ('share = "40 %"', 'share = "40 %", chance = 1', "p.toml:7:41: found unknown key 'chance'; expected one of bytes, share"),
    ('"64 KiB"', '"1000 B"', "p.toml:7:15: found 1 kB; expected a multiple of 512 B, at most 1 GiB"),
    ('"64 KiB"', '"0 B"', "p.toml:7:15: found 0 B; expected a multiple of 512 B"),
    ('"64 KiB"', '"2 GiB"', "p.toml:7:15: found 2 GiB; expected a multiple of 512 B, at most 1 GiB"),
    ('"64 KiB"', "65536", "p.toml:7:15: found 65536; expected bytes"),
    ('"64 KiB"', '"64k"', "p.toml:7:15: found '64k'"),
    ('"64 KiB"', '"4 KiB"', "p.toml:7:15: found 4 KiB a second time; expected each size once"),
    ('bytes = "64 KiB", ', "", "p.toml:7:5: found no bytes"),
    ('"40 %"', '"40"', "p.toml:7:33: found '40'; expected a share"),
    ('"40 %"', '"0 %"', "p.toml:7:33: found '0 %'; expected at least 0.0001 %"),
    ('source = "measured"\n', "", "p.toml: found no source; expected source"),
    ('"measured"', '" "', "p.toml:2:10: found ' '; expected source"),
    ("title =", "name =", "p.toml:1:1: found unknown key 'name'"),
    ('"75 %"', '"175 %"', "p.toml:3:14: found 175 %; expected at most 100 %"),
    ('random_share = "50 %"\n', "", "p.toml: found no random_share"),
    ('source = "measured"', 'source = "measured"\ndepth = 0', "p.toml:3:9: found 0; expected depth"),
    ('source = "measured"', 'source = "measured"\ndepth = true', "p.toml:3:9: found True; expected depth"),
    ('source = "measured"', 'source = "measured"\ndepth = 2\nthink = "1 s"', "p.toml:4:9: found think with depth 2"),
    ('source = "measured"', 'source = "measured"\nalign = "100 B"', "p.toml:3:9: found 100 B; expected a multiple of 512 B"),
    ("requests = [", "requests = [ ,", "p.toml:5:14: found"),
    ("requests", "request", "p.toml: found no requests"),
)
def test_a_mistake_is_named_with_its_place(old, new, told):
    assert GOOD.count(old) == 1
    assert any(mistake.startswith(told) for mistake in wrong(GOOD.replace(old, new))), wrong(GOOD.replace(old, new))


def test_all_mistakes_are_told_at_once_and_a_file_that_is_no_text_is_refused(tmp_path):
    text = GOOD.replace('"64 KiB"', '"1000 B"').replace('"75 %"', '"75"').replace("title", "tilte")
    assert len(wrong(text)) == 4
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputErrors, match="it is not UTF-8"):
        read(str(tmp_path / "p.toml"))


@each("name", "nothing", "", "no/such.toml", "file_server.toml")
def test_a_profile_that_is_not_there_is_told_with_those_that_are(name):
    with pytest.raises(InputErrors, match="expected one of database, file_server, mail_spool") as caught:
        read(name)
    assert len(caught.value.mistakes) == 1


def test_the_identity_follows_what_is_done_and_nothing_else():
    profile = parse(GOOD, "p.toml")
    same = parse("# a comment\n" + GOOD.replace("Mine", "Yours").replace("measured", "dreamt"), "q.toml")
    assert same.identity == profile.identity
    changes = ('"75 %"', '"74 %"'), ('"50 %"', '"51 %"'), ('"64 KiB"', '"32 KiB"'), ('"measured"', '"x"\nalign = "512 B"')
    others = {parse(GOOD.replace(*change), "p.toml").identity for change in changes}
    assert len({profile.identity, *others}) == 5
    assert json.loads(profile.identity.partition(": ")[2]) == json.loads(profile.canonical)


@st.composite
def tables(draw):
    """Sizes in sectors with shares of a tenth of a thousandth of a percent that add to all."""
    sizes = draw(st.lists(st.integers(1, 1 << 21), min_size=1, max_size=64, unique=True))
    cuts = draw(st.lists(st.integers(1, WHOLE - 1), min_size=len(sizes) - 1, max_size=len(sizes) - 1, unique=True))
    edges = [0, *sorted(cuts), WHOLE]
    return {size * 512: after - before for size, before, after in zip(sizes, edges, edges[1:], strict=False)}


def written(table):
    rows = (f'{{ bytes = "{size} B", share = "{weight / 10_000:.4f} %" }},' for size, weight in table.items())
    return GOOD.partition("requests")[0] + f"requests = [{' '.join(rows)}]\n"


@given(tables())
def test_every_table_of_shares_is_read_exactly(table):
    found = parse(written(table), "p.toml")
    assert {request.bytes: request.weight for request in found.requests} == table
    assert sum(request.weight for request in found.requests) == profiles.WHOLE


@given(tables(), st.integers(-50, 50).filter(bool))
def test_shares_that_are_not_all_are_refused(table, more):
    size, weight = next(iter(table.items()))
    changed = max(1, weight + more)
    if changed != weight:
        (mistake,) = wrong(written({**table, size: changed}))
        assert "shares that add to" in mistake or "at most 100 %" in mistake
