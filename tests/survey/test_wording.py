"""The sentences and rows of a survey, and the profile, from counts made for them."""

import json
import tomllib
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import units
from assay.errors import RefusedError
from assay.settings import size_distributions
from assay.survey import result, wording
from assay.survey.bands import AGE_BANDS, DAY_NS
from assay.survey.filters import FileTime, Filters, keeper
from assay.survey.result import Counting, Survey, Trouble, Walked
from stage.rows import each
from stage.survey_trees import NOW_NS

MET = Walked(directories=3, others=0, vanished=0, unread=0, first_unread=(), elsewhere=0, first_elsewhere=(), touched=0)


def survey(*files, clock=FileTime.MODIFIED, filters=None, said=(), **walked):
    """A survey of files given as (days old, size)."""
    counting = Counting(clock, NOW_NS, keeper(filters, clock, NOW_NS) if filters else None)
    for days, size in files:
        times = {f"st_{clock.value}_ns": NOW_NS - round(days * DAY_NS)}
        counting.see("f", SimpleNamespace(**times, st_size=size, st_blocks=-(-size // 512), st_nlink=1))
    return Survey(
        directories=("/srv",),
        started_utc="2027-01-15T08:00:00Z",
        clock=clock,
        filters=said,
        crossed=False,
        coarse=(),
        distribution=counting.distribution(),
        walked=replace(MET, **walked),
    )


def test_holes_fill_no_second_tier():
    """One sparse image of 1 TiB, of which nothing is stored, beside 1 MB of files."""
    found = survey((400, 1 << 40), (0, 10**6))
    kept, nothing = found.distribution.kept, {"bytes": 1 << 40, "allocated_bytes": 0}
    ages = tuple(replace(age, **nothing) if age.bytes == 1 << 40 else age for age in found.distribution.ages)
    whole = replace(kept, allocated_bytes=10**6)
    sparse = replace(found, distribution=replace(found.distribution, ages=ages, kept=whole, tree=whole))
    said = wording.answer(sparse)
    assert said.endswith("would hold 1 file, 0 B allocated (0 % of all, 50 % of all files).")


SMALL = Filters(most_bytes=100)


@each(
    "found figures",
    (survey(), ["No regular files"]),
    (survey((0.5, 10), (0, 20)), ["nothing", "all 2 files (30 B)"]),
    (survey((1000, 900), (2, 100)), ["not modified for a year", "1 file, 900 B", "90 % of all bytes, 50 % of all files"]),
    (survey((40, 900), (2, 100), clock=FileTime.ACCESSED), ["not accessed for a month", "1 file, 900 B"]),
    (survey((40, 900), (2, 100), filters=SMALL, said=("--most 100 B",)), ["`--most 100 B`", "1 file, 100 B", "10 %", "50 %"]),
    (survey((40, 900), filters=SMALL, said=("--most 100 B",)), ["`--most 100 B`", "none of the 1 file (900 B)"]),
    (survey((400, 0)), ["1 file, 0 B", "- of all bytes"]),
)
def test_the_answer(found, figures):
    said = wording.answer(found)
    assert [one for one in figures if one not in said] == [], said


def test_rows_end_with_the_last_band_that_has_files():
    rows = wording.age_rows(survey((400, 300), (10, 700)))
    assert [row[0] for row in rows] == [band.label for band in AGE_BANDS[:9]]
    assert rows[2] == ("1 to 2 weeks", "1", "50 %", "700 B", "70 %", "100 %")
    assert rows[-1] == ("1 to 2 years", "1", "50 %", "300 B", "30 %", "30 %")
    assert wording.size_rows(survey((400, 300), (10, 700))) == (("up to 1 KiB", "2", "100 %", "1 kB", "100 %", "1.54 kB"),)
    assert wording.age_rows(survey((0, 0)))[0] == ("under 1 day", "1", "100 %", "0 B", "-", "-")


def test_what_is_missing_stands_first_and_doubts():
    found = survey(
        (1, 1),
        unread=7,
        first_unread=(Trouble(path="/srv/x", reason="Permission denied"),),
        elsewhere=1,
        first_elsewhere=("/srv/y",),
        vanished=2,
        touched=1,
    )
    said = wording.remarks(found)
    assert "7 paths (/srv/x: Permission denied; ...)" in said[0]
    assert "The figures are too low" in said[0]
    assert "1 directory on other file systems; use --cross to include them (/srv/y)" in said[1]
    assert said[2].startswith("2 names vanished")
    assert "1 directory of other users" in said[3]
    assert "mtime" in said[-1]
    said = " ".join(wording.remarks(replace(survey((-1, 1)), coarse=("mounted noatime: so",))))
    assert "unreliable: mounted noatime: so." in said
    assert "1 file dated after the start" in said


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2**40)), min_size=1, max_size=30))
def test_a_profile_is_toml_whose_sums_are_the_files(files):
    read = tomllib.loads(result.toml_profile(survey(*files)))
    assert set(read) == {"title", "source", "survey", "sizes"}
    assert sum(row["files"] for row in read["sizes"]) == read["survey"]["files"] == len(files)
    assert sum(row["bytes"] for row in read["sizes"]) == read["survey"]["bytes"] == sum(size for _, size in files)
    assert sum(row["files"] for row in read["survey"]["ages"]) == len(files)
    ends = [units.parse(row["up_to"], units.Unit.BYTES) for row in read["sizes"] if "up_to" in row]
    assert ends == sorted(set(ends))
    assert all("up_to" in row for row in read["sizes"][:-1])
    for row in read["sizes"]:
        assert set(row) <= {"up_to", "files", "bytes"}
        assert row["files"] > 0
        if "up_to" in row:
            assert row["bytes"] <= row["files"] * units.parse(row["up_to"], units.Unit.BYTES)


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2**40)), min_size=1, max_size=30))
def test_a_profile_is_a_size_distribution_that_a_workload_can_read(files):
    found = survey(*files)
    read = size_distributions.parse(result.toml_profile(found), "p.toml")
    told = [(band.files, band.bytes, band.up_to) for band in read.sizes]
    bands = zip(found.size_bands, found.distribution.sizes, strict=True)
    assert told == [(group.files, group.bytes, band.most_bytes) for band, group in bands if group.files]
    assert read.survey["files"] == len(files)


@given(st.text())
def test_any_name_can_stand_in_a_profile(name):
    name = name.encode(errors="replace").decode()
    read = tomllib.loads(result.toml_profile(replace(survey((1, 1)), directories=(name,), filters=(name,))))
    assert read["survey"]["directories"] == [name]
    assert json.dumps(read["title"])


def test_no_profile_of_nothing():
    with pytest.raises(RefusedError, match="a profile needs at least one"):
        result.toml_profile(survey())
