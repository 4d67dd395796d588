"""Declared cost of every observer: in the form that benchmarks/observer_cost.py compares with measurements."""

import re

import pytest

from assay import catalogue


@pytest.mark.parametrize("name", catalogue.names("observers"))
def test_declared_cost_begins_with_cpu_time_per_look(name):
    assert re.match(r"[\d.]+ (ns|µs|ms|s) CPU per look\b", catalogue.find("observers", name).cost)
