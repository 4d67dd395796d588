"""Whole runs over far machines: `assay run` with its report, and where hosts die, refuse, or are one machine."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from stage.assay_process import wait_until
from stage.fleet_stage import OnFleet, line

pytestmark = pytest.mark.root

ENGINE = "assay-engine"
SOON_S = 120.0


@pytest.fixture
def fleet(far):
    """Three machines; most tests need two."""
    return far(3)


@pytest.fixture
def bench(fleet, tmp_path):
    (tmp_path / "data").mkdir()
    return OnFleet(tmp_path, fleet.home)


def running(process):
    """Wait until the clients of a started run work; gives the iterator over its progress."""
    lines = progress(process)
    for one in lines:
        if one.get("operations"):
            return lines
    raise AssertionError(f"it ended: {process.wait()}")


def finish(process, lines):
    """Hear a started run out."""
    for _ in lines:
        pass
    process.wait()
    process.stdout.close()
    process.stderr.close()


def progress(process):
    for text in process.stderr:
        with contextlib.suppress(ValueError):
            yield json.loads(text)


def engines(machine):
    """The load engines on a machine: not its agent."""
    return [pid for pid, command in machine.processes().items() if command.split(" ")[0].endswith(ENGINE) or command == ENGINE]


def ours(machine):
    """What of ours runs on a machine."""
    return [command for command in machine.processes().values() if ENGINE in command]


def clients_of(machine):
    return [pid for pid in engines(machine) if " agent" not in machine.processes().get(pid, " agent")]


def test_a_run_over_three_machines_with_its_report(bench, fleet):
    server = f's = {{ via = "ssh", address = "{fleet[0].address}" }}'
    bench.write(f"{server}\n{line(list(fleet)[1:])}", target='host = "s"')
    done = bench.run("run", "t.toml")
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 4), done.stderr
    (run,) = bench.runs()
    assert run["outcome"] == "finished"
    (phase,) = run["phases"]
    assert [client["host"] for client in phase["clients"]] == ["c.1", "c.2"]
    truth = dict(zip(("s", "c.1", "c.2"), fleet, strict=True))
    for host in phase["hosts"]:
        clock = host["clock"]
        assert abs(clock["offset_ns"] - truth[host["host"]].offset_ns) <= clock["error_ns"]
    (page,) = bench.home.glob("lab/*/*.html")
    assert "c.2" in page.read_text()
    assert not any(ours(machine) for machine in fleet)
    assert not list((fleet[0].home).glob(".cache/assay/*")), "nothing is placed on the server"


def test_a_killed_engine_is_named_and_the_other_results_are_kept(bench, fleet):
    bench.write(line(list(fleet)[:2]), seconds=4)
    process = bench.start("run", "t.toml", "--progress", "json")
    lines = running(process)
    (engine,) = clients_of(fleet[1])
    os.kill(engine, signal.SIGKILL)
    killed_s = time.monotonic()
    named = next(one["failed"] for one in lines if one.get("failed"))
    assert named[0].startswith("client 1 on c.2 was lost: ")
    assert time.monotonic() - killed_s < SOON_S, "while the others still work"
    finish(process, lines)
    (run,) = bench.runs()
    assert run["outcome"] == "partial"
    assert "client 1 on c.2 was lost" in run["error"]
    assert [client["host"] for client in run["phases"][0]["clients"]] == ["c.1"]


def test_a_killed_connection_loses_its_host_alone(bench, fleet):
    bench.write(line(list(fleet)[:2]), seconds=4)
    process = bench.start("run", "t.toml", "--progress", "json")
    lines = running(process)
    for pid in fleet[1].connections():
        os.kill(pid, signal.SIGKILL)
    named = next(one["failed"] for one in lines if one.get("failed"))
    assert named[0].startswith("host c.2 was lost with 1 client: ")
    finish(process, lines)
    (run,) = bench.runs()
    assert run["outcome"] == "partial"
    assert [client["host"] for client in run["phases"][0]["clients"]] == ["c.1"]


def test_a_killed_controller_leaves_nothing_anywhere(bench, fleet):
    bench.write(line(list(fleet)[:2]), seconds=600)
    process = bench.start("run", "t.toml", "--progress", "json")
    running(process)
    assert all(clients_of(machine) for machine in list(fleet)[:2])
    noted = fleet[0].run("find", "/run/assay", "-type", "f", check=False).stdout
    assert noted.strip(), "what has to be undone is written down there"
    process.kill()
    finish(process, ())
    wait_until(lambda: not any(ours(machine) for machine in fleet), SOON_S)
    for machine in list(fleet)[:2]:
        left = machine.run("find", "/run/assay", "-type", "f", "-size", "+0", check=False).stdout
        assert left.strip() == ""


def test_two_names_of_one_machine_are_named_and_a_wire_between_them_is_none(bench, fleet):
    both = f's = {{ via = "ssh", address = "{fleet[0].address}", engine = true }}\n{line([fleet[0]])}'
    bench.write(both, target='host = "s"', claim='{ claim = { path = "wire" } }', observers='"environment"')
    done = bench.run("run", "t.toml")
    assert "INVALID  w.null.ops_per_s" in done.stdout, done.stderr
    assert "one machine" in done.stdout
    checked = bench.run("hosts", "t.toml", "check")
    assert "one machine" in checked.stdout + checked.stderr


def test_a_sitting_at_another_address_goes_on_in_the_same_notebook(bench, fleet):
    server = f's = {{ via = "ssh", address = "{fleet[0].address}" }}'
    manual = '[factors.system]\nlevels = ["old", "new"]\nchange = "manual"'
    bench.write(f"{server}\n{line([fleet[2]])}", target='host = "s"', more=manual)
    first = bench.run("run", "t.toml", "--sitting", "old")
    assert first.returncode in (0, 4), first.stderr
    second = bench.run("run", "t.toml", "--sitting", "new", "--resume", "--host", f"s={fleet[1].address}")
    assert second.returncode in (0, 4), second.stderr
    assert len(list(bench.home.glob("lab/*/trials"))) == 1
    assert [run["trial"]["levels"]["system"] for run in bench.runs()] == ["old", "new"]
    where = [json.loads(path.read_text()) for path in sorted(bench.home.glob("lab/*/trials/*/*/facts.json"))]
    own = [[one for one in facts["facts"] if (one["host"], one["key"]) == ("s", "host.address")] for facts in where]
    found = [[one["value"] for one in facts] for facts in own]
    assert found == [[fleet[0].address], [fleet[1].address]]


def test_a_host_that_is_only_watched_needs_no_path_of_the_targets_host(bench, fleet):
    fleet[0].run("mkdir", "/root/data")
    hosts = "\n".join(
        f'{name} = {{ via = "ssh", address = "{fleet[at].address}", engine = true }}' for at, name in enumerate("sw")
    )
    file = bench.write(
        hosts.replace("engine", "load", 1), target='host = "s"', place="/root/data", more='"w.write.@w.cpu_share" = {}'
    )
    writes = 'kind = "bulk_io"\noperations = ["write"]\nsize = "1 MiB"\nrecord_size = "64 KiB"\n'
    text = file.read_text().replace("w.null.ops_per_s", "w.write.bytes_per_s")
    file.write_text(re.sub(r'kind = "null"\nthink = .*\nduration = .*\n', writes, text))
    done = bench.run("run", "t.toml")
    (run,) = bench.runs()
    assert run["outcome"] == "finished", done.stderr
    assert [one["host"] for one in run["phases"][0]["hosts"]] == ["s", "w"]


def test_twelve_clients_where_sshd_allows_ten_channels(bench, fleet):
    bench.write(line([fleet[0]]), more="[factors]\nclients = [12]")
    done = bench.run("run", "t.toml")
    assert "Traceback" not in done.stderr, done.stderr
    (run,) = bench.runs()
    assert run["outcome"] == "finished"
    assert len(run["phases"][0]["clients"]) == 12


def test_fewer_clients_than_hosts_are_shown_by_plan_and_refused_by_run(bench, fleet):
    bench.write(line(fleet), more="[factors]\nclients = [2]")
    planned, done = bench.run("plan", "t.toml"), bench.run("run", "t.toml")
    assert "2 clients on 3 load hosts" in planned.stdout + planned.stderr
    assert (planned.returncode, done.returncode) == (2, 2)
    assert "2 clients on 3 load hosts" in done.stderr
    assert bench.runs() == []


def test_an_address_with_a_command_is_never_executed(bench, tmp_path):
    mark = tmp_path / "executed"
    for address in (f"$(touch {mark})", f"x; touch {mark}", f"x' -oProxyCommand='touch {mark}", "-oProxyCommand=x"):
        bench.write(f"c = {{ via = \"ssh\", address = '''{address}''', load = true }}")
        done = bench.run("run", "t.toml")
        assert done.returncode == 2
        assert "found address" in done.stderr
    assert not mark.exists()
    assert bench.runs() == []


@pytest.mark.long
def test_a_host_that_is_cut_off_is_lost_with_its_lease_and_named(bench, fleet):
    bench.write(line(list(fleet)[:2]), seconds=50)
    process = bench.start("run", "t.toml", "--progress", "json")
    lines = running(process)
    fleet[1].cut()
    cut_s = time.monotonic()
    named = next(one["failed"] for one in lines if one.get("failed"))
    assert named[0].startswith("host c.2 was lost with 1 client: ")
    assert time.monotonic() - cut_s < 60
    finish(process, lines)
    (run,) = bench.runs()
    assert run["outcome"] == "partial"
    assert [client["host"] for client in run["phases"][0]["clients"]] == ["c.1"]
    assert clients_of(fleet[1]) == [], "its own lease has ended there, too"


def test_a_number_of_hosts_as_the_factor_compares_what_took_part(bench, fleet):
    """One host against two of three: the others' addresses are facts of no run, and neither arm has another machine."""
    file = bench.write(line(list(fleet)), observers='"cpu", "clock", "environment"')
    file.write_text(file.read_text().replace("repeats = 1", 'repeats = 2\ncompare = "hosts"') + "[factors]\nhosts = [1, 2]\n")
    done = bench.run("run", "t.toml")
    assert done.returncode in (0, 4), done.stderr
    told = [json.loads(path.read_text()) for path in bench.home.glob("lab/*/trials/*/*/facts.json")]
    assert {frozenset(fact["host"] for fact in one["facts"]) - {"local"} for one in told} == {
        frozenset({"c.1"}),
        frozenset({"c.1", "c.2"}),
    }
    assert "C01" not in done.stdout, done.stdout
    assert "C05" not in done.stdout, done.stdout


@pytest.mark.skipif(not shutil.which("slapd"), reason="needs slapd")
def test_a_directory_server_made_on_a_far_host_starts(bench, fleet):
    hosts = "\n".join(
        f'{name} = {{ via = "ssh", address = "{fleet[at].address}", {more} = true }}'
        for at, (name, more) in enumerate({"s": "engine", "w": "load"}.items())
    )
    server = f'kind = "ldap_openldap"\nhost = "s"\naddress = "{fleet[0].address}"\nentries = 200'
    text = bench.write(hosts).read_text()
    text = re.sub(r'kind = "directory"\npath = .*\n', f"{server}\n", text).replace("null.ops_per_s", "search.ops_per_s")
    load = 'kind = "ldap_load"\nmix = ["search 1"]\nattributes = ["uid"]\nduration = "0.5 s"\n'
    (bench.home / "t.toml").write_text(re.sub(r'kind = "null"\nthink = .*\nduration = .*\n', load, text))
    done = bench.run("run", "t.toml")
    (run,) = bench.runs()
    assert run["outcome"] == "finished", done.stderr


STREAM = """
title = "One of two links"
question = "How fast?"
repeats = 1
[hosts]
s = {{ via = "ssh", address = "{server}", engine = true }}
c = {{ via = "ssh", address = "{load}", load = true }}
[targets.wire]
kind = "socket"
host = "s"
address = "{server}"
[workloads.w]
kind = "net_stream"
duration = "3 s"
[measures]
"w.send.bytes_per_s" = {{ claim = {{ path = "wire" }} }}
"""
BY_MARK = """
nft add table ip r
nft add chain ip r out '{{ type route hook output priority mangle; }}'
nft add rule ip r out ip daddr {server} tcp dport != 22 meta mark set 1
ip rule add fwmark 1 lookup 100
ip route add {server} via {control} dev eth1 table 100
"""


@pytest.mark.skipif(not shutil.which("nft"), reason="needs nft")
def test_a_link_that_carries_none_of_the_bytes_is_not_measured_by_its_name(far, tmp_path):
    """The route to the server names eth0; a mark sends each segment over eth1, as a VRF or a policy does."""
    fleet = far(2, control=True)
    server, load = fleet
    bench = OnFleet(tmp_path, fleet.home)
    (bench.home / "t.toml").write_text(STREAM.format(server=server.address, load=load.address))
    for machine in fleet:
        machine.shape("40mbit")
        machine.run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
    assert "INVALID" not in (done := bench.run("run", "t.toml")).stdout, done.stdout
    load.run("sh", "-ec", BY_MARK.format(server=server.address, control=server.control))
    done = bench.run("run", "t.toml", "--lab", "other")
    assert "INVALID" in done.stdout, done.stdout
    assert "traffic outside eth0" in done.stdout, done.stdout


@pytest.mark.skipif(not shutil.which("iperf3"), reason="needs iperf3")
@pytest.mark.parametrize("sender", [None, 1, 2])
def test_another_program_on_the_link_of_an_end_is_a_neighbour(sender, far, tmp_path):
    """It sends from the load host itself, or from a third machine, whose bytes pass the server's interface alone."""
    fleet = far(3)
    server, load, _ = fleet
    bench = OnFleet(tmp_path, fleet.home)
    (bench.home / "t.toml").write_text(STREAM.format(server=server.address, load=load.address))
    server.shape("40mbit")
    with contextlib.ExitStack() as ends:
        others = (
            () if sender is None else ((server, ("-s", "-1")), (fleet[sender], ("-c", server.address, "-P", "3", "-t", "120")))
        )
        for machine, words in others:
            program = ends.enter_context(machine.start("iperf3", *words, "-p", "5999", stdout=subprocess.DEVNULL))
            ends.callback(program.kill)
            time.sleep(0.5)
        done = bench.run("run", "t.toml")
    named = re.search(r"N03 .* that passed eth0", done.stdout)
    assert bool(named) is (sender is not None), done.stdout
