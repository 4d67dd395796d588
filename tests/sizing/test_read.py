"""The file of a chain: what it says, and every mistake in it at once."""

import pytest

from assay.errors import InputErrors
from assay.sizing import read, wording
from assay.sizing.sized import size
from assay.units import Refusal, Unit
from stage.rows import each

PORT = """
[load]
read = "125 MB/s"
[[part]]
name = "port"
speed = "2GFC"
"""


def nowhere(lab, measure, _unit):
    return Refusal(found=f"{measure!r} in {lab}", expected="a notebook")


def sized(text, lookup=nowhere):
    return size(read.parse(text, "chain.toml", lookup))


def test_the_share_of_a_port_is_that_of_one_direction_and_an_amount_a_week_a_rate():
    """125 MB/s of a 2 Gb port are 60.5 % of one direction, not the quarter that a monitor told."""
    assert sized(PORT).stages[0].used == pytest.approx(0.605, abs=0.0005)
    chain = read.parse(PORT.replace("125 MB/s", "40 TB/week"), "chain.toml", nowhere)
    assert chain.load.read_bytes_per_s / 1e6 == pytest.approx(66, abs=0.2)


@each("text", "40 TB a week", "40 TB per week", "240 GB/h", "5.7 TB/day", "1 GB/s")
def test_amounts_in_other_words(text):
    assert read.parse(PORT.replace("125 MB/s", text), "chain.toml", nowhere).load.read_bytes_per_s > 60e6


def test_directory_operations_become_operations_of_disks():
    text = """
[load]
ldap = { operations = "1000 /s", reads_each = 0.5, writes_each = 0.25 }
[[part]]
name = "disks"
speed = "10 x SAS 15k"
"""
    found = sized(text)
    assert found.chain.load.read_ops_per_s == 500
    assert found.chain.load.write_ops_per_s == 250
    assert "directory operations" in wording.answer(found)
    assert found.stages[0].used == pytest.approx(750 / 1818, rel=0.001)


def test_a_measure_of_a_notebook_is_looked_up():
    asked = []

    def lookup(lab, measure, unit):
        asked.append((lab, measure, unit))
        return 95e6

    text = PORT + 'measured = { notebook = "lab/x", read = "w.read.bytes_per_s" }\n'
    assert sized(text, lookup).stages[0].limit.read_bytes_per_s == 95e6
    assert asked == [("lab/x", "w.read.bytes_per_s", Unit.BYTES_PER_S)]


def disks(more, name="disks"):
    return PORT + f'[[part]]\nname = "{name}"\nspeed = "6 x SATA 7200"\nlayout = "RAID-10"\n{more}'


def test_an_upgrade_keeps_what_it_does_not_tell_and_has_to_fit():
    """Twice the disks are twice the mirrors, and no stripe without them."""
    found = sized(disks('upgrade = ["12 x SATA 7200", { speed = "12 x SATA 7200", layout = "raid0" }, "95 MB/s"]\n'))
    assert [one.upgrade.layout.value for one in found.upgrades] == ["raid10", "raid0", "none"]
    assert wording.upgrade_rows(found)[0][1] == "12 x SATA 7200, raid10"
    spare = PORT.replace('"2GFC"', '"2 x 2GFC"\nstandby = 1\nupgrade = ["2 x 8GFC", "8GFC"]')
    assert [one.upgrade.standby for one in sized(spare).upgrades] == [1, 0]
    with pytest.raises(InputErrors, match=r"toml:11:1: found raid10 of 5; expected 2 disks or more, an even"):
        read.parse(disks('upgrade = "5 x SATA 7200"\n'), "chain.toml", nowhere)
    with pytest.raises(InputErrors, match="raid5 of 2; expected 3 disks or more besides 1 on standby"):
        read.parse(PORT.replace('"2GFC"', '"3 x SATA 7200"\nlayout = "raid5"\nstandby = 1'), "chain.toml", nowhere)


def test_what_a_reader_must_know_of_the_figures_is_said():
    told = " ".join(wording.remarks(sized(disks('measured = { read = "260 MB/s" }\nupgrade = "12 x SATA 7200"\n'))))
    assert "disks counts as measured, its upgrades by nominal speed" in told
    assert "operation_size" not in told
    random = PORT.replace('read = "125 MB/s"', 'random_reads = "900 /s"').replace("2GFC", "2 x 2GFC") + disks("")[len(PORT) :]
    told = " ".join(wording.remarks(sized(random)))
    assert "Random operations have no size here (operation_size), so they use nothing of port." in told
    assert "only several streams reach the sum (port)" in told
    text = '[load]\nrandom_reads = "5 /s"\n[[part]]\nname = "port"\nspeed = "1GbE"\n'
    assert "operation_size" in wording.answer(sized(text))


@each("price amount", ("1200 EUR", 1200), ("1,200.50 EUR", 1200.5), ("12,000 EUR", 12000))
def test_prices(price, amount):
    assert sized(PORT + f'price = "{price}"\n').price.amount == amount


@each("price", "1.200 EUR", "1,20 EUR", "1200", "€1200", "-5 EUR", "1200 Euro")
def test_what_may_be_another_price_elsewhere_is_none(price):
    with pytest.raises(InputErrors, match="a price such as"):
        sized(PORT + f'price = "{price}"\n')


def test_a_wrong_speed_hides_no_other_mistake():
    text = """
[load]
read = "5,7 TB/day"
[[part]]
name = "disks"
speed = "2x"
layout = "raid50"
standby = -1
upgrade = [{ price = "5" }, 7, "what"]
"""
    with pytest.raises(InputErrors) as caught:
        read.parse(text, "chain.toml", nowhere)
    found = [(one.line, one.found) for one in caught.value.mistakes]
    said = [(3, "'5,7 TB/day'"), (6, "'2x'"), (7, "'raid50'"), (8, "-1"), (9, "'5'"), (9, "'what'"), (9, "7"), (9, "no speed")]
    assert sorted(found) == said
    assert "a decimal point, and no commas" in str(caught.value)


def test_every_mistake_at_once():
    text = """
unknown = 1
[load]
raed = "5 MB/s"
ldap = { operations = "x" }
[[part]]
speed = "2x Foo"
[[part]]
name = "disks"
speed = "2 x SATA 7200"
layout = "raid5"
standby = 2
price = "12"
measured = { read = 5, notebook = 3 }
upgrade = { speed = "fast" }
[[part]]
name = "disks"
speed = "1GbE"
layout = "raid0"
price = "5 USD"
[[part]]
name = "other"
speed = "1GbE"
price = "5 EUR"
measured = { notebook = "lab", write = "no.such" }
"""
    with pytest.raises(InputErrors) as caught:
        read.parse(text, "chain.toml", nowhere)
    told = str(caught.value)
    for part in (
        "'unknown'",
        "did you mean 'read'",
        "2x Foo",
        "without a name",
        "raid5 of 2",
        "units on standby",
        "'12'",
        "'fast'",
        "two parts named 'disks'",
        "raid0 of a part that is no disk",
        "EUR and USD",
        "'no.such' in lab",
        "the directory of a notebook",
    ):
        assert part in told, told
    assert "chain.toml:4:1" in told
    assert "chain.toml:17:8: found two parts named 'disks'" in told


@each(
    "text",
    "",
    "part = 3",
    "[load]\n",
    '[load]\nread = "1 MB/s"\n',
    '[load]\n[[part]]\nname="a"\nspeed="1GbE"\n',
    "load = 3\npart = [4]",
)
def test_what_is_missing_is_said(text):
    with pytest.raises(InputErrors):
        read.parse(text, "chain.toml", nowhere)
