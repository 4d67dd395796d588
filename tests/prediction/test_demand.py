"""Samples from runs: what counts as an operation, what was used of each resource, and what an experiment with mixes is told."""

from dataclasses import replace

import pytest

from assay.analysis.resources import RESOURCES, watched
from assay.prediction.demand import at_most, demand, groups, samples
from assay.prediction.wording import arm_rows, bound_rows
from assay.records import Direction, EndpointKind, Limit, Outcome, Place, Rung, Span, WorkloadSpec
from assay.statistics.queueing import Unknown
from stage.mix_cases import BYTES, phase, results, rising, total


def test_a_sample_has_rates_and_what_was_used_of_every_resource():
    found = samples(*results())
    assert len(found) == 9
    one = next(sample for sample in found if sample.word("mix.read_share") == "50 %")
    reads, writes = one.rates["random_read"], one.rates["random_write"]
    core = reads * 20e-6 + writes * 90e-6
    assert one.used["load_cpu"] == pytest.approx(core)
    assert one.used["cpu"] == pytest.approx(0.5 + core)
    assert one.used["server_cpu"] == pytest.approx(0.5)
    assert one.used["device_write"] == pytest.approx(writes * BYTES, rel=1e-3)
    assert set(one.used) <= set(RESOURCES)
    assert "network" not in one.used
    assert (one.levels["workload"], one.levels["phase"], one.there_is["cpu"].amount) == ("mix", "mix.random_mix", 4)


def test_every_demand_is_found_with_the_background_of_the_host():
    found = samples(*results(level=lambda share: 4_000 + 16_000 * (share == 0.5)))
    host, load, device = (demand(found, name) for name in ("cpu", "load_cpu", "device_write"))
    for one in (host, load):
        assert one.estimates["random_read"].value == pytest.approx(20e-6, rel=0.01)
        assert one.estimates["random_write"].value == pytest.approx(90e-6, rel=0.01)
    assert host.background.value == pytest.approx(0.5, rel=0.01)
    assert load.background is None
    assert device.estimates["random_write"].value == pytest.approx(BYTES, rel=0.01)
    assert device.estimates["random_read"].value == pytest.approx(0, abs=10)
    assert demand(found, "network").found is Unknown.NOTHING
    bound = at_most(host, 4, {"random_read": 0.5, "random_write": 0.5})
    assert bound.value == pytest.approx(3.5 / 55e-6, rel=0.01)
    assert at_most(host, 4, {"append": 1.0}) is None


def test_runs_that_failed_take_no_part_and_what_is_done_within_another_is_none_of_its_own():
    found, load = results()
    broken = replace(found.runs[0], run=replace(found.runs[0].run, outcome=Outcome.FAILED))
    assert len(samples(replace(found, runs=(broken, *found.runs[1:])), load)) == 8
    inner = replace(phase(10, 10, (total("inner", 5),)), within={"inner": "random_read"})
    one = replace(found.runs[0], run=replace(found.runs[0].run, phases=(inner, replace(inner, measured=False))))
    (sample,) = samples(replace(found, runs=(one,)), load)
    assert set(sample.rates) == {"random_read", "random_write"}


def test_mixes_are_told_by_arm_and_one_mix_nothing():
    found, load = results()
    (group,) = groups(found, load)
    rows = arm_rows([group])
    assert ("all", "CPUs, of the load itself", "random_read") in [row[:3] for row in rows]
    assert any(row[3].startswith("20") for row in rows), rows
    assert any("background not separable" in row[-1] for row in rows if row[1] == RESOURCES["cpu"].words)
    assert {row[-1] for row in bound_rows([group])} == {"the 4 CPUs of the host"}
    for bound in group.bounds:
        assert bound.measured < bound.at_most.value
    found, load = results(compare="target")
    (group,) = groups(found, load)
    assert (group.factor, group.level) == ("target", "here")
    assert groups(*results(shares=(0.5,))) == ()


def one_run():
    found, load = results()
    run = found.runs[0].run
    return run, load(found.runs[0].id)


def for_each_mix(**knobs):
    """The same runs, of a workload for each mix instead of a factor; `knobs`: of one of them, others than the rest have."""
    found, load = results()
    names = {share: f"reads_{share:g}" for share in (0.9, 0.5, 0.1)}
    alike = [WorkloadSpec(name=name, kind="bulk_io", knobs={"read_share": share, "size": 1}) for share, name in names.items()]
    workloads = (*alike[:2], replace(alike[2], knobs={**alike[2].knobs, **knobs}))

    def of_workload(judged):
        name = names[judged.run.trial.levels["mix.read_share"]]
        phase = replace(phase_of(judged.run), name=f"{name}.random_mix", workload=name)
        return replace(judged, run=replace(judged.run, trial=replace(judged.run.trial, levels={}), phases=(phase,)))

    def load_of(run):
        (phase,) = next(one.run for one in moved.runs if one.id == run).phases
        told = load(run)
        parts = {part: tuple(replace(one, phase=phase.name) for one in getattr(told, part)) for part in ("series", "readings")}
        return replace(told, **parts)

    asked = replace(found.experiment, workloads=workloads, factors=(), compare=None)
    moved = replace(found, experiment=asked, runs=tuple(map(of_workload, found.runs)))
    return moved, load_of


def test_a_workload_for_each_mix_varies_it_as_a_factor_does():
    (group,) = groups(*for_each_mix())
    assert arm_rows([group]) == arm_rows(groups(*results()))
    assert {bound.mix for bound in group.bounds} == {f"reads_{share}.random_mix" for share in (0.9, 0.5, 0.1)}


def test_workloads_that_differ_in_more_than_their_mix_do_not_vary_it():
    (group,) = groups(*for_each_mix(size=2))
    assert {mix for one in group.demands for mix in one.mixes} == {"reads_0.9.random_mix", "reads_0.5.random_mix"}
    found, load = for_each_mix()
    assert groups(replace(found, experiment=replace(found.experiment, workloads=found.experiment.workloads[:1])), load) == ()


def used_of(run, seen, *names):
    looked_at = watched(run, seen)
    return [RESOURCES[name].used(run.phases[0], looked_at) for name in names]


def test_a_device_with_a_declared_limit_stands_for_the_lowest():
    """A loop device that is throttled, above a disk that others write to as well."""
    run, seen = one_run()
    (lowest,) = (one for one in seen.readings if one.span is Span.CLOCK)
    above = replace(lowest, rung=Rung.UPPER_DEVICE, subject="device:loop0", bytes=1000)
    ticks = [
        replace(rising("block", "io_ticks", rate), subject=name) for name, rate in (("device:loop0", 250), ("device:a", 900))
    ]
    both = replace(seen, readings=(*seen.readings, above), series=(*seen.series, *ticks))
    limit = Limit(device="loop0", direction=Direction.READ, bytes_per_s=50_000_000)
    place = Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address="/", devices=("loop0", "a"), limits=(limit,))
    told = ("device_write", "device_writes", "device_busy")
    assert used_of(replace(run, places=(place,)), both, *told) == pytest.approx([500, 3.5, 0.25])
    unlimited = used_of(replace(run, places=(replace(place, limits=()),)), both, *told)
    assert unlimited == pytest.approx([used_of(run, seen, "device_write")[0], 7, 0.9])


def test_the_network_is_the_busiest_interface_of_the_server_else_of_the_client():
    run, seen = one_run()
    (lowest,) = (one for one in seen.readings if one.span is Span.CLOCK)

    def wire(rung, name, direction, moved):
        return replace(lowest, rung=rung, subject=f"interface:{name}", direction=direction, bytes=moved)

    client = (
        wire(Rung.CLIENT_NIC, "eth0", Direction.WRITE, 2000),
        wire(Rung.CLIENT_NIC, "br0", Direction.WRITE, 1900),
        wire(Rung.CLIENT_NIC, "eth0", Direction.READ, 400),
    )
    names = ("network_in", "network_out", "network")
    assert used_of(run, replace(seen, readings=client), *names) == [1000, 200, 1200], "what the client sends goes in"
    server = (wire(Rung.SERVER_NIC, "eth0", Direction.READ, 600), wire(Rung.SERVER_NIC, "eth0", Direction.WRITE, 6000))
    assert used_of(run, replace(seen, readings=(*client, *server)), *names) == [300, 3000, 3300]
    loopback = tuple(wire(Rung.SERVER_NIC, "lo", way, 6600) for way in (Direction.READ, Direction.WRITE))
    said = "requests and answers pass the loopback both in and out: which way they went is not known, and the sum is counted once"
    assert used_of(run, replace(seen, readings=(*client, *loopback)), *names) == [None, None, 3300], said
    assert used_of(run, replace(seen, readings=()), *names) == [None, None, None]


def test_a_flush_after_each_write_is_part_of_the_write():
    found, load = results()

    def with_flush(run):
        done = phase_of(run)
        writes = next(one.count for one in done.clients[0].operations if one.operation == "random_write")
        last = run.trial.block % 2  # the time was over before it
        client = replace(done.clients[0], operations=(*done.clients[0].operations, total("flush", writes - last * writes // 50)))
        return replace(run, phases=(replace(done, clients=(client,)),))

    flushed = replace(found, runs=tuple(replace(one, run=with_flush(one.run)) for one in found.runs))
    one = demand(samples(flushed, load), "load_cpu")
    assert one.together == {"flush": "random_write"}
    assert one.operations == ("random_read", "random_write")
    assert one.estimates["random_write"].value == pytest.approx(90e-6, rel=0.01)
    assert demand(samples(found, load), "load_cpu").together == {}


def phase_of(run):
    (one,) = run.phases
    return one


def test_a_mix_is_bounded_by_what_is_used_up_first():
    """A disk with a limit that so many processors would never reach."""
    found, load = results()
    limit = Limit(device="a", direction=Direction.WRITE, bytes_per_s=40_000_000)
    place = Place(target="here", host="local", kind=EndpointKind.DIRECTORY, address="/", devices=("a",), limits=(limit,))
    limited = replace(found, runs=tuple(replace(one, run=replace(one.run, places=(place,))) for one in found.runs))
    (group,) = groups(limited, load)
    by_mix = {bound.mix: bound for bound in group.bounds}
    writes = next(bound for mix, bound in by_mix.items() if "10 %" in mix)
    assert writes.because == "the 40 MB/s written to a"
    assert writes.at_most.value == pytest.approx(40e6 / (0.9 * BYTES), rel=0.02)
    reads = next(bound for mix, bound in by_mix.items() if "90 %" in mix)
    assert reads.because == "the 4 CPUs of the host", "reads write nothing: the disk would do 48,828/s of this mix"
    assert reads.at_most.value < 40e6 / (0.1 * BYTES)
