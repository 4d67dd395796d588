"""`assay hosts FILE`: what it says of hosts that are there, that are not, and that are one machine."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stage.assay_process import Bench, wait_until
from stage.fleet_stage import own_ledger

FILE = """
title = "Hosts"
[hosts]
{hosts}
[targets.n]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "null"
"""


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, through=() if os.geteuid() else own_ledger(tmp_path))


def written(bench, *lines):
    (bench.home / "x.toml").write_text(FILE.format(hosts="\n".join(lines)))
    return "x.toml"


def answer(bench, *words, status=0):
    done = bench.run("hosts", *words, "--json")
    assert done.returncode == status, done.stderr + done.stdout
    found = json.loads(done.stdout)
    assert found["schema"] == "assay.hosts/1"
    return found


def test_the_list_connects_to_nothing(bench):
    file = written(bench, 's = { via = "ssh", address = "nobody.invalid" }', 'c = { addresses = ["ws[1-2]"], load = true }')
    found = answer(bench, file)
    assert [(one["name"], one["via"]) for one in found["hosts"]] == [
        ("local", "local"),
        *((n, "ssh") for n in ("s", "c.1", "c.2")),
    ]
    text = bench.run("hosts", file, "list").stdout
    assert "nobody.invalid" in text
    assert text.splitlines()[-1].split() == ["c.2", "ssh", "ws2", "load"]


def test_without_asyncssh_it_says_what_to_install(bench):
    file = written(bench, 's = { via = "ssh", address = "filer" }')
    script = f"import sys; sys.modules['asyncssh'] = None; sys.argv[1:] = ['hosts', {file!r}, 'check']; "
    done = subprocess.run(
        [sys.executable, "-c", script + "from assay.cli.main import main; main()"],
        cwd=bench.home,
        env=bench.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'assay-lab[fleet]'" in done.stdout


@pytest.mark.root
def test_check_says_what_each_host_is(far, bench):
    fleet = far(3, control=True)
    fleet.know(fleet[0], fleet[1])
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    lines = [f's = {{ address = "{fleet[0].address}", control = "{fleet[0].control}" }}']
    lines += [f'c = {{ addresses = ["{fleet[1].address}"], load = true }}', f'u = {{ address = "{fleet[2].address}" }}']
    lines += [f'twin = {{ address = "{fleet[1].address}" }}']
    file = written(bench, *lines)
    found = answer(bench, file, "check", status=1)
    hosts = {one["name"]: one for one in found["hosts"]}
    assert (hosts.keys(), [name for name, one in hosts.items() if one["error"]]) == ({"local", "s", "c.1", "u", "twin"}, ["u"])
    assert found["one_machine"] == [["c.1", "twin"]]
    assert "host key unknown" in hosts["u"]["error"]
    for name, machine in (("s", fleet[0]), ("c.1", fleet[1])):
        one = hosts[name]
        assert one["host_key"].startswith("ssh-ed25519 SHA256:")
        assert one["boot"] == (machine.directory / "boot_id").read_text().strip()
        assert one["kernel"].startswith("Linux ")
        assert one["root"] is True
        clock = one["clock"]
        assert abs(clock["offset_ns"] - machine.offset_ns) <= clock["bound_ns"]
        assert clock["bound_ns"] <= clock["round_trip_ns"] <= 2 * clock["bound_ns"] + 1
    assert (hosts["s"]["engine"], hosts["c.1"]["fresh"]) == ("", True)
    assert "assay-engine-" in hosts["c.1"]["engine"]
    text = bench.run("hosts", file, "check").stdout
    assert "c.1 and twin are one machine" in text
    assert "4 of 5 hosts can be used." in text


@pytest.mark.root
def test_install_places_the_engine_once_and_only_where_it_may(far, bench):
    fleet = far(2)
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    file = written(bench, f's = {{ address = "{fleet[0].address}" }}', f'c = {{ address = "{fleet[1].address}", load = true }}')
    assert [(one["host"], one["fresh"]) for one in answer(bench, file, "install")["hosts"]] == [("c", True)]
    assert [(one["host"], one["fresh"]) for one in answer(bench, file, "install")["hosts"]] == [("c", False)]
    assert not (fleet[0].home / ".cache").exists()


def engine_of_another_version(machine, content):
    """An engine that an older laboratory placed: its name is its digest."""
    path = machine.home / ".cache" / "assay" / f"assay-engine-{hashlib.sha256(content).hexdigest()}"
    path.write_bytes(content)
    path.chmod(0o700)
    return path


@pytest.mark.root
def test_engines_of_other_versions_are_shown_by_check_and_removed_by_clean_where_nobody_runs_them(far, bench):
    fleet = far(1)
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    file = written(bench, f'c = {{ address = "{fleet[0].address}", load = true }}')
    (own,) = [one["path"] for one in answer(bench, file, "install")["hosts"]]
    old = engine_of_another_version(fleet[0], b"an older engine")
    used = engine_of_another_version(fleet[0], Path("/bin/sleep").read_bytes())
    strange = old.with_name("assay-engine-" + "0" * 64)
    strange.write_bytes(b"not what its name says")
    with fleet[0].start(f"/root/.cache/assay/{used.name}", "1000") as running:
        checked = {one["name"]: one for one in answer(bench, file, "check")["hosts"]}
        assert checked["c"]["old_engines"] == [f"/root/.cache/assay/{old.name}"]
        assert f"/root/.cache/assay/{old.name}: engines that nobody runs" in bench.run("hosts", file, "check").stdout
        cleaned = {one["host"]: one for one in answer(bench, file, "clean")["hosts"]}
        assert cleaned["c"]["engines"] == [f"/root/.cache/assay/{old.name}"]
        assert sorted(path.name for path in used.parent.iterdir()) == sorted((used.name, strange.name, own.rpartition("/")[2]))
        for pid in [pid for pid, command in fleet[0].processes().items() if used.name in command]:
            os.kill(pid, signal.SIGKILL)
        running.wait()
    assert [one["engines"] for one in answer(bench, file, "clean")["hosts"]] == [[], [f"/root/.cache/assay/{used.name}"]]


def test_only_clean_forgets_only_what_is_far_and_pairs_belong_to_check(bench):
    file = written(bench, 's = { via = "ssh", address = "nobody.invalid" }')
    for words, found in (
        (("check", "--forget", "s"), "--forget with check"),
        (("clean", "--forget", "local"), "--forget local"),
        (("clean", "--forget", "t"), "--forget t"),
        (("list", "--pairs"), "--pairs with list"),
    ):
        done = bench.run("hosts", file, *words)
        assert (done.returncode, f"found {found}" in done.stderr) == (2, True), words


KILLED = """
    import os, signal, sys
    from assay.laboratory.hosts import opened
    from assay.machine.engine_file import engine_path
    from assay.records import HostSpec
    from assay.undo.ledger import Ledger
    ledger = Ledger()
    specs = [HostSpec(name=name, via="ssh", address=address, load=name == "c") for name, address in zip("sc", sys.argv[1:])]
    with opened(specs, ledger, engine_path()) as hosts:
        for name, host in hosts.items():
            host.run(["mkdir", "/root/.assay-left"])
            ledger.on(host).add("directory", path="/root/.assay-left", marker="m")
            host.write("/root/.assay-left/.assay-marker", "m")
            host.run(["mkdir", "/root/.assay-left/mounted"])
            host.run(["mount", "-t", "tmpfs", "tmpfs", "/root/.assay-left/mounted"])
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.root
def test_clean_undoes_what_a_killed_lab_could_not(far, bench):
    fleet = far(2)
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    addresses = [machine.address for machine in fleet]
    file = written(bench, f's = {{ address = "{addresses[0]}" }}', f'c = {{ address = "{addresses[1]}", load = true }}')
    script = textwrap.dedent(KILLED)
    command = [*bench.through, sys.executable, "-c", script, *addresses]
    done = subprocess.run(command, env=bench.environment(), check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until(
        lambda: all(command.startswith(("sshd", "unshare")) for machine in fleet for command in machine.processes().values())
    )
    for machine in fleet:  # a mount that the lab knows nothing of keeps the directory busy
        assert (machine.home / ".assay-left").exists()
        machine.run("umount", "/root/.assay-left/mounted")
    found = answer(bench, file, "clean")
    states = {one["host"]: [cleaned["state"] for cleaned in one["cleaned"]] for one in found["hosts"]}
    assert "undone" in states["s"]
    assert "undone" in states["c"]
    assert not any((machine.home / ".assay-left").exists() for machine in fleet)
    assert all(not one["cleaned"] for one in answer(bench, file, "clean")["hosts"])
    assert os.listdir(fleet[0].home) == []  # noqa: PTH208


@pytest.mark.root
@pytest.mark.slow
def test_check_measures_between_the_hosts(far, bench):
    fleet = far(3)
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    fleet[0].shape("40mbit")
    names = {
        "s": f's = {{ address = "{fleet[0].address}", engine = true }}',
        "c": f'c = {{ addresses = ["{fleet[1].address}", "{fleet[2].address}"], load = true }}',
    }
    text = FILE.format(hosts="\n".join(names.values())).replace('kind = "directory"', 'kind = "directory"\nhost = "s"')
    (bench.home / "x.toml").write_text(text)
    pairs = {(one["server"], one["load"]): one for one in answer(bench, "x.toml", "check")["pairs"]}
    assert set(pairs) == {("s", "c.1"), ("s", "c.2")}
    for one in pairs.values():
        assert one["error"] == ""
        assert one["address"] == fleet[0].address
        assert 1e6 < one["to_server"] < 5e6
        assert 1e6 < one["to_load"] < 5e6
        assert one["min_rtt_ns"] > 0
        assert one["congestion"]
    every = {(one["server"], one["load"]): one for one in answer(bench, "x.toml", "check", "--pairs")["pairs"]}
    assert set(every) == {("local", "s"), ("local", "c.1"), ("local", "c.2"), ("s", "c.1"), ("s", "c.2"), ("c.1", "c.2")}
    assert every["c.1", "c.2"]["to_load"] > 2 * every["s", "c.1"]["to_load"]
    assert not any(one["error"] for one in every.values())
    shown = bench.run("hosts", "x.toml", "check").stdout
    assert "One connection for 1 s in each direction:" in shown
    assert not any("assay-engine" in command for machine in fleet for command in machine.processes().values())


@pytest.mark.root
@pytest.mark.slow
def test_a_pair_that_cannot_be_measured_is_named(far, bench):
    fleet = far(2, control=True)
    bench.home.joinpath(".ssh").symlink_to(fleet.home / ".ssh")
    away = ("lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
    fleet[1].run("ip", "neigh", "replace", fleet[0].address, *away)  # what it sends there is dropped in silence
    lines = [
        f'{name} = {{ address = "{machine.address}", control = "{machine.control}", {use} = true }}'
        for name, machine, use in (("s", fleet[0], "engine"), ("c", fleet[1], "load"))
    ]
    text = FILE.format(hosts="\n".join(lines)).replace('kind = "directory"', 'kind = "directory"\nhost = "s"')
    (bench.home / "x.toml").write_text(text)
    (pair,) = answer(bench, "x.toml", "check")["pairs"]
    assert "nobody answered within 5 s" in pair["error"]
    every = answer(bench, "x.toml", "check", "--pairs", status=1)["pairs"]
    assert {(one["server"], one["load"]) for one in every if one["error"]} == {("s", "c")}
    assert "no   c to s: " in bench.run("hosts", "x.toml", "check").stdout
