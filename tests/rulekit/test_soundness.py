"""The table of what SOUND needs: in code, in the docs, and complete for every claim."""

from itertools import product
from pathlib import Path as FilePath

from assay.records import Claim, Direction, Durability, Load, Path, Regime, Tier
from assay.rulekit.soundness import ROWS, Work, markdown, required_rules, rows_for, work_of
from stage.rows import each

CONCEPTS = FilePath(__file__).parents[2] / "docs" / "concepts.md"


def test_the_page_holds_the_same_table():
    assert markdown() in CONCEPTS.read_text()


def test_as_is_needs_the_books_to_balance():
    assert required_rules(Claim(), Direction.READ) == ("E01", "E05", "G04", "G05", "G11", "L07")


def test_device_reads_need_two_independent_rungs():
    (row,) = (row for row in rows_for(Claim(tier=Tier.DEVICE), Direction.READ) if row.value == Tier.DEVICE)
    assert (row.least, len(row.evidence)) == (2, 3)


def test_every_claim_that_can_be_false_has_a_rule():
    free = {("durability", "none"), ("durability", "acked"), ("regime", "burst"), ("path", "local")}
    for part, values in {"tier": Tier, "durability": Durability, "load": Load, "regime": Regime, "path": Path}.items():
        for value in values:
            assert (part, value) in free or any((row.part, row.value) == (part, value) for row in ROWS), (part, value)


@each("direction", *Direction, None)
def test_rules_are_named_once_and_as_is_first(direction):
    for tier, durability in product(Tier, (None, *Durability)):
        rules = required_rules(Claim(tier=tier, durability=durability), direction)
        assert len(set(rules)) == len(rules)
        assert rules[0] == "E01"


def test_flushes_count_as_writes():
    assert work_of(Direction.FLUSH) is Work.WRITE
    assert work_of(None) is Work.ANY


@each("direction", Direction.SEND, Direction.RECEIVE, Direction.REQUEST)
def test_what_goes_over_a_network_is_no_write(direction):
    assert work_of(direction) is Work.REQUEST
    assert required_rules(Claim(durability=Durability.STABLE_MEDIA), direction)[-1] == "D04"
