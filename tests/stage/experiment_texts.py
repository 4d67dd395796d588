"""What the tests of experiment files share: the mistakes of a text, and what stands at the place of one."""

import pytest

from assay.errors import InputErrors, Mistake
from assay.experiment import read


def mistakes(text: str) -> tuple[Mistake, ...]:
    """All that is wrong with a text."""
    with pytest.raises(InputErrors) as caught:
        read.parse(text, "x.toml")
    return caught.value.mistakes


def the_mistake(text: str) -> Mistake:
    """The only thing that is wrong with it."""
    found = mistakes(text)
    assert len(found) == 1, found
    return found[0]


def wrong(text: str) -> list[tuple[int | None, str]]:
    """Line and words of all that is wrong with it."""
    return [(one.line, one.found) for one in mistakes(text)]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def is_told(text: str, at: str, found: str, expected: str) -> None:
    """The only mistake has these words, and stands where the text goes on so."""
    mistake = the_mistake(text)
    assert found in mistake.found
    assert expected in mistake.expected
    assert mistake.line is not None
    assert mistake.column is not None
    assert text.splitlines()[mistake.line - 1][mistake.column - 1 :].startswith(at)
