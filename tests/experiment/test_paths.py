"""`[paths.NAME]` of an experiment file: read, refused with every mistake, part of the digest; events on paths."""

from assay.experiment import read
from assay.records import Action, Event
from stage.experiment_texts import line_of, wrong
from stage.rows import each

HEAD = """title = "T"
[workloads.w]
kind = "net_rr"
duration = "5 s"
"""
WAN = """[paths.wan]
rate = "100 Mbit/s"
delay = "2 ms"
queue = "500 kB"
"""
LINE = """[targets.line]
kind = "line"
through = "wan"
"""
EVENT = """[[workloads.w.events]]
phase = "rr"
at = "1 s"
"""


def phase():
    from assay import catalogue
    from assay.catalogue import Order
    from assay.records import Endpoint, EndpointKind

    workload = catalogue.find("workloads", "net_rr")
    knobs = catalogue.resolved(workload.knobs, {"clients": 1})
    end = Endpoint(kind=EndpointKind.SOCKET, address="127.0.0.1")
    return workload.phases(Order(workload="w", knobs=knobs, endpoints=(end,), seed=1))[0].name


def event(rest):
    return EVENT.replace('"rr"', f'"{phase()}"') + rest


def test_a_path_is_part_of_the_experiment_and_its_knobs_can_be_factors():
    text = HEAD + WAN + LINE
    found = read.parse(text, "x.toml")
    assert [one.name for one in found.paths] == ["wan"]
    assert found.paths[0].knobs["rate"] == 12_500_000
    assert found.paths[0].knobs["framing"] == "ethernet"
    assert read.parse(text.replace("2 ms", "3 ms"), "x.toml").digest != found.digest
    found = read.parse(HEAD + WAN + LINE + '[factors]\n"wan.delay" = ["2 ms", "20 ms"]\n"line.through" = ["wan"]\n', "x.toml")
    assert found.factors[0].levels == (2_000_000, 20_000_000)


def test_all_mistakes_come_at_once_also_those_of_levels():
    text = HEAD + LINE.replace("wan", "van") + '[paths.wan]\nrate = "100 Mbps"\n[paths.b]\nloss = "100 %"\n[paths.c]\n'
    text += 'rate = "1 Mbit/s"\nup.queue = "1 kB"\n[paths.w]\nspeed = 1\n'
    found = wrong(text)
    assert (line_of(text, "through"), "path 'van' of target 'line'") in found
    assert (line_of(text, 'loss = "100'), "loss of 100 % for path 'b'") in found
    assert (line_of(text, "up.queue"), "a queue of 1 kB for path 'c'") in found
    assert (line_of(text, "speed"), "unknown knob 'speed'") in found
    assert any(line == line_of(text, "100 Mbps") for line, _ in found)
    assert any("also a target or a workload" in one for _, one in found)
    text = HEAD + WAN + LINE + '[factors]\n"wan.queue" = ["500 kB", "1 kB"]\n"line.through" = ["wan", "lan"]\n'
    found = wrong(text)
    assert (line_of(text, '"wan.queue"'), "a queue of 1 kB for path 'wan'") in found
    assert (line_of(text, '"line.through"'), "path 'lan' of target 'line'") in found


def test_events_on_paths_are_read_where_every_target_uses_the_path():
    text = HEAD + event('on = "wan"\naction = "cut"\nfor = "2 s"\n') + event('on = "wan"\naction = "rate"\nrate = "10 Mbit/s"\n')
    cut, rate = read.parse(text + WAN + LINE, "x.toml").workloads[0].events
    second = 1_000_000_000
    assert cut == Event(phase=phase(), at_ns=second, on="wan", action=Action.CUT, for_ns=2 * second)
    assert (rate.action, rate.rate_bytes_per_s, rate.for_ns) == (Action.RATE, 1_250_000, None)
    free = text.replace('"10 Mbit/s"', '"none"')
    assert read.parse(free + WAN + LINE, "x.toml").workloads[0].events[1].rate_bytes_per_s is None
    text = HEAD + event('on = "b"\naction = "cut"\n') + WAN + WAN.replace("wan", "b") + LINE
    assert ["not every target uses" in found for _, found in wrong(text)] == [True]
    socket = '[targets.s]\nkind = "socket"\n'
    (one,) = read.parse(HEAD + event('run = ["true"]\n') + socket, "x.toml").workloads[0].events
    assert (one.on, one.argv, one.action) == ("local", ("true",), Action.RUN)


@each(
    "rest found",
    ('on = "van"\naction = "cut"\n', "path 'van'"),
    ('action = "mend"\n', "an event on no path"),
    ('on = "wan"\naction = "cut"\nrun = ["true"]\n', "'run' with action = 'cut'"),
    ('on = "wan"\naction = "cut"\nrate = "1 Mbit/s"\n', "rate with action = 'cut'"),
    ('on = "wan"\naction = "rate"\n', "rate = None"),
    ('on = "wan"\naction = "mend"\nfor = "1 s"\n', "for = '1 s'"),
    ('on = "wan"\naction = "cut"\nfor = "1"\n', "'1'"),
    ('on = "wan"\naction = "drop"\n', "'drop'"),
    ('run = ["true"]\nfor = "1 s"\n', "for of an event that runs a command"),
    ("\n", "an event without 'run'"),
)
def test_wrong_events(rest, found):
    assert any(found in text for _, text in wrong(HEAD + event(rest) + WAN + LINE)), wrong(HEAD + event(rest) + WAN + LINE)


def test_several_paths_without_mptcp_leave_all_but_one_idle():
    both = WAN + WAN.replace("wan", "b") + LINE.replace('through = "wan"', 'paths = ["wan", "b"]')
    assert [found for _, found in wrong(HEAD + both)] == ["workload 'w' without mptcp over several paths"]
    assert read.parse(HEAD + "mptcp = true\n" + both, "x.toml").paths[1].name == "b"
    assert read.parse(HEAD + both + '[factors]\n"w.mptcp" = [false, true]\n', "x.toml").factors
