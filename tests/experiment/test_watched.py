"""Commands that watch hosts: their tables, their figures, and every way to write them wrong."""

from __future__ import annotations

from assay.experiment import read
from assay.records import Experiment, Measure, ObserveKind, ObserveSpec
from stage.experiment_texts import the_mistake
from stage.rows import each

FILE = """title = "Watched"
[targets.here]
kind = "directory"
path = "."
[workloads.w]
kind = "metadata"
operations = ["create"]
[hosts]
s = { address = "filer" }
c = { addresses = ["ws[1-2]"], load = true }
"""
MBUFS = """[observe.mbufs]
host = ["s", "c"]
run = ["netstat", "-m"]
every = "5 s"
pattern = '(?P<used>\\d+)/\\d+/(?P<limit>\\d+) mbuf'
"""
HITS = '[observe.hits]\nrun = ["sysctl", "-n", "x"]\npattern = \'(\\d+)\'\nkind = "counter"\n'


def parsed(rest: str) -> Experiment:
    return read.parse(FILE + rest, "x.toml")


def test_a_command_is_read_and_a_gauge_of_this_host_without_more() -> None:
    (spec,) = parsed(MBUFS).observe
    assert spec == ObserveSpec(
        name="mbufs",
        hosts=("s", "c.1", "c.2"),
        argv=("netstat", "-m"),
        every_ns=5 * 10**9,
        pattern=r"(?P<used>\d+)/\d+/(?P<limit>\d+) mbuf",
    )
    (spec,) = parsed("[observe.threads]\nrun = [\"ps\"]\npattern = '(\\d+)'\n").observe
    assert (spec.hosts, spec.every_ns, spec.unit, spec.scale, spec.kind) == (("local",), 10**9, "count", 1.0, ObserveKind.GAUGE)


@each(
    "unit base scale",
    ("KiB", "bytes", 1024.0),
    ("ms", "ns", 1e6),
    ("%", "share", 0.01),
    ("MB/s", "bytes/s", 1e6),
    ("/s", "1/s", 1.0),
)
def test_units_are_those_of_the_file(unit: str, base: str, scale: float) -> None:
    (spec,) = parsed(MBUFS + f'unit = "{unit}"\n').observe
    assert (spec.unit, spec.scale) == (base, scale)


def test_its_figures_are_measures_and_a_requirement_has_their_unit() -> None:
    names = ("@s.observe.mbufs.used", "@c.2.observe.mbufs.used_share.max", "@local.observe.hits")
    asked = parsed(MBUFS + HITS + "[measures]\n" + "".join(f'"w.create.{name}" = {{}}\n' for name in names))
    assert asked.measures == tuple(
        Measure(workload="w", operation="create", figure=name, unit=unit)
        for name, unit in zip(names, ("count", "share", "1/s"), strict=True)
    )
    asked = parsed(MBUFS + '[require]\n"w.create.@s.observe.mbufs.used_share.max" = ["<= 90 %"]\n')
    assert asked.requirements[0].bound == 0.9


def test_a_file_without_commands_keeps_its_digest_and_one_with_them_has_another() -> None:
    assert parsed("[observe]\n").digest == parsed("").digest != parsed(MBUFS).digest


WRONG = [
    (MBUFS.replace('["s", "c"]', '"x"'), "host 'x'", "one of local, s, c"),
    (MBUFS.replace('["s", "c"]', "[]"), "an empty list", "at least one host"),
    (MBUFS.replace("mbufs]", '"m b"]'), "the name 'm b'", "letters, digits"),
    (MBUFS.replace("mbufs]", '"m.b"]'), "the name 'm.b'", "letters, digits"),
    (MBUFS.replace("5 s", "5"), "'5'", "a unit behind the number"),
    (MBUFS.replace("5 s", "10 ms"), "every = '10 ms'", "at least 100 ms"),
    (MBUFS.replace('"netstat", "-m"', '""'), "['']", "a command and its arguments"),
    (MBUFS.replace('["netstat", "-m"]', "[]"), "an empty list for 'run'", "at least one entry"),
    (MBUFS.replace("(?P<used>", "("), "2 groups, 1 of them with a name", "groups with names"),
    (MBUFS.replace("(?P<used>", "(?P<max>"), "the group 'max'", "`.max` is the maximum"),
    (MBUFS.replace("(?P<used>\\d+)/", ""), "the group 'limit' alone", "a second group"),
    (MBUFS + 'kind = "counter"\n', "a limit of a counter", 'kind = "gauge"'),
    (MBUFS + 'kind = "rate"\n', "'rate' for 'kind'", "gauge, counter"),
    (MBUFS + 'unit = "KB"\n', "the unit 'KB'", "KiB (powers of 1,024)"),
    (MBUFS + 'unit = "apples"\n', "the unit 'apples'", "one of count, B"),
    (MBUFS + 'intervall = "1 s"\n', "unknown key 'intervall'", "one of host, run, every"),
    (HITS.replace("(\\d+)", "\\d+"), "no group", "one group around the number"),
    (HITS.replace("(\\d+)", "(\\d+"), "unterminated subpattern", "a regular expression"),
    (HITS + 'unit = "MB/s"\n', "a counter in 'MB/s'", 'kind = "gauge"'),
    (MBUFS + '[measures]\n"w.create.@s.observe.mbufs" = {}\n', "figure 'observe.mbufs'", "observe.mbufs.used"),
    (MBUFS + '[measures]\n"w.create.@local.observe.mbufs.used" = {}\n', "figure 'observe.mbufs.used'", "cpu_share"),
    (MBUFS + '[measures]\n"w.create.@c.observe.mbufs.used" = {}\n', "host 'c' in figure", "c.1 to c.2"),
    (HITS + '[measures]\n"w.create.@local.observe.hits.max" = {}\n', "figure 'observe.hits.max'", "observe.hits"),
]


@each("rest found expected", *WRONG)
def test_a_mistake_in_a_command_is_named_with_its_place(rest: str, found: str, expected: str) -> None:
    mistake = the_mistake(FILE + rest)
    assert found in mistake.found
    assert expected in mistake.expected
    assert mistake.line is not None
    assert mistake.line > FILE.count("\n")


def test_of_the_figures_of_a_refused_command_nothing_more_is_said() -> None:
    the_mistake(FILE + MBUFS.replace("5 s", "5") + '[measures]\n"w.create.@s.observe.mbufs.used" = {}\n')
