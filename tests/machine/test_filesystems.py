from assay.machine.filesystems import parse_btrfs_super, parse_dumpe2fs, parse_xfs_info
from assay.machine.image import parse_unwritten

DUMPE2FS = """Filesystem volume name:   <none>
Filesystem UUID:          0c2f8d3e-1111-4222-8333-444444444444
Filesystem features:      has_journal ext_attr needs_recovery extent 64bit
Inode count:              81920
Block size:               4096
Inode size:	          256
Filesystem created:       Sat Nov 21 03:58:12 2026
"""
XFS_INFO = """meta-data=/dev/loop0             isize=512    agcount=4, agsize=20480 blks
         =                       sectsz=512   attr=2, projid32bit=1
data     =                       bsize=4096   blocks=81920, imaxpct=25
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
"""
BTRFS = """superblock: bytenr=65536, device=/dev/loop0
csum_type\t\t0 (crc32c)
flags\t\t\t0x1
\t\t\t( WRITTEN )
fsid\t\t\t0c2f8d3e-1111-4222-8333-444444444444
compat_ro_flags\t\t0x3
\t\t\t( FREE_SPACE_TREE |
\t\t\t  FREE_SPACE_TREE_VALID )
nodesize\t\t16384
"""
FILEFRAG = """Filesystem type is: ef53
File size of img is 335544320 (81920 blocks of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..   40963:    1441792..   1482755:  40964:
   1:    40964..   57347:    1482756..   1499139:  16384:             unwritten
   2:    57348..   81919:    1499140..   1523711:  24572:             last,eof
img: 1 extent found
"""


def test_features_of_each_tool():
    assert parse_dumpe2fs(DUMPE2FS) == (
        ("mkfs.features", "has_journal ext_attr extent 64bit"),
        ("mkfs.inodes", "81920"),
        ("mkfs.block_bytes", "4096"),
        ("mkfs.inode_bytes", "256"),
    )
    found = dict(parse_xfs_info(XFS_INFO))
    assert found["mkfs.meta-data.agsize"] == "20480"
    assert found["mkfs.meta-data.projid32bit"] == "1"
    assert found["mkfs.naming.ftype"] == "1"
    assert "/dev/loop0" not in str(found)
    assert dict(parse_btrfs_super(BTRFS)) == {
        "mkfs.csum_type": "0 (crc32c)",
        "mkfs.compat_ro_flags": "0x3",
        "mkfs.nodesize": "16384",
        "mkfs.features": "FREE_SPACE_TREE FREE_SPACE_TREE_VALID",
    }
    assert parse_dumpe2fs("dumpe2fs: Bad magic") == ()
    assert parse_xfs_info("xfs_info: cannot open") == ()
    assert parse_unwritten(FILEFRAG) == ((40964, 16384),)
    assert parse_unwritten("filefrag: no such file") == ()
