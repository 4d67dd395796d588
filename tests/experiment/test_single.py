"""Which target one load is done on follows from what is at the path; whatever is wrong is told at once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalogue
from assay.errors import InputErrors, UsageError
from assay.experiment import single
from assay.machine.files import DEVICE, DIRECTORY, FILE, NOTHING, PathState
from assay.machine.ownership import Ownership
from assay.records import Claim, Durability, Tier
from stage.rows import each

MIB = 1 << 20
FREE = PathState(path="/d/F", kind=NOTHING)
OTHERS = PathState(path="/d/F", kind=FILE, size=8 * MIB)
OURS = replace(OTHERS, ownership=Ownership.KEPT, whole=True)
FOLDER = PathState(path="/d", kind=DIRECTORY)
DISK = PathState(path="/dev/sda", kind=DEVICE)
READS = ("read", "random_read", "reread", "backward_read", "stride_read")
WRITES = ("write", "rewrite", "random_write", "record_rewrite")


def made(found, *words, kind="bulk_io", keep=False, claim=None):
    return single.experiment(replace(single.load_request(kind, ["path=/d/F", *words]), keep=keep, claim=claim), found)


def refused(found, *words, **more):
    with pytest.raises(InputErrors) as error:
        made(found, *words, **more)
    return str(error.value)


def test_names_of_the_brief_form():
    asked = made(FREE, "size=512MiB", "operation=random_read", "record_size=4KiB", "ops=2000000")
    (load,) = asked.workloads
    assert (load.kind, load.knobs["operations"], load.knobs["ops"]) == ("bulk_io", ("random_read",), 2_000_000)
    assert (load.knobs["size"], load.knobs["record_size"]) == (512 * MIB, 4096)
    (target,) = asked.targets
    assert (target.kind, target.knobs["path"], load.knobs["sharing"]) == ("file", "/d/F", "one-file")
    asked = made(FOLDER, "operation=create", "ops=20000", "object=file", kind="metadata")
    assert asked.workloads[0].knobs["count"] == 20_000
    assert asked.targets[0].kind == "directory"
    assert "'ops' with 'count'" in refused(FOLDER, "ops=1", "count=1", kind="metadata")
    asked = single.experiment(single.load_request("null", ["ops=10"]), None)
    assert (asked.targets[0].kind, asked.workloads[0].knobs["quiesce"]) == ("existing", 0)
    with pytest.raises(InputErrors, match="unknown key 'path'"):
        single.experiment(single.load_request("null", ["ops=10", "path=/d"]), None)


def test_an_existing_tree_is_only_read_and_one_that_is_laid_out_is_in_a_directory_of_its_own():
    asked = made(FOLDER, kind="backup_read")
    assert (asked.targets[0].kind, asked.workloads[0].knobs["tree"]) == ("existing", "/d")
    assert catalogue.find("workloads", "backup_read").only_reads(asked.workloads[0].knobs)
    assert made(FOLDER, "files=10", kind="backup_read").targets[0].kind == "directory"
    assert "an existing directory" in refused(OTHERS, kind="backup_read")
    assert "unknown key 'tree'" in refused(FOLDER, "tree=/x", kind="backup_read")


@each("kind", "nul", "command", "", "../rules")
def test_a_strange_kind_is_told_those_that_there_are(kind):
    with pytest.raises(UsageError, match=r"expected one of .*bulk_io.*metadata.*null"):
        single.load_request(kind, [])


@each("operation", *READS)
def test_a_file_or_device_of_others_is_only_read(operation):
    for found in (OTHERS, DISK):
        asked = made(found, f"operation={operation}")
        assert (asked.targets[0].kind, asked.workloads[0].knobs["file"]) == ("existing", found.path)


@each("operation", *WRITES, "random_mix")
def test_a_file_or_device_of_others_is_never_written(operation):
    for found in (OTHERS, DISK):
        told = refused(found, f"operation={operation}", *(["read_share=50%"] if operation == "random_mix" else []))
        assert f"on {found.path}, a " in told
        assert "it is never written" in told


def test_a_kind_that_makes_its_own_data_uses_no_file_of_others():
    for found in (OTHERS, DISK):
        told = refused(found, "profile=database", kind="profile")
        assert f"profile on {found.path}" in told or f"on {found.path}, a " in told
        assert "a name that is free, or a directory: it is never written" in told
    assert made(FREE, "profile=database", "ops=10", kind="profile").targets[0].kind == "file"
    assert made(OURS, "profile=database", "ops=10", kind="profile").targets[0].kind == "file"


def test_a_file_of_others_is_neither_kept_nor_laid_out_over_and_its_access_comes_first():
    assert "--keep on /d/F" in refused(OTHERS, "operation=read", keep=True)
    assert "overwrite" in refused(OTHERS, "operation=read", "overwrite=true")
    for found in (OTHERS, DISK):
        refusal = refused(replace(found, readable=False), "operation=read", "size=1GiB")
        assert f"{found.path}, which this user may not read" in refusal
        assert "size" not in refusal
    assert "--keep" in refused(FOLDER, "operation=write", keep=True)
    assert "--keep" in refused(FOLDER, kind="metadata", keep=True)
    assert made(FREE, "operation=write", keep=True).targets[0].knobs["keep"] is True
    asked = made(FOLDER, "operation=write")
    assert (asked.targets[0].kind, asked.targets[0].knobs) == ("directory", {"path": "/d"})


@given(
    st.sampled_from([OTHERS, DISK]),
    st.lists(st.sampled_from([*READS, *WRITES]), min_size=1, max_size=4, unique=True),
    st.booleans(),
)
def test_whatever_is_asked_of_others_nothing_can_write_to_it(found, operations, overwrite):
    try:
        asked = made(found, f"operations={','.join(operations)}", f"overwrite={str(overwrite).lower()}")
    except InputErrors:
        return
    assert asked.targets[0].kind == "existing"
    plug = catalogue.find("workloads", "bulk_io")
    assert plug.only_reads(asked.workloads[0].knobs)
    assert set(operations) <= set(READS)


def test_a_kept_file_is_read_without_a_new_layout_and_may_be_written():
    assert made(OURS, "operation=read").targets[0].kind == "existing"
    assert made(OURS, "operation=write", "size=8MiB").targets[0].kind == "file"
    assert made(OURS, "operation=read", "size=16MiB").targets[0].kind == "file", "too small: it is laid out anew"
    assert made(replace(OURS, whole=False), "operation=read").targets[0].kind == "file", "it has holes"


@each(
    "found words told",
    (OTHERS, ["operation=read", "record_size=16MiB"], "record_size 16 MiB on a file of 8 MiB; expected at most 8 MiB"),
    (OTHERS, ["operation=read", "size=9MiB"], "size 9 MiB on a file of 8 MiB"),
    (FREE, ["operation=write", "size=1MiB", "record_size=2MiB"], "at least 2 MiB, one record for each worker"),
    (FREE, ["operation=write", "direct=true", "record_size=1000B", "size=10kB"], "a multiple of 512 B, the device's block"),
    (OTHERS, ["operation=read", "direct=true", "record_size=1000B"], "a multiple of 512 B"),
    (FREE, ["operation=read", "ioengine=io_uring", "depth=5000"], "found 5000 for 'depth'; expected at most 4,096"),
    (FREE, ["operation=read", "clients=0"], "found 0 for 'clients'; expected at least 1"),
    (FREE, ["operation=read", "file=/x"], "unknown key 'file'"),
    (FREE, ["operation=read", "operations=write"], "'operation' with 'operations'"),
    (replace(FREE, parent=False), ["operation=read"], "no directory for /d/F"),
    (replace(OTHERS, ownership=Ownership.IN_USE), ["operation=read"], "on which another lab is at work"),
    (replace(FREE, kind="fifo"), ["operation=read"], "a fifo at /d/F"),
)
def test_bad_input_is_refused_with_its_reason(found, words, told):
    assert told in refused(found, *words)


def test_every_mistake_is_told_at_once_and_a_path_is_needed():
    told = refused(OTHERS, "operation=write", "record_size=4k", "clients=0", "foo=1")
    assert len(told.splitlines()) == 4
    assert all(line.startswith("load bulk_io: found ") for line in told.splitlines())
    with pytest.raises(InputErrors, match="no 'path'"):
        single.experiment(single.load_request("bulk_io", ["operation=read"]), None)


def claims(*words, kind="bulk_io", found=FREE, **more):
    return {measure.operation: measure.claim for measure in made(found, *words, kind=kind, **more).measures}


def test_what_is_claimed_and_how_many_clients_there_are():
    media = Claim(durability=Durability.STABLE_MEDIA)
    assert claims("operations=write,read", "flush=end") == {"write": media, "read": Claim(tier=Tier.DEVICE), "flush": Claim()}
    mixed = claims("operation=random_mix", "read_share=50%")
    assert mixed == {"random_read": Claim(tier=Tier.DEVICE), "random_write": media}
    assert set(claims("operation=create", "file_bytes=4KiB", kind="metadata", found=FOLDER).values()) == {Claim()}
    warm = Claim(tier=Tier.CLIENT_CACHE)
    assert set(claims("operations=write,read", claim=warm).values()) == {warm}
    asked = made(FREE, "operation=write", "clients=3")
    (trial,) = single.plan(asked).trials
    assert (trial.levels, trial.experiment) == ({"clients": 3}, asked.digest)
    assert len(asked.digest) == 64


SERVER = ("url=ldap://127.0.0.1:1389", "base=dc=example,dc=com")


def load_of_server(*words):
    return single.experiment(single.load_request("ldap_load", [*SERVER, *words]), None)


def test_a_directory_server_is_named_by_its_url_and_base():
    asked = load_of_server("mix=search 8,compare 2", "population=100", "filter=(uid=u{key})", "clients=2")
    (target,), (load,) = asked.targets, asked.workloads
    assert (target.kind, target.knobs["url"], target.knobs["base"]) == (
        "ldap_existing",
        *(one.partition("=")[2] for one in SERVER),
    )
    assert target.knobs["write"] is False
    assert (load.knobs["mix"], load.knobs["filter"]) == (("search 8", "compare 2"), "(uid=u{key})")
    assert not {"url", "base"} & set(load.knobs)
    assert {one.operation: one.claim for one in asked.measures} == dict.fromkeys(("search", "compare", "first_entry"), Claim())
    with pytest.raises(InputErrors) as error:
        single.experiment(single.load_request("ldap_load", []), None)
    assert "no 'url'" in str(error.value)
    assert "no 'base'" in str(error.value)


@each(
    "words seen",
    (["mix=modify 1"], "found writes in mix on a server that is only read; expected write = true"),
    (["starttls=true", "depth=4"], "found depth = 4 with StartTLS; expected depth = 1"),
    (["path=/d"], "unknown key 'path'"),
    (["filter=(uid=1"], "found the end at place 6 of the filter '(uid=1'"),
)
def test_what_a_directory_server_cannot_do_is_refused_at_once(words, seen):
    with pytest.raises(InputErrors) as error:
        load_of_server(*words)
    assert seen in str(error.value)
    assert load_of_server("mix=modify 1", "write=true").targets[0].knobs["write"] is True
