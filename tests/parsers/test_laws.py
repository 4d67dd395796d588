"""Laws of every parser, over every recorded output: whole, cut off, damaged, of another tool, or no tool's at all."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalogue
from assay.catalogue import printed
from parser_cases import RECORDED, figures_or_refusal, recorded

PARSERS = [catalogue.find("parsers", name) for name in catalogue.names("parsers")]
OWN = {
    parser.name: [
        name
        for name in RECORDED
        if figures_or_refusal(parser, recorded(name)) and name.startswith((parser.name.partition("_")[0], "bash", "time"))
    ]
    for parser in PARSERS
}


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_any_recording_gives_figures_or_a_refusal(parser):
    for name in RECORDED:
        figures_or_refusal(parser, recorded(name))
    assert OWN[parser.name], "no recording that it understands"


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_an_output_cut_anywhere_gives_no_figure_that_was_not_in_a_whole_line(parser, data):
    text = recorded(data.draw(st.sampled_from(OWN[parser.name])))
    cut = data.draw(st.integers(min_value=0, max_value=len(text)))
    found = figures_or_refusal(parser, text[:cut])
    if found and "{" not in text:
        end = max(text.rfind("\n", 0, cut), text.rfind("\r", 0, cut)) + 1
        assert found == parser.parse(text[:end]), "a number that was cut off was taken for whole"


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
@settings(max_examples=120, deadline=None)
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
@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=200), number=st.from_regex(r"[0-9.,e+-]{1,12}", fullmatch=True), data=st.data())
def test_any_number_in_the_place_of_another_gives_figures_or_a_refusal(parser, text, number, data):
    figures_or_refusal(parser, text)
    parts = data.draw(st.sampled_from(OWN[parser.name]).map(recorded)).split(" ")
    places = [index for index, part in enumerate(parts) if part[:1].isdigit()]
    if places:
        parts[data.draw(st.sampled_from(places))] = number
        figures_or_refusal(parser, " ".join(parts))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_hostile_repetition_ends_soon(parser):
    """Regular expressions that run away take minutes for this; the bound is generous for slow machines."""
    text = recorded(min(OWN[parser.name], key=lambda name: len(recorded(name))))
    rows = [row for row in printed.lines(text) if row.strip()]
    begun = time.process_time()
    for row in rows[:: max(1, len(rows) // 8)]:
        half = row[: len(row) // 2]
        for piece in (row, half, half + " " * 60, half[-1:], " "):
            filled = (half + piece * (printed.LONGEST_LINE // len(piece)))[: printed.LONGEST_LINE]
            figures_or_refusal(parser, (filled + "\n") * 12 + text)
    figures_or_refusal(parser, text + "1" * 2_000_000 + "\n")
    assert time.process_time() - begun < 30


def test_printed_numbers_know_their_last_digit():
    assert printed.printed("447", 10**6) == printed.Printed(value=447e6, half=0.5e6)
    assert printed.printed("0,0375124").half == pytest.approx(0.5e-7)
    assert printed.printed("1.2e+03") == printed.Printed(value=1200.0, half=50.0)
    for text in ("", "-1", "nan", "1.2.3", "1e9999", "٣", "1" * 50, "0x10"):
        with pytest.raises((ValueError, OverflowError)):
            printed.printed(text)


def test_programs_and_options_are_found_behind_others():
    assert printed.calls(("sudo", "/usr/bin/dd", "if=x"), "dd")
    assert printed.calls(("sh", "-c", "sync; dd if=x of=y"), "dd")
    assert not printed.calls(("ddrescue", "add"), "dd")
    assert printed.option(("fio", "--output=a", "--output", "b"), "--output") == "b"
    assert printed.option(("fio", "--output"), "--output") is None
