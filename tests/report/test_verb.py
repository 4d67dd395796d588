"""`assay report`: what it refuses, and how curves of interleaved operations become curves over objects."""

from dataclasses import replace

import pytest

from assay.analysis.curves import Curve
from assay.laboratory import pages as verb
from assay.records import Direction, OperationTotal
from assay_process import Bench
from report import fixture


def total(operation, count):
    return OperationTotal(operation=operation, count=count, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=1)


def curve(operation, objects):
    return Curve(
        run="0001/1",
        workload="spool",
        operation=operation,
        objects=objects,
        time_per_operation_ns=(1.0,) * len(objects),
        active_clients=(1,) * len(objects),
        clients=1,
    )


@pytest.fixture
def run():
    made = fixture.results(1).runs[0].run
    phase = made.phases[0]
    clients = tuple(replace(one, operations=(total("create", 20_000), total("list", 40))) for one in phase.clients)
    return replace(made, phases=(replace(phase, clients=clients), *made.phases[1:]))


def test_listings_stand_at_the_number_of_objects_they_list(run):
    assert verb._curve(run, curve("list", (1.0, 40.0))).objects == (500.0, 20_000.0)
    assert verb._curve(run, curve("create", (1.0, 40.0))).objects == (1.0, 40.0)


def test_bulk_operations_have_no_objects(run):
    bulk = replace(curve("read", (1.0, 2.0)), workload="cold")
    assert run.phases[1].directions == {"read": Direction.READ}
    assert verb._curve(run, bulk) is None


def test_an_unknown_format_is_refused_with_those_that_are_there(tmp_path):
    done = Bench(tmp_path).run("report", "--format", "pdf")
    assert done.returncode == 2
    assert "'html', 'md'" in done.stderr
