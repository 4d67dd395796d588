"""What a number is, in words."""

import pytest

from assay.answer.wording import labels
from assay.records import Label, Nature, Regime
from assay.workloads import bulk_io, metadata


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("rr", "cold operation rr as the client saw it"),
        ("get_p50", "cold operation get_p50 as the client saw it"),
        ("read", "cold reads as the client saw them"),
        ("random_read", "cold random reads as the client saw them"),
    ],
)
def test_only_known_words_are_put_into_the_plural(operation, words):
    assert labels.in_general(Label(nature=Nature.AS_SEEN, operation=operation, regime=Regime.COLD)) == words


def test_every_operation_of_the_own_engine_is_a_known_word():
    own = (*metadata.OPERATIONS, *bulk_io.WRITES, *bulk_io.READS)
    assert [name for name in own if labels.noun(name).startswith("operation ")] == []
