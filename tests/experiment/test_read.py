from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputErrors, UsageError
from assay.experiment import read
from assay.experiment.plan import DEFAULT_REPEATS
from assay.records import Change, Claim, Factor, Precision, RequirementKind, Summary, Tier
from stage.experiment_texts import is_told, line_of, mistakes, the_mistake
from stage.rows import each

HEAD = 'title = "T"\nquestion = "Q?"\n'
TARGETS = """
[targets.ext4]
kind = "loopfs"
filesystem = "ext4"
size = "512 MiB"
[targets.xfs]
kind = "loopfs"
filesystem = "xfs"
size = "1 GiB"
limit = { write_bytes_per_s = "50 MB/s" }
"""
ONE = '\n[targets.here]\nkind = "directory"\npath = "."\n'
SPOOL = """
[workloads.spool]
kind = "metadata"
count = 1000
list_every = 100
operations = ["create", "list"]
"""
STREAM = '\n[workloads.stream]\nkind = "bulk_io"\noperations = ["write"]\nsize = "1 MiB"\n'
CUT = '[[workloads.spool.events]]\nphase = "create"\nat = "10 ms"\nrun = ["true"]\n'


def test_a_whole_file_is_read() -> None:
    experiment = read.parse(
        HEAD
        + 'compare = "target"\nmatters = "2.5 %"\nseed = 7\nbudget = "6 h"\nrepeats = 4\nobservers = ["block", "cpu"]\n'
        + TARGETS
        + SPOOL
        + STREAM
        + '[factors]\ntarget = ["ext4", "xfs"]\nclients = [1, 2]\n"stream.record_size" = ["4 KiB", "1 MiB"]\n'
        + '[factors.kernel]\nlevels = ["old", "new"]\nchange = "manual"\nreturns = 1\n'
        + '[measures]\n"spool.create.ops_per_s" = { claim = { tier = "device", regime = "cold" } }\n'
        + '[require]\n"spool.create.ops_per_s" = [">= 100 /s", "not worse than 5 %"]\n'
        + '"spool.list.latency_p99_ns" = ["<= 50 ms"]\n'
        + '[hosts]\nfiler = { via = "ssh", address = "f.example" }\n[limits]\n"filer.eth0" = "1GbE"\n"local.sda" = "100 MB/s"\n',
        "x.toml",
    )
    assert experiment.matters_share == 0.025
    assert (experiment.repeats, experiment.budget_ns, experiment.seed) == (4, 6 * 3600 * 10**9, 7)
    assert experiment.targets[1].knobs["limit.write_bytes_per_s"] == 50_000_000
    assert experiment.targets[1].knobs["direct_io"] is True
    assert experiment.factors[2] == Factor(path="stream.record_size", levels=(4096, 2**20))
    assert experiment.factors[3] == Factor(path="kernel", levels=("old", "new"), change=Change.MANUAL, returns=1)
    assert [measure.name for measure in experiment.measures] == ["spool.create.ops_per_s", "spool.list.latency_p99_ns"]
    assert experiment.measures[1].claim == Claim(tier=Tier.AS_IS)
    assert [(one.kind, one.bound) for one in experiment.requirements] == [
        (RequirementKind.AT_LEAST, 100.0),
        (RequirementKind.NOT_WORSE_THAN, 0.05),
        (RequirementKind.AT_MOST, 50e6),
    ]
    assert [host.name for host in experiment.hosts] == ["local", "filer"]
    assert len(experiment.digest) == 64


def test_what_is_not_said_has_defaults_and_a_constant_is_no_factor_to_compare() -> None:
    experiment = read.parse(HEAD + TARGETS + SPOOL, "x.toml")
    assert experiment.factors == (Factor(path="target", levels=("ext4", "xfs")),)
    assert experiment.compare == "target"
    assert experiment.repeats == DEFAULT_REPEATS
    assert [measure.name for measure in experiment.measures] == ["spool.create.ops_per_s", "spool.list.ops_per_s"]
    assert experiment.observers is None
    experiment = read.parse(HEAD + ONE + SPOOL + "[factors]\nclients = [4]\n", "x.toml")
    assert (experiment.compare, experiment.factors[0].levels) == (None, (4,))
    assert read.parse('repeats = "until 3 %"\n' + HEAD + ONE + SPOOL, "x").repeats == Precision(half_width_share=0.03)
    bounded = read.parse('repeats = "until 3 %, at most 30"\n' + HEAD + ONE + SPOOL, "x").repeats
    assert bounded == Precision(half_width_share=0.03, most=30)
    assert read.parse('budget = "1 h"\n' + HEAD + ONE + SPOOL, "x").repeats is None


def test_every_pair_of_levels_needs_a_compared_factor_and_keeps_older_digests() -> None:
    head, compared = HEAD + ONE + SPOOL, '[factors]\n"spool.count" = [100, 200, 300]\n'
    plain, every = (read.parse(text + head + compared, "x") for text in ("", 'pairs = "all"\n'))
    (factor,) = every.factors
    assert [every.baselines(factor, level) for level in factor.levels] == [(), (100,), (100, 200)]
    assert [plain.baselines(factor, level) for level in factor.levels] == [(), (100,), (100,)]
    assert plain.digest == read.parse('pairs = "baseline"\n' + head + compared, "x").digest != every.digest
    mistake = the_mistake('pairs = "all"\n' + head)
    assert (mistake.found, "compare =" in mistake.expected) == ('pairs = "all" without a compared factor', True)
    assert "baseline" in the_mistake('pairs = "some"\n' + head + compared).expected


def test_a_required_knob_may_come_from_a_factor() -> None:
    text = HEAD + '[targets.t]\nkind = "loopfs"\nsize = "1 GiB"\n' + SPOOL
    assert "no 'filesystem'" in the_mistake(text).found
    experiment = read.parse(text + '[factors]\n"t.filesystem" = ["ext4", "xfs"]\n', "x.toml")
    assert experiment.compare == "t.filesystem"


def test_the_digest_follows_the_meaning_and_not_the_writing() -> None:
    text = HEAD + ONE + STREAM
    first = read.parse(text, "a.toml").digest
    assert read.parse("# a comment\n" + text.replace('"1 MiB"', '"1024 KiB"'), "b.toml").digest == first
    assert read.parse(text.replace('"1 MiB"', '"2 MiB"'), "a.toml").digest != first


def test_what_follows_from_the_factor_is_declared_by_key_or_by_how_keys_begin() -> None:
    plain = HEAD + ONE + STREAM
    experiment = read.parse('implied = ["sysctl.vm.dirty_ratio", "network.*"]\n' + plain, "x.toml")
    keys = ("sysctl.vm.dirty_ratio", "sysctl.vm.dirty_ratio_2", "network.eth0.mtu")
    assert [experiment.implies(key) for key in keys] == [True, False, True]
    assert experiment.digest != read.parse(plain, "x.toml").digest
    assert read.parse("implied = []\n" + plain, "x.toml").digest == read.parse(plain, "x.toml").digest


SINGLE = [
    (HEAD + 'implied = ["*"]\n', '"*"', "implied fact '*'", "the key of a fact"),
    (HEAD + 'implied = ["vm.x", "vm.x"]\n', '"vm.x"]', "'vm.x' twice", "each fact once"),
    (HEAD + "matter = '5 %'\n", "matter", "unknown key 'matter'", "did you mean 'matters'"),
    ("title = 5\n", "5", "5 for 'title'", "a text"),
    (HEAD + "repeats = 0\n", "0", "repeats = 0", "a number of blocks from 1"),
    (HEAD + "repeats = true\n", "true", "repeats = true", "a number of blocks from 1"),
    (HEAD + 'repeats = "until 3 %, at most 2"\n', '"until', "at most 2'", "(at least 3)"),
    (HEAD + 'repeats = "until 3 %, at most"\n', '"until', "at most'", "until 3 %, at most 30"),
    (HEAD + 'repeats = "until 3"\n', '"until', "until 3", "until 3 %"),
    (HEAD + 'budget = "6 hours"\n', '"6', "6 hours", "for 'hours' write h"),
    (HEAD + 'matters = "0 %"\n', '"0', "matters = '0 %'", "above 0 %"),
    (HEAD + 'observers = ["blok"]\n', '"blok', "observer 'blok'", "did you mean 'block'"),
    (HEAD + "seed = -1\n", "-1", "-1 for 'seed'", "at least 0"),
    (HEAD + 'compare = "clients"\n', '"clients', "compare = 'clients'", "none (there are none)"),
]


BODY = [
    (ONE + SPOOL.replace("count", "cuont"), "cuont", "unknown knob 'cuont'", "did you mean 'count'"),
    (ONE + SPOOL.replace("metadata", "metdata"), '"metdata', "kind 'metdata'", "did you mean 'metadata'"),
    (ONE + SPOOL.replace('"list"]', '"lst"]'), '["create', "'lst'", "did you mean 'list'"),
    (ONE + SPOOL.replace("1000", '"1000"'), '"1000', "'1000' for 'count'", "a whole number"),
    (ONE + SPOOL.replace("1000", "0"), "0", "0 for 'count'", "at least 1"),
    (ONE + SPOOL.replace("1000", "true"), "true", "true for 'count'", "a whole number"),
    (ONE + SPOOL.replace("100\n", "5000\n"), "spool", "list_every 5000", "at most count"),
    (ONE + "cpus = 1\n" + SPOOL, "cpus", "unknown knob 'cpus'", "path"),
    (ONE + 'memory = "1 GiB"\n' + SPOOL, "memory", "unknown knob 'memory'", "path"),
    (ONE + SPOOL + "cpus = [0, 0]\n", "[0, 0]", "[0, 0] for 'cpus'", "a list of CPU numbers"),
    (ONE + SPOOL + 'memory = "1 g"\n', '"1 g"', "'1 g'", "GiB (2^30 bytes)"),
    (ONE + STREAM.replace('"1 MiB"', "4096"), "4096", "4096 for 'size'", "as a text"),
    (ONE + STREAM.replace('"1 MiB"', '"4k"'), '"4k"', "'4k' for 'size'", "KiB (1,024 bytes)"),
    (ONE + STREAM + "direct = 1\n", "1", "1 for 'direct'", "true or false"),
    (ONE + STREAM + 'compressible = "2"\n', '"2"', "'2' for 'compressible'", "a number such as 2 or 1.5"),
    (ONE + STREAM + "compressible = true\n", "true", "true for 'compressible'", "a number such as 2 or 1.5"),
    (ONE + STREAM + "compressible = nan\n", "nan", "nan for 'compressible'", "a number such as 2 or 1.5"),
    (ONE + STREAM + "compressible = 0.5\n", "0.5", "0.5 for 'compressible'", "at least 1"),
    (ONE + STREAM + "compressible = 6\n", "6", "6 for 'compressible'", "at most 5"),
    (ONE + STREAM + "zeros = 0.3\n", "0.3", "0.3 for 'zeros'", "a share such as"),
    (ONE + STREAM + 'zeros = "130 %"\n', '"130 %"', "'130 %' for 'zeros'", "at most 100 %"),
    (ONE.replace("here", "clients") + SPOOL, "clients", "reserved name", "another name"),
    (ONE.replace("here", '"a b"') + SPOOL, '"a b"', "the name 'a b'", "without spaces"),
    (ONE.replace("here", "spool") + SPOOL, "spool", "also a target", "another name"),
    (ONE + SPOOL + "[factors]\nclients = []\n", "[]", "an empty list", "at least one level"),
    (ONE + SPOOL + "[factors]\nclients = 3\n", "3", "3 for factor 'clients'", "a list"),
    (ONE + SPOOL + "[factors]\nclients = [0]\n", "0]", "0 clients", "from 1"),
    (ONE + SPOOL + "[factors]\nclients = [1, 1]\n", "1]", "the level 1 twice", "each level once"),
    (ONE + SPOOL + '[factors]\n"spool.cuont" = [1]\n', '"spool.cuont', "'spool.cuont'", "did you mean 'count'"),
    (ONE + SPOOL + '[factors]\nkernel = ["a", "b"]\n', "kernel", "'kernel'", 'change = "manual"'),
    (ONE + SPOOL + '[factors.clients]\nlevels = [1]\nchange = "hand"\n', '"hand', "'hand'", "automatic, manual"),
    (ONE + SPOOL + "[factors.clients]\nlevels = [1]\nreturns = 1\n", "1", "automatic factor", "manual"),
    (ONE + SPOOL + "[factors]\nspool.count = [1]\n", "spool", "without 'levels'", '"spool.count" = [...]'),
    (ONE + SPOOL + '[measures]\n"spool.creat.ops_per_s" = {}\n', '"spool.creat', "'creat'", "did you mean 'create'"),
    (ONE + SPOOL + '[measures]\n"spol.create.ops_per_s" = {}\n', '"spol', "'spol'", "spool"),
    (ONE + SPOOL + '[measures]\n"spool.create" = {}\n', '"spool.create', "'spool.create'", "WORKLOAD.OPERATION.FIGURE"),
    (ONE + SPOOL + '[measures]\n"spool.create.@local.cpu" = {}\n', '"spool', "figure 'cpu', observed", "cpu_share"),
    (ONE + SPOOL + '[require]\n"spool.list.latency_p99_ns" = ["< 5 ms"]\n', '"< 5', "'< 5 ms'", '"<= X"'),
    (ONE + SPOOL + '[require]\n"spool.list.latency_p99_ns" = ["<= 5 MB"]\n', '"<= 5', "5 MB", "a time such as"),
    (ONE + SPOOL + CUT.replace("create", "layout"), '"layout', "event of phase 'layout', which workload 'spool'", "create"),
    (ONE + SPOOL + 'memory = "1 GiB"\n' + STREAM, '"1 GiB', "memory = 1 GiB, stream.memory = no limit", "the same memory"),
    (ONE + SPOOL + '[limits]\n"local.sda" = "bar"\n', '"bar"', "'bar' for 'local.sda'", "a link such as"),
    (ONE + SPOOL + '[limits]\n"local.sda" = "SATA-3 x0"\n', '"SATA', "'SATA-3 x0'", "a link such as"),
    (ONE + SPOOL + '[limits]\n"local.sda" = "100 Mbps"\n', '"100', "'100 Mbps'", "Mbit/s"),
    (ONE + SPOOL + '[limits]\nvda = "SATA-3"\n', "vda", "limit 'vda'", "HOST.NAME"),
    (ONE + SPOOL + '[[workloads.spool.events]]\nphase = "create"\nat = "10"\nrun = ["x"]\n', '"10"', "'10'", "a unit behind"),
]


TEXTS = [(head + ONE + SPOOL, *told) for head, *told in SINGLE] + [(HEAD + body, *told) for body, *told in BODY]


@each("text at found expected", *TEXTS)
def test_a_mistake_is_told_with_its_place(text: str, at: str, found: str, expected: str) -> None:
    is_told(text, at, found, expected)


def test_all_mistakes_come_at_once_in_their_order() -> None:
    text = (
        'matter = "5 %"\n' + HEAD + ONE.replace("path", "pth") + SPOOL.replace("1000", '"x"') + "[factors]\nclients = [0]\n"
        '[measures]\n"spool.create.ops_per_s" = { claim = { tier = "disk" } }\n"other.x.y" = {}\n'
    )
    found = mistakes(text)
    assert [mistake.line for mistake in found] == sorted(
        line_of(text, part) for part in ("matter", "pth", '"x"', "[0]", '"disk"', '"other')
    )
    found = mistakes(HEAD + ONE + SPOOL + '[measures]\n"spool.create.rate" = { claim = { tier = "disk" } }\n')
    assert sorted(mistake.found for mistake in found) == ["'disk' for 'tier'", "figure 'rate'"]
    found = mistakes("title = \nquestion = x\n[targets.a\n")
    assert [mistake.line for mistake in found] == [1, 2, 3]
    assert "the end of the line" in found[0].found
    assert {mistake.expected for mistake in mistakes(HEAD)} == {
        "at least one table [targets.NAME]",
        "at least one table [workloads.NAME]",
    }


def test_what_stands_for_the_runs_and_what_a_host_shows_are_read() -> None:
    text = HEAD + ONE + SPOOL + '[require]\n"spool.create.@local.cpu_share" = ["<= 50 %"]\n'
    assert read.parse(text, "x.toml").requirements[0].bound == 0.5
    head = HEAD + ONE + SPOOL + '[measures]\n"spool.create.ops_per_s" = {}\n'
    plain, median = (read.parse(text, "x") for text in (head, head.replace("{}", '{ summary = "median" }')))
    assert [one.measures[0].summary for one in (plain, median)] == [None, Summary.MEDIAN]
    assert plain.digest != median.digest


def test_what_is_too_much_for_one_plan_is_refused() -> None:
    text = "repeats = 250000\n" + HEAD + ONE + SPOOL + "[factors]\nclients = [1, 2, 3, 4]\n"
    mistake = the_mistake(text)
    assert mistake.found == "1,000,000 trials (4 clients x 250,000 repeats)"
    assert mistake.line == 1
    text = HEAD + ONE + SPOOL + '[factors.a]\nlevels = [1]\nchange = "manual"\n[factors.b]\nlevels = [1]\nchange = "manual"\n'
    assert "a second factor" in the_mistake(text).found
    text = HEAD + ONE + SPOOL + '[factors]\n"spool.list_every" = [100, 2000]\n'
    assert "list_every 2000" in the_mistake(text).found


def test_an_event_that_would_happen_in_some_arms_only_is_refused() -> None:
    text = HEAD + ONE + SPOOL.replace("list_every = 100\n", "") + CUT.replace("create", "stat")
    text += '[factors]\n"spool.operations" = [["create", "stat"], ["create"]]\n'
    assert "phase 'stat', which workload 'spool' does not have with every level" in the_mistake(text).found
    assert len(read.parse(text.replace('["create"]]', '["create", "stat", "unlink"]]'), "x").workloads[0].events) == 1


def test_workloads_of_one_trial_have_one_memory_limit_with_every_level() -> None:
    text = HEAD + ONE + SPOOL + 'memory = "1 GiB"\n' + STREAM + 'memory = "1 GiB"\n'
    assert len(read.parse(text, "x").workloads) == 2
    varied = text + '[factors]\n"stream.memory" = ["1 GiB", "2 GiB"]\n'
    assert "spool.memory = 1 GiB, stream.memory = 2 GiB in one trial" in the_mistake(varied).found
    apart = varied.replace("[factors]\n", '[factors]\nworkload = ["spool", "stream"]\n')
    assert len(read.parse('compare = "workload"\n' + apart, "x").factors) == 2


def test_what_a_directory_server_cannot_do_is_told_before_anything_is_made() -> None:
    server = '[targets.d]\nkind = "ldap_openldap"\ntransport = "starttls"\n'
    load = '[workloads.w]\nkind = "ldap_load"\ndepth = 4\n'
    assert "depth = 4 with StartTLS, in workload 'w' on target 'd'" in the_mistake(HEAD + server + load).found
    assert len(read.parse(HEAD + server + load.replace("4", "1"), "x").targets) == 1
    stopped = '[targets.d]\nkind = "ldap_389ds"\nstate = "stopped"\n'
    assert "a server with state = stopped" in the_mistake(HEAD + stopped + load).found
    theirs = '[targets.d]\nkind = "ldap_existing"\nurl = "ldap://h"\nbase = "dc=x"\n'
    only_read = HEAD + theirs + '[workloads.w]\nkind = "ldap_load"\nmix = ["add 1"]\n'
    assert "writes in mix on a server that is only read" in the_mistake(only_read).found
    varied = HEAD + server.replace("starttls", "tcp") + load + '[factors]\n"d.transport" = ["tcp", "starttls"]\n'
    assert "depth = 4 with StartTLS" in the_mistake(varied).found


def test_bases_that_a_directory_cannot_have_are_told_before_anything_is_made() -> None:
    server = HEAD + '[targets.d]\nkind = "ldap_openldap"\n'
    load = '[workloads.w]\nkind = "ldap_load"\n'
    assert len(read.parse(server + load + 'search_base = "OU=People, {base}"\n', "x").targets) == 1
    outside = the_mistake(server + load + 'search_base = "ou=people,dc=elsewhere"\n')
    assert "search_base = 'ou=people,dc=elsewhere', which is outside the directory" in outside.found
    nowhere = the_mistake(server + load + 'search_base = "ou=nobody,{base}"\n')
    assert "search_base = 'ou=nobody,dc=example,dc=com', which no population has" in nowhere.found
    own = server + 'ldif = "/x.ldif"\n' + load + 'search_base = "ou=nobody,{base}"\n'
    assert len(read.parse(own + "population = 1\n", "x").targets) == 1
    assert "keys of entries that are not Assay's" in the_mistake(own).found
    entry = the_mistake(server + load + 'scope = "base"\ndn = "uid=u{key:08d},ou=people,o=x"\n')
    assert "which is outside the directory" in entry.found


def test_an_import_fits_the_state_of_its_server() -> None:
    server, load = '[targets.d]\nkind = "ldap_openldap"\nstate = "{}"\n', '[workloads.w]\nkind = "ldap_import"\n'
    online = load + 'mode = "online"\n'
    assert len(read.parse(HEAD + server.format("stopped") + load, "x").targets) == 1
    assert len(read.parse(HEAD + server.format("empty") + online, "x").targets) == 1
    found = the_mistake(HEAD + server.format("stopped") + online)
    assert "an import with mode = online into a server with state = stopped" in found.found
    assert found.expected.startswith("state = empty")
    theirs = '[targets.d]\nkind = "ldap_existing"\nurl = "ldap://h"\nbase = "dc=x"\n'
    assert "an import into a server that Assay does not fill" in the_mistake(HEAD + theirs + load).found


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an experiment file"):
        read.read(tmp_path / "no.toml")
    (tmp_path / "binary").write_bytes(b"title = '\xff'")
    with pytest.raises(UsageError, match="UTF-8"):
        read.read(tmp_path / "binary")
    with pytest.raises(UsageError, match="expected an experiment file"):
        read.read(tmp_path)


def test_a_control_is_handed_back_apart(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        HEAD
        + ONE
        + STREAM.replace('"write"', '"read"')
        + '[control]\nrule = "T01"\nmeasure = "stream.read.bytes_per_s"\nfail = { "stream.cache" = "warm" }\n'
        + 'pass = { "stream.cache" = "cold", "stream.record_size" = "4 KiB" }\nneeds = ["root"]\n'
    )
    told = read.control(path)
    assert told is not None
    assert (told.rule, told.fail, told.needs) == ("T01", {"stream.cache": "warm"}, ("root",))
    assert told.passes == {"stream.cache": "cold", "stream.record_size": 4096}
    assert read.read(path).title == "T"
    path.write_text(HEAD + ONE + STREAM)
    assert read.control(path) is None


@given(st.text(max_size=80))
def test_any_text_is_an_experiment_or_has_mistakes(text: str) -> None:
    with pytest.raises(InputErrors):
        read.parse(text, "x.toml")


JUNK = st.recursive(
    st.sampled_from(["1", "-1", "true", '""', '"x"', '"5 %"', "1.5", "[]", "{}"]),
    lambda inner: st.lists(inner, max_size=2).map(lambda items: f"[{', '.join(items)}]"),
    max_leaves=3,
)
KEYS = st.sampled_from([
    "title", "question", "compare", "pairs", "repeats", "budget", "matters", "seed", "observers", "targets", "workloads",
    "factors",
    "measures", "require", "hosts", "limits", "control", "targets.a", "targets.a.kind", "workloads.w", "workloads.w.hosts",
    "workloads.w.events", "factors.clients", "factors.target", "factors.x.levels", "measures.m", "require.m", "hosts.h",
    "hosts.h.addresses", "hosts.h.count", "hosts.h.control", "hosts.h.via", "factors.hosts", "observe", "observe.o",
    "observe.o.run", "observe.o.pattern", "observe.o.host",
])  # fmt: skip


@given(st.dictionaries(KEYS, JUNK, max_size=6))
def test_any_value_anywhere_is_told_as_a_mistake_and_never_crashes(lines: dict[str, str]) -> None:
    with pytest.raises(InputErrors) as caught:
        read.parse("\n".join(f"{key} = {value}" for key, value in lines.items()), "x.toml")
    assert all(mistake.found and mistake.expected for mistake in caught.value.mistakes)


@each("written value", ("2", 2.0), ("1.5", 1.5), ("1", 1.0))
def test_a_ratio_is_a_number_with_or_without_a_fraction(written: str, value: float) -> None:
    (workload,) = read.parse(HEAD + ONE + STREAM + f'compressible = {written}\nzeros = "30 %"\n', "e.toml").workloads
    assert (workload.knobs["compressible"], workload.knobs["zeros"]) == (value, 0.3)
    assert isinstance(workload.knobs["compressible"], float)


LEVELS = """
title = "T"
compare = "disk.mount_options"
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "64 MiB"
[workloads.w]
kind = "metadata"
[factors]
"disk.mount_options" = {levels}
"""


@each(
    "levels line words",
    ('["relatime", "noatime"]', 11, 'a list of options for each level: write [["relatime"], ["noatime"]]'),
    ('[["relatime"], 3]', 11, "found 3; expected a list of texts"),
    ('[["relatime"]]', 3, "which has one level"),
)
def test_of_refused_levels_one_thing_is_said(levels, line, words):
    """Not that the factor has one level: the others are refused."""
    with pytest.raises(InputErrors) as caught:
        read.parse(LEVELS.format(levels=levels), "x.toml")
    (mistake,) = caught.value.mistakes
    assert mistake.line == line
    assert words in str(mistake)
