"""NTttcp: the end that sends by what Linux says, the table of Windows by its rules."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ntttcp")
TEXT = recorded("ntttcp-linux-1.4-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "send.bytes": 133_812_977_664,
        "send.bytes_per_s": 94.89e9 / 8,
        "send.elapsed_ns": 11.28e9,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_the_end_that_made_no_connections_receives():
    text = "".join(line for line in TEXT.splitlines(keepends=True) if "created in" not in line and "negotiated" not in line)
    assert PARSER.parse(text)["receive.bytes"] == 133_812_977_664


def test_windows_has_powers_of_1024_in_a_table():
    found = PARSER.parse(recorded("ntttcp-windows-5.39-form.txt"))
    assert found["transfer.bytes"] == 34_243 * 2**20
    assert found["transfer.bytes_per_s"] == pytest.approx(found["transfer.bytes"] / 300.005, rel=1e-3)
