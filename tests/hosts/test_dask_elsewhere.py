"""Dask workers that a batch system starts, and workers on far machines by ssh."""

import importlib.util
import json
import os
import signal
import sys

import pytest

from assay.errors import RefusedError, TrialError
from assay.hosts import dask
from assay.records import HostSpec
from assay.undo.ledger import Ledger
from stage.dask_stage import ENGINE, listening, parent, runs, until, use


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


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


def needs_jobqueue():
    if importlib.util.find_spec("dask_jobqueue") is None:  # not imported: that takes the process's signals
        pytest.skip("no dask-jobqueue: pip install dask-jobqueue")


def jobs(tmp_path, **more):
    options = {"interface": "lo", "shared_directory": str(tmp_path), "wait": 60, **more}
    return [HostSpec(name=f"n.{n}", group="n", via="dask", cluster="slurm", engine=True, options=options) for n in (1, 2)]


def test_jobs_of_a_batch_system_get_their_certificates_in_a_private_directory(tmp_path, monkeypatch, ledger):
    needs_jobqueue()
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
    needs_jobqueue()
    for queue_name in ("batch\nrm x", "$(id)", "a'b", "`id`"):
        with pytest.raises(RefusedError, match="found queue = "):
            dask.opened(jobs(tmp_path, queue=queue_name), ENGINE, ledger).__enter__()


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
            written = [path for path in machine.home.rglob("*") if path.is_file() and not path.name.startswith("assay-engine-")]
            assert not [path for path in written if b"PRIVATE KEY" in path.read_bytes()]

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
