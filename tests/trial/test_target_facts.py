"""What tools and trials tell of a target's place, on this machine and on a recorded one."""

from pathlib import Path

from assay import catalogue
from assay.catalogue import Completed
from assay.hosts.local import Local
from assay.records import EndpointKind, FactClass, Place
from assay.trial import trial_facts

HOSTS = Path(__file__).parent.parent / "fixtures" / "hosts"


def place(address, **more):
    return Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address=str(address), **more)


def facts(host, target, where):
    return {fact.key: fact for fact in trial_facts.target_facts(host, catalogue.find("targets", target), where)}


def test_a_directory_of_ours_is_tried_and_one_of_others_is_not(tmp_path):
    ours = facts(Local(), "directory", place(tmp_path))
    assert ours["semantics.names"].fact_class is FactClass.PERFORMANCE
    assert not [key for key in facts(Local(), "existing", place(tmp_path)) if key.startswith("semantics.")]
    assert list(tmp_path.iterdir()) == []


def test_free_space_is_noise_and_a_recorded_host_is_asked_nothing(tmp_path):
    found = facts(Local(), "existing", place(tmp_path))
    assert found["filesystem.free_share"].fact_class is FactClass.NOISE
    assert 0 <= float(found["filesystem.free_share"].value) <= 1
    assert facts(Local(root=HOSTS / "cgroup_v1"), "directory", place("/srv/data", filesystem="ext4", devices=("vda",))) == {}


def test_a_place_that_clients_reach_by_a_url_has_the_directory_of_its_data(tmp_path):
    served = Place(target="t", host="local", kind=EndpointKind.URL, address="ldap://127.0.0.1:1", storage=str(tmp_path))
    assert 0 <= float(facts(Local(), "ldap_openldap", served)["filesystem.free_share"].value) <= 1
    device = Place(**{**vars(served), "devices": ("loop0",), "filesystem": "ext4"})
    assert "mkfs.features" in facts(Answering(), "ldap_openldap", device)
    elsewhere = Place(**{**vars(served), "storage": None})
    assert facts(Local(), "ldap_existing", elsewhere) == {}, "a server of somebody else has no directory that is known"


class Answering(Local):
    """A host that answers as dumpe2fs does, and counts how often it was asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def is_root(self):
        return True

    def run(self, argv, **_how):
        self.asked.append(argv[0])
        return Completed(
            argv=tuple(argv), status=0, stdout="Filesystem features:      has_journal extent\n", stderr="", wall_ns=1
        )


def test_the_features_of_what_lies_on_a_disk_are_asked_once_a_boot(subtests, tmp_path_factory):
    for device, times in [("vda", 1), ("loop0", 2)]:
        with subtests.test(device=device, times=times):
            tmp_path = tmp_path_factory.mktemp("case")
            host, where = Answering(), place(tmp_path, filesystem="ext4", devices=(device,))
            for _ in range(2):
                assert facts(host, "directory", where)["mkfs.features"].value == "has_journal extent"
            assert host.asked == ["dumpe2fs"] * times


def test_a_target_that_makes_its_file_system_tells_its_features_itself(tmp_path):
    host = Answering()
    where = place(tmp_path, filesystem="ext4", devices=("loop0",), backing_files=("/image",))
    assert not [key for key in facts(host, "loopfs", where) if key.startswith("mkfs.")]
    assert host.asked == []
