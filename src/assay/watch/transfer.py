"""What an external command moved, where it says nothing of that itself: as its calls and storage were seen to move it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.records import Direction, Rung, TreeAccount, Watched
from assay.watch.reports import script_of

PHASE = "stat.command"
SIDES = {"read": Direction.READ, "write": Direction.WRITE}
LEAST_BYTES = 4 << 20
"""Less than this is what any program reads of its libraries (limits.toml, T01) or prints."""
UNCOUNTED_SHARE = 0.1
"""Storage was made to read so much more than calls asked for: read-ahead, or calls that nobody counts (mmap, io_uring)."""


def observed(watched: Watched, *, fed: bool = False) -> dict[str, float]:
    """The bytes that were seen over the elapsed time, of each direction in which something worth a figure moved."""
    account, seconds = watched.account, watched.elapsed_ns / 1e9
    if account is None or account.lost or seconds <= 0:
        return dict(of_devices(watched, seconds))
    found: dict[str, float] = {}
    for side, seen in (("read", read_bytes(watched, account, fed=fed)), ("write", written_bytes(watched, account))):
        if seen >= LEAST_BYTES:
            found |= {
                f"{side}.bytes_per_s": seen / seconds,
                f"{side}.bytes": float(seen),
                f"{side}.elapsed_ns": float(watched.elapsed_ns),
            }
    return found


def read_bytes(watched: Watched, account: TreeAccount, *, fed: bool) -> int:
    """What was read: by counted calls, without pipes and the libraries of any program, or what storage was made to read.

    A command that is `fed` has a pipe as standard input: what its calls moved beyond storage may have come from there.
    """
    calls, storage = account.rchar, account.read_bytes
    if fed:
        calls = storage
    elif has_pipes(watched.argv):
        calls = max(storage, calls - max(0, account.wchar - account.write_bytes))
    return storage if storage and calls - storage <= LEAST_BYTES else calls


def written_bytes(watched: Watched, account: TreeAccount) -> int:
    """What was written to files: dirtied, and no more than the counted calls; pipes and terminals are none.

    Where nothing is charged as dirtied (memory file systems, some network ones) the files that were written tell.
    """
    storage = account.write_bytes or sum(one.size_bytes for one in watched.files if one.written)
    return min(account.wchar, storage) if account.wchar >= LEAST_BYTES else storage


def has_pipes(argv: Sequence[str]) -> bool:
    """Whether processes of the command write to each other, as far as its words tell: that is no reading of files."""
    script = script_of(argv)
    return script is not None and "|" in script.replace("||", "")


def are_counted(watched: Watched, *, fed: bool = False) -> bool:
    """Whether the calls tell how much of files was read: not by mmap, and not where pipes cannot be told from nowhere."""
    account = watched.account
    if account is None or account.rchar < (1 - UNCOUNTED_SHARE) * account.read_bytes:
        return False
    if fed and account.rchar - account.read_bytes > LEAST_BYTES:
        return False
    return not (has_pipes(watched.argv) and "/dev/null" in (script_of(watched.argv) or ""))


def of_devices(watched: Watched, seconds: float) -> Iterator[tuple[str, float]]:
    """The same from the devices, where the processes could not be counted; empty where nothing was seen there either."""
    for side, direction in SIDES.items():
        lowest = watched.observations.rung(PHASE, Rung.LOWEST_DEVICE, direction)
        moved = sum(reading.bytes or 0 for reading in lowest)
        if moved >= LEAST_BYTES and seconds > 0:
            yield f"{side}.bytes_per_s", moved / seconds
