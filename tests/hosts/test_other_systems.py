"""A machine of another system behind the real ssh: a far machine whose commands answer as FreeBSD's do."""

import subprocess

import pytest

from assay import catalogue, sampler
from assay.catalogue import system_of
from assay.laboratory import hosts
from assay.records import Edge, Subject
from assay.sampler import Sampler
from assay.undo.ledger import Ledger
from stage.assay_process import COMMAND
from stage.observer_looks import the_series
from stage.unix_hosts import change, recorded_system

pytestmark = pytest.mark.root


@pytest.fixture
def server(far, tmp_path):
    tmp_path.chmod(0o755)
    texts, commands = recorded_system(tmp_path, "freebsd-14.5")
    fleet = far(1, options={"SetEnv": f"PATH={commands}:/usr/bin:/bin"})
    ledger = Ledger()
    with hosts.opened([fleet[0].spec("s")], ledger, tmp_path / "no-engine") as found:
        yield texts, found["s"]
    ledger.close()


def test_its_counters_are_evidence_over_a_phase(server):
    texts, host = server
    assert (system_of(host), host.release) == ("FreeBSD", "14.5-RELEASE")
    observers, missing = sampler.roll_call(host, [catalogue.find("observers", name) for name in catalogue.names("observers")])
    assert missing["page_cache.dirty_bytes"] == "FreeBSD does not report it"
    watching = Sampler(host, observers, Subject())
    watching.edge(Edge.QUIET)
    watching.edge(Edge.ARMED)
    change(texts / "netstat-ibdn", "30412 ", "99412 ")
    change(texts / "netstat-m", "257/1018/1275", "300/1018/1318")
    watching.edge(Edge.LAST)
    watching.edge(Edge.DRAINED)
    watching.stop()
    found = watching.seen("p", host.monotonic_ns()).evidence
    assert the_series(found, "rx_bytes", "interface:vtnet0").value[-1] == 69000
    assert the_series(found, "mbufs_in_use").value[-1] == 300
    assert found.missing["cpu.steal_ns"] == "FreeBSD does not report it"
    assert not [reason for reason in found.missing.values() if "failed" in reason]


def test_settings_and_identity_come_through_ssh(server):
    _, host = server
    assert len(host.machine().serial) == 64
    facts, _ = sampler.facts(host, [catalogue.find("observers", "unix_settings")], Subject(), "before")
    assert {"kernel.release", "cpu.model", "network.vtnet0.offload"} <= {fact.key for fact in facts}


def test_check_says_what_it_is_and_what_will_be_missing(far, tmp_path):
    tmp_path.chmod(0o755)
    _, commands = recorded_system(tmp_path, "freebsd-14.5")
    fleet = far(1, options={"SetEnv": f"PATH={commands}:/usr/bin:/bin"})
    file = tmp_path / "e.toml"
    file.write_text(
        f'title = "x"\n[hosts]\ns = {{ via = "ssh", address = "{fleet[0].address}" }}\n'
        '[targets.t]\nkind = "directory"\npath = "/tmp"\n[workloads.w]\nkind = "null"\nduration = "1 s"\n'
    )
    done = subprocess.run((*COMMAND, "hosts", str(file), "check"), capture_output=True, text=True, check=False)
    assert "FreeBSD 14.5-RELEASE amd64" in done.stdout, done.stdout + done.stderr
    assert "cpu: FreeBSD does not report it" in done.stdout
    assert "freebsd" not in done.stdout.replace("FreeBSD", ""), "what works is not missing"
