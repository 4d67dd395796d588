"""Laws of every parser, over every recorded output: whole, cut off, damaged, of another tool, or no tool's at all."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalogue
from assay.catalogue import printed
from assay.watch import imported
from stage import sizes
from stage.parser_cases import RECORDED, figures_or_refusal, recorded

PARSERS = [catalogue.find("parsers", name) for name in catalogue.names("parsers")]
OWN = {
    parser.name: [
        name
        for name in RECORDED
        if name.startswith((parser.name.partition("_")[0], "bash", "time")) and figures_or_refusal(parser, recorded(name))
    ]
    for parser in PARSERS
}


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_any_recording_gives_figures_or_a_refusal(parser):
    for name in RECORDED:
        figures_or_refusal(parser, recorded(name))
    assert OWN[parser.name], "no recording that it understands"


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_it_knows_what_its_program_printed_and_nothing_else(parser):
    programs = catalogue.programs_of(parser.name)
    texts = [text for name in OWN[parser.name] if imported.recognised(text := recorded(name)).tool == parser.name]
    known = [(program, text[:60]) for program in programs for text in texts if parser.recognises((program, "-x"), text)]
    assert len(known) == len(programs) * len(texts) > 0
    assert [text[:60] for text in texts if parser.recognises(("another",), text)] == []
    assert [program for program in programs if parser.recognises((program,), "usage\n")] == []


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@sizes.examples(80)
@given(data=st.data())
def test_an_output_cut_anywhere_gives_the_figures_of_whole_lines_or_of_its_last_line_as_it_stands(parser, data):
    """A result without a last line end is read: so what a cut leaves of a line counts as printed, or not at all."""
    text = recorded(data.draw(st.sampled_from(OWN[parser.name])))
    cut = data.draw(st.integers(min_value=0, max_value=len(text)))
    found = figures_or_refusal(parser, text[:cut])
    if found and "{" not in text:
        end = max(text.rfind("\n", 0, cut), text.rfind("\r", 0, cut)) + 1
        ended, before = (figures_or_refusal(parser, one) or {} for one in (f"{text[:cut]}\n", text[:end]))
        assert all(value in (ended.get(key), before.get(key)) for key, value in found.items())


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@sizes.examples(120)
@given(data=st.data())
def test_damage_anywhere_gives_figures_or_a_refusal(parser, data):
    text = recorded(data.draw(st.sampled_from(OWN[parser.name])))
    start = data.draw(st.integers(min_value=0, max_value=len(text)))
    length = data.draw(st.integers(min_value=0, max_value=40))
    junk = data.draw(
        st.sampled_from(["-", "9" * 45, "1e999", "nan", "inf", "-1", "0", "", "\n", "\r", "%", "٣", "1e308"]) | st.text()
    )
    figures_or_refusal(parser, text[:start] + junk + text[start + length :])


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@sizes.examples(60)
@given(text=st.text(max_size=200), number=st.from_regex(r"[0-9.,e+-]{1,12}", fullmatch=True), data=st.data())
def test_any_number_in_the_place_of_another_gives_figures_or_a_refusal(parser, text, number, data):
    figures_or_refusal(parser, text)
    parts = data.draw(st.sampled_from(OWN[parser.name]).map(recorded)).split(" ")
    places = [index for index, part in enumerate(parts) if part[:1].isdigit()]
    if places:
        parts[data.draw(st.sampled_from(places))] = number
        figures_or_refusal(parser, " ".join(parts))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_without_numbers_there_is_no_figure(parser):
    for name in OWN[parser.name]:
        assert figures_or_refusal(parser, re.sub(r"\d", "x", recorded(name))) is None


NUMBER = re.compile(r"\d[\d.]*")


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@sizes.examples(40)
@given(data=st.data())
def test_numbers_that_cannot_be_read_change_no_figure(parser, data):
    """Figures of one number are missing then; sums and means of several (matrices, iterations, files) are, too."""
    text = recorded(data.draw(st.sampled_from(OWN[parser.name])))
    whole = parser.parse(text)
    for _ in range(data.draw(st.integers(min_value=1, max_value=3))):
        start, end = data.draw(st.sampled_from([match.span() for match in NUMBER.finditer(text)] or [(0, 0)]))
        text = text[:start] + data.draw(st.sampled_from("x?*-#")) * (end - start) + text[end:]
    found = figures_or_refusal(parser, text) or {}
    assert {key: value for key, value in found.items() if whole.get(key) != value} == {}


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_a_decimal_comma_changes_no_figure(parser):
    for name in OWN[parser.name]:
        whole = parser.parse(recorded(name))
        found = figures_or_refusal(parser, re.sub(r"(?<=\d)\.(?=\d)", ",", recorded(name))) or {}
        assert {key: value for key, value in found.items() if whole.get(key) != value} == {}, name


ADDED_UP = ("scp_sftp", "slapadd")
"""Several files of scp are one copy; of the time around slapadd and its meter either may stand alone."""


@pytest.mark.parametrize("parser", [one for one in PARSERS if one.name not in ADDED_UP], ids=lambda parser: parser.name)
def test_no_operation_has_figures_of_two_runs(parser):
    """The later counts where both did it; two that cannot be told apart are refused."""
    own = [name for name in OWN[parser.name] if name.startswith(parser.name.partition("_")[0]) and "progress2" not in name]
    for first, second in ((one, other) for one in own for other in own if one[-4:] == other[-4:]):
        before, after = parser.parse(recorded(first)), parser.parse(recorded(second))
        found = figures_or_refusal(parser, recorded(first) + recorded(second)) or {}
        for operation in {key.partition(".")[0] for key in found}:
            told, earlier, later = (
                {key: value for key, value in one.items() if key.partition(".")[0] == operation} for one in (found, before, after)
            )
            assert told == (later or earlier), (first, second, operation)


WORDS = (
    "12",
    "99999",
    "MB/s",
    "KB/sec",
    "IOPS=7",
    "bytes",
    "read",
    "write",
    "1.5",
    "GB/s",
    "sec",
    "=",
    "(32.0MiB)",
    "elapsed",
    "real",
)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@sizes.examples(20)
@given(data=st.data())
def test_what_another_program_says_meanwhile_changes_no_figure(parser, data):
    text = recorded(data.draw(st.sampled_from(OWN[parser.name])))
    rows = text.splitlines(keepends=True)
    at = data.draw(st.integers(min_value=0, max_value=len(rows)))
    said = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))
    found = figures_or_refusal(parser, "".join([*rows[:at], f"warning: {' '.join(said)}\n", *rows[at:]])) or {}
    whole = parser.parse(text)
    assert {key: value for key, value in found.items() if whole.get(key) != value} == {}


@pytest.mark.slow
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_hostile_repetition_ends_soon(parser):
    """Regular expressions that run away take minutes for this; the bound is generous for slow machines."""
    text = recorded(min(OWN[parser.name], key=lambda name: len(recorded(name))))
    rows = [row for row in printed.lines(text) if row.strip()]
    begun = time.process_time()
    for row in rows[:: max(1, len(rows) // 4)]:
        half = row[: len(row) // 2]
        for piece in (row, half, half + " " * 60, half[-1:], " "):
            filled = (half + piece * (printed.LONGEST_LINE // len(piece)))[: printed.LONGEST_LINE]
            figures_or_refusal(parser, (filled + "\n") * 12 + text)
    figures_or_refusal(parser, text + "1" * 2_000_000 + "\n")
    assert time.process_time() - begun < 30


def test_printed_numbers_know_their_last_digit():
    assert printed.number("447", 10**6) == printed.ParsedNumber(value=447e6, half=0.5e6)
    assert printed.number("0,0375124").half == pytest.approx(0.5e-7)
    assert printed.number("1.2e+03") == printed.ParsedNumber(value=1200.0, half=50.0)
    for text in ("", "-1", "nan", "1.2.3", "1e9999", "٣", "1" * 50, "0x10"):
        with pytest.raises((ValueError, OverflowError)):
            printed.number(text)


def test_programs_and_options_are_found_behind_others():
    assert printed.calls(("sudo", "/usr/bin/dd", "if=x"), "dd")
    assert printed.calls(("sh", "-c", "sync; dd if=x of=y"), "dd")
    assert not printed.calls(("ddrescue", "add"), "dd")
    assert printed.option(("fio", "--output=a", "--output", "b"), "--output") == "b"
    assert printed.option(("fio", "--output"), "--output") is None
