"""What was in force of a kernel's mount, as the mount tables of several kernels show it."""

import pytest

from assay.errors import TrialError
from assay.hosts.local import Local
from assay.machine import mounted
from stage.rows import each

POINT = "/lab/servers/client-0/mount"
ROW = "612 29 0:52 / {point} {options} shared:9 - {kind} {source} {of_all}\n"


def on(root, *rows):
    """A host whose table has these rows, and a client whose fsync reaches the server."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("".join(rows))
    (root / "lab/servers/client-0/mount").mkdir(parents=True)
    (root / "lab/servers/client-0/fsync").write_text(mounted.REACHED)
    return Local(name="h", root=root)


@each(
    "kind source options of_all shown",
    (  # Linux 3.10
        *("nfs", "10.0.0.1:/export", "rw,relatime"),
        "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,mountproto=tcp,local_lock=all",
        ("vers=3", "wsize=1048576", "local_lock=all", "hard"),
    ),
    (  # Linux 4.18, the kernel calls version 4 nfs4
        *("nfs4", "filer:/vol/with\\040space", "rw,noatime"),
        "rw,vers=4.1,rsize=65536,wsize=65536,namlen=255,hard,noac,proto=tcp,port=0,timeo=600,retrans=2,sec=krb5p,local_lock=none",
        ("vers=4.1", "noac", "sec=krb5p", "noatime"),
    ),
    (  # Linux 6.1
        *("nfs4", "[2001:db8::1]:/", "rw,relatime"),
        "rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,soft,nosharecache,proto=tcp6,nconnect=4,timeo=600,retrans=2,sec=sys",
        ("vers=4.2", "soft", "nconnect=4", "nosharecache"),
    ),
    (  # Linux 4.19
        *("cifs", "//10.0.0.1/data", "rw,relatime"),
        "rw,vers=3.1.1,sec=none,cache=strict,uid=0,noforceuid,gid=0,noforcegid,addr=10.0.0.1,file_mode=0755,soft,nounix,actimeo=1",
        ("vers=3.1.1", "cache=strict", "actimeo=1"),
    ),
    (  # Linux 6.12
        *("cifs", "//srv/data", "rw,relatime"),
        "rw,vers=3.0,cache=none,upcall_target=app,username=root,uid=0,gid=0,soft,seal,rsize=4194304,wsize=4194304,closetimeo=1",
        ("vers=3.0", "cache=none", "seal", "closetimeo=1"),
    ),
)
def test_all_options_of_the_table_are_a_fact(tmp_path, kind, source, options, of_all, shown):
    host = on(tmp_path, ROW.format(point=POINT, kind=kind, source=source, options=options, of_all=of_all))
    told = dict(mounted.facts(host, "/lab/servers"))
    assert (told["clients.filesystem"], told["clients.fsync"]) == (kind, mounted.REACHED)
    assert {*shown} <= {*told["clients.mount"].split(",")}
    mounted.check(host, kind.removesuffix("4"), POINT)


def test_a_mount_that_is_gone_or_another_is_no_mount_of_the_server(tmp_path):
    host = on(tmp_path, ROW.format(point=POINT, kind="ext4", source="/dev/vda", options="rw", of_all="rw"))
    with pytest.raises(TrialError, match="ext4 is mounted there, not nfs"):
        mounted.check(host, "nfs", POINT)
    (tmp_path / "proc/self/mountinfo").write_text("")
    with pytest.raises(TrialError, match="nothing is mounted there any more"):
        mounted.facts(host, "/lab/servers")
