"""Rules of the older packet filter that drop, in what iptables-legacy-save 1.8.9 printed in a namespace with such rules."""

from assay.evidence.iptables_rules import of_iptables

PRINTED = """*mangle
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [1:128]
:POSTROUTING ACCEPT [0:0]
[1:128] -A POSTROUTING -m statistic --mode nth --every 100 --packet 0 -j DROP
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [4:99]
:OUTPUT ACCEPT [0:0]
:deep - [0:0]
[0:0] -A INPUT -p tcp -m limit --limit 10/sec -j ACCEPT
[3:90] -A INPUT -m statistic --mode random --probability 0.00999999978 -j DROP
[0:0] -A INPUT -p tcp -m connlimit --connlimit-above 100 --connlimit-mask 32 --connlimit-saddr -j REJECT --reject-with icmp-port-unreachable
[0:0] -A INPUT -i lo -j ACCEPT
[20:9000] -A INPUT -p tcp -m hashlimit --hashlimit-above 2mb/s --hashlimit-burst 4mb --hashlimit-name a -j DROP
[1:128] -A OUTPUT -m quota --quota 1000 -j ACCEPT
[0:0] -A OUTPUT -p udp -m udp --dport 9 -j REJECT --reject-with icmp-port-unreachable
[0:0] -A OUTPUT -p icmp -j deep
[0:0] -A deep -m hashlimit --hashlimit-above 5/hour --hashlimit-burst 5 --hashlimit-name b -j DROP
COMMIT
"""  # noqa: E501 - as it was printed


def test_rules_that_drop_are_counted_and_limits_that_accept_are_not():
    found = {one.words: (one.packets, one.is_outgoing, one.bytes_per_s, one.packets_per_s) for one in of_iptables(PRINTED)}
    assert found == {
        "policy drop (iptables, table filter, chain FORWARD)": (4, False, None, None),
        "every 100 drop (iptables, table mangle, chain POSTROUTING)": (1, True, None, None),
        "limit 10/sec (iptables, table filter, chain INPUT)": (None, False, None, 10.0),
        "probability 0.00999999978 drop (iptables, table filter, chain INPUT)": (3, False, None, None),
        "connlimit-above 100 drop (iptables, table filter, chain INPUT)": (0, False, None, None),
        "hashlimit-above 2mb/s drop (iptables, table filter, chain INPUT)": (20, False, 2 * 1024**2, None),
        "quota 1000 (iptables, table filter, chain OUTPUT)": (None, True, None, None),
        "drop (iptables, table filter, chain OUTPUT)": (0, True, None, None),
        "hashlimit-above 5/hour drop (iptables, table filter, chain deep)": (0, True, None, 5 / 3600),
    }


def test_nothing_of_no_text():
    assert not [*of_iptables("")]
