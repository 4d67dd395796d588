"""The hosts of an experiment: opened together, all reasons at once, closed for certain."""

import os
import queue
import socket
import threading
import time

import pytest

from assay.errors import AssayError, LostHostError, UsageError
from assay.hosts.exchange import LEASE_S
from assay.hosts.far import FarHost
from assay.hosts.local import Local
from assay.hosts.several import each
from assay.hosts.shell import ShellHost
from assay.laboratory.hosts import check_addresses, opened, same_machines
from assay.machine.engine_file import engine_path
from assay.records import HostSpec
from assay.undo.ledger import Ledger
from stage.assay_process import wait_until

ENGINE = engine_path()
HERE = HostSpec(name="local")


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.close()


def far_processes(fleet):
    """All that runs there beside sshd and what holds the machine."""
    commands = [command for machine in fleet for command in machine.processes().values()]
    return [command for command in commands if command and not command.startswith(("sshd", "unshare"))]


@pytest.mark.root
def test_each_host_is_what_the_file_allows(far, ledger):
    fleet = far(2, control=True)
    specs = (HERE, fleet[0].spec("s"), fleet[1].spec("c.1", load=True, engine=True))
    with opened(specs, ledger, ENGINE) as hosts:
        assert {name: type(host) for name, host in hosts.items()} == {"local": Local, "s": ShellHost, "c.1": FarHost}
        assert [hosts[name].run(["hostname"]).stdout.strip() for name in ("s", "c.1")] == ["far0", "far1"]
        assert hosts["s"].address == fleet[0].control
        assert far_processes(fleet)
        assert same_machines(hosts) == ()
    wait_until(lambda: far_processes(fleet) == [])
    assert not (fleet[0].home / ".cache").exists()


@pytest.mark.root
def test_the_reasons_of_all_hosts_come_at_once_and_nothing_stays_open(far, ledger):
    fleet = far(3)
    fleet.know(fleet[0], fleet[2])
    specs = (HERE, fleet[0].spec("s"), fleet[1].spec("c.1", load=True), fleet[2].spec("c.2", load=True))
    wrong = HostSpec(name="c.3", via="ssh", address="nobody.invalid", load=True)
    with pytest.raises(AssayError) as failed, opened((*specs, wrong), ledger, ENGINE):
        pass
    lines = str(failed.value).splitlines()
    assert [line.split()[1] for line in lines] == ["c.1", "c.3"]
    assert "host key unknown" in lines[0]
    wait_until(lambda: far_processes(fleet) == [])


@pytest.mark.root
def test_two_names_of_one_machine_are_told(far, ledger):
    fleet = far(2)
    specs = (fleet[0].spec("a"), fleet[1].spec("b"), fleet[0].spec("c", load=True))
    with opened(specs, ledger, ENGINE) as hosts:
        assert same_machines(hosts) == (("a", "c"),)


@pytest.mark.root
def test_eight_hosts_at_once_with_twelve_processes_on_one_of_them(far, ledger):
    fleet = far(8)
    specs = [machine.spec(f"c.{number}", load=True) for number, machine in enumerate(fleet, 1)]
    with opened(specs, ledger, ENGINE) as hosts:
        clocks = {name: host.probe() for name, host in hosts.items()}
        processes = [hosts["c.1"].spawn(["cat"]) for _ in range(12)]
        for number, process in enumerate(processes):
            process.send(str(number))
        assert [process.receive(120) for process in processes] == [str(number) for number in range(12)]
        assert len(fleet[0].connections()) == 1
    for machine, (asked_ns, theirs_ns, answered_ns) in zip(fleet, clocks.values(), strict=True):
        error_ns = (answered_ns - asked_ns + 1) // 2
        assert abs(theirs_ns - (asked_ns + answered_ns) // 2 - machine.offset_ns) <= error_ns
    wait_until(lambda: far_processes(fleet) == [])


@pytest.mark.root
def test_a_killed_ssh_process_is_named_at_once(far, ledger):
    fleet = far(2)
    specs = (fleet[0].spec("c.1", load=True), fleet[1].spec("c.2", load=True))
    with opened(specs, ledger, ENGINE) as hosts:
        heard = queue.Queue()
        hosts["c.1"].spawn(["cat"]).listen(lambda line, at_ns: heard.put((line, at_ns)))
        killed_ns = time.monotonic_ns()
        os.kill(fleet[0].connections()[0], 9)
        line, at_ns = heard.get(timeout=120)
        assert line is None
        assert at_ns - killed_ns < LEASE_S * 1e9 / 2, "at once, not when the lease runs out"
        found = each(hosts, lambda host: host.read("/proc/sys/kernel/random/boot_id"))
        assert isinstance(found["c.1"], LostHostError)
        assert "host c.1 is lost" in str(found["c.1"])
        assert found["c.2"].strip() == (fleet[1].directory / "boot_id").read_text().strip()


@pytest.mark.root
@pytest.mark.slow
def test_a_full_line_under_test_loses_nobody(far, ledger):
    fleet = far(1)
    fleet[0].shape("2mbit", limit_bytes=1_000_000)
    specs = (fleet[0].spec("c.1", load=True), fleet[0].spec("s"))
    over = threading.Event()
    with opened(specs, ledger, ENGINE) as hosts:
        sender = threading.Thread(target=flood, args=(fleet[0].address, over))
        sender.start()
        time.sleep(5)
        over.set()
        sender.join()
        assert {name: host.run(["echo", "here"]).stdout for name, host in hosts.items()} == {"c.1": "here\n", "s": "here\n"}


def flood(address, over):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(60)]
    while not over.is_set():
        for one in sockets:
            one.setblocking(False)
            try:
                one.sendto(bytes(1400), (address, 9))
            except OSError:
                continue
    for one in sockets:
        one.close()


def test_names_and_addresses_are_checked_before_anything_is_connected():
    specs = (
        HERE,
        HostSpec(name="a", via="ssh", address="$(id)"),
        HostSpec(name="a", via="ssh", address="b", control="it's"),
        HostSpec(name="c", via="ssh"),
    )
    with pytest.raises(UsageError) as refused:
        check_addresses(specs)
    lines = str(refused.value).splitlines()
    assert len(lines) == 4
    assert "two hosts named 'a'" in lines[0]
    assert all("expected" in line for line in lines)
