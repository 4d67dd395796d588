"""Patterns of evidence keys are those of the shell, as far as they have stars."""

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from assay.evidence.sources import fits

words = st.text(alphabet="ab.", max_size=6)


@given(words, st.text(alphabet="ab.*", max_size=6))
def test_it_is_what_the_shell_would_say(key, pattern):
    assert fits(key, pattern) is fnmatchcase(key, pattern)


def test_what_is_no_star_stands_for_itself(subtests):
    for key, pattern, expected in [
        ("own_read_bytes", "own_*_bytes", True),
        ("own_bytes", "own_*_bytes", False),
        ("a", "*", True),
        ("a[b]", "a[b]", True),
    ]:
        with subtests.test(key=key, pattern=pattern, expected=expected):
            assert fits(key, pattern) is expected
