"""The far machines of the tests: what is their own, and that nothing of them outlives a killed test."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay_process import wait_until

pytestmark = pytest.mark.root
HELD = "from far_machines import far_machines\nwith far_machines(1) as fleet:\n    print(fleet.number, flush=True)\n    input()\n"


def test_each_has_a_name_ids_and_a_clock_of_its_own(far):
    fleet = far(2, control=True)
    assert [machine.run("hostname").stdout.strip() for machine in fleet] == ["far0", "far1"]
    for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
        assert len({Path(path).read_text(), *(machine.run("cat", path).stdout for machine in fleet)}) == 3
    for machine in fleet:
        up_s = float(machine.run("cat", "/proc/uptime").stdout.split()[0]) - machine.offset_ns / 1e9
        assert abs(up_s - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60
        assert machine.run("ip", "-br", "addr").stdout.count("10.9") == 2


def test_the_plug_is_pulled_and_it_boots_again(far):
    machine = far(1)[0]
    boot = machine.run("cat", "/proc/sys/kernel/random/boot_id").stdout
    machine.off()
    assert machine.processes() == {}
    machine.on()
    assert machine.run("cat", "/proc/sys/kernel/random/boot_id").stdout != boot


def test_nothing_outlives_a_killed_test(far):
    owner = subprocess.Popen(
        [sys.executable, "-c", HELD], cwd=Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    number = owner.stdout.readline().strip()
    assert named(number)
    owner.kill()
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    wait_until(lambda: not pids(number))
    far(1)
    far(1)
    assert not named(number) or ours(number)


def named(number):
    """Directories, namespaces and links of a fleet."""
    places = {"/var/tmp": f"asyfar{number}-*", "/run/netns": f"asyfar{number}-*", "/sys/class/net": f"asyfar{number}[abm]*"}
    return [path for place, pattern in places.items() for path in Path(place).glob(pattern)]


def pids(number):
    done = subprocess.run(["ip", "netns", "pids", f"asyfar{number}-0"], capture_output=True, text=True, check=False)
    return done.stdout.split()


def ours(number):
    """Somebody else has taken the number since: its machines live."""
    return bool(pids(number))
