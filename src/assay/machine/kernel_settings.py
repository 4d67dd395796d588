"""Settings of a machine's kernel (`[machine]`): which file takes what, what stands against it, and the change with its undoing.

Sources: Documentation/admin-guide/pm/cpufreq.rst (scaling_governor, boost), intel_pstate.rst (no_turbo),
Documentation/ABI/testing/sysfs-devices-system-cpu (smt/control), mm/transhuge.rst, sysctl/vm.rst (dirty_bytes and dirty_ratio
clear each other), core-api/irq/irq-affinity.rst; sysctl(8) for the names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.catalogue import Host, Undo
from assay.errors import RefusedError, TrialError, UsageError
from assay.machine.cpus import cpus, kernel_list
from assay.machine.host_facts import active_value
from assay.records import Value

SYSTEM_CPU = "/sys/devices/system/cpu"
SMT = f"{SYSTEM_CPU}/smt/control"
BOOST = f"{SYSTEM_CPU}/cpufreq/boost"
NO_TURBO = f"{SYSTEM_CPU}/intel_pstate/no_turbo"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
INTERRUPTS = "/proc/irq"
SYSCTLS = "/proc/sys"
OF_A_NAMESPACE = f"{SYSCTLS}/net/"
"""Settings below are those of one network namespace."""
FILES = {
    "transparent_huge_pages": HUGE_PAGES,
    "swappiness": f"{SYSCTLS}/vm/swappiness",
    "dirty_bytes": f"{SYSCTLS}/vm/dirty_bytes",
    "dirty_background_bytes": f"{SYSCTLS}/vm/dirty_background_bytes",
}
EITHER = {
    f"{SYSCTLS}/vm/{prefix}{one}": f"{SYSCTLS}/vm/{prefix}{other}"
    for prefix in ("dirty_", "dirty_background_")
    for one, other in (("bytes", "ratio"), ("ratio", "bytes"))
}
"""File -> the file that reads 0 while this one is in force; 0 cannot be written to `..._bytes`."""
SYSCTL = re.compile(r"[\w-]+(?:[./][\w@:*+-]+)+", re.ASCII)
ACTIONS = {
    "vm.drop_caches": 'it drops caches once. Use cache = "cold" of a workload',
    "vm.compact_memory": "it compacts memory once",
    "net.ipv4.route.flush": "it empties a table once",
    "net.ipv6.route.flush": "it empties a table once",
    "kernel.modules_disabled": "it cannot be put back before a reboot",
    "kernel.kexec_load_disabled": "it cannot be put back before a reboot",
    "kernel.unprivileged_bpf_disabled": "1 cannot be put back before a reboot",
    "kernel.yama.ptrace_scope": "3 cannot be put back before a reboot",
    "kernel.random.write_wakeup_threshold": "it is obsolete",
}
"""Files of /proc/sys that hold no setting, or none that can be put back."""


@dataclass(frozen=True, kw_only=True)
class KernelSetting:
    """One file of a kernel and what it is to say."""

    knob: str
    path: str
    value: str
    """As the kernel prints it: the active choice of several."""


def wanted(host: Host, knobs: Mapping[str, Value]) -> tuple[KernelSetting, ...]:
    """The files of this host for the knobs that are set. Raises RefusedError, UsageError with the knob and the remedy."""
    given = {name: value for name, value in knobs.items() if value is not None}
    return tuple(
        KernelSetting(knob=name, path=path, value=text)
        for name, value in given.items()
        for path, text in _of_knob(host, name, value)
    )


def refusals(host: Host, knobs: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """What this host has against each knob, as (knob, words); changes nothing."""
    for name, value in knobs.items():
        if value is None:
            continue
        try:
            for one in wanted(host, {name: value}):
                _refuse_choice(host, one)
        except (RefusedError, UsageError) as error:
            yield name, str(error)


def change(host: Host, undo: Undo, setting: KernelSetting) -> bool:
    """Set one file, after its undoing was written down; False where an interrupt is one that cannot be moved.

    Raises TrialError where the kernel does not take the value as it is.
    """
    before = active_value(host.read(setting.path))
    if before == setting.value:
        return True
    back_path = _file_in_force(host, setting.path, before)
    back = before if back_path == setting.path else active_value(host.read(back_path))
    details = {"path": setting.path, "value": setting.value, "back_path": back_path, "back": back}
    undo.add("setting", **details)
    try:
        host.write(setting.path, setting.value)
    except OSError as error:
        undo.undo("setting", **details)
        if setting.knob == "irq_affinity":
            return False
        raise TrialError(f"{setting.path} does not take {setting.value!r}: {error.strerror or error}") from error
    found = active_value(host.read(setting.path))
    if found != setting.value:
        host.write(back_path, back)
        undo.undo("setting", **details)
        raise TrialError(f"{setting.path}: the kernel made {found!r} of {setting.value!r}. Write {found!r}, or another value.")
    return True


def put_back(host: Host, details: Mapping[str, str]) -> bool:
    """Write what was there before; False where the file no longer says what we wrote.

    Raises TrialError where it cannot be written.
    """
    try:
        now = active_value(host.read(details["path"]))
    except OSError:  # the CPU or the interrupt is gone
        return False
    if now != details["value"]:
        return False
    try:
        host.write(details["back_path"], details["back"])
    except OSError as error:
        raise TrialError(f"{details['back_path']} does not take {details['back']!r}: {error.strerror or error}") from error
    return True


def in_force(host: Host, setting: KernelSetting) -> str:
    """What its file says now, or why it cannot be read."""
    try:
        return active_value(host.read(setting.path))
    except OSError as error:
        return error.strerror or str(error)


def _file_in_force(host: Host, path: str, before: str) -> str:
    other = EITHER.get(path)
    return other if other is not None and before == "0" and host.exists(other) else path


def _refuse_choice(host: Host, setting: KernelSetting) -> None:
    """Raise UsageError for a value that is not among those that the kernel lists."""
    listed = f"{posixpath.dirname(setting.path)}/scaling_available_governors"
    text = host.read(listed) if setting.knob == "governor" and host.exists(listed) else host.read(setting.path)
    choices = text.replace("[", "").replace("]", "").split() if "[" in text or setting.knob == "governor" else []
    if choices and setting.value not in choices:
        raise UsageError(f"found {setting.value!r}; expected one of those that {host.name} has: {', '.join(choices)}")


def _of_knob(host: Host, knob: str, value: Value) -> Iterator[tuple[str, str]]:
    """Yield (file, text) of one knob."""
    if knob in FILES:
        yield _there(host, FILES[knob]), str(value)
    elif knob == "governor":
        yield from ((path, str(value)) for path in _governors(host))
    elif knob == "boost":
        yield _boost(host, on=value is True)
    elif knob == "smt":
        yield _threads(host), "on" if value is True else "off"
    elif knob == "irq_affinity":
        allowed = kernel_list(cpus(host, value) or ())
        yield from ((path, allowed) for path in _interrupts(host))
    else:
        yield _sysctl(host, knob.partition(".")[2]), " ".join(str(value).split())


def _there(host: Host, path: str) -> str:
    if not host.exists(path):
        raise RefusedError(f"{host.name} has no {path}. Its kernel lacks the setting, or a container hides it.")
    return path


def _governors(host: Host) -> list[str]:
    names = [name for name in host.list(SYSTEM_CPU) if re.fullmatch(r"cpu\d+", name)]
    found = [path for name in names if host.exists(path := f"{SYSTEM_CPU}/{name}/cpufreq/scaling_governor")]
    if not found:
        raise RefusedError(f"{host.name} does not let the clock rate be set (no cpufreq). A virtual machine has it on its host.")
    return found


def _boost(host: Host, *, on: bool) -> tuple[str, str]:
    if host.exists(NO_TURBO):
        return NO_TURBO, str(int(not on))
    if host.exists(BOOST):
        return BOOST, str(int(on))
    raise RefusedError(f"{host.name} does not let boost be set ({BOOST} and {NO_TURBO} are not there).")


def _threads(host: Host) -> str:
    state = host.read(SMT).strip() if host.exists(SMT) else "notimplemented"
    if state not in ("on", "off"):
        raise RefusedError(f"{host.name} does not let the threads of its cores be set ({SMT}: {state}).")
    return SMT


def _interrupts(host: Host) -> list[str]:
    names = sorted((name for name in host.list(INTERRUPTS) if name.isdigit()), key=int)
    found = [path for name in names if host.exists(path := f"{INTERRUPTS}/{name}/smp_affinity_list")]
    if not found:
        raise RefusedError(f"{host.name} has no interrupt that can be moved ({INTERRUPTS}).")
    return found


def _sysctl(host: Host, name: str) -> str:
    """The file of a setting as sysctl(8) takes its name: dots, or slashes where a part has dots itself."""
    if not SYSCTL.fullmatch(name):
        raise UsageError(f"found the kernel setting {name!r}; expected a name such as vm.swappiness or net/ipv4/conf/eth0.1/mtu")
    path = f"{SYSCTLS}/{name if '/' in name else name.replace('.', '/')}"
    reason = ACTIONS.get(path.removeprefix(f"{SYSCTLS}/").replace("/", "."))
    if reason is not None:
        raise RefusedError(f"{name} is not a setting for an experiment: {reason}.")
    _there(host, path)
    try:
        host.read(path)
    except OSError as error:
        raise RefusedError(f"{path} cannot be read ({error.strerror}), so it could not be put back.") from error
    return path
