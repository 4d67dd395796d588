"""Declared cost of every observer: in the form that benchmarks/observer_cost.py compares with measurements."""

import re

from assay import catalogue


def test_declared_cost_begins_with_cpu_time_per_look(subtests):
    for name in catalogue.names("observers"):
        with subtests.test(name=name):
            assert re.match(r"[\d.]+ (ns|µs|ms|s) CPU per look\b", catalogue.find("observers", name).cost)
