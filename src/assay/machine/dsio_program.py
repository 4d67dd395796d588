"""The program for bpftrace that counts what each kind of operation of a directory server does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue import Host
from assay.machine import bpftrace, stack
from assay.machine.dsio_server import KINDS, NS_SLAPD, SEND_ENTRY, SEND_RESULT, CalledFrom, OperationProbe, TracedServer
from assay.machine.dsio_trace import MAPS

BTF = "/sys/kernel/btf/vmlinux"
POSITIONED: Mapping[str, tuple[str, ...]] = {
    "reads": ("pread64", "preadv", "preadv2"),
    "writes": ("pwrite64", "pwritev", "pwritev2"),
}
"""Map -> the calls that only files know."""
STREAMED = ("write", "writev")
"""The calls that write sockets and pipes, too. Those that read them are left out: requests come by them (docs/decisions/102).

Nor is there a probe of `write` where only LMDB's files are open for writing: answers go by it (docs/decisions/102).
"""
SYNCS = ("fsync", "fdatasync", "syncfs", "sync", "msync")
FILE_OF = "$file = *(curtask->files->fdt->fd + args->fd);"
IS_REGULAR = "({file}->f_inode->i_mode & 0xf000) == 0x8000"
IS_SYNCHRONOUS = "{file}->f_flags & 0x1000"
"""O_DSYNC, which O_SYNC contains: LMDB writes its meta page so."""
FLUSHED = "@flushes[@op[tid]] = stats(nsecs - @since[tid]); @since[tid] = 0;"
FAULTS = {"x86_64": "tracepoint:exceptions:page_fault_user, tracepoint:exceptions:page_fault_kernel"}
RESULT_AT = 20
"""Where the result code is in a SlapReply of slapd 2.4 to 2.6, 64 bits (slap.h: sr_type, sr_tag, sr_msgid, sr_err).

A result is read when it is sent: after a compare slapd puts a 0 there.
"""


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
    streamed = (STREAMED if server.writes_in_turn else STREAMED[1:]) if host.exists(BTF) else ()
    yield from calls(f"pid == {server.pid}", streamed)
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


def calls(ours: str, streamed: tuple[str, ...]) -> Iterator[str]:
    """Yield the probes of system calls; only with the kernel's types is a file told from a socket, and are calls streamed."""
    typed = bool(streamed)
    regular, synchronous_file = IS_REGULAR.format(file="$file"), IS_SYNCHRONOUS.format(file="$file")
    flushed = f"if (@since[tid]) {{ {FLUSHED} }}" if typed else ""
    for name, every in POSITIONED.items():
        after = flushed if name == "writes" else ""
        yield f"{tracepoints('exit', every)} /{ours} && args->ret >= 0/ {{ @{name}[@op[tid]] = stats(args->ret); {after} }}"
    for call in streamed:
        yield f"{tracepoints('enter', (call,))} /{ours}/ {{ {FILE_OF}"
        yield f" if ({regular}) {{ @file[tid] = 1; if ({synchronous_file}) {{ @since[tid] = nsecs; }} }} }}"
    if typed:
        counted = "if (args->ret >= 0) { @writes[@op[tid]] = stats(args->ret); }"
        yield f"{tracepoints('exit', streamed)} /{ours} && @file[tid]/ {{ {counted} @file[tid] = 0; {flushed} }}"
    for call in POSITIONED["writes"] if typed else ():
        yield f"{tracepoints('enter', (call,))} /{ours}/ {{ {FILE_OF} if ({synchronous_file}) {{ @since[tid] = nsecs; }} }}"
    for call in SYNCS:
        chosen = " && (args->flags & 4)" if call == "msync" else ""  # MS_SYNC
        yield f"{tracepoints('enter', (call,))} /{ours}{chosen}/ {{ @since[tid] = nsecs; }}"
    yield f"{tracepoints('exit', SYNCS)} /@since[tid]/ {{ {FLUSHED} }}"


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
