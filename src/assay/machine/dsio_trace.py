"""Traces the operations of a directory server: the program for bpftrace, and what its maps say of each kind of operation.

Whatever a thread does between the begin and the end of an operation belongs to that operation; the rest is told apart. Counted
are operations with their time, system calls on files, flushes, requests to the block devices of the server's files by the thread
that submits them, and page faults. Write-back and journals submit from threads of the kernel: they belong to no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from assay.catalogue import Host
from assay.frozen import dataclass, field
from assay.machine import bpftrace, stack
from assay.machine.bpftrace import TOTAL
from assay.machine.dsio_server import KINDS, NS_SLAPD, SEND_ENTRY, SEND_RESULT, CalledFrom, OperationProbe, TracedServer

BTF = "/sys/kernel/btf/vmlinux"
MAPS = ("ended", "codes", "entries", "reads", "writes", "flushes", "bios", "apart", "faults", "unseen")
POSITIONED: Mapping[str, tuple[str, ...]] = {
    "reads": ("pread64", "preadv", "preadv2"),
    "writes": ("pwrite64", "pwritev", "pwritev2"),
}
"""Map -> the calls that only files know."""
STREAMED: Mapping[str, tuple[str, ...]] = {"reads": ("read", "readv"), "writes": ("write", "writev")}
"""Map -> the calls that sockets and pipes know, too."""
SYNCS = ("fsync", "fdatasync", "syncfs", "sync", "msync")
FILE_OF = "$file = *(curtask->files->fdt->fd + args->fd);"
IS_REGULAR = "($file->f_inode->i_mode & 0xf000) == 0x8000"
IS_SYNCHRONOUS = "$file->f_flags & 0x1000"
"""O_DSYNC, which O_SYNC contains: LMDB writes its meta page so."""
FAULTS = {"x86_64": "tracepoint:exceptions:page_fault_user, tracepoint:exceptions:page_fault_kernel"}
SECTOR_BYTES = 512
RESULT_AT = 20
"""Where the result code is in a SlapReply of slapd 2.4 to 2.6, 64 bits (slap.h: sr_type, sr_tag, sr_msgid, sr_err).

A result is read when it is sent: after a compare slapd puts a 0 there.
"""


@dataclass(frozen=True, kw_only=True)
class IoCounts:
    """What operations of one kind did, or threads outside of any operation."""

    count: int = 0
    """Operations that ended."""
    time_ns: int = 0
    reads: int = 0
    """System calls that read a file; what is read through a mapping is in the requests to devices."""
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    flushes: int = 0
    """Calls that return when data is on stable media: fsync and its like, and writes to files opened with O_DSYNC."""
    flush_ns: int = 0
    device_reads: int = 0
    device_read_bytes: int = 0
    device_writes: int = 0
    device_write_bytes: int = 0
    device_flushes: int = 0
    """Requests that flush a device's cache or pass it; those with data are among the writes, too."""
    page_faults: int = 0
    entries: int = 0
    codes: Mapping[str, int] = field(default_factory=dict)
    """Result code -> operations."""

    def since(self, before: IoCounts) -> IoCounts:
        """Return what was added since an earlier look."""
        return combined(self, before, lambda now, then: now - then)

    def plus(self, other: IoCounts) -> IoCounts:
        """Return the sum of both."""
        return combined(self, other, lambda one, two: one + two)


COUNTED = tuple(name for name in IoCounts.__annotations__ if name != "codes")


def combined(one: IoCounts, two: IoCounts, how: Callable[[int, int], int]) -> IoCounts:
    """Return counts made of two, field by field."""
    codes = {code: how(one.codes.get(code, 0), two.codes.get(code, 0)) for code in dict.fromkeys((*one.codes, *two.codes))}
    numbers = {name: how(getattr(one, name), getattr(two, name)) for name in COUNTED}
    return IoCounts(**numbers, codes={code: number for code, number in codes.items() if number})


@dataclass(frozen=True, kw_only=True)
class DirectoryIo:
    """What was counted of a server: its operations by kind, its threads outside of them, and other threads on its devices."""

    operations: Mapping[str, IoCounts]
    outside: IoCounts
    others: Mapping[str, IoCounts]
    """Name of a thread of the kernel or of another process -> its requests to the same devices."""
    unseen: tuple[str, ...] = ()
    """Kinds of operations that are not seen, or not all of them."""
    lost: int = 0
    """Events that bpftrace lost since the look before: then every count is a lower bound."""

    def since(self, before: DirectoryIo) -> DirectoryIo:
        """Return what was added since an earlier look."""
        return DirectoryIo(
            operations=differences(self.operations, before.operations),
            outside=self.outside.since(before.outside),
            others=differences(self.others, before.others),
            unseen=self.unseen,
            lost=self.lost,
        )


def differences(now: Mapping[str, IoCounts], before: Mapping[str, IoCounts]) -> dict[str, IoCounts]:
    """Return what was added to each since an earlier look, without those that nothing was added to."""
    found = {name: counts.since(before.get(name, IoCounts())) for name, counts in now.items()}
    return {name: counts for name, counts in found.items() if counts != IoCounts()}


def program(host: Host, server: TracedServer, *, codes: bool = False) -> str:
    """Return the program that counts the operations of a server; with result codes and entries, which cost more."""
    return "\n".join(lines(host, server, codes=codes))


def lines(host: Host, server: TracedServer, *, codes: bool) -> Iterator[str]:
    """Yield the probes of the program."""
    machine = host.run(["uname", "-m"]).stdout.strip()
    for probe in server.probes:
        yield from operation(server, probe, machine, codes=codes)
    for probe_name in server.answer_probes if codes else ():
        yield answer(probe_name)
    yield from calls(f"pid == {server.pid}", typed=host.exists(BTF))
    numbers = device_numbers(host, server)
    if numbers:
        yield f"tracepoint:block:block_bio_queue /{bpftrace.among('args->dev', numbers)}/ {{"
        key = "args->rwbs, args->nr_sector > 0 ? 1 : 0"
        yield f" if (pid == {server.pid}) {{ @bios[@op[tid], {key}] = stats(args->nr_sector); }}"
        yield f" else {{ @apart[comm, {key}] = stats(args->nr_sector); }} }}"
    faults = FAULTS.get(machine, "software:page-faults:1")
    yield f"{faults} /pid == {server.pid}/ {{ @faults[@op[tid]] = count(); }}"
    unseen = "".join(f" @unseen[{KINDS.index(kind) + 1}] = 1;" for kind in server.missing)
    yield bpftrace.print_probe(used(codes=codes, devices=bool(numbers), unseen=bool(unseen)), first=unseen)


def used(*, codes: bool, devices: bool, unseen: bool) -> tuple[str, ...]:
    """Return the maps that a program has: one that nothing is put into cannot be printed."""
    there = {"codes": codes, "entries": codes, "bios": devices, "apart": devices, "unseen": unseen}
    return tuple(name for name in MAPS if there.get(name, True))


def operation(server: TracedServer, probe: OperationProbe, machine: str, *, codes: bool) -> Iterator[str]:
    """Yield the probes of one kind of operation. A thread that begins one has ended the former, whatever became of it."""
    number, is_ns = KINDS.index(probe.kind) + 1, server.software == NS_SLAPD
    begin = f"@op[tid] = {number}; @at[tid] = nsecs;"
    end = f"@ended[{number}] = stats(nsecs - @at[tid]); @op[tid] = 0;"
    inner = ""
    if probe.nests:
        begin, inner = f'{begin} @sp[tid] = reg("sp");', ' && reg("sp") >= @sp[tid]'
    if codes and is_ns:
        begin = f"{begin} @code[tid] = -1; @sent[tid] = 0; @block[tid] = {'0' if probe.is_marker else 'arg0'};"
        end = f"@codes[{number}, @code[tid]] = count(); @entries[{number}] = sum(@sent[tid]); {end}"
    elif codes and not probe.is_marker:
        begin = f"{begin} @code[tid] = -1; @block[tid] = arg1;"
        at_end = f"if (@code[tid] == -1) {{ @code[tid] = *(int32 *)(@block[tid] + {RESULT_AT}); }}"
        end = f"{at_end} @codes[{number}, @code[tid]] = count(); {end}"
    if probe.reached is CalledFrom.FROM_EXECUTABLE:
        low, high = server.code
        begin = f"{caller(machine)} if ($from >= {low} && $from < {high}) {{ {begin} }}"
    yield f"{probe.begin} /pid == {server.pid}/ {{ {begin} }}"
    yield f"{probe.end} /@op[tid] == {number}{inner}/ {{ {end} }}"


def caller(machine: str) -> str:
    """Return the statement that finds where a function was called."""
    return '$from = reg("r30");' if machine == "aarch64" else '$from = *(uint64 *)reg("sp");'


def answer(probe: str) -> str:
    """Return what is done when an answer is sent: that of an operation inside of another one is another reply or block."""
    if probe.endswith(SEND_ENTRY):
        return f"{probe.replace('uprobe:', 'uretprobe:', 1)} /@op[tid] && retval == 0/ {{ @entries[@op[tid]] = count(); }}"
    if probe.endswith(SEND_RESULT):
        return f"{probe} /@op[tid] && @block[tid] == arg1/ {{ @code[tid] = *(int32 *)(arg1 + {RESULT_AT}); }}"
    ours = "@op[tid] && (@block[tid] == 0 || @block[tid] == arg0)"
    return f"{probe} /{ours}/ {{ @code[tid] = (int32)arg1; @sent[tid] = (int32)arg4; }}"


def calls(ours: str, *, typed: bool) -> Iterator[str]:
    """Yield the probes of system calls; only with the kernel's types is a file told from a socket."""
    flushed = "if (@since[tid]) { @flushes[@op[tid]] = stats(nsecs - @since[tid]); @since[tid] = 0; }" if typed else ""
    for name, every in POSITIONED.items():
        after = flushed if name == "writes" else ""
        yield f"{tracepoints('exit', every)} /{ours} && args->ret >= 0/ {{ @{name}[@op[tid]] = stats(args->ret); {after} }}"
    for name, every in STREAMED.items() if typed else ():
        synchronous = f"if ({IS_SYNCHRONOUS}) {{ @since[tid] = nsecs; }}" if name == "writes" else ""
        within = "" if name == "writes" else " && @op[tid]"  # requests come by read: each would be looked at
        for call in every:
            yield f"{tracepoints('enter', (call,))} /{ours}{within}/ {{ {FILE_OF}"
            yield f" if ({IS_REGULAR}) {{ @file[tid] = 1; {synchronous} }} }}"
        counted = f"if (args->ret >= 0) {{ @{name}[@op[tid]] = stats(args->ret); }}"
        after = flushed if name == "writes" else ""
        yield f"{tracepoints('exit', every)} /{ours} && @file[tid]/ {{ {counted} @file[tid] = 0; {after} }}"
    for call in POSITIONED["writes"] if typed else ():
        yield f"{tracepoints('enter', (call,))} /{ours}/ {{ {FILE_OF} if ({IS_SYNCHRONOUS}) {{ @since[tid] = nsecs; }} }}"
    for call in SYNCS:
        chosen = " && (args->flags & 4)" if call == "msync" else ""  # MS_SYNC
        yield f"{tracepoints('enter', (call,))} /{ours}{chosen}/ {{ @since[tid] = nsecs; }}"
    yield f"{tracepoints('exit', SYNCS)} /@since[tid]/ {{ @flushes[@op[tid]] = stats(nsecs - @since[tid]); @since[tid] = 0; }}"


def tracepoints(edge: str, every: tuple[str, ...]) -> str:
    """Return the tracepoints of system calls."""
    return ", ".join(f"tracepoint:syscalls:sys_{edge}_{call}" for call in every)


def device_numbers(host: Host, server: TracedServer) -> tuple[int, ...]:
    """Return the kernel numbers of the server's devices; old kernels give a partition's requests the number of its disk."""
    names = [
        part
        for device in server.devices
        for part in (device, *stack.device_stack(host, device)[1:2] * host.exists(f"/sys/class/block/{device}/partition"))
    ]
    return tuple(bpftrace.kernel_number(stack.device_number(host, name)) for name in dict.fromkeys(names))


def counted(raw: Mapping[str, object]) -> DirectoryIo:
    """Return what an answer of bpftrace says."""
    maps = raw["maps"]
    assert isinstance(maps, Mapping)
    found = {0: dict[str, int](), **{number: {} for number in range(1, len(KINDS) + 1)}}
    for name, (count, total) in FIELDS.items():
        for key, value in maps.get(name, {}).items():
            found[int(key)][count] = value
        for key, value in maps.get(f"{name}{TOTAL}", {}).items():
            found[int(key)][total] = value
    for key, value in maps.get("bios", {}).items():
        number, kind, has_data = key.split(",")
        put(found[int(number)], kind, int(has_data), value, maps[f"bios{TOTAL}"][key])
    others: dict[str, dict[str, int]] = {}
    for key, value in maps.get("apart", {}).items():
        thread, kind, has_data = key.rsplit(",", 2)
        put(others.setdefault(thread, {}), kind, int(has_data), value, maps[f"apart{TOTAL}"][key])
    codes: dict[int, dict[str, int]] = {}
    for key, value in maps.get("codes", {}).items():
        number, code = key.split(",")
        codes.setdefault(int(number), {})[code] = value
    made = {number: IoCounts(**fields, codes=codes.get(number, {})) for number, fields in found.items()}
    return DirectoryIo(
        operations={kind: made[number] for number, kind in enumerate(KINDS, 1) if made[number] != IoCounts()},
        outside=made[0],
        others={thread: IoCounts(**fields) for thread, fields in sorted(others.items())},  # type: ignore[arg-type]
        unseen=tuple(KINDS[int(key) - 1] for key in sorted(maps.get("unseen", {}), key=int)),
        lost=int(str(raw.get("lost", 0))),
    )


FIELDS = {
    "ended": ("count", "time_ns"),
    "reads": ("reads", "read_bytes"),
    "writes": ("writes", "write_bytes"),
    "flushes": ("flushes", "flush_ns"),
    "faults": ("page_faults", ""),
    "entries": ("entries", ""),
}
"""Map -> the field of its counts and of its sums."""


def put(fields: dict[str, int], kind: str, has_data: int, requests: int, sectors: int) -> None:
    """Add requests of one kind to the counts of who sent them."""
    direction = {"R": "read", "W": "write"}.get(kind.removeprefix("F")[:1])
    rows = (
        [(f"device_{direction}s", requests), (f"device_{direction}_bytes", sectors * SECTOR_BYTES)]
        if direction and has_data
        else []
    )
    rows += [("device_flushes", requests)] if bpftrace.is_flush(kind) else []
    for name, amount in rows:
        fields[name] = fields.get(name, 0) + amount
