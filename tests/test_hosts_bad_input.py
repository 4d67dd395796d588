"""Bad input about hosts, through the command: each is refused, named or taken literally, and nothing of it is executed."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

from assay.machine.engine_file import engine_path
from stage.dask_stage import running_scheduler
from stage.fleet_stage import OnFleet, line, own_ledger

pytestmark = pytest.mark.root

ODD = 'it\'s $(touch pwned) `touch pwned` "x"'
DIGEST = hashlib.sha256(engine_path().read_bytes()).hexdigest()


@pytest.fixture
def fleet(far):
    return far(2)


@pytest.fixture
def bench(fleet, tmp_path):
    (tmp_path / "data").mkdir()
    return OnFleet(tmp_path, fleet.home)


def of_one(far, tmp_path, **options):
    """A single far machine whose sshd has these options, and a user who has its key."""
    fleet = far(1, options=options)
    (tmp_path / "data").mkdir()
    return fleet[0], OnFleet(tmp_path, fleet.home)


def fingerprint(machine):
    shown = subprocess.run(
        ("ssh-keygen", "-lf", str(machine.directory / "host_key.pub")), capture_output=True, text=True, check=True
    )
    return shown.stdout.split()[1]


def nothing_came(machine):
    """No engine is there, and nobody has logged in."""
    return not (machine.home / ".cache").exists() and b"Accepted" not in (machine.directory / "log").read_bytes()


def test_an_unknown_host_key_is_refused_before_anything_is_sent_with_its_fingerprint(bench, fleet):
    fleet.know(fleet[0])
    bench.write(line(list(fleet)))
    done = bench.run("run", "t.toml")
    assert done.returncode == 1
    assert f"host key unknown: ssh-ed25519 {fingerprint(fleet[1])}. Nothing was sent." in done.stderr
    assert nothing_came(fleet[1])
    assert bench.runs() == []


def test_a_changed_host_key_is_refused_before_anything_is_sent_with_its_fingerprint(bench, fleet):
    presented, fleet[1].host_key = fingerprint(fleet[1]), fleet[0].host_key
    fleet.know(*fleet)
    bench.write(line(list(fleet)))
    done = bench.run("run", "t.toml")
    assert done.returncode == 1
    assert f"host key CHANGED: ssh-ed25519 {presented}. Nothing was sent." in done.stderr
    assert nothing_came(fleet[1])
    assert bench.runs() == []


@pytest.mark.parametrize("name", ["it's", "$(touch pwned)", "a\\nb", "a`touch pwned`"])
def test_a_name_of_a_host_that_a_shell_would_read_is_refused_at_once(bench, name):
    bench.write(f'"{name}" = {{ via = "ssh", address = "10.91.0.1", load = true }}')
    done = bench.run("run", "t.toml")
    assert done.returncode == 2
    assert "of a host" in done.stderr
    assert bench.runs() == []


def test_a_path_on_a_far_host_is_taken_literally(bench, fleet):
    place = f"/root/{ODD}\nsecond line"
    fleet[0].run("mkdir", place)
    told = json.dumps(place)[1:-1]
    bench.write(f's = {{ via = "ssh", address = "{fleet[0].address}", load = true }}', target='host = "s"', place=told)
    done = bench.run("run", "t.toml")
    assert [run["outcome"] for run in bench.runs()] == ["finished"], done.stderr
    assert os.listdir(fleet[0].home / place.removeprefix("/root/")) == []  # noqa: PTH208
    assert not any((*fleet[0].home.rglob("pwned"), *bench.home.rglob("pwned")))


def test_an_engine_of_another_digest_is_refused_with_what_to_do(bench, fleet):
    bench.write(line([fleet[0]]))
    assert bench.run("hosts", "t.toml", "install").returncode == 0
    with (fleet[0].home / ".cache" / "assay" / f"assay-engine-{DIGEST}").open("ab") as file:
        file.write(b"#")
    done = bench.run("run", "t.toml")
    assert done.returncode == 1
    assert f"expected {DIGEST}. Remove the file, then run assay hosts FILE install" in done.stderr
    assert bench.runs() == []


def test_an_engine_of_another_architecture_is_refused_with_how_to_install(far, tmp_path):
    machine, bench = of_one(far, tmp_path, ForceCommand='setarch i686 /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    bench.write(line([machine]))
    for verb in (("run", "t.toml"), ("hosts", "t.toml", "install")):
        done = bench.run(*verb)
        assert done.returncode == 1
        words = done.stdout + done.stderr
        assert "it is Linux i686; the engine of this laboratory is for Linux x86_64. Set engine = false, or install" in words
    assert not (machine.home / ".cache").exists()
    assert bench.runs() == []


def test_an_sshd_that_allows_one_channel_gets_as_many_connections_as_needed(far, tmp_path):
    machine, bench = of_one(far, tmp_path, MaxSessions=1)
    hosts = f's = {{ via = "ssh", address = "{machine.address}" }}\n{line([machine])}'
    bench.write(hosts, target='host = "s"', more="[factors]\nclients = [12]")
    done = bench.run("run", "t.toml")
    (run,) = bench.runs()
    late = "too late" in str(run["error"])  # twelve clients on a busy machine: what this test asks was done
    assert run["outcome"] == "finished" or late, (run["error"], done.stderr)
    assert len(run["phases"][0]["clients"]) == 12


def test_clocks_that_are_known_too_little_are_told_with_the_remedy(bench, fleet):
    bench.write(line(list(fleet)), seconds=0.001)
    done = bench.run("run", "t.toml")
    assert "W08" in done.stdout, done.stdout + done.stderr
    assert "clock" in done.stdout
    shown = bench.run("show", "0001/1", "--json")
    assert "measure longer" in shown.stdout, shown.stderr


def test_fewer_workers_than_asked_are_refused_with_their_number(bench, tmp_path):
    with running_scheduler(tmp_path) as spec:
        options = ", ".join(f'{name} = "{path}"' for name, path in spec["options"].items())
        bench.write(f'n = {{ via = "dask", scheduler = "{spec["scheduler"]}", count = 2, wait = 20, {options} }}')
        assert bench.run("plan", "t.toml").returncode == 0
        done = bench.run("run", "t.toml")
    assert done.returncode == 1
    assert "hosts n: found 1 Dask workers after 20 s; expected 2. Ask for fewer hosts" in done.stderr
    assert bench.runs() == []


def test_a_node_of_a_server_on_an_unknown_host_is_refused_with_its_place(bench, fleet):
    file = bench.write(line([fleet[0]]), target='[targets.here.server.nodes.b]\nhost = "x"\npid_file = "/run/b.pid"')
    commands = 'kind = "commands"\nprepare = ["echo", "/tmp"]\nteardown = ["true"]\n'
    text = re.sub(r'kind = "directory"\npath = .*\n', commands, file.read_text())
    file.write_text(text)
    done = bench.run("run", "t.toml")
    assert done.returncode == 2
    place = text[: text.index('host = "x"')].count("\n") + 1
    assert f"t.toml:{place}:" in done.stderr
    assert "found host 'x'; expected one of local, c" in done.stderr


KILLED = """
    import os, signal, sys
    from assay.laboratory.hosts import opened
    from assay.machine.engine_file import engine_path
    from assay.records import HostSpec
    from assay.undo.ledger import Ledger
    ledger = Ledger()
    with opened([HostSpec(name="c.1", via="ssh", address=sys.argv[1], load=True)], ledger, engine_path()) as hosts:
        for name in ("left", "too"):
            hosts["c.1"].run(["mkdir", f"/root/.assay-{name}"])
            ledger.on(hosts["c.1"]).add("directory", path=f"/root/.assay-{name}", marker="m")
        print("ready", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def leaves_entries(bench, fleet, tmp_path):
    return killed_lab(bench, fleet, tmp_path, KILLED)


def killed_lab(bench, fleet, folder, code):
    """A lab that was killed when its far machine lost its power; its entries are in a ledger of the test's own."""
    through = own_ledger(folder)
    bench.through = through
    command = [*through, sys.executable, "-c", textwrap.dedent(code), fleet[0].address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=bench.environment(), process_group=0, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        fleet[0].off()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return bench


def test_an_entry_of_another_machine_is_left_and_named_until_it_is_forgotten(leaves_entries, fleet):
    bench = leaves_entries
    (fleet[0].directory / "machine-id").write_text("0" * 31 + "1\n")
    fleet[0].on()
    bench.write(line([fleet[0]]))
    run = bench.run("run", "t.toml")
    (named,) = [text for text in run.stderr.splitlines() if "after a killed run" in text]
    assert named.count("it belongs to another machine of the name c.1") == 1, "one reason for both entries"
    assert "directory /root/.assay-left" in named
    assert named.endswith("To forget it: assay hosts FILE clean --forget c.1")
    cleaned = bench.run("hosts", "t.toml", "clean")
    assert cleaned.returncode == 1
    assert "  left      directory /root/.assay-too" in cleaned.stdout
    unknown = bench.run("hosts", "t.toml", "clean", "--forget", "c.2")
    assert unknown.returncode == 2
    assert "--forget c.2; expected a far host: c.1" in unknown.stderr.replace("'", "")
    forgotten = bench.run("hosts", "t.toml", "clean", "--forget", "c.1")
    assert forgotten.returncode == 0, forgotten.stdout + forgotten.stderr
    assert "what is forgotten stays on that machine" in forgotten.stdout
    assert "  forgotten directory /root/.assay-left" in forgotten.stdout
    assert "c.1: no leftovers" in bench.run("hosts", "t.toml", "clean").stdout
    assert (fleet[0].home / ".assay-left").exists(), "nothing of it was undone"


TEARDOWN = KILLED.replace(
    'add("directory", path=f"/root/.assay-{name}", marker="m")', 'add("command", argv=f\'["touch", "/root/ran-{name}"]\')'
)


def tells_its_key(machine):
    """Its public host key is where sshd usually has it."""
    public = machine.directory / "host_key.pub"
    machine.run("sh", "-c", f"mount -t tmpfs none /etc/ssh && cp {public} /etc/ssh/ssh_host_ed25519_key.pub")


@pytest.mark.parametrize("cloned", [True, False])
def test_a_clone_runs_no_teardown_of_its_original(cloned, bench, fleet, tmp_path):
    """The same machine-id after another boot; the clone has a host key of its own, which its user has accepted."""
    machine = fleet[0]
    tells_its_key(machine)
    killed_lab(bench, fleet, tmp_path, TEARDOWN)
    if cloned:
        (machine.directory / "host_key").unlink()
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(machine.directory / "host_key")], check=True, input=b"y\n"
        )
        machine.host_key = " ".join((machine.directory / "host_key.pub").read_text().split()[:2])
        fleet.know(machine)
    machine.on()
    tells_its_key(machine)
    bench.write(line([machine]))
    cleaned = bench.run("hosts", "t.toml", "clean")
    assert (machine.home / "ran-left").exists() is not cloned, cleaned.stdout
    assert ("has another ssh host key" in cleaned.stdout) is cloned, cleaned.stdout


def test_entries_of_a_machine_that_never_returns_can_be_forgotten(leaves_entries, fleet):
    bench = leaves_entries
    assert "directory /root/.assay-left" in bench.run("doctor").stdout
    bench.write(line([fleet[0]]))
    gone = bench.run("hosts", "t.toml", "clean", "--forget", "c.1", "--json")
    assert gone.returncode == 0, gone.stderr
    (host,) = [one for one in json.loads(gone.stdout)["hosts"] if one["host"] == "c.1"]
    assert [one["state"] for one in host["cleaned"]] == ["forgotten", "forgotten"]
    assert all("no connection" in one["reason"] for one in host["cleaned"])
    assert "assay-left" not in bench.run("doctor").stdout
