"""The cost of the load in words."""

from dataclasses import replace

from assay.answer.wording.load_cost import UNCOUNTED, own_cost
from assay.records import EngineCost
from notebook_records import client, phase

SPENT = EngineCost(
    cpu_user_ns=2_000_000, cpu_system_ns=1_000_000, voluntary_switches=12, involuntary_switches=3, minor_faults=40, major_faults=2
)
COUNTED = {"user_instructions": 142_000, "kernel_instructions": 3_500_000, "user_cycles": 90_000, "kernel_cycles": 5_000_000}


def told(cost):
    return own_cost([phase([replace(client(count=1000), cost=cost)])])


def test_one_line_a_phase():
    text = told(SPENT)
    assert text.splitlines()[0] == "cost of the load:"
    (line,) = text.splitlines()[1:]
    assert line.startswith("    fill: 3 µs of CPU time per operation; ")
    assert line.endswith("; 12 voluntary switches, 3 involuntary switches, 42 page faults")
    assert UNCOUNTED in line


def test_counters_are_told_where_the_machine_has_them():
    line = told(replace(SPENT, **COUNTED))
    assert "142 user and 3,500 kernel instructions, 90 user and 5,000 kernel cycles" in line
    assert UNCOUNTED not in line


def test_what_is_not_known_is_said_to_be_so():
    assert told(None).endswith("    fill: unknown")
    assert own_cost([]) == ""
