"""Does what iozone does with -i 0 -i 1 and prints what it measured in iozone 3.508's own form; for machines without iozone.

Writes, rewrites, reads and rereads one file (-s MiB) in records (-r KiB), each timed, and removes it. -e: fsync within the times
of writing. -I: O_DIRECT. The text around the figures is a recording of the real tool; the figures are of this run.
"""

import mmap
import os
import sys
import time
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
RECORDED = Path(__file__).parent.parent / "fixtures" / "output" / "iozone-3.508-write-read.txt"


def main():
    size, record = (number(letter) for letter in ("-s", "-r"))
    size, record = size * MIB, record * KIB
    rates = []
    for flags in (os.O_WRONLY | os.O_CREAT, os.O_WRONLY, os.O_RDONLY, os.O_RDONLY):
        seconds = passed(flags | (os.O_DIRECT if "-I" in sys.argv else 0), size, record)
        rates.append(int(size / KIB / seconds))
    Path("iozone.tmp").unlink()
    before, row, after = RECORDED.read_text().partition("            8192      64   1038284   2762079   7954000   3036437")
    assert row, "the recording has another row"
    figures = f"{size // KIB:16d}{record // KIB:8d}{''.join(f'{rate:10d}' for rate in rates)}"
    sys.stdout.write(f"{before}{figures}{after}")


def number(letter):
    """The whole number behind `-s` or `-r`, its unit as given in the name of the option above."""
    return int(sys.argv[sys.argv.index(letter) + 1].rstrip("mk"))


def passed(flags, size, record):
    """Seconds of one pass over the file, open to close."""
    room = mmap.mmap(-1, record)  # on a page's edge, as O_DIRECT wants it
    room.write(os.urandom(record))
    began = time.perf_counter()
    descriptor = os.open("iozone.tmp", flags, 0o600)
    for _ in range(size // record):
        moved = os.writev(descriptor, [room]) if flags & os.O_WRONLY else os.readv(descriptor, [room])
        assert moved == record
    if flags & os.O_WRONLY and "-e" in sys.argv:
        os.fsync(descriptor)
    os.close(descriptor)
    return time.perf_counter() - began


main()
