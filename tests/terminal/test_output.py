import contextlib
import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.terminal.output import HANGING, Row, folded, table

ASSAY = Path(sys.executable).with_name("assay")
NOTE = "    other programs were at work: 75.4 % of the processor time (python), with the processors 98.5 % busy"
ROW = "SOUND    stream.read.bytes_per_s           441 MB/s  232 MB/s to 840 MB/s, n = 4  device"
LABEL = "no  perf counters  found no hardware counters below /sys; expected a PMU: what it costs is unknown"


WORDS = st.lists(st.text("abc.:", min_size=1, max_size=20), min_size=1, max_size=40)


@given(WORDS.map(" ".join), st.integers(min_value=0, max_value=8), st.integers(min_value=40, max_value=90))
def test_no_word_is_lost_and_no_line_is_too_long(prose, indented, width):
    made = folded(" " * indented + prose, width)
    assert made.split() == prose.split()
    assert max(map(len, made.split("\n"))) <= width
    assert folded(made, width) == made


@given(st.text("ab \n"), st.integers(min_value=40, max_value=90))
def test_any_text_keeps_its_words(text, width):
    assert folded(text, width).split() == text.split()


@pytest.mark.parametrize("text", ["", "short", "\n\n  two\n", "x" * 200, f"{NOTE}"[:80]])
def test_what_fits_and_what_cannot_be_broken_stays(text):
    assert folded(text, 80) == text


def test_a_note_goes_on_where_it_began_and_a_label_stands_alone():
    first, second = folded(NOTE, 80).split("\n")
    assert (first[:9], second[:9]) == ("    other", "    proce")
    first, second = folded(LABEL, 80).split("\n")
    assert (second[:19], second[19]) == (" " * 19, "i")
    assert folded(NOTE.strip(), 80).split("\n")[1].startswith("    processors")


@pytest.mark.parametrize("unit", ["%", "MB/s", "MiB", "ns", "s"])
def test_a_number_keeps_its_unit(unit):
    first, second = folded(f"{'w' * 36} 52.4 {unit} of it", 40).split("\n")
    assert (first, second) == ("w" * 36, f"    52.4 {unit} of it")


def test_a_row_is_broken_between_its_cells():
    assert folded(ROW, 80).split("\n")[1] == "    device"


CELL = st.text("abc %", min_size=1, max_size=60).map(lambda text: " ".join(text.split()) or "-")
TABLE = st.integers(1, 8).flatmap(lambda columns: st.lists(st.tuples(*[CELL] * columns), min_size=1, max_size=6))


@given(TABLE, st.integers(40, 200), st.sets(st.integers(0, 7)))
def test_a_head_stands_above_its_cells_at_every_width(rows, width, right):
    header = [f"h{column}" for column in range(len(rows[0]))]
    made = table(header, [Row(cells=row) for row in rows], right, width=width).split("\n")
    assert max(map(len, made)) <= width
    lines = [line for line, text in enumerate(made) if "h" in text]
    assert lines == list(range(len(lines))), "the head has its lines at the top"
    for column, name in enumerate(header):
        (line,) = [line for line in lines if name in made[line].split()]
        at = made[line].index(name)
        edge = at + len(name) if column in right else at
        for row in rows:
            first = row[column].split()[0][: width - HANGING]
            shown = [text for text in made[len(lines) :] if stands_at(text, first, edge, column in right)]
            assert shown, f"{first!r} of {row} stands nowhere at {edge}"


def stands_at(text, word, edge, is_right):
    """Whether a line has a cell with this word at this edge: it begins there, or the words that begin with it end there."""
    if not is_right:
        return text[edge : edge + len(word)] == word and not text[max(0, edge - 1) : edge].strip()
    cell = text[:edge].rpartition("  ")[2]
    return word in cell.split() and not text[edge : edge + 1].strip()


def test_a_table_that_is_too_wide_has_several_lines_for_a_row():
    header = ("verdict", "measure", "at", "value")
    rows = [Row(cells=("SOUND", "load.search.ops_per_s", "target=people clients=2", "9,317/s"), note="a note")]
    assert table(header, rows, (3,), width=40).split("\n") == [
        "verdict  measure",
        "    at                         value",
        "SOUND    load.search.ops_per_s",
        "    target=people clients=2  9,317/s",
        "    a note",
    ]


def lines_on_a_terminal(columns, *words):
    """What a command prints where standard output is a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([ASSAY, *words], stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # EIO: the last writer is gone
        while piece := os.read(ours, 65536):
            said += piece
    process.wait()
    os.close(ours)
    return said.decode().replace("\r\n", "\n").split("\n")


def test_a_terminal_gets_lines_that_fit_and_a_pipe_whole_ones():
    shown = lines_on_a_terminal(60, "stat", "--nothing")
    assert 40 < max(map(len, shown)) <= 60
    piped = subprocess.run([ASSAY, "stat", "--nothing"], capture_output=True, text=True, check=False)
    assert [line[:18] for line in piped.stderr.splitlines()] == ["assay stat: found "] * 2
    assert " ".join(piped.stderr.split()) == " ".join(" ".join(shown).split())
