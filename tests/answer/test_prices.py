"""What a unit of a rate costs: the target's price over the figure, with the interval turned round."""

import pytest

from assay.answer import prices
from assay.errors import InputErrors
from assay.experiment import read
from assay.records import Cell, Estimate
from assay.units import Unit

FILE = """title = "T"
[targets.cheap]
kind = "directory"
path = "/tmp"
price = "1,200.50 EUR"
[targets.plain]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "bulk_io"
size = "1 MiB"
"""


def cell(value, unit, low=None, high=None, target="cheap"):
    figure = Estimate(value=value, low=low, high=high, confidence=0.95, unit=unit, n=3, method="t")
    return Cell(measure="w.write.bytes_per_s", levels={"target": target}, estimate=figure, values={})


def told(one):
    return prices.words(prices.of_cell(read.parse(FILE, "x.toml"), one))


def test_per_mb_and_per_operation():
    assert told(cell(100e6, Unit.BYTES_PER_S)) == "12.01 EUR per MB/s"
    assert told(cell(100e6, Unit.BYTES_PER_S, 80e6, 120e6)) == "12.01 EUR per MB/s (10.00 to 15.01)"
    assert told(cell(1e6, Unit.PER_S)) == "0.0012 EUR per operation/s"


def test_no_price_where_there_is_none_or_no_rate():
    assert told(cell(100e6, Unit.BYTES_PER_S, target="plain")) == ""
    assert told(cell(5e6, Unit.NANOSECONDS)) == ""
    assert prices.words(None) == ""


def test_a_price_changes_no_figure_and_a_wrong_one_is_named():
    found = read.parse(FILE, "x.toml")
    assert found.targets[0].price.amount == 1200.5
    assert read.parse(FILE.replace("1,200.50", "9"), "x.toml").digest == found.digest
    with pytest.raises(InputErrors) as caught:
        read.parse(FILE.replace("1,200.50 EUR", "cheap"), "x.toml")
    (mistake,) = caught.value.mistakes
    assert "cheap" in mistake.found
    assert mistake.line == 5
