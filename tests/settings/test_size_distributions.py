"""Size distributions of files: read back as written, every mistake at once with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import units
from assay.errors import InputErrors
from assay.settings import size_distributions
from assay.settings.size_distributions import SizeClass
from assay.units import Unit
from stage.rows import each

HEAD = 'title = "a"\nsource = "b"\n'


def told(text):
    with pytest.raises(InputErrors) as raised:
        size_distributions.parse(text, "p.toml")
    return [str(mistake) for mistake in raised.value.mistakes]


@st.composite
def bands(draw):
    """Bands that can be: rising edges, files within them, perhaps an open one at the end."""
    edges = sorted(draw(st.sets(st.integers(0, 1 << 40), min_size=1, max_size=8)))
    lower, made = 0, []
    for edge in [*edges, *([None] if draw(st.booleans()) else [])]:
        files = draw(st.integers(0, 1000))
        size = files * draw(st.integers(lower, (2 * lower + 9) if edge is None else edge))
        made.append(SizeClass(up_to=edge, files=files, bytes=size))
        lower = lower if edge is None else edge
    return tuple(made)


def written(some):
    rows = []
    for band in some:
        edge = "" if band.up_to is None else f'up_to = "{units.format(band.up_to, Unit.BYTES)}"\n'
        rows.append(f"[[sizes]]\n{edge}files = {band.files}\nbytes = {band.bytes}\n")
    return HEAD + "".join(rows)


@given(bands())
def test_what_is_written_is_read(some):
    if not any(band.files for band in some):
        assert [mistake.partition(": ")[2] for mistake in told(written(some))] == [
            "found no files; expected at least one row with files"
        ]
        return
    read = size_distributions.parse(written(some), "p.toml")
    assert read.sizes == some
    assert sum(read.weights.values()) == sum(band.files for band in some)
    whole = sum(size * weight for size, weight in read.weights.items())
    assert abs(whole - sum(band.bytes for band in some)) <= sum(band.files for band in some)


def test_a_mean_is_rounded_to_a_byte_and_a_file_that_is_not_there_says_what_is(tmp_path):
    assert [SizeClass(files=2, bytes=size).mean_bytes for size in (4096, 4097, 4098)] == [2048, 2049, 2049]
    assert SizeClass(files=0, bytes=0).mean_bytes == 0
    with pytest.raises(InputErrors, match=r"No such file or directory.*debian_usr"):
        size_distributions.read(str(tmp_path / "none.toml"))
    (tmp_path / "b.toml").write_bytes(b"\xff")
    with pytest.raises(InputErrors, match="not UTF-8"):
        size_distributions.read(str(tmp_path / "b.toml"))


@each(
    "text places",
    ("title = ", ["p.toml:1:"]),
    ("", ["found no title", "found no source", "found no sizes"]),
    (HEAD + "sizes = 5\nx = 1\n", ["p.toml:3:9: found 5", "p.toml:4:1: found unknown key 'x'"]),
    (HEAD + "survey = 5\nsizes = [{ files = 1, bytes = 1 }]\n", ["p.toml:3:10: found 5; expected a table"]),
    (
        HEAD + 'sizes = [{ up_to = "4k", files = -1, bytes = true, x = 1 }]\n',
        ["'4k'", "found -1", "found True", "unknown key 'x'"],
    ),
    (HEAD + "sizes = [{ up_to = 4096, files = 1, bytes = 1 }]\n", ["found 4096; expected up_to, bytes such as"]),
    (HEAD + "sizes = [{ files = 1 }]\n", ["found no bytes; expected bytes = a whole number"]),
    (HEAD + 'sizes = [{ up_to = "4 B", files = 1, bytes = 5 }]\n', ["found 5 bytes in 1 files; expected at most 4 B"]),
    (
        HEAD + "sizes = [{ files = 1, bytes = 1 }, { files = 1, bytes = 1 }]\n",
        ["p.toml:3:10: found no up_to before the last row"],
    ),
    (
        HEAD + 'sizes = [{ up_to = "4 B", files = 0, bytes = 0 }, { up_to = "3 B", files = 1, bytes = 3 }]\n',
        ["found 3 B; expected more than 4 B"],
    ),
    (
        HEAD + 'sizes = [{ up_to = "4 B", files = 0, bytes = 0 }, { files = 2, bytes = 7 }]\n',
        ["found 7 bytes in 2 files; expected at least 4 B"],
    ),
)
def test_every_mistake_is_told_at_its_place(text, places):
    found = told(text)
    assert len(found) == len(places)
    assert all(any(place in mistake for mistake in found) for place in places)


@each("name", *size_distributions.shipped())
def test_what_is_shipped_is_right_and_can_be_made(name):
    read = size_distributions.read(name)
    assert max(read.weights) <= 1 << 30
    assert sum(band.files for band in read.sizes) == read.survey["files"]
    assert sum(band.bytes for band in read.sizes) == read.survey["bytes"]
