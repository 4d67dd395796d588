"""Records the settings of a host that is not Linux: system, release, boot, CPUs, memory, TCP parameters, offloads of its cards.

Sources: `uname`, and `sysctl` and `ifconfig` of FreeBSD and OpenBSD, `kstat` and `ipadm` of illumos, `esxcli` of ESXi, in one
exchange before the first and one after the last phase. Only settings with the same meaning get the keys of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source, needs_system, system_of
from assay.evidence import other_systems, unix_texts
from assay.evidence.snapshots import trial_facts
from assay.records import FactClass, Snapshot, Subject

SYSCTLS = {
    "FreeBSD": (
        *("hw.model", "hw.ncpu", "hw.physmem", "kern.hostuuid", "kern.boottime"),
        *(
            "kern.maxvnodes",
            "kern.timecounter.hardware",
            "kern.ipc.maxsockbuf",
            "kern.ipc.nmbclusters",
            "net.inet.tcp.cc.algorithm",
        ),
        *(
            "net.inet.tcp.sendspace",
            "net.inet.tcp.recvspace",
            "net.inet.tcp.sendbuf_max",
            "net.inet.tcp.recvbuf_max",
            "net.inet.tcp.sendbuf_auto",
        ),
        *(
            "net.inet.tcp.recvbuf_auto",
            "net.inet.tcp.sack.enable",
            "net.inet.tcp.rfc1323",
            "net.inet.tcp.tso",
            "net.inet.tcp.delayed_ack",
        ),
        *("net.inet.tcp.mssdflt", "vfs.zfs.arc.max", "vfs.zfs.arc_max", "vfs.read_max", "vfs.hirunningspace"),
        *("vfs.nfsd.maxthreads", "vfs.nfsd.minthreads"),
    ),
    "OpenBSD": (
        *("hw.model", "hw.ncpuonline", "hw.physmem", "kern.boottime", "kern.maxvnodes"),
        *("kern.maxclusters", "kern.bufcachepercent", "kern.timecounter.hardware", "hw.smt", "net.inet.tcp.sack"),
        *("net.inet.tcp.rfc1323", "net.inet.tcp.mssdflt", "net.inet.tcp.ecn"),
    ),
}
COMMANDS = {
    "FreeBSD": {"sysctl": f"sysctl -i {' '.join(SYSCTLS['FreeBSD'])}", "interfaces": "ifconfig"},
    "OpenBSD": {"sysctl": f"for n in {' '.join(SYSCTLS['OpenBSD'])}; do sysctl $n; done", "interfaces": "ifconfig"},
    "SunOS": {
        "kstat": "kstat -p unix:0:system_misc:boot_time unix:0:system_misc:ncpus cpu_info:0::brand unix:0:system_pages:physmem",
        "tcp": "ipadm show-prop -c -o PROPERTY,CURRENT tcp",
        "links": "dladm show-linkprop -c -o LINK,PROPERTY,VALUE -p mtu,flowctrl,speed",
    },
    "VMkernel": {"version": "esxcli system version get", "settings": "esxcli network nic list"},
}
UNAME = {"uname": "uname -s; uname -r; uname -v; uname -m"}
SAME = {
    "hw.model": "cpu.model",
    "kern.timecounter.hardware": "clock.source",
    "hw.ncpu": "cpu.online",
    "hw.ncpuonline": "cpu.online",
    "kern.boottime": "host.boot",
    "kern.hostuuid": "machine.uuid",
    "net.inet.tcp.cc.algorithm": "sysctl.net.ipv4.tcp_congestion_control",
}
"""Settings that mean the same on Linux, with the key of the fact there."""
IDENTITY = ("host.boot", "machine.", "network.address")
KSTATS = {"boot_time": "host.boot", "ncpus": "cpu.online", "brand": "cpu.model"}
LINK = re.compile(r"^([a-z]+[a-z0-9]*\d): flags=")
OPTIONS = re.compile(r"^\s+options=[0-9a-f]+<([^>]*)>")
MEDIA = re.compile(r"^\s+media: (.*)$")
MTU = re.compile(r"\bmtu (\d+)")


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return what the commands of its system print."""
    return other_systems.exchange(host, {**UNAME, **COMMANDS.get(system_of(host), {})})


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the facts before and after the trial."""
    return Evidence(facts=trial_facts(host_name, snapshots, lambda look: dict(pairs_of(look)), class_of))


def class_of(key: str) -> FactClass:
    """Return the class of a fact."""
    return FactClass.IDENTITY if key.startswith(IDENTITY) else FactClass.PERFORMANCE


def pairs_of(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield key and value of every fact in one look."""
    texts = other_systems.sections(snapshot)
    for key, value in zip(
        ("host.system", "kernel.release", "kernel.version", "cpu.architecture"), lines(texts, "uname"), strict=False
    ):
        yield key, value
    for name, value in unix_texts.sysctls(texts.get("sysctl", "")).items():
        yield from memory(value) if name == "hw.physmem" else ((SAME.get(name, f"sysctl.{name}"), value),)
    yield from cards(texts.get("interfaces", ""))
    for line in lines(texts, "kstat"):
        name, _, value = line.partition("\t")
        known = KSTATS.get(name.rpartition(":")[2])
        yield from ((known, value.strip()),) if known else ()
    for line in lines(texts, "tcp"):
        name, _, value = line.partition(":")
        yield f"ipadm.tcp.{name}", value
    for line in lines(texts, "links"):
        link, name, value = (*line.split(":"), "", "")[:3]
        yield f"network.{link}.{name}", value
    for line in lines(texts, "version"):
        name, colon, value = line.strip().partition(": ")
        yield from ((f"esxi.{name.lower()}", value),) if colon else ()
    yield from esxi_cards(lines(texts, "settings"))


def lines(texts: Mapping[str, str], name: str) -> list[str]:
    """Return the lines of one command's output that are not empty."""
    return [line for line in texts.get(name, "").splitlines() if line.strip()]


def memory(value: str) -> Iterator[tuple[str, str]]:
    """Yield the memory as Linux's fact has it."""
    if value.isdecimal():
        yield "memory.total", f"{int(value) / 2**30:.3g} GiB"


def cards(text: str) -> Iterator[tuple[str, str]]:
    """Yield MTU, media and offloads of each card, as ifconfig prints them."""
    name = ""
    for line in text.splitlines():
        if match := LINK.match(line):
            name = match[1]
            mtu = MTU.search(line)
            if mtu and not name.startswith("lo"):
                yield f"network.{name}.mtu", mtu[1]
        elif not name.startswith("lo"):
            if match := OPTIONS.match(line):
                yield f"network.{name}.offload", " ".join(sorted(match[1].split(",")))
            if match := MEDIA.match(line):
                yield f"network.{name}.media", match[1]


def esxi_cards(rows: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield driver, speed and MTU of each card of ESXi."""
    for row in rows:
        words = row.split()
        if words[0].startswith("vmnic") and len(words) > 8:
            yield f"network.{words[0]}.driver", words[2]
            yield f"network.{words[0]}.speed", words[5]
            yield f"network.{words[0]}.mtu", words[8]


OBSERVER = Observer(
    name="unix_settings",
    gives=("fact:*",),
    sources=(Source(keys="fact:*", words="facts of the host", way="the observer environment"),),
    cost="0.9 ms CPU per look here, twice a trial",
    available=needs_system(*COMMANDS),
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
    alone=True,
    systems=tuple(COMMANDS),
)
