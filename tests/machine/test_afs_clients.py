"""afs_clients: encryption by the kernel's table of connections, and caches on a disk, by recorded texts."""

from assay.machine import afs_clients
from stage.rows import each

HEAD = (
    "Proto Local                                           Remote                                          SvID ConnID   "
    "End Use State    Key      Serial   ISerial  CallId0  CallId1  CallId2  CallId3\n"
)
TO_LOCATIONS = (
    "UDP   [::]:7001                                       198.18.0.2:7003                                   34 0ed8a764 "
    "Clt   2 Client   {key} 00000006 00000008 00000004 00000000 00000000 00000000\n"
)
TO_FILES = TO_LOCATIONS.replace("7003  ", "7000  ").replace("34 0ed8a764", " 1 0ed8a768")
CALLBACK = (
    "UDP   [::]:7001                                       198.18.0.2:7000                                    1 0f1f5d70 "
    "Svc   1 SvSecure 00000000 00000008 0000000d 00000005 00000000 00000000 00000000\n"
    "UDP   no_local                                        no_connection                                      0 00000000 "
    "Svc   2 SvPrealc 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
)
"""As Linux 6.1 prints it."""
CACHES = """CACHE    REF   VOLS  OBJS  ACCES S NAME
======== ===== ===== ===== ===== = ===============
00000001     2     1  2123     1 A default
"""
"""As its documentation has it (fscache.rst)."""
NONE_THERE = CACHES.replace("2123     1 A default", "   0     0 - -")
"""As Linux 6.1 prints it beside a mount of AFS, without cachefilesd."""


@each(
    "rows wanted",
    ((TO_FILES.format(key="00000000"),), ["00000000"]),
    ((TO_FILES.format(key="1d2b3c4d"), TO_LOCATIONS.format(key="00000000")), ["1d2b3c4d"]),
    ((CALLBACK, TO_LOCATIONS.format(key="1d2b3c4d")), []),
    ((), []),
)
def test_only_connections_of_a_client_to_a_file_server_count(rows, wanted):
    assert list(afs_clients.keys(HEAD + "".join(rows))) == wanted
    assert list(afs_clients.keys("".join(rows))) == [], "without heads no column is known"


class Told:
    def __init__(self, text):
        self.text = text

    def read(self, path):
        if self.text is None:
            raise FileNotFoundError(path)
        return self.text


@each("text wanted", (CACHES, ("default",)), (NONE_THERE, ()), ("".join(CACHES.splitlines(keepends=True)[:2]), ()), (None, ()))
def test_a_cache_on_a_disk_is_named(text, wanted):
    assert afs_clients.caches(Told(text)) == wanted
