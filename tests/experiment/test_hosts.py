"""Hosts of an experiment file: what grows out of a line, who plays which role, and every way to write it wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputErrors, UsageError
from assay.experiment import addresses, read, spread
from assay.experiment.named_hosts import readdressed
from assay.laboratory.hosts import command_of
from assay.records import Experiment, Factor, HostSpec
from assay.units import Refusal
from stage.experiment_texts import is_told
from stage.rows import each

HEAD = 'title = "Hosts"\n'
TARGET = '[targets.here]\nkind = "directory"\npath = "."\n'
LOAD = '[workloads.w]\nkind = "metadata"\noperations = ["create"]\n'
CUT = '[[workloads.w.events]]\nphase = "create"\nat = "1 s"\nrun = ["true"]\n'
FILER = 's = { via = "ssh", address = "filer" }\n'
STATIONS = 'c = { via = "ssh", addresses = ["ws[01-03]", "extra"], load = true }\n'
WORKERS = 'n = { via = "dask", cluster = "slurm", count = 2, queue = "short", walltime = "01:00:00", account = "lab" }\n'
BEFORE_GROUPS = "9676b0618d6eb8ec82366f28bd14bf372b2a2260d22345db44045839f84d7b5f"


def parsed(lines: str = FILER + STATIONS, *, target: str = TARGET, load: str = LOAD, rest: str = "") -> Experiment:
    return read.parse(f"{HEAD}{target}{load}[hosts]\n{lines}{rest}", "x.toml")


def hosts(lines: str) -> dict[str, HostSpec]:
    return {host.name: host for host in parsed(lines).hosts}


def test_hosts_behind_a_command_are_one_or_one_for_each_address() -> None:
    found = hosts('p = { via = "exec", command = ["podman", "exec", "-i", "db"], load = true }\n')
    assert (found["p"].options["command"], found["p"].address, found["p"].engine) == (("podman", "exec", "-i", "db"), None, True)
    found = hosts('p = { via = "exec", command = ["kubectl", "exec", "-i", "{address}", "--"], addresses = ["web-[0-2]"] }\n')
    assert [command_of(found[name]) for name in ("p.1", "p.3")] == [
        ("kubectl", "exec", "-i", "web-0", "--"),
        ("kubectl", "exec", "-i", "web-2", "--"),
    ]
    moved = readdressed(parsed('p = { via = "exec", command = ["incus", "exec", "{address}", "--"], address = "a" }\n'), ["p=b"])
    assert command_of(next(one for one in moved.hosts if one.name == "p")) == ("incus", "exec", "b", "--")


def test_a_single_host_has_its_address() -> None:
    found = hosts('s = { via = "ssh", address = "root@filer:2222", control = "filer-adm" }\nt = { address = "t" }\n')
    assert list(found) == ["local", "s", "t"]
    assert found["s"] == HostSpec(name="s", via="ssh", address="root@filer:2222", control="filer-adm")
    assert (found["t"].via, found["t"].load, found["t"].engine) == ("ssh", False, False)


def test_a_group_grows_in_order_and_keeps_leading_zeros() -> None:
    found = hosts('c = { addresses = ["ws[08-10]", "extra", "r[1-2]n[1,3]"], load = true }\n')
    assert [(host.name, host.address) for host in found.values()][1:] == [
        ("c.1", "ws08"),
        ("c.2", "ws09"),
        ("c.3", "ws10"),
        ("c.4", "extra"),
        ("c.5", "r1n1"),
        ("c.6", "r1n3"),
        ("c.7", "r2n1"),
        ("c.8", "r2n3"),
    ]
    assert {(host.group, host.load, host.engine) for host in list(found.values())[1:]} == {("c", True, True)}


def test_a_group_may_have_an_address_for_control_each() -> None:
    found = hosts('c = { addresses = ["ws[1-2]", "x"], control = ["adm[1-2]", "x-adm"] }\n')
    assert [host.control for host in found.values()][1:] == ["adm1", "adm2", "x-adm"]


def test_workers_of_a_cluster_are_counted_and_keep_its_options() -> None:
    found = hosts(WORKERS + 'g = { via = "dask", scheduler = "tls://head:8786", count = 1, load = false }\n')
    assert list(found) == ["local", "n.1", "n.2", "g.1"]
    first, alone = found["n.1"], found["g.1"]
    assert (first.cluster, first.group, first.load, first.engine) == ("slurm", "n", True, True)
    assert first.options == {"queue": "short", "walltime": "01:00:00", "account": "lab"}
    asked = parsed('n = { via = "dask", cluster = "ssh", addresses = ["n[1-2]"], host = "10.0.0.254" }\n' + FILER).hosts
    assert {one.options.get("host") for one in asked if one.group == "n"} == {"10.0.0.254"}, "our own address, as they see it"
    assert (alone.scheduler, alone.cluster, alone.load, alone.engine) == ("tls://head:8786", None, False, True)


def test_a_dask_cluster_over_ssh_has_addresses() -> None:
    found = hosts('n = { via = "dask", cluster = "ssh", addresses = ["ws[1-2]"] }\n')
    assert [(host.name, host.address) for host in found.values()][1:] == [("n.1", "ws1"), ("n.2", "ws2")]


def test_options_of_a_cluster_may_be_nested_and_lists() -> None:
    line = 'n = { via = "dask", cluster = "kubernetes", count = 1, env = { A = "b" }, cores = 2, extra = ["-l", "x"] }\n'
    assert hosts(line)["n.1"].options == {"env.A": "b", "cores": 2, "extra": ("-l", "x")}


def test_local_may_load_beside_others() -> None:
    experiment = parsed(STATIONS + "local = { load = true }\n")
    assert experiment.load_hosts(experiment.workloads[0]) == ("local", "c.1", "c.2", "c.3", "c.4")


def test_load_comes_from_the_named_hosts_else_from_all_that_may_else_from_local() -> None:
    named = parsed(load=LOAD + 'hosts = { load = ["local", "c"] }\n')
    assert named.load_hosts(named.workloads[0]) == ("local", "c.1", "c.2", "c.3", "c.4")
    every = parsed(FILER + STATIONS + WORKERS)
    assert every.load_hosts(every.workloads[0]) == ("c.1", "c.2", "c.3", "c.4", "n.1", "n.2")
    assert every.load_hosts(every.workloads[0], {"hosts": 2}) == ("c.1", "c.2")
    none = parsed(FILER)
    assert none.load_hosts(none.workloads[0]) == ("local",)


def test_a_target_an_event_and_figures_are_on_any_host() -> None:
    experiment = parsed(
        FILER + 'g = { addresses = ["one"] }\n',
        target=TARGET + 'host = "s"\n',
        load=LOAD + CUT + 'host = "g"\n',
        rest='[measures]\n"w.create.@s.cpu_share" = {}\n"w.create.@g.1.cpu_share" = {}\n',
    )
    assert experiment.targets[0].host == "s"
    assert experiment.workloads[0].events[0].on == "g.1", "a group of one host is that host"
    assert [measure.figure for measure in experiment.measures] == ["@s.cpu_share", "@g.1.cpu_share"]


def test_the_factor_hosts_counts_load_hosts() -> None:
    experiment = parsed(rest="[factors]\nhosts = [1, 4]\n")
    assert experiment.factors == (Factor(path="hosts", levels=(1, 4)),)


def test_a_limit_of_a_group_is_one_of_each_of_its_hosts() -> None:
    limits = parsed(rest='[limits]\n"c.3.eth0" = "10GbE"\n"c.eth0" = "1GbE"\n"s.eth0" = "100 Mbit/s"\n').limits
    others = {f"c.{number}.eth0": "1GbE" for number in (1, 2, 4)}
    assert limits == {"c.3.eth0": "10GbE", "s.eth0": "100 Mbit/s", **others}


def test_the_digest_knows_names_and_load_but_no_addresses() -> None:
    plain = parsed()
    moved = parsed(
        's = { address = "other", control = "adm" }\nc = { addresses = ["a", "b", "d", "e"], load = true, engine = true }\n'
    )
    by_dask = parsed(FILER + 'c = { via = "dask", cluster = "pbs", count = 4, queue = "x" }\n')
    assert plain.digest == moved.digest == by_dask.digest
    assert parsed(FILER + STATIONS.replace("03", "04")).digest != plain.digest, "a group counts with its number of members"
    assert parsed(FILER + STATIONS.replace(", load = true", "")).digest != plain.digest
    assert parsed("t" + FILER[1:] + STATIONS).digest != plain.digest


def test_files_with_hosts_keep_the_digest_that_they_had() -> None:
    assert parsed(FILER, rest='[limits]\n"s.eth0" = "1GbE"\n').digest == BEFORE_GROUPS


def test_an_address_of_one_call_changes_no_digest() -> None:
    experiment = parsed('s = { address = "filer", control = "adm" }\n' + STATIONS)
    other = readdressed(experiment, ["s=borrowed:2222", "c.2=ws9"])
    found = {host.name: host for host in other.hosts}
    assert other.digest == experiment.digest
    assert (found["s"].address, found["s"].control, found["c.2"].address, found["c.1"].address) == (
        "borrowed:2222",
        None,
        "ws9",
        "ws01",
    )
    assert readdressed(experiment, []) == experiment
    group = readdressed(experiment, ["c=root@10.0.0.[7-8,11],extra:2222"])
    assert [host.address for host in group.hosts if host.group == "c"] == [
        "root@10.0.0.7",
        "root@10.0.0.8",
        "root@10.0.0.11",
        "extra:2222",
    ]
    assert group.digest == experiment.digest


@each(
    "word said",
    ("x=y", "host 'x'; expected HOST=ADDRESS, HOST is one of s, c"),
    ("c=y", "1 different addresses; expected as many as c.1 to c.4: 4, such as c=user@10.0.0.[1-4]"),
    ("c=a,b,c,a", "3 different addresses; expected as many as c.1 to c.4"),
    ("c=ws[4-1]", "the empty range [4-1]"),
    ("c=ws[1-4],$(reboot)", "address '$(reboot)'"),
    ("n.1=y", "host 'n.1', which has no address"),
    ("local=y", "host 'local', which has no address"),
    ("s", "address ''; expected [USER@]HOST[:PORT]"),
    ("s=$(reboot)", "address '$(reboot)'"),
    ("s=-oProxyCommand=x", "address '-oProxyCommand=x'"),
)
def test_a_wrong_address_of_a_call_is_refused_with_the_hosts_that_there_are(word: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        readdressed(parsed(FILER + STATIONS + WORKERS), [word])
    assert said in str(refused.value)


WRONG = [
    ('s = { via = "shh", address = "x" }\n', '"shh', "'shh'", "did you mean 'ssh'"),
    ('p = { via = "exec" }\n', "p =", "no 'command' for host 'p'", "kubectl"),
    ('p = { via = "exec", command = ["k", ""] }\n', "[", "the word ''", "without control characters"),
    ('p = { via = "exec", command = ["k", "{address}"] }\n', "[", "{address} in 'command' without an address", "a line address"),
    ('p = { via = "exec", command = ["k"], address = "a" }\n', "[", "no {address} in 'command' beside an address", "where"),
    ('p = { via = "exec", command = ["k"], control = "a" }\n', "control", "'control' for a host reached by exec", 'via = "ssh"'),
    ('s = { via = "ssh" }\n', "s =", "no 'address' for host 's'", 'address = "..."'),
    ('s = { address = "a", addresses = ["b"] }\n', "s =", "both 'address' and 'addresses'", "for a group"),
    ("s = { addresses = [] }\n", "[]", "no addresses", "a list of addresses"),
    ('s = { addresses = ["ws[5-3]"] }\n', '"ws', "the empty range [5-3]", "[3-5]"),
    ('s = { addresses = ["ws[]"] }\n', '"ws', "the range '[]' in 'ws[]'", "[01-30]"),
    ('s = { addresses = ["ws[a-c]"] }\n', '"ws', "the range '[a-c]'", "[01-30]"),
    ('s = { addresses = ["ws[1-30"] }\n', '"ws', "address 'ws[1-30'", "[USER@]HOST[:PORT]"),
    ('s = { addresses = ["ws[1-010]"] }\n', '"ws', "the range [1-010]", "as many digits"),
    ('s = { addresses = ["ws[0-9999999999999]"] }\n', '"ws', "10,000,000,000,000 hosts", "at most 4,096"),
    ('s = { addresses = ["w[1-99]s[1-99]"] }\n', '"w', "9,801 hosts", "at most 4,096"),
    ('s = { addresses = ["w[1-4000]"] }\nt = { addresses = ["v[1-4000]"] }\n', "t =", "8,001 hosts", "at most 4,096"),
    ('s = { addresses = ["w[1-3]", "w2"] }\n', '"w2', "address 'w2' twice", "each host once"),
    ('s = { address = "ws[01-30]" }\n', '"ws', "address 'ws[01-30]'", "ranges are for addresses = [...]"),
    ('s = { address = "a b" }\n', '"a b', "address 'a b'", "[USER@]HOST[:PORT]"),
    ('s = { address = "a\\nb" }\n', '"a', "address 'a\\nb'", "letters, digits"),
    ('s = { address = "$(reboot)" }\n', '"$', "address '$(reboot)'", "letters, digits"),
    ('s = { address = "-oProxyCommand=x" }\n', '"-o', "address '-oProxyCommand=x'", "letters, digits"),
    ('s = { address = "a\\u0007" }\n', '"a', "address 'a\\x07'", "letters, digits"),
    ('s = { address = "" }\n', '""', "address ''", "[USER@]HOST[:PORT]"),
    ('s = { address = "a:0" }\n', '"a:0', "address 'a:0'", "[USER@]HOST[:PORT]"),
    ('s = { address = "a:70000" }\n', '"a:7', "address 'a:70000'", "[USER@]HOST[:PORT]"),
    ('s = { address = "a", control = "b c" }\n', '"b c', "address 'b c'", "[USER@]HOST[:PORT]"),
    ('s = { address = "a", control = 3 }\n', "3", "3", "an address, for a group as many"),
    ('s = { addresses = ["w[1-3]"], control = "b[1-2]" }\n', '"b[', "2 in 'control' for 3 hosts", "one address for each host"),
    ('s = { address = "a", load = "yes" }\n', '"yes', "'yes' for 'load'", "true or false"),
    ('s = { address = "a", load = true, engine = false }\n', "false", "engine = false for a host with load", "engine = true"),
    ('s = { address = "a", count = 3 }\n', "count", "'count' for a host reached by ssh", 'via = "dask" has it'),
    ('s = { address = "a", queue = "x" }\n', "queue", "unknown key 'queue'", "one of via, address"),
    ('s = { ansible_host = "a", address = "b" }\n', "ansible", "unknown key 'ansible_host'", "address (ansible_host in ansible)"),
    ('s = { user = "a", address = "b" }\n', "user", "unknown key 'user'", "address (USER@HOST) (user in ssh_config)"),
    ('s = { adress = "a", address = "b" }\n', "adress", "unknown key 'adress'", "did you mean 'address'"),
    ('n = { via = "dask", cluster = "slurm", cuont = 3, count = 1 }\n', "cuont", "unknown key 'cuont'", "did you mean 'count'"),
    ('n = { via = "dask", cluster = "slurm" }\n', "n =", "no 'count' of workers", "a whole number from 1"),
    ('n = { via = "dask", cluster = "slurm", count = 0 }\n', "0", "count = 0", "from 1 to 4,096"),
    ('n = { via = "dask", cluster = "slurm", count = 5000 }\n', "5000", "count = 5,000", "from 1 to 4,096"),
    ('n = { via = "dask", cluster = "slurm", count = 2.5 }\n', "2.5", "2.5 for 'count'", "a whole number"),
    ('n = { via = "dask", count = 2 }\n', "n =", "no 'cluster' or 'scheduler'", "tls://HOST:PORT"),
    ('n = { via = "dask", cluster = "pbs", scheduler = "tls://h:1", count = 2 }\n', "n =", "both 'cluster' and", "tls://"),
    ('n = { via = "dask", cluster = "slrum", count = 2 }\n', '"slrum', "'slrum'", "did you mean 'slurm'"),
    ('n = { via = "dask", scheduler = "tcp://h:8786", count = 2 }\n', '"tcp', "'tcp://h:8786'", "tls://HOST:PORT"),
    ('n = { via = "dask", cluster = "pbs", addresses = ["a"], count = 1 }\n', "addr", "'addresses' of dask", 'cluster = "ssh"'),
    ('n = { via = "dask", cluster = "ssh", count = 2 }\n', "n =", "no addresses", "a list of addresses"),
    ('n = { via = "dask", cluster = "ssh", addresses = ["a"], count = 2 }\n', "2", "count = 2 beside 1", "no count"),
    ('n = { via = "dask", cluster = "pbs", count = 1, queue = "a\\nrm" }\n', '"a', "'a\\nrm' for 'queue'", "control characters"),
    ('n = { via = "dask", cluster = "pbs", count = 1, queue = "$(rm)" }\n', '"$', "'$(rm)' for 'queue'", "control characters"),
    ('n = { via = "dask", cluster = "pbs", count = 1, queue = [[1]] }\n', "[[1", "for 'queue'", "a text, a number"),
    ('"a b" = { address = "x" }\n', '"a b', "the name 'a b' of a host", "letters, digits"),
    ('"a\\nb" = { address = "x" }\n', '"a', "the name 'a\\nb' of a host", "letters, digits"),
    ('"-a" = { address = "x" }\n', '"-a', "the name '-a' of a host", "letters, digits"),
    ('"a.observe" = { address = "x" }\n', '"a.', "the name 'a.observe' of a host", "no part `observe`"),
    ('hosts = { address = "x" }\n', "hosts", "the reserved name 'hosts'", "another name"),
    (STATIONS + '"c.2" = { address = "x" }\n', '"c.2', "host 'c.2' twice: also a host of the group c", "another name"),
    ('local = { via = "ssh", address = "x" }\n', '"ssh', "host 'local' by ssh", "another name"),
    ('local = { address = "x" }\n', "address", "'address' for a host reached by local", 'via = "ssh" has it'),
]


@each("lines at found expected", *WRONG)
def test_a_mistake_in_a_line_is_named_with_its_place(lines: str, at: str, found: str, expected: str) -> None:
    is_told(f"{HEAD}{TARGET}{LOAD}[hosts]\n{lines}", at, found, expected)


ELSEWHERE = [
    ({"target": TARGET + 'host = "x"\n'}, "host 'x'", "one of local, s, c"),
    ({"target": TARGET + 'host = "c"\n'}, "host 'c', a group of 4 hosts", "one host: c.1 to c.4"),
    ({"load": LOAD + CUT + 'host = "c"\n'}, "host 'c', a group of 4 hosts", "one host: c.1 to c.4"),
    ({"load": LOAD + 'hosts = { load = ["x"] }\n'}, "host 'x'", "one of local, s, c"),
    ({"load": LOAD + 'hosts = { load = ["s"] }\n'}, "host 's' without load = true", "load = true in its line"),
    ({"load": LOAD + 'hosts = { load = ["c", "c.2"] }\n'}, "host 'c.2' twice", "each host once"),
    ({"load": LOAD + "hosts = { load = [] }\n"}, "an empty list", "a list of hosts"),
    ({"load": LOAD + 'hosts = { reader = ["c"] }\n'}, "the role 'reader'", "load, the only role"),
    ({"load": LOAD + 'hosts = "c"\n'}, "'c'", "a table such as"),
    ({"rest": "[factors]\nhosts = [5]\n"}, "5 for 'hosts'", "from 1 to 4, the load hosts of workload 'w'"),
    ({"rest": "[factors]\nhosts = [0]\n"}, "0 for 'hosts'", "from 1 to 4"),
    ({"rest": '[factors]\nhosts = ["c"]\n'}, "'c' for 'hosts'", "a whole number of load hosts"),
    ({"rest": "[factors]\nhosts = [true]\n"}, "true for 'hosts'", "a whole number of load hosts"),
    ({"rest": '[measures]\n"w.create.@c.cpu_share" = {}\n'}, "host 'c' in figure", "one host of it: c.1 to c.4"),
    ({"rest": '[measures]\n"w.create.@x.cpu_share" = {}\n'}, "host 'x' in figure", "one of local, s, c"),
    ({"rest": '[limits]\n"x.eth0" = "1GbE"\n'}, "limit 'x.eth0'", "HOST is one of local, s, c"),
    ({"rest": '[limits]\n"c." = "1GbE"\n'}, "limit 'c.'", "HOST.NAME in quotes"),
]


@each("parts found expected", *ELSEWHERE)
def test_a_wrong_host_elsewhere_is_named_with_those_that_there_are(parts: dict[str, str], found: str, expected: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parsed(**parts)
    (mistake,) = caught.value.mistakes
    assert found in mistake.found
    assert expected in mistake.expected
    assert mistake.line is not None


def test_of_a_refused_host_nothing_is_said_twice_and_all_mistakes_come_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        parsed('s = { load = "yes" }\n', target=TARGET + 'host = "s"\n', load=LOAD + 'hosts = { load = ["s"] }\n')
    assert [mistake.found for mistake in caught.value.mistakes] == ["'yes' for 'load'"]
    lines = 's = { via = "shh" }\nc = { addresses = ["w[3-1]"] }\nn = { via = "dask", cluster = "x", count = 0 }\n'
    with pytest.raises(InputErrors) as caught:
        parsed(lines, load=LOAD + 'hosts = { reader = ["c"] }\n')
    assert len(caught.value.mistakes) == 5


@each(
    "address", "filer", "root@filer", "u.n@a.example.com:22", "10.0.0.1", "[::1]:22", "[fe80::1%eth0]", "fe80::1", "a@b@c", "_x"
)
def test_an_address_is_taken_as_ssh_takes_it(address: str) -> None:
    assert addresses.refusal(address) is None
    assert addresses.expanded(address) == (address,)


@given(st.text(max_size=30))
def test_any_text_is_an_address_of_one_harmless_word_or_refused(text: str) -> None:
    if addresses.refusal(text) is None:
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@:%[]")
        assert not text.startswith("-")
    grown = addresses.expanded(text)
    assert isinstance(grown, Refusal) or all(addresses.refusal(one) is None for one in grown)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(1, 4))
def test_a_range_has_as_many_digits_as_it_begins_with(first: int, more: int, width: int) -> None:
    grown = addresses.expanded(f"w[{first:0{width}}-{first + more:0{width}}]")
    assert grown == tuple(f"w{number:0{width}}" for number in range(first, first + more + 1))


SERVED = '[targets.here]\nkind = "commands"\nprepare = ["echo", "/srv"]\nteardown = ["true"]\n'
NODE = '[targets.here.server.nodes.b]\nhost = "{}"\npid_file = "/run/b.pid"\n'


def test_a_node_of_a_server_is_on_a_host_of_the_file() -> None:
    found = parsed(target=SERVED + NODE.format("s"))
    assert found.targets[0].knobs["server.nodes.b.host"] == "s"
    assert spread.taking_part(found) == ("local", "s", "c.1", "c.2", "c.3", "c.4")
    one = parsed('c = { via = "ssh", addresses = ["ws1"] }\n', target=SERVED + NODE.format("c"))
    assert one.targets[0].knobs["server.nodes.b.host"] == "c.1"


@each("name", "x", "c", "sw")
def test_a_node_of_a_server_on_no_host_of_the_file_is_refused_at_its_place(name: str) -> None:
    switch = 'sw = { via = "snmp", address = "sw1", community_file = "/c" }\n'
    with pytest.raises(InputErrors) as refused:
        parsed(FILER + STATIONS + switch, target=SERVED + NODE.format(name))
    (mistake,) = refused.value.mistakes
    assert f"host '{name}'" in mistake.found
    assert mistake.line == 7


def test_a_factor_over_the_host_of_a_node_takes_hosts_of_the_file() -> None:
    node = SERVED + NODE.format("s")
    levels = 'levels = ["s", "c.1"]'
    found = parsed(target=node, rest=f'[factors."here.server.nodes.b.host"]\n{levels}\n')
    assert "c.1" in spread.taking_part(found)
    with pytest.raises(InputErrors, match="x"):
        parsed(target=node, rest='[factors."here.server.nodes.b.host"]\nlevels = ["s", "x"]\n')
