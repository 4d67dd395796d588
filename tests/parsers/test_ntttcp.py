"""NTttcp: the end that sends by what Linux says, the table of Windows by its rules."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ntttcp")
TEXT = recorded("ntttcp-linux-1.4-form.txt")


def test_the_end_that_made_no_connections_receives():
    text = "".join(line for line in TEXT.splitlines(keepends=True) if "created in" not in line and "negotiated" not in line)
    assert PARSER.parse(text)["receive.bytes"] == 133_812_977_664
