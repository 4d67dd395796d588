"""One share of a declared limit: for the roofline, for the throttle's credit, for the chain of limits."""

from dataclasses import replace

import pytest

from assay.measures import limits
from assay.measures.limits import Credit, Traffic
from assay.records import Direction, Limit
from assay.units import Unit
from audit.case_builder import MIB, Made, Seen, case_of

LIMIT = Limit(device="vda", direction=Direction.READ, bytes_per_s=100 * MIB, ops_per_s=50)


def test_bytes_and_operations_are_held_against_their_own_limit():
    both = tuple(limits.uses(LIMIT, (50 * MIB, 100.0), 2.0, Credit()))
    assert [(one.unit, one.share, one.amount) for one in both] == [
        (Unit.BYTES_PER_S, 0.5, 100 * MIB),
        (Unit.PER_S, 2.0, 200.0),
    ]
    assert [one.unit for one in limits.uses(LIMIT, (None, 1.0), 2.0, Credit())] == [Unit.PER_S]
    assert [one.unit for one in limits.uses(replace(LIMIT, ops_per_s=None), (1.0, 1.0), 2.0, Credit())] == [Unit.BYTES_PER_S]


def test_a_slice_on_credit_counts_the_less_the_longer_the_time():
    short, long = (next(limits.uses(LIMIT, (1.0, None), each, Credit(share=1.03, burst_s=0.1))) for each in (0.1, 100.0))
    assert short.allowed == pytest.approx(2.03 * 100 * MIB)
    assert long.allowed == pytest.approx(1.031 * 100 * MIB)
    assert next(limits.uses(LIMIT, (1.0, None), 0.1, Credit())).allowed == 100 * MIB


def test_io_of_other_processes_is_taken_off_or_counted_as_asked():
    made = Made(seconds=2.0, devices=("vda",), seen=Seen(lower_bytes=256 * MIB, before_bytes=MIB))
    case = case_of(made, "T01")
    own, everybody = (
        next(iter(limits.of_device(case.phase, case.observations, LIMIT, traffic))).amount
        for traffic in (Traffic.LOAD, Traffic.ALL)
    )
    assert (own, everybody) == (254 * MIB, 256 * MIB)
    assert limits.of_device(case.phase, case.observations, replace(LIMIT, device="vdb"), Traffic.ALL) == ()
