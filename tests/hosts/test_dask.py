"""Hosts that Dask places, with real schedulers, workers and agents: lines both ways, who is let in, and who dies with whom."""

import asyncio
import contextlib
import os
import platform
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys

import pytest

from assay.errors import LostHostError, MissingError, RefusedError, TrialError
from assay.hosts import certificates, cluster, dask, dask_settings, pinned
from assay.records import HostSpec
from assay.undo.ledger import Ledger
from stage.dask_stage import ENGINE, WAIT_S, listening, parent, running_scheduler, runs, until, use

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


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


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


def test_lines_go_both_ways_behind_certificates_and_all_ends_with_the_context(ledger):
    with dask.opened(local("n.1", "n.2"), ENGINE, ledger) as hosts:
        for host in hosts.values():
            use(host)
        boots = {host.machine().boot for host in hosts.values()}
        assert len(boots) == 1, "two workers on one machine are known as one machine"
        sleep = hosts["n.1"].spawn(["sleep", "1000"]).pid
        agents = [host.hello["pid"] for host in hosts.values()]
        workers = [parent(agent) for agent in agents]
        assert len({*agents, *workers}) == 4
        ports = listening([os.getpid(), *workers, *agents])
        assert len(ports) == 3, "one of the scheduler, one of each worker, and no other"
        for port in ports:
            assert port[0] == "127.0.0.1"
            assert b"HTTP" not in answer(port, None, b"GET / HTTP/1.0\r\n\r\n")
            assert answer(port, None, handshake()) == b"", "plain TCP"
            assert answer(port, certificates.issued(["controller"]), handshake()) == b"", "another authority"
    until(lambda: not any(map(runs, [sleep, *agents, *workers])), "something outlived the context")


def test_lines_go_through_the_scheduler_where_workers_cannot_be_reached(ledger, unreachable_workers):
    with dask.opened(local("n.1"), ENGINE, ledger) as hosts:
        use(hosts["n.1"])
        agent = hosts["n.1"].hello["pid"]
    until(lambda: not runs(agent), "the agent outlived the context")


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


def test_a_killed_worker_and_a_killed_agent_are_named_and_the_other_host_goes_on(ledger):
    with dask.opened(local("n.1", "n.2"), ENGINE, ledger) as hosts:
        first, second = hosts.values()
        sleep, agent = first.spawn(["sleep", "1000"]).pid, first.hello["pid"]
        os.kill(parent(agent), signal.SIGKILL)
        until(lambda: first.lost() is not None, "the loss was not seen")
        with pytest.raises(LostHostError, match=r"host n\.1 is lost: .*Dask worker tls://127\.0\.0\.1:\d+ ended"):
            first.read("/proc/uptime")
        until(lambda: not runs(sleep) and not runs(agent), "the worker's processes outlived it")
        use(second)
        os.kill(second.hello["pid"], signal.SIGKILL)
        until(lambda: second.lost() is not None, "the loss was not seen")
        with pytest.raises(LostHostError, match="status -9"):
            second.read("/proc/uptime")


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


def test_nothing_outlives_a_killed_controller(subtests, tmp_path_factory):
    for way in ["direct", "through the scheduler"]:
        with subtests.test(way=way):
            tmp_path = tmp_path_factory.mktemp("case")
            with controller(tmp_path, LOCAL, way) as (process, sleeps, agents):
                workers = [parent(agent) for agent in agents]
                process.kill()
                until(lambda: not any(map(runs, sleeps)), "load outlived the controller")
                until(lambda left=(*agents, *workers): not any(map(runs, left)), "agents or workers outlived the controller")


@pytest.mark.slow
def test_load_ends_with_the_lease_of_a_frozen_controller(tmp_path):
    with controller(tmp_path, LOCAL) as (process, sleeps, _):
        process.send_signal(signal.SIGSTOP)
        until(lambda: not any(map(runs, sleeps)), "load outlived the lease", wait_s=60.0)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A scheduler that runs already, with one worker, and the options with which it is reached."""
    with running_scheduler(tmp_path_factory.mktemp("scheduler")) as spec:
        yield spec


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
    with pytest.raises(RefusedError, match=r"hosts n: found 1 Dask workers after 5 s; expected 2"):
        dask.opened(specs, ENGINE, ledger).__enter__()


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


def test_what_cannot_be_reached_safely_is_refused(subtests, ledger):
    for changed, message in [
        ({"scheduler": "tcp://127.0.0.1:1"}, "expected tls://"),
        ({"scheduler": "tls://127.0.0.1:1", "options": {}}, "found authority = None; expected the path of a PEM file"),
        ({"cluster": "kubernetes"}, "has no TLS"),
        ({"cluster": "magic"}, "found cluster = 'magic'; expected one of: local, ssh, slurm"),
    ]:
        with subtests.test(changed=changed, message=message):
            spec = HostSpec(name="n", **{"via": "dask", **changed})
            with pytest.raises(RefusedError, match=message), dask.opened([spec], ENGINE, ledger):
                pass


def test_a_file_of_the_engines_name_with_another_content_is_refused(tmp_path, monkeypatch, ledger):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "cache" / "assay"
    directory.mkdir(parents=True, mode=0o700)
    digest = pinned._engine(ENGINE)[1]
    (directory / f"assay-engine-{digest}").write_text("another")
    with pytest.raises(RefusedError, match=rf"host n: .* has the SHA-256 [0-9a-f]{{64}}; expected {digest}"):
        dask.opened(local("n"), ENGINE, ledger).__enter__()


def test_an_engine_that_is_none_is_named(tmp_path, ledger, running):
    engine = tmp_path / "engine"
    engine.write_text("#!/no/such/program\n")
    spec = HostSpec(**running, name="n")
    with pytest.raises(TrialError, match="host n: the load engine did not start"), dask.opened([spec], engine, ledger):
        pass


def test_workers_of_a_scheduler_are_taken_from_different_machines_first():
    names = {f"w-{number}": f"tls://10.0.0.{number // 2}:{number}" for number in range(2, 12)}
    machines = [re.sub(r".*\.(\d+):.*", r"\1", address) for address in cluster.in_turn(names)]
    assert machines == ["1", "2", "3", "4", "5"] * 2


def test_a_worker_of_another_version_is_refused(subtests):
    for python, distributed, message in [
        ("3.12.1.final.0", "2026.8.0", "found Python 3.12 .* expected 3.11"),
        ("3.11.9.final.0", "2025.1.0", "found distributed 2025"),
    ]:
        with subtests.test(python=python, distributed=distributed, message=message):

            def versions(python, distributed):
                return {"host": {"python": python}, "packages": {"distributed": distributed}}

            here = versions("3.11.7.final.0", "2026.8.0")
            cluster.check_versions("n", versions("3.11.2.final.0", "2026.8.0"), here)
            with pytest.raises(RefusedError, match=f"host n: {message}"):
                cluster.check_versions("n", versions(python, distributed), here)


def test_a_machine_for_which_the_engine_is_not_made_is_refused(subtests):
    for changed, message in [
        ({"architecture": "aarch64"}, "host n is Linux on aarch64; the load engine here is for Linux on"),
        ({"path": ""}, "no private directory for the engine"),
        ({"digest": "1"}, "has the SHA-256 1; expected 2"),
    ]:
        with subtests.test(changed=changed, message=message):
            found = {"system": platform.system(), "architecture": platform.machine(), "path": "/e", "digest": ""}
            pinned._check(found, "2", "n")
            with pytest.raises(RefusedError, match=message):
                pinned._check({**found, **changed}, "2", "n")


def test_a_worker_has_no_module_of_assay(ledger, running):
    def modules():
        return [name for name in sys.modules if name.partition(".")[0] == "assay"]

    async def look():
        async with cluster.opened([HostSpec(**running, name="n")], ledger) as workers:
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
    heavy = "{'distributed', 'dask', 'cryptography', 'asyncssh'}"
    script = f"import sys, assay.hosts.dask, assay.hosts.certificates; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_missing_library_of_a_cluster_is_named(ledger):
    if shutil.which("dask-gateway-server"):
        pytest.skip("a gateway is installed")
    spec = HostSpec(name="n", via="dask", cluster="gateway")
    with pytest.raises(MissingError, match="pip install dask-gateway"), dask.opened([spec], ENGINE, ledger):
        pass
