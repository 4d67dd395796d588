from assay.hosts.local import Local
from assay.observers.unix_settings import OBSERVER, class_of
from assay.records import FactClass
from stage.unix_hosts import recorded_system, trial, unix_host


def test_settings_are_facts(subtests, tmp_path_factory):
    for system, expected in [
        (
            "freebsd-14.5",
            {
                "host.system": "FreeBSD",
                "kernel.release": "14.5-RELEASE",
                "cpu.online": "2",
                "memory.total": "1.97 GiB",
                "sysctl.net.ipv4.tcp_congestion_control": "cubic",
                "sysctl.net.inet.tcp.sendspace": "32768",
                "network.vtnet0.offload": "HWSTATS JUMBO_MTU LINKSTATE VLAN_MTU",
                "network.vtnet0.mtu": "1500",
            },
        ),
        (
            "openbsd-7.3",
            {"kernel.release": "7.3", "network.em0.media": "Ethernet autoselect (1000baseT full-duplex,rxpause,txpause)"},
        ),
        ("illumos-smartos", {"host.boot": "1525098669", "ipadm.tcp.send_buf": "49152", "network.net0.mtu": "1500"}),
        ("esxi-7.0", {"esxi.version": "7.0.3", "network.vmnic2.driver": "ixgben", "network.vmnic2.mtu": "9000"}),
    ]:
        with subtests.test(system=system, expected=expected):
            tmp_path = tmp_path_factory.mktemp("case")
            _, commands = recorded_system(tmp_path, system)
            with unix_host("s", commands) as host:
                found = trial(OBSERVER, host)
            assert {key: found[key].value for key in expected} == expected
            assert not [key for key in found if "lo0" in key]


def test_the_boot_is_another_name_for_the_same_thing():
    assert (class_of("host.boot"), class_of("cpu.model")) == (FactClass.IDENTITY, FactClass.PERFORMANCE)


def test_on_linux_it_does_not_look():
    assert "only" in OBSERVER.available(Local())
