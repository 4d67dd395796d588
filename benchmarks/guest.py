"""Runs a command in an emulated guest with control groups v2: this machine's files, a Debian kernel, a disk with a journal.

QEMU starts a kernel that is unpacked here and never installed. The guest's root is this machine's root directory, read-only, with
an overlay in memory; its disk is a file with ext4, mounted at /mnt. The command runs in the root group of a v2 hierarchy that has
every controller. Two emulated network cards are joined by a cable of QEMU's; no network of this machine is reached. Emulation is
slow: verdicts count, timings do not.

    python benchmarks/guest.py .venv/bin/assay selftest --audit --rules L06
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "guest"
QEMU, META = "qemu-system-x86_64", "linux-image-amd64"
MODULES = ("virtio_pci", "virtio_blk", "9p", "9pnet_virtio", "overlay", "ext4", "loop")
"""Modules that the guest needs before it has its root; the kernel loads the others on demand."""
CARDS = ("52:54:00:a5:5a:01", "52:54:00:a5:5a:02")
"""The addresses of its network cards (e1000: what they send is read by the card, without a copy of the kernel's)."""
DISK_BYTES = 16 << 30
EARLY = """#!/busybox sh
/busybox mkdir -p /proc /sys /dev /lower /upper /root
/busybox mount -t proc proc /proc
/busybox mount -t sysfs sys /sys
/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do /busybox insmod $module; done
/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose host /lower
/busybox mount -t tmpfs upper /upper
/busybox mkdir /upper/changes /upper/work
/busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work root /root
for each in proc sys dev; do /busybox mount --move /$each /root/$each; done
/busybox cp /busybox /root/run/busybox
exec /busybox switch_root /root /run/busybox sh {build}/init
"""
LATE = """
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
mkdir -p /dev/pts /dev/shm /lib/modules /mnt /run/out
mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs temporary /var/tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup; mount -t debugfs debugfs /sys/kernel/debug; mount -t tracefs tracefs /sys/kernel/tracing
mount --bind {build}/kernel/lib/modules /lib/modules
for tool in modprobe insmod; do [ -e /sbin/$tool ] || ln -s /run/busybox /sbin/$tool; done
ln -sf /proc/self/fd /dev/fd; ip link set lo up 2>/dev/null
mount -t 9p -o trans=virtio,version=9p2000.L out /run/out
modprobe e1000; mount /dev/vda /mnt; mkdir -p /mnt/home /mnt/tmp; export HOME=/mnt/home TMPDIR=/mnt/tmp
sh /run/out/command > /run/out/output 2>&1 < /dev/null
echo $? > /run/out/status
sync; /run/busybox poweroff -f
"""


def obstacle() -> str | None:
    """Return what is missing for the guest, with the remedy; None if it can run."""
    if platform.machine() != "x86_64":
        return "the guest needs an x86-64 machine"
    if not shutil.which(QEMU):
        return f"{QEMU}: not found. Install qemu-system-x86."
    if (BUILD / "kernel").exists():
        return None
    lacking = [tool for tool in ("apt-get", "apt-cache", "dpkg-deb", "mkfs.ext4") if not shutil.which(tool)]
    if lacking:
        return f"{', '.join(lacking)}: not found. They fetch and unpack the guest's kernel."
    return None if depends() else f"apt-cache knows no {META}. Add a Debian source, and run apt-get update."


def depends() -> str:
    """Return the kernel package that META depends on."""
    listed = subprocess.run(["apt-cache", "depends", META], capture_output=True, text=True, check=False).stdout
    return next((line.split()[-1] for line in listed.splitlines() if "Depends: linux-image" in line), "")


def furnish() -> None:
    """Fetch the kernel and busybox with apt-get, unpack them, and write the initial file system."""
    if (BUILD / "initramfs").exists():
        return
    shutil.rmtree(BUILD, ignore_errors=True)
    packages = BUILD / "packages"
    packages.mkdir(parents=True)
    subprocess.run(
        ["apt-get", "-qq", "download", depends(), "busybox-static"], cwd=packages, check=True, stderr=subprocess.DEVNULL
    )
    for package in packages.iterdir():
        subprocess.run(["dpkg-deb", "-x", package, BUILD / "kernel"], check=True)
    shutil.rmtree(packages)
    busybox = next((BUILD / "kernel").glob("**/bin/busybox"))
    subprocess.run([busybox, "depmod", "-b", BUILD / "kernel", version()], check=True)
    (BUILD / "init").write_text(LATE.format(build=BUILD))
    first = BUILD / "first"
    (first / "modules").mkdir(parents=True)
    shutil.copy(busybox, first / "busybox")
    for number, module in enumerate(with_needs(MODULES)):
        shutil.copy(module, first / "modules" / f"{number:02}-{module.name}")
    (first / "init").write_text(EARLY.format(build=BUILD))
    (first / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(first)) for path in sorted(first.rglob("*")))
    archive = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"], cwd=first, input=names.encode(), capture_output=True, check=True
    )
    (BUILD / "initramfs").write_bytes(archive.stdout)


def version() -> str:
    """Return the release of the guest's kernel."""
    return next((BUILD / "kernel" / "lib" / "modules").iterdir()).name


def with_needs(names: Sequence[str]) -> tuple[Path, ...]:
    """Return the files of these modules, each after the modules that it needs."""
    folder, found = BUILD / "kernel" / "lib" / "modules" / version(), dict[str, None]()
    lines = (line.partition(":") for line in (folder / "modules.dep").read_text().splitlines())
    needs = {Path(path).name.partition(".ko")[0]: (path, rest.split()) for path, _, rest in lines}
    for name in names:
        path, before = needs.get(name, ("", []))  # a name without a file is built into the kernel
        found |= dict.fromkeys([*reversed(before), path])
    return tuple(folder / path for path in found if path)


def run(command: str, *, timeout_s: float) -> tuple[int | None, str]:
    """Run a shell command from the repository's root; return its status, None if the guest gave none, and its output."""
    furnish()
    with tempfile.TemporaryDirectory(prefix="assay-guest-") as folder:
        out, disk = Path(folder) / "out", Path(folder) / "disk"
        out.mkdir()
        (out / "command").write_text(f"cd {shlex.quote(str(ROOT))}\nexport PYTHONPATH=$PWD/src\n{command}\n")
        with disk.open("wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True)
        try:
            subprocess.run(machine(out, disk), check=False, timeout=timeout_s, stdout=(out / "console").open("wb"))
        except subprocess.TimeoutExpired:
            return None, f"no end within {timeout_s:.0f} s\n{text(out / 'output')}"
        status = text(out / "status").strip()
        return (int(status), text(out / "output")) if status else (None, text(out / "console"))


def text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def machine(out: Path, disk: Path) -> list[str]:
    """Return QEMU's command line; hardware helps only a processor that has it for guests with any kernel."""
    helped = {"vmx", "svm"} & set(Path("/proc/cpuinfo").read_text().split()) and os.access("/dev/kvm", os.W_OK)
    words = f"-nodefaults -no-user-config -display none -no-reboot -serial stdio -m 4096 -smp {min(4, os.cpu_count() or 1)}"
    kernel = next((BUILD / "kernel" / "boot").glob("vmlinuz-*"))
    parameters = "console=ttyS0 quiet panic=-1 cgroup_no_v1=all psi=1 mitigations=off"
    cards = [
        word
        for number, address in enumerate(CARDS)
        for word in (
            *("-netdev", f"hubport,id=cable{number},hubid=0"),
            *("-device", f"e1000,netdev=cable{number},mac={address}"),
        )
    ]
    share = "local,security_model=none,multidevs=remap"
    return [
        *[QEMU, *words.split(), "-accel", "kvm" if helped else "tcg,thread=multi", "-cpu", "host" if helped else "max"],
        *["-kernel", str(kernel), "-initrd", str(BUILD / "initramfs"), "-append", parameters],
        *["-virtfs", f"{share},path=/,mount_tag=host,readonly=on", "-virtfs", f"{share},path={out},mount_tag=out"],
        *cards,
        *["-drive", f"file={disk},format=raw,if=virtio,cache=unsafe", "-device", "virtio-rng-pci"],
    ]


if __name__ == "__main__":
    if (why := obstacle()) is not None:
        sys.exit(why)
    status, output = run(shlex.join(sys.argv[1:]), timeout_s=6 * 3600)
    print(output, end="")
    sys.exit(1 if status is None else status)
