"""Hosts that Dask places, with real schedulers, workers and agents: lines both ways, who is let in, and who dies with whom."""

import asyncio
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.errors import LostHostError, MissingError, RefusedError, TrialError
from assay.hosts import certificates, cluster, dask, dask_settings, pinned
from assay.records import HostSpec
from assay.undo.ledger import Ledger

ENGINE = Path(dask.__file__).parent.parent / "bin" / "assay-engine"
WAIT_S = 20.0
TLS_ALERT = b"\x15"
CONTROLLER = """
import sys, time
from pathlib import Path
from assay.hosts import dask, pinned
from assay.records import HostSpec
from assay.undo.ledger import Ledger
async def unreachable(worker, token): return None
if sys.argv[3] == "through the scheduler": pinned.Worker.connect = unreachable
specs = [HostSpec(**{**eval(sys.argv[1]), "name": f"n.{number}"}) for number in (1, 2)]
with dask.opened(specs, Path(sys.argv[2]), Ledger(sys.argv[4])) as hosts:
    sleeps = [host.spawn(["sleep", "1000"]).pid for host in hosts.values()]
    print(*sleeps, *(host.hello["pid"] for host in hosts.values()), flush=True)
    time.sleep(1000)
"""
"""Starts a sleep on each host, names these processes and the agents, and waits to be killed."""
LOCAL = {"via": "dask", "cluster": "local", "group": "n", "engine": True}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def local(*names):
    return [HostSpec(**LOCAL, name=name) for name in names]


@pytest.fixture
def unreachable_workers(monkeypatch):
    async def none(worker, token):
        return None

    monkeypatch.setattr(pinned.Worker, "connect", none)


def until(condition, message, wait_s=WAIT_S):
    deadline = time.monotonic() + wait_s
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.01)


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid):
    listed = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for group in listed for child in group]


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def listening(pids):
    """The addresses at which processes listen for TCP."""
    inodes = set()
    for pid in pids:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"socket:\[(\d+)\]", str(path.readlink())))
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    found = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in inodes]
    return [(socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)) for address, port in found]


def speak(host):
    """Start a command on a host that repeats lines; return what sends one and waits for its echo."""
    process, heard = host.spawn(["sh", "-c", 'while IFS= read -r line; do echo "$line"; done']), queue.SimpleQueue()
    process.listen(lambda line, at_ns: heard.put(line))

    def echo(line):
        process.send(line)
        return heard.get(timeout=WAIT_S)

    return echo


def use(host):
    """What every way to a host must be good for."""
    echo = speak(host)
    assert [echo(line) for line in ("one", "ü", "x" * 200_000)] == ["one", "ü", "x" * 200_000]
    asked_ns, theirs_ns, answered_ns = host.probe()
    assert asked_ns <= theirs_ns <= answered_ns, "it is this machine, so its clock is ours"
    assert host.read("/proc/sys/kernel/random/boot_id").strip() == host.machine().boot
    assert host.run(["sh", "-c", "echo $((6 * 7))"]).stdout == "42\n"


def test_lines_go_both_ways_and_all_ends_with_the_context(ledger):
    with dask.opened(local("n.1", "n.2"), ENGINE, ledger) as hosts:
        for host in hosts.values():
            use(host)
        boots = {host.machine().boot for host in hosts.values()}
        assert len(boots) == 1, "two workers on one machine are known as one machine"
        sleep = hosts["n.1"].spawn(["sleep", "1000"]).pid
        agents = [host.hello["pid"] for host in hosts.values()]
        workers = [parent(agent) for agent in agents]
        assert len({*agents, *workers}) == 4
    until(lambda: not any(map(runs, [sleep, *agents, *workers])), "something outlived the context")


def test_lines_go_through_the_scheduler_where_workers_cannot_be_reached(ledger, unreachable_workers):
    with dask.opened(local("n.1"), ENGINE, ledger) as hosts:
        use(hosts["n.1"])
        agent = hosts["n.1"].hello["pid"]
    until(lambda: not runs(agent), "the agent outlived the context")


def test_every_port_wants_a_certificate_of_this_authority_and_none_speaks_http(ledger):
    with dask.opened(local("n.1"), ENGINE, ledger) as hosts:
        agent = hosts["n.1"].hello["pid"]
        ports = listening([os.getpid(), parent(agent), agent])
        assert len(ports) == 2, "one of the scheduler, one of the worker, and no other"
        for port in ports:
            assert port[0] == "127.0.0.1"
            assert b"HTTP" not in answer(port, None, b"GET / HTTP/1.0\r\n\r\n")
            assert answer(port, None, handshake()) == b"", "plain TCP"
            assert answer(port, certificates.issued(["controller"]), handshake()) == b"", "another authority"


def handshake():
    """The first bytes of a peer that speaks distributed's protocol: eight bytes of length, and more."""
    return (8).to_bytes(8, "little") + bytes(8)


def answer(port, issued, data):
    """What a port says to somebody who sends this, by TLS where certificates are given; nothing where it hangs up."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(ssl.SSLError, ConnectionError))
        way = stack.enter_context(socket.create_connection(port, timeout=WAIT_S))
        if issued is not None:
            context = dask_settings.in_memory(issued, "controller").get_connection_args("client")["ssl_context"]
            context.verify_mode = ssl.CERT_NONE
            way = stack.enter_context(context.wrap_socket(way))
        way.sendall(data)
        said = way.recv(100)
        return b"" if issued is None and said[:1] == TLS_ALERT else said
    return b""


def test_a_killed_worker_is_named_and_its_engines_end_and_the_other_host_goes_on(ledger):
    with dask.opened(local("n.1", "n.2"), ENGINE, ledger) as hosts:
        first, second = hosts.values()
        sleep, agent = first.spawn(["sleep", "1000"]).pid, first.hello["pid"]
        os.kill(parent(agent), signal.SIGKILL)
        until(lambda: first.lost() is not None, "the loss was not seen")
        with pytest.raises(LostHostError, match=r"host n\.1 is lost: .*Dask worker tls://127\.0\.0\.1:\d+ ended"):
            first.read("/proc/uptime")
        until(lambda: not runs(sleep) and not runs(agent), "the worker's processes outlived it")
        use(second)


def test_a_killed_agent_is_named(ledger):
    with dask.opened(local("n.1"), ENGINE, ledger) as hosts:
        os.kill(hosts["n.1"].hello["pid"], signal.SIGKILL)
        until(lambda: hosts["n.1"].lost() is not None, "the loss was not seen")
        with pytest.raises(LostHostError, match="status -9"):
            hosts["n.1"].read("/proc/uptime")


@contextlib.contextmanager
def controller(tmp_path, spec, way="direct"):
    """A controller of its own process: its process, the two sleeps and the two agents."""
    command = [sys.executable, "-c", CONTROLLER, repr(spec), str(ENGINE), way, str(tmp_path / "ledger")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            first, second, *agents = map(int, process.stdout.readline().split())
            yield process, [first, second], agents
        finally:
            process.kill()


@pytest.mark.parametrize("way", ["direct", "through the scheduler"])
def test_nothing_outlives_a_killed_controller(tmp_path, way):
    with controller(tmp_path, LOCAL, way) as (process, sleeps, agents):
        workers = [parent(agent) for agent in agents]
        process.kill()
        until(lambda: not any(map(runs, sleeps)), "load outlived the controller")
        until(lambda: not any(map(runs, [*agents, *workers])), "agents or workers outlived the controller")


@pytest.mark.slow
def test_load_ends_with_the_lease_of_a_frozen_controller(tmp_path):
    with controller(tmp_path, LOCAL) as (process, sleeps, _):
        process.send_signal(signal.SIGSTOP)
        until(lambda: not any(map(runs, sleeps)), "load outlived the lease", wait_s=60.0)


@pytest.fixture
def running(tmp_path):
    """A scheduler that runs already, with one worker, and the options with which it is reached."""
    place = tmp_path / "certificates"
    files = certificates.written(certificates.issued(["controller", "scheduler", "worker"]), place)

    def dask_command(name, *words):
        certificate, key = map(str, files[name])
        tls = ("--tls-ca-file", str(place / "authority.pem"), "--tls-cert", certificate, "--tls-key", key)
        return [sys.executable, "-m", f"distributed.cli.dask_{name}", *words, "--protocol", "tls", *tls, "--no-dashboard"]

    with contextlib.ExitStack() as stack:

        def start(command):
            environment = {**os.environ, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
            log = stack.enter_context((tmp_path / "log").open("ab"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            stack.callback(process.kill)
            return process

        port = free_port()
        loopback = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
        start(dask_command("scheduler", "--port", str(port), *loopback))
        address = f"tls://127.0.0.1:{port}"
        start(dask_command("worker", address, "--nthreads", "2", "--no-nanny", *loopback))
        certificate, key = map(str, files["controller"])
        options = {"authority": str(place / "authority.pem"), "certificate": certificate, "key": key}
        yield {"via": "dask", "scheduler": address, "group": "n", "engine": True, "options": options}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_a_scheduler_that_runs_already_lends_its_workers_and_lives_on(tmp_path, ledger, running):
    for _ in range(2):
        with dask.opened([HostSpec(**running, name="n.1")], ENGINE, ledger) as hosts:
            use(hosts["n.1"])
            agent, worker = hosts["n.1"].hello["pid"], parent(hosts["n.1"].hello["pid"])
        until(lambda gone=agent: not runs(gone), "the agent outlived the context")
        assert runs(worker)


def test_fewer_workers_than_asked_are_refused_with_their_number(ledger, running):
    short = {**running, "options": {**running["options"], "wait": 5}}
    specs = [HostSpec(**short, name=f"n.{number}") for number in (1, 2)]
    with (
        pytest.raises(RefusedError, match=r"hosts n: found 1 Dask workers after 5 s; expected 2"),
        dask.opened(specs, ENGINE, ledger),
    ):
        pass


def test_load_ends_with_a_controller_whose_scheduler_lives_on(tmp_path, running):
    one = """specs = [HostSpec(**{**eval(sys.argv[1]), "name": "n.1"})]"""
    script = re.sub(r"^specs = .*$", lambda _: one, CONTROLLER, flags=re.MULTILINE)
    command = [sys.executable, "-c", script, repr(running), str(ENGINE), "through the scheduler", str(tmp_path / "ledger")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        sleep, agent = map(int, process.stdout.readline().split())
        worker = parent(agent)
        process.kill()
    until(lambda: not runs(sleep) and not runs(agent), "load outlived the controller")
    assert runs(worker)


def test_another_authority_is_refused_by_a_scheduler(tmp_path, ledger, running):
    files = certificates.written(certificates.issued(["controller"]), tmp_path / "others")
    certificate, key = map(str, files["controller"])
    options = {"authority": str(tmp_path / "others" / "authority.pem"), "certificate": certificate, "key": key}
    spec = HostSpec(**{**running, "options": options}, name="n.1")
    with pytest.raises(RefusedError, match="no connection to the Dask scheduler"), dask.opened([spec], ENGINE, ledger):
        pass


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scheduler": "tcp://127.0.0.1:1"}, "expected tls://"),
        ({"scheduler": "tls://127.0.0.1:1", "options": {}}, "found authority = None; expected the path of a PEM file"),
        ({"cluster": "kubernetes"}, "has no TLS"),
        ({"cluster": "magic"}, "found cluster = 'magic'; expected one of: local, ssh, slurm"),
    ],
)
def test_what_cannot_be_reached_safely_is_refused(ledger, changed, message):
    spec = HostSpec(name="n", **{"via": "dask", **changed})
    with pytest.raises(RefusedError, match=message), dask.opened([spec], ENGINE, ledger):
        pass


def test_a_file_of_the_engines_name_with_another_content_is_refused(tmp_path, ledger):
    directory = tmp_path / "cache" / "assay"
    directory.mkdir(parents=True, mode=0o700)
    digest = pinned._engine(ENGINE)[1]
    (directory / f"assay-engine-{digest}").write_text("another")
    with pytest.raises(RefusedError, match=rf"host n: .* has the SHA-256 [0-9a-f]{{64}}; expected {digest}"):
        dask.opened(local("n"), ENGINE, ledger).__enter__()


def test_an_engine_that_is_none_is_named(tmp_path, ledger):
    engine = tmp_path / "engine"
    engine.write_text("#!/no/such/program\n")
    with pytest.raises(TrialError, match="host n: the load engine did not start"), dask.opened(local("n"), engine, ledger):
        pass


def test_a_worker_has_no_module_of_assay(ledger):
    def modules():
        return [name for name in sys.modules if name.partition(".")[0] == "assay"]

    async def look():
        async with cluster.opened(local("n"), ledger) as workers:
            channel = await pinned.opened(pinned.Worker(workers, "n"), ENGINE, asyncio.get_running_loop())
            found = await workers.client.run(modules)
            await asyncio.to_thread(channel.close)
            return list(found.values())

    assert asyncio.run(look()) == [[]]


def test_without_the_extra_the_error_says_how_to_get_it():
    script = """
import sys
sys.modules["distributed"] = None
from assay.errors import MissingError
from assay.hosts import dask
from assay.records import HostSpec
try:
    dask.opened([HostSpec(name="n", via="dask", cluster="local")], None, None).__enter__()
except MissingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'assay-lab[fleet]'" in done.stdout


def test_the_door_imports_neither_distributed_nor_cryptography():
    script = "import sys, assay.hosts.dask, assay.hosts.certificates; print({'distributed', 'dask', 'cryptography'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "set()\n"


def batch_system(directory):
    """Commands of Slurm's names that start a job at once, in a session of its own, and end one."""
    directory.mkdir()
    texts = {
        "sbatch": f'job=$(mktemp {directory}/job.XXXXXX); cp "$1" "$job"; setsid sh "$job" >"$job.log" 2>&1 </dev/null &\n'
        'echo "Submitted batch job $!"',
        "scancel": 'kill -TERM -- "-$1"',
    }
    for name, text in texts.items():
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    return directory


def jobs(tmp_path, **more):
    options = {"interface": "lo", "shared_directory": str(tmp_path), "wait": 60, **more}
    return [HostSpec(name=f"n.{n}", group="n", via="dask", cluster="slurm", engine=True, options=options) for n in (1, 2)]


def test_jobs_of_a_batch_system_get_their_certificates_in_a_private_directory(tmp_path, monkeypatch, ledger):
    pytest.importorskip("dask_jobqueue")
    slurm = batch_system(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{slurm}:{os.environ['PATH']}")
    with dask.opened(jobs(tmp_path, queue="batch"), ENGINE, ledger) as hosts:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        use(hosts["n.2"])
        (place,) = tmp_path.glob(".assay-*")
        assert place.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in place.glob("*.pem")} == {0o600}
        (file,) = (tmp_path / "ledger").glob("*.jsonl")
        assert str(place) in file.read_text()
        workers = [parent(host.hello["pid"]) for host in hosts.values()]
        addresses = {address for address, _ in listening(workers)}
        assert addresses == {"127.0.0.1"}
    assert not place.exists()
    until(lambda: not any(map(runs, workers)), "a job outlived the context")


def test_an_option_that_a_job_would_not_take_literally_is_refused(tmp_path, ledger):
    pytest.importorskip("dask_jobqueue")
    for queue_name in ("batch\nrm x", "$(id)", "a'b", "`id`"):
        with pytest.raises(RefusedError, match="found queue = "):
            dask.opened(jobs(tmp_path, queue=queue_name), ENGINE, ledger).__enter__()


def test_a_missing_library_of_a_cluster_is_named(ledger):
    if shutil.which("dask-gateway-server"):
        pytest.skip("a gateway is installed")
    spec = HostSpec(name="n", via="dask", cluster="gateway")
    with pytest.raises(MissingError, match="pip install dask-gateway"), dask.opened([spec], ENGINE, ledger):
        pass


@pytest.mark.root
class TestBySsh:
    """Workers on far machines: namespaces with an sshd and a clock of their own."""

    @pytest.fixture
    def fleet(self, far, monkeypatch):
        fleet = far(2)
        monkeypatch.setenv("XDG_CACHE_HOME", str(fleet.home / "cache"))
        for machine in fleet:  # their /root is not ours, and Python may live there
            lend = 'mkdir -p /run/under "$0" && mount --bind / /run/under && mount --bind "/run/under$0" "$0"'
            machine.run("sh", "-c", lend, sys.base_prefix)
        return fleet

    def specs(self, fleet, **options):
        given = {"python": sys.executable, **options}
        return [machine.spec(f"n.{machine.number}", group="n", cluster="ssh", engine=True, options=given) for machine in fleet]

    def test_each_has_its_own_clock_and_machine_and_no_secret_is_left_there(self, fleet, ledger):
        with dask.opened(self.specs(fleet), ENGINE, ledger) as hosts:
            for machine, host in zip(fleet, hosts.values(), strict=True):
                asked_ns, theirs_ns, answered_ns = host.probe()
                assert asked_ns <= theirs_ns - machine.offset_ns <= answered_ns
            assert len({host.machine() for host in hosts.values()}) == 2
            commands = "\n".join(fleet[0].processes().values())
            assert "-c import json, sys" in commands
            assert "BEGIN" not in commands
            assert "tls://" not in commands
        for machine in fleet:
            until(lambda one=machine: not one.connections(), "a connection was left")
            assert not [path for path in machine.home.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]

    def test_a_killed_connection_ends_worker_and_load_and_names_the_host(self, fleet, ledger):
        with dask.opened(self.specs(fleet), ENGINE, ledger) as hosts:
            host = hosts["n.0"]
            host.spawn(["sleep", "4242"])
            os.kill(fleet[0].connections()[0], signal.SIGKILL)
            until(lambda: host.lost() is not None, "the loss was not seen")
            until(lambda: "4242" not in str(fleet[0].processes()), "load outlived the connection")
            use_of_other = hosts["n.1"].read("/proc/uptime")
            assert use_of_other

    def test_an_unknown_host_key_and_a_python_that_is_none_are_refused(self, fleet, ledger):
        with pytest.raises(TrialError, match=r"host n\.\d: the Dask worker did not start .*not found"):
            dask.opened(self.specs(fleet, python="/no $(touch /tmp/executed) python"), ENGINE, ledger).__enter__()
        fleet.know(fleet[0])
        with pytest.raises(RefusedError, match=r"host n\.1 .*host key unknown"):
            dask.opened(self.specs(fleet), ENGINE, ledger).__enter__()
        assert json.loads(fleet[1].run("sh", "-c", "test ! -e /tmp/executed && echo true").stdout)
