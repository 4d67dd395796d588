import tomllib
from pathlib import Path

from assay.hosts.local import Local
from assay.observers import environment
from assay.observers.environment import OBSERVER
from assay.records import Edge, FactClass, Subject, When
from stage.observer_looks import look, recorded

SUBJECT = Subject(directory="/srv/data/deep", devices=("loop0", "vda"))


def facts(host, subject=SUBJECT, edge=Edge.TRIAL_START):
    return {fact.key: fact for fact in OBSERVER.parse("h", "", [look(OBSERVER, host, subject, edge, 0)], subject).facts}


def test_a_recorded_host(subtests):
    for key, value, fact_class in [
        ("kernel.release", "6.18.44", FactClass.PERFORMANCE),
        ("kernel.cmdline", "root=/dev/vda ro quiet mitigations=auto psi=1", FactClass.PERFORMANCE),
        ("memory.hugepages", "madvise", FactClass.PERFORMANCE),
        ("device.0.queue.scheduler", "none", FactClass.PERFORMANCE),
        ("device.0.name", "loop0", FactClass.IDENTITY),
        ("mount.target.fstype", "xfs", FactClass.PERFORMANCE),
        ("mount.target.options", "attr2,inode64,noatime,noquota,rw", FactClass.PERFORMANCE),
        ("mount.target.source", "/dev/loop0", FactClass.IDENTITY),
        ("mount.below.tmp.fstype", "tmpfs", FactClass.PERFORMANCE),
        ("device.1.cache_type", "write back", FactClass.PERFORMANCE),
        ("device.1.ext4_options", "rw barrier data=ordered errors=continue", FactClass.PERFORMANCE),
        ("cgroup.memory.limit_in_bytes", "1073741824", FactClass.PERFORMANCE),
        ("cgroup.cpu.cfs_quota_us", "50000", FactClass.PERFORMANCE),
        ("cpu.model", "Example CPU", FactClass.PERFORMANCE),
        ("cpu.siblings", "0 1", FactClass.PERFORMANCE),
        ("host.system", "Debian GNU/Linux 12 (bookworm)", FactClass.PERFORMANCE),
        ("host.name", "filer", FactClass.IDENTITY),
        ("network.eth0.speed", "10000", FactClass.PERFORMANCE),
    ]:
        with subtests.test(key=key, value=value, fact_class=fact_class):
            fact = facts(recorded("cgroup_v1"))[key]
            assert (fact.value, fact.fact_class) == (value, fact_class)


def test_a_scsi_disk_says_itself_which_cache_it_has(tmp_path):
    for path, text in (("proc/self/cgroup", ""), ("sys/block/sda/device/scsi_disk/0:0:0:0/cache_type", "write back\n")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = facts(Local(root=str(tmp_path)), Subject(directory="/", devices=("sda",)))
    assert found["device.0.cache_type"].value == "write back"


def test_what_is_noise_and_what_is_left_alone():
    classes = {key: fact.fact_class for key, fact in facts(recorded("cgroup_v1")).items()}
    assert {key for key, found in classes.items() if found is FactClass.NOISE} == {
        "host.uptime",
        "host.load",
        "memory.available",
        "tool.python",
        "ulimit.max_pending_signals",
    }
    assert not [key for key in facts(recorded("cgroup_v1")) if key.startswith("sysctl.vm.drop_caches")]
    assert "sysctl.kernel.panic" not in facts(recorded("cgroup_v1")), "of a listed tree only what is listed"
    assert facts(recorded("cgroup_v2"))["cgroup.memory.max"].value == "1073741824"
    assert {fact.when for fact in facts(recorded("cgroup_v1"), edge=Edge.TRIAL_END).values()} == {When.AFTER}
    table = tomllib.loads(Path(environment.__file__).with_suffix(".toml").read_text())
    assert len(set(table["files"].values())) == len(table["files"])
    assert set(table["kept"]) <= set(table["trees"])


def test_this_machine_has_a_hundred_facts_and_they_stay_the_same():
    first, second = facts(Local(), Subject(directory="/")), facts(Local(), Subject(directory="/"))
    assert len(first) >= 100
    changed = {key for key in first if first[key].value != second[key].value and first[key].fact_class is not FactClass.NOISE}
    assert not changed
