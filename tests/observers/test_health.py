"""The observer of health: counters and states of a made-up host, what is not there, text that is no number."""

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.health import OBSERVER
from assay.records import Edge, FactClass, Subject, When
from stage.observer_looks import look, recorded

FILES = {
    "sys/block/sda/device/ioerr_cnt": "0x1f\n",
    "sys/block/sda/device/iotmo_cnt": "0x0\n",
    "sys/block/md0/md/degraded": "1\n",
    "sys/block/md0/md/sync_action": "recover\n",
    "sys/block/nvme0n1/device/device/current_link_speed": "8.0 GT/s PCIe\n",
    "sys/block/nvme0n1/device/device/max_link_speed": "16.0 GT/s PCIe\n",
    "sys/fs/ext4/sda1/errors_count": "3\n",
    "sys/fs/btrfs/5e-42/devices/md0/size": "1\n",
    "sys/fs/btrfs/5e-42/devinfo/1/error_stats": "write_errs 2\nread_errs 0\nflush_errs 1\ncorruption_errs 4\ngeneration_errs 0\n",
    "sys/fs/btrfs/other/devices/sdz/size": "1\n",
    "sys/fs/btrfs/other/devinfo/1/error_stats": "write_errs 99\n",
    "sys/class/net/eth0/duplex": "full\n",
}
SUBJECT = Subject(devices=("sda1", "md0", "nvme0n1"), interfaces=("eth0",))


@pytest.fixture
def host(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return Local(root=str(tmp_path))


def facts(host, subject=SUBJECT, edge=Edge.TRIAL_START):
    return OBSERVER.parse("h", "", [look(OBSERVER, host, subject, edge, 0)], subject).facts


def test_counters_and_states(host):
    assert {fact.key: fact.value for fact in facts(host)} == {
        "health.errors.0.ioerr_cnt": "31",
        "health.errors.0.iotmo_cnt": "0",
        "health.errors.0.ext4": "3",
        "health.errors.1.btrfs_1": "7",
        "health.device.1.degraded": "1",
        "health.device.1.sync_action": "recover",
        "health.device.2.current_link_speed": "8.0 GT/s PCIe",
        "health.device.2.max_link_speed": "16.0 GT/s PCIe",
        "health.network.eth0.duplex": "full",
    }
    classes = {fact.key: fact.fact_class for fact in facts(host)}
    noise = {key for key, found in classes.items() if found is FactClass.NOISE}
    assert noise == {key for key in classes if key.startswith("health.errors.")}
    assert {fact.when for fact in facts(host, edge=Edge.TRIAL_END)} == {When.AFTER}
    assert {fact.when for fact in facts(host)} == {When.BEFORE}


def test_what_is_not_there_is_said_and_this_machine_can_be_looked_at(host, tmp_path):
    assert facts(recorded("cgroup_v1"), Subject(devices=("loop0", "vda"))) == ()
    (tmp_path / "sys/fs/ext4/sda1/errors_count").write_text("many\n")
    with pytest.raises(EvidenceError, match=r"found 'many\\n' in errors\.0\.ext4; expected error counts"):
        facts(host)
    assert "invisible" in OBSERVER.available(Local(root=str(tmp_path / "bare")))
    assert OBSERVER.available(recorded("cgroup_v1")) is None
    devices = Local().list("/sys/block")
    assert isinstance(facts(Local(), Subject(devices=devices)), tuple)
