"""Settings of a machine: the right file, the right text, the right undoing, on a tree as the kernel documents it."""

import os

import pytest

from assay.errors import TrialError
from assay.hosts.local import Local
from assay.machine import kernel_settings
from stage.rows import each

HOST = Local()


class Book:
    """A ledger that keeps what it was told."""

    def __init__(self):
        self.entries = []

    def add(self, kind, **details):
        self.entries.append((kind, details))

    def undo(self, kind, **details):
        entry = next(one for one in reversed(self.entries) if one[0] == kind and details.items() <= one[1].items())
        self.entries.remove(entry)
        kernel_settings.put_back(HOST, entry[1])


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Two CPUs with cpufreq, SMT, huge pages, two interrupts; the paths of the module lead there."""
    files = {
        "cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave\n",
        "cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
        "cpu/cpu1/cpufreq/scaling_available_governors": "performance powersave\n",
        "cpu/cpuidle/current_governor": "menu\n",
        "cpu/smt/control": "on\n",
        "cpu/cpufreq/boost": "1\n",
        "irq/9/smp_affinity_list": "0-1\n",
        "irq/10/smp_affinity_list": "0-1\n",
        "irq/default_smp_affinity": "3\n",
        "sys/vm/swappiness": "60\n",
        "sys/vm/dirty_bytes": "0\n",
        "sys/vm/dirty_ratio": "20\n",
        "sys/vm/drop_caches": "0\n",
        "sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cpu = f"{tmp_path}/cpu"
    named = {"SYSTEM_CPU": cpu, "SMT": f"{cpu}/smt/control", "BOOST": f"{cpu}/cpufreq/boost", "INTERRUPTS": f"{tmp_path}/irq"}
    named |= {"NO_TURBO": f"{cpu}/intel_pstate/no_turbo", "SYSCTLS": f"{tmp_path}/sys"}
    named["FILES"] = {"swappiness": f"{tmp_path}/sys/vm/swappiness", "dirty_bytes": f"{tmp_path}/sys/vm/dirty_bytes"}
    named["EITHER"] = {f"{tmp_path}/sys/vm/dirty_bytes": f"{tmp_path}/sys/vm/dirty_ratio"}
    for name, value in named.items():
        monkeypatch.setattr(kernel_settings, name, value)
    return tmp_path


@each(
    "knobs files",
    ({"governor": "performance"}, ["cpu/cpu0/cpufreq/scaling_governor", "cpu/cpu1/cpufreq/scaling_governor"]),
    ({"boost": False}, ["cpu/cpufreq/boost"]),
    ({"smt": False}, ["cpu/smt/control"]),
    ({"irq_affinity": (0,)}, ["irq/9/smp_affinity_list", "irq/10/smp_affinity_list"]),
    ({"swappiness": 10}, ["sys/vm/swappiness"]),
    ({"sysctl.net.ipv4.tcp_rmem": "4096 65536  1048576"}, ["sys/net/ipv4/tcp_rmem"]),
    ({"sysctl.net/ipv4/tcp_rmem": "1 2 3"}, ["sys/net/ipv4/tcp_rmem"]),
    ({"swappiness": None}, []),
)
def test_each_knob_sets_its_files_and_puts_them_back(tree, knobs, files):
    before = {name: (tree / name).read_text() for name in files}
    book, found = Book(), kernel_settings.wanted(HOST, knobs)
    assert {one.path for one in found} == {str(tree / name) for name in files}
    assert all(kernel_settings.change(HOST, book, one) for one in found)
    assert all((tree / name).read_text() != text for name, text in before.items())
    assert [kernel_settings.in_force(HOST, one) for one in found] == [one.value for one in found]
    for one in reversed(found):
        book.undo("setting", path=one.path)
    assert {name: (tree / name).read_text().split() for name in files} == {name: text.split() for name, text in before.items()}


def test_intel_turbo_is_set_by_its_opposite(tree):
    (tree / "cpu/intel_pstate").mkdir()
    (tree / "cpu/intel_pstate/no_turbo").write_text("0\n")
    (one,) = kernel_settings.wanted(HOST, {"boost": False})
    assert (one.path, one.value) == (f"{tree}/cpu/intel_pstate/no_turbo", "1")


def test_bytes_of_dirty_pages_go_back_by_the_ratio_that_was_in_force(tree):
    book = Book()
    (one,) = kernel_settings.wanted(HOST, {"dirty_bytes": 1 << 24})
    kernel_settings.change(HOST, book, one)
    ((_, details),) = book.entries
    assert (details["back_path"], details["back"]) == (f"{tree}/sys/vm/dirty_ratio", "20")


def test_what_is_set_already_is_no_change(tree):
    book = Book()
    (one,) = kernel_settings.wanted(HOST, {"swappiness": 60})
    assert kernel_settings.change(HOST, book, one)
    assert book.entries == []


@each(
    "knobs said",
    ({"governor": "ondemand"}, "performance, powersave"),
    ({"sysctl.vm.drop_caches": "3"}, 'cache = "cold"'),
    ({"sysctl.vm/drop_caches": "3"}, 'cache = "cold"'),
    ({"sysctl.vm.no_such": "3"}, "has no "),
    ({"sysctl...": "3"}, "expected a name such as"),
    ({"sysctl.vm/../../../etc/passwd": "3"}, "expected a name such as"),
)
def test_what_a_host_has_against_a_setting(tree, knobs, said):
    del tree
    found = [text for _, text in kernel_settings.refusals(HOST, knobs)]
    assert any(said in one for one in found), found


@each(
    "gone said",
    ("cpu/cpufreq", "boost"),
    ("cpu/smt", "threads of its cores"),
    ("irq", "no interrupt"),
    ("cpu/cpu0 cpu/cpu1", "clock rate"),
)
def test_a_host_without_the_setting_says_so(tree, gone, said):
    for name in gone.split():
        HOST.run(["rm", "-r", str(tree / name)])
    every = {"boost": False, "smt": False, "irq_affinity": (0,), "governor": "performance"}
    assert any(said in text for _, text in kernel_settings.refusals(HOST, every))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="kernel settings need root")
def test_a_value_that_the_kernel_refuses_leaves_the_old_one():
    """The kernel takes 0 to 200."""
    book, before = Book(), HOST.read("/proc/sys/vm/swappiness")
    (one,) = kernel_settings.wanted(HOST, {"sysctl.vm.swappiness": "100000"})
    with pytest.raises(TrialError, match="does not take '100000'"):
        kernel_settings.change(HOST, book, one)
    assert book.entries == []
    assert HOST.read("/proc/sys/vm/swappiness") == before
