"""Prediction on synthetic truth: what is asked is carried over within its interval; mistakes of a file are told at once."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import InputErrors
from assay.prediction import values, wording
from assay.prediction.demand import Sample
from assay.prediction.file import Laboratory, parse
from assay.prediction.platform import matches_words
from assay.prediction.predict import predict, servers
from assay.records import Estimate, Method
from assay.toml_document import Document
from assay.units import Refusal
from stage.rows import each

OLD, NEW = {"read": 20e-6, "write": 60e-6}, {"read": 100e-6, "write": 540e-6}
MIXES = {"90 %": (900.0, 100.0), "50 %": (400.0, 400.0), "10 %": (50.0, 450.0), "67 %": (500.0, 246.0)}
FILE = """
[production]
{production}
[machine]
cpus = 2
[new]
notebook = "new"
{new}
"""
SHARE = 'used = "8 % to 12 %"\ncpus = 2'
RATES = 'operations = { read = "800 /s", write = "900 /s" }'


def samples(true, mixes=tuple(MIXES), *, n=4, seed=1, spread=0.03, background=0.0, of=MIXES) -> Sequence[Sample]:
    draw = np.random.default_rng(seed)
    found = []
    for mix in mixes:
        for trial in range(n):
            rates = {name: rate * math.exp(draw.normal(0, spread)) for name, rate in zip(OLD, of[mix], strict=True)}
            used = (background + sum(true[name] * rate for name, rate in rates.items())) * math.exp(draw.normal(0, spread))
            levels = {"mix.read_share": mix, "workload": "mix", "phase": "mix"}
            found.append(Sample(run=f"{trial}", mix=mix, levels=levels, rates=rates, used={"cpu": used}))
    return found


def lookup(**of):
    """A laboratory with these notebooks, in which one measure has a value."""

    def capacity(lab, _which, measure, _where):
        return of.get(f"{lab}_{measure.partition('.')[0]}") or Refusal(found=f"{measure!r} in {lab!r}", expected="a measure")

    return Laboratory(
        texts=lambda name: of.get(name.replace(".", "_")) or Refusal(found=f"{name!r}", expected="a table"),
        samples=lambda lab, _which: of.get(lab) or Refusal(found=f"{lab!r}", expected="a notebook"),
        capacities=capacity,
    )


def asked(text, **of):
    return predict(parse(text, "load.toml", lookup(**of)))


def mistakes(text, **of):
    with pytest.raises(InputErrors) as caught:
        parse(text, "load.toml", lookup(**of))
    return [(one.line, one.found, one.expected) for one in caught.value.mistakes]


def measured(unit, value, low=None, high=None):
    return Estimate(value=value, low=low, high=high, confidence=0.95, unit=unit, n=5, method=Method.GEOMETRIC_MEAN)


USED = {"device_read": {"read": 8192.0, "write": 0.0}, "device_write": {"read": 0.0, "write": 20480.0}}
"""Bytes of one operation: a read of 8 KiB, a write of 8 KiB with a journal."""


def with_devices(of):
    """The samples with what they used of the device, too, and of its time and the network."""
    found = []
    for one in of:
        bytes_of = {name: sum(each[op] * rate for op, rate in one.rates.items()) for name, each in USED.items()}
        total = sum(bytes_of.values())
        used = {**one.used, **bytes_of, "device_bytes": total, "device_busy": total / 100e6, "network_in": 5e4 + total}
        found.append(replace(one, used=used))
    return found


MACHINE = """
[production]
operations = {{ read = "800 /s", write = "900 /s" }}
[machine]
{machine}
[new]
notebook = "new"
holdout = {{ mix.read_share = "67 %" }}
"""


def test_every_resource_with_a_capacity_is_predicted_and_the_fullest_named():
    machine = 'cpus = 4\ndevice_read = "50 MB/s"\ndevice_write = "25 MB/s"\ndevice_busy = 1\nnetwork_in = "1GbE"'
    found = asked(MACHINE.format(machine=machine), new=with_devices(samples(NEW, spread=0.01)))
    middle = {use.capacity.resource: use.utilisation[1] for use in found.uses}
    assert middle["cpu"] == pytest.approx((800 * 100e-6 + 900 * 540e-6) / 4, rel=0.02)
    assert middle["device_read"] == pytest.approx(800 * 8192 / 50e6, rel=0.02)
    assert middle["device_write"] == pytest.approx(900 * 20480 / 25e6, rel=0.02)
    assert middle["device_busy"] == pytest.approx((800 * 8192 + 900 * 20480) / 100e6, rel=0.02)
    assert middle["network_in"] == pytest.approx((5e4 + 800 * 8192 + 900 * 20480) / 117.7e6, rel=0.02)
    assert found.first.capacity.resource == "device_write"
    assert found.rivals == ()
    assert found.first.times == pytest.approx(1 / middle["device_write"], rel=0.01)
    assert found.servers == (2, 2), "0.737 of the device is above 70 %, and no processor is"
    assert found.is_validated
    said = wording.answer(found)
    assert said.startswith("Production will use 73.7 % of 25 MB/s written to the device (90 % interval ")
    assert "This resource saturates first at 1.36 times this load. Further resources: 14." in said
    assert "each takes 3.8" in said
    assert len(wording.use_rows(found)) == 5
    assert {row[1] for row in wording.holdout_rows(found)} == {row[0] for row in wording.use_rows(found)}


def test_a_write_of_a_mix_without_writes_uses_nothing_and_is_still_a_sample():
    """Pure mixes: the reads write nothing, the writes read nothing."""
    mixes = {**MIXES, "0 %": (0.0, 500.0), "100 %": (1000.0, 0.0)}
    pure = samples(NEW, mixes=("0 %", "100 %", "50 %"), of=mixes)
    found = asked(MACHINE.format(machine='device_read = "50 MB/s"').replace("67", "50"), new=with_devices(pure))
    (use,) = found.uses
    assert use.capacity.platform.demand.estimates["read"].value == pytest.approx(8192, rel=1e-3)
    assert use.capacity.platform.demand.estimates["write"].value == pytest.approx(0, abs=1)
    assert found.is_validated


def test_a_capacity_that_was_measured_brings_its_interval():
    machine = 'device_write = { notebook = "lab", measure = "stream.write.bytes_per_s" }'
    told = asked(MACHINE.format(machine='device_write = "25 MB/s"'), new=with_devices(samples(NEW, spread=0.01)))
    found = asked(
        MACHINE.format(machine=machine),
        new=with_devices(samples(NEW, spread=0.01)),
        lab_stream=measured("bytes/s", 25e6, 20e6, 31.25e6),
    )
    assert found.utilisation[1] == pytest.approx(told.utilisation[1], rel=0.02)
    assert found.utilisation[0] == pytest.approx(told.utilisation[1] * 0.8, rel=0.05)
    assert found.utilisation[2] == pytest.approx(told.utilisation[1] / 0.8, rel=0.05)
    assert "(stream.write.bytes_per_s of lab)" in wording.answer(found)


def test_intervals_that_meet_leave_open_which_is_first():
    machine = 'cpus = 1\ndevice_read = "11.6 MB/s"'
    found = asked(MACHINE.format(machine=machine), new=with_devices(samples(NEW)))
    assert len(found.rivals) == 1
    assert "By the intervals another resource may saturate first" in wording.answer(found)


@each(
    "machine said",
    ('device_read = "fast"', "a link such as"),
    ('device_operations = "0 /s"', "more than 0"),
    ("device_busy = true", "device_busy = 1"),
    ('network_out = "1GbE"', "trials of as many different mixes"),
    ('device_write = { notebook = "lab", measure = "x.write.bytes_per_s" }', "a measure"),
    ('device_write = { notebook = "lab", measure = "stream.write.bytes_per_s" }', "a measure in bytes/s above 0"),
    ('device_write = { notebook = "lab" }', "measure = "),
    ('device_wrote = "1 MB/s"', "device_write"),
    ("speed = 2.0", "or one of: device_read"),
)
def test_a_mistake_of_the_machine_is_told(machine, said):
    of = {"new": with_devices(samples(NEW)), "lab_stream": measured("1/s", 500.0)}
    told = mistakes(MACHINE.format(machine=machine), **of)
    assert any(said in expected for _, _, expected in told), told


def test_more_processors_carry_more_and_a_tenth_times_seven_is_barely_enough():
    found = asked('multiplier = 7\n[production]\nused = "8 % to 12 %"\ncpus = 2\n[machine]\ncpus = 2')
    assert found.utilisation == pytest.approx((0.56, 0.70, 0.84))
    assert found.servers == (1, 2)
    assert found.slowdown == pytest.approx([1 / (1 - one**2) for one in (0.56, 0.7, 0.84)])  # two servers
    said = wording.answer(found)
    assert said.startswith("Production will keep 70 % of 2 CPUs busy (56 % to 84 %). At the upper end, above 70 %")
    text = 'multiplier = [6, 8]\n[production]\nused = "10 %"\ncpus = 2\n[machine]\ncpus = 4\nspeed = 2.0'
    found = asked(text)
    assert found.utilisation == pytest.approx((0.15, 0.175, 0.2))
    assert any("2 times" in one for one in found.assumptions)


def test_operations_are_carried_by_their_demands_and_busy_hours_widen_the_interval():
    found = asked(FILE.format(production=RATES, new=""), new=samples(NEW, spread=0.0))
    assert found.utilisation[1] == pytest.approx((800 * 100e-6 + 900 * 540e-6) / 2, rel=0.02)
    assert found.is_validated is None
    assert "Not validated" in wording.answer(found)
    one = asked(FILE.format(production=RATES, new=""), new=samples(NEW))
    hours = 'operations = { read = ["400 /s", "1200 /s"], write = ["600 /s", "1200 /s"] }'
    several = asked(FILE.format(production=hours, new=""), new=samples(NEW))
    assert several.utilisation[0] < one.utilisation[0] < one.utilisation[2] < several.utilisation[2]


def test_the_interval_holds_the_truth_and_the_mix_that_was_held_out():
    truth = (0.1 + 800 * 100e-6 + 900 * 540e-6) / 2
    text = FILE.format(production=RATES, new='holdout = { mix.read_share = "67 %" }')
    hits = met = 0
    sets = 40
    for seed in range(sets):
        found = asked(text, new=samples(NEW, seed=seed, background=0.1))
        hits += found.utilisation[0] <= truth <= found.utilisation[2]
        met += bool(found.is_validated)
    assert hits >= 0.87 * sets
    assert met >= 0.87 * sets


def test_a_mix_that_takes_more_than_its_operations_is_not_met():
    bent = [
        Sample(run=one.run, mix=one.mix, levels=one.levels, rates=one.rates, used={"cpu": one.used["cpu"] * 1.6})
        if one.mix == "67 %"
        else one
        for one in samples(NEW)
    ]
    found = asked(FILE.format(production=RATES, new='holdout = { mix.read_share = "67 %" }'), new=bent)
    assert found.is_validated is False
    assert "NOT validated" in wording.answer(found)
    assert wording.holdout_rows(found)[0][-1] == "NO"


DAY = "hour,read,write\n09:00,700,200\n10:00,800,900\n11:00,2000,100\n12:00,100,1.2 kIOPS\n03:00,0.5,0\n"


def test_the_busiest_hour_of_a_day_is_that_of_each_resource():
    production = 'operations = "day.csv"'
    text = FILE.format(production=production, new="").replace("cpus = 2", 'cpus = 2\ndevice_read = "100 MB/s"')
    new = with_devices(samples(NEW, spread=0.0))
    found = asked(text, new=new, day_csv=DAY)
    processor, device = found.uses
    assert processor.hours == ("12:00",), "writes take most of a processor"
    assert processor.utilisation[1] == pytest.approx((100 * 100e-6 + 1200 * 540e-6) / 2, rel=0.01)
    assert device.hours == ("11:00",), "reads take most of the device"
    assert device.utilisation[1] == pytest.approx(2000 * 8192 / 100e6, rel=0.01)
    assert "in its busiest hour 12:00." in wording.answer(found)
    two = asked(text.replace(production, f"{production}\nbusiest = 2"), new=new, day_csv=DAY)
    assert two.uses[0].hours == ("10:00", "12:00")
    assert two.uses[0].utilisation[0] < processor.utilisation[0]


@each(
    "day more said",
    (None, "", "a table"),
    ("hour,read\n", "", "a line for each hour"),
    ("hour,read,read\n1,2,3\n", "", "a line for each hour"),
    ("hour,read\n09:00,1,2\n", "", "as in the first line"),
    ("hour,read\n09:00,many\n", "", "operations a second, such as 900"),
    (DAY, "busiest = 9", "how many of the 5 hours count"),
    (DAY, "busiest = true", "how many of the 5 hours count"),
)
def test_a_mistake_of_a_day_is_told(day, more, said):
    text = FILE.format(production=f'operations = "day.csv"\n{more}', new="")
    told = mistakes(text, new=samples(NEW), day_csv=day)
    assert any(said in expected for _, _, expected in told), told


@each("day", DAY.replace(",", ";"), DAY.replace(",", "\t"), "\ufeff" + DAY, DAY.replace("\n", "\n\n"))
def test_a_day_as_spreadsheets_write_it(day):
    text = FILE.format(production='operations = "day.csv"', new="")
    found, plain = (asked(text, new=samples(NEW), day_csv=each) for each in (day, DAY))
    assert found.uses[0].hours == plain.uses[0].hours == ("12:00",)
    assert found.utilisation == plain.utilisation


def test_a_cell_that_is_no_rate_is_told_with_its_line_in_the_table():
    text = FILE.format(production='operations = "day.csv"', new="")
    told = mistakes(text, new=samples(NEW), day_csv="hour,read,write\n\n09:00,1,2\n10:00,3,4e5\n")
    assert [found for _, found, _ in told] == ["day.csv, line 4, cell 3 (write): '4e5'"]


@each("share", "8 to 12 %", "8-12 %", "8 % - 12 %", "8% to 12%", "8 – 12 %")
def test_ranges_as_people_write_them(share):
    text = f'multiplier = 7\n[production]\nused = "{share}"\ncpus = 2\n[machine]\ncpus = 2\n'
    assert asked(text).utilisation == pytest.approx((0.56, 0.70, 0.84))


@each(
    "share multiplier said",
    ("20 %", "7", "The load exceeds the capacity: the machine does not carry it."),
    ("20 %", "[4, 7]", "does not carry it. The lower end is 80 %; requests queue: each takes 2.78 times"),
    ("20 %", "[2, 9]", "does not carry it. The lower end is 40 %."),
    (
        "20 %",
        "[3, 6]",
        "each takes 5.26 times its service time (M/M/m), 1.56 at the lower end. At the upper end the machine does not carry",
    ),
    ("10 %", "[1, 11]", "busy (10 % to 110 %). At the upper end the machine does not carry the load. Utilisation"),
    ("10 %", "[4, 8]", "At the upper end, above 70 %, requests queue: each takes 1.56 (1.19 to 2.78) times"),
)
def test_what_waiting_does_is_told_without_endless_times(share, multiplier, said):
    text = f'multiplier = {multiplier}\n[production]\nused = "{share}"\ncpus = 2\n[machine]\ncpus = 2\n'
    assert said in wording.answer(asked(text))
    assert "endless" not in wording.answer(asked(text))


@each("value unit said", (1e-9, "bytes", "0"), (1.0003, "requests", "1 request"), (2.0, "requests", "2 requests"))
def test_what_one_operation_uses_reads_as_people_write_it(value, unit, said):
    assert wording.in_unit(value, unit) == said


def test_a_utilisation_alone_is_bounded_by_the_operations_that_grow_least_and_most():
    text = FILE.format(production=SHARE, new="") + '[old]\nnotebook = "old"\n'
    found = asked(text, old=samples(OLD, spread=0.0), new=samples(NEW, spread=0.0))
    assert found.multipliers["read"] == pytest.approx((5, 5, 5), rel=0.01)
    assert found.multipliers["write"] == pytest.approx((9, 9, 9), rel=0.01)
    assert found.utilisation[0] == pytest.approx(0.08 * 5, rel=0.01)
    assert 0.10 * 5 < found.utilisation[1] < 0.10 * 9
    assert found.utilisation[2] == pytest.approx(0.12 * 9, rel=0.01)
    assert "At the upper end the machine does not carry the load" in wording.answer(found)
    assert any("Only the utilisation" in one for one in found.assumptions)
    assert len(wording.demand_rows(found)) == 6


@each("share times", (1.0, 5.0), (0.5, (100 + 540) / (20 + 60)))
def test_a_utilisation_with_the_shares_of_its_operations_has_the_multiplier_of_that_mix(share, times):
    production = f'{SHARE}\nmix = {{ read = "{share * 100:g} %", write = "{(1 - share) * 100:g} %" }}'
    text = FILE.format(production=production, new="") + '[old]\nnotebook = "old"\n'
    found = asked(text, old=samples(OLD, spread=0.0), new=samples(NEW, spread=0.0))
    assert found.utilisation == pytest.approx((0.08 * times, 0.10 * times, 0.12 * times), rel=0.01)
    assert not any("Only the utilisation" in one for one in found.assumptions)
    noisy = asked(text, old=samples(OLD), new=samples(NEW))
    assert noisy.utilisation[0] < 0.08 * times < 0.12 * times < noisy.utilisation[2]


def test_two_mixes_say_what_they_cannot():
    found = asked(FILE.format(production=RATES, new=""), new=samples(NEW, mixes=("90 %", "10 %")))
    assert any("assumed to be none" in one for one in found.assumptions)
    assert any("includes 5 % for it" in one for one in found.assumptions)


@each("utilisation count", (0.0, 1), (0.7, 1), (0.71, 2), (2.1, 3), (math.inf, None))
def test_machines_keep_below_seventy_percent(utilisation, count):
    assert servers(utilisation) == count


@each("background count", (0.0, 2), (0.2, 2), (0.3, 2), (0.5, 4), (0.69, 71), (0.7, None))
def test_what_a_machine_uses_without_the_load_is_not_shared(background, count):
    """A load of 71 % of one machine, each of which uses something of its own besides."""
    assert servers(background + 0.71, background) == count
    if count is not None:
        assert background + 0.71 / count <= 0.7 + 1e-9
        assert background + 0.71 / (count - 1) > 0.7


def test_machines_are_counted_without_the_background_that_each_has():
    """800 reads and 900 writes are 0.566 processors; each machine of 1 uses 0.4 besides: two have 68 % and not 48 %."""
    text = FILE.format(production=RATES, new="").replace("cpus = 2", "cpus = 1")
    found = asked(text, new=samples(NEW, spread=0.0, background=0.4))
    assert found.utilisation[1] == pytest.approx(0.4 + 0.566, rel=0.02)
    assert found.servers == (2, 2)
    busier = asked(text.replace("900 /s", "1100 /s"), new=samples(NEW, spread=0.0, background=0.4))
    assert busier.utilisation[1] < 2 * 0.7
    assert busier.servers == (3, 3)


@each("times said", (1, False), (4, True))
def test_a_load_beyond_all_that_was_measured_is_said_to_be_that(times, said):
    """The busiest trial had 0.31 processors busy."""
    production = f'operations = {{ read = "{300 * times} /s", write = "{400 * times} /s" }}'
    found = asked(FILE.format(production=production, new=""), new=samples(NEW, spread=0.0))
    told = [one for one in found.assumptions if "the maximum of any trial" in one]
    assert bool(told) is said
    most = max(one.used["cpu"] for one in samples(NEW, spread=0.0))
    assert not told or f"production uses {(300 * 100e-6 + 400 * 540e-6) * times / most:.2g} times" in told[0]


def test_every_mistake_is_told_at_once_with_its_line():
    text = """titel = "x"
[production]
used = "8 to 12"
operations = { read = "fast", write = ["1 /s", "2 /s"], stat = ["1 /s", "2 /s", "3 /s"] }
[new]
notebook = "nowhere"
resource = "gpu"
fit = 3
called = ["a"]
[machine]
cpus = true
speed = 0
"""
    assert [line for line, _, _ in mistakes(text)] == [1, 2, 2, 3, 4, 4, 6, 7, 8, 9, 11, 12]


@each(
    "text line found",
    ("", None, "no [machine]"),
    ("[production]\n[machine]\ncpus = 1", 1, "neither operations nor used"),
    ('[production]\nused = "9 %"\ncpus = 1\n[machine]\ncpus = 1', 2, "without multiplier or notebooks"),
    ('[production]\noperations = { read = "9 /s" }\n[machine]\ncpus = 1', 2, "without [new]"),
    (FILE.format(production='operations = { red = "9 /s" }', new=""), 3, "was not measured"),
    (FILE.format(production=RATES, new='fit = { workload = "mix" }\nholdout = { phase = "mix" }'), 9, "fitted trials"),
    (FILE.format(production=RATES, new='holdout = { mix.read_share = "68 %" }'), 8, "no trial of that kind"),
    (FILE.format(production=RATES, new='where = { target = "zfs" }'), 8, "no trial of that kind"),
    (FILE.format(production=RATES, new='fit = { mix.read_share = "55 %" }'), 8, "no trial of that kind"),
    (FILE.format(production=RATES, new='fit = { mix.read_share = "50 %" }'), 7, "do not separate the operations"),
    ('[production]\nused = "9"\ncpus = 1\n[machine]\ncpus = 1', 2, "without multiplier or notebooks"),
    (FILE.format(production=RATES, new='resource = "server_cpu"'), 7, "nothing was measured of it"),
    ("[production", 1, "the end of the line"),
    (FILE.format(production=f'{SHARE}\nmix = {{ read = "70 %" }}', new=""), 5, "shares of 70 % together"),
    (FILE.format(production=f'{SHARE}\nmix = {{ read = "x", write = "y" }}', new=""), 5, "'x'"),
    (FILE.format(production=RATES + '\nmix = { read = "100 %" }', new=""), 4, "a mix beside operations"),
    (FILE.format(production=SHARE, new="") + '[old]\nnotebook = "new"\n[machine.device_read]\n', 12, "given as CPU utilisation"),
)
def test_a_mistake_is_told_where_it_stands(text, line, found):
    told = mistakes(text, new=samples(NEW))
    assert any((where, found in said) == (line, True) for where, said, _ in told), told


@each(
    "text lines",
    (f'[production]\n{SHARE}\nmix = {{ read = "70 %", write = "20 %" }}\n[machine]\ncpus = 1', [2, 4]),
    (FILE.format(production=RATES, new='where = { target = "zfs" }').replace("[new]", 'network_in = "1GbE"\n[new]'), [9]),
    (f'multiplier = 7\n[production]\n{SHARE}\n[machine]\ncpus = 1\ndevice_read = "1GbE"', [7]),
    ('[production]\noperations = "day.csv"\nbusiest = 3\n[new]\nnotebook = "new"\n[machine]\ncpus = 2', [2]),
)
def test_one_mistake_brings_no_others_with_it(text, lines):
    """The first has two: nothing to carry the load over, and shares that are not all of it."""
    assert [line for line, _, _ in mistakes(text, new=samples(NEW))] == lines


def test_what_was_fitted_tests_no_fit_and_a_switch_is_selected_as_it_is_typed():
    text = FILE.format(production=RATES, new='fit = { workload = "mix" }\nholdout = { mix.read_share = "67 %" }')
    assert any("S13" in expected for _, _, expected in mistakes(text, new=samples(NEW)))
    found = values.selection(Document(file="p.toml", values={}, places={}), ("where",), {"w": {"direct": True}})
    assert matches_words({"w.direct": "true"}, found)
    found = asked(FILE.format(production='operations = { get = "100 /s" }', new='called = { read = "get" }'), new=samples(NEW))
    assert set(found.question.new.demand.operations) == {"get", "write"}
