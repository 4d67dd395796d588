"""Policers and lossy qdiscs in what tc of iproute2 6.1.0 printed on Linux 6.1, each after 2,000 datagrams went by.

`tests/fixtures/tc-6.1.0.txt` has the words with which each was made in its lines `# ...`. Forms of other versions are below.
"""

import re
from pathlib import Path

from assay.evidence import packet_filters
from stage.rows import each

RECORDED = (Path(__file__).parents[1] / "fixtures" / "tc-6.1.0.txt").read_text()
PARTS = dict(part.split("\n", 1) for part in re.split(r"^# ", RECORDED, flags=re.MULTILINE)[1:])


def filters(text, where="d1 ingress"):
    return [
        (one.words.removesuffix(f" on {where}"), one.packets, one.bytes_per_s, one.packets_per_s)
        for one in packet_filters.of_filters(f"= {where}\n{text}")
    ]


@each(
    "made found",
    ("0 0 police rate 10mbit burst 64k conform", [("tc police 10Mbit", 1408, 1.25e6, None)]),
    ("burst 64k drop flowid :1", [("tc police 10Mbit", 980, 1.25e6, None)]),
    ("burst 10kb conform-exceed drop/continue", [("tc police 1Mbit", 1882, 125e3, None)]),
    ("flower ip_proto udp action drop", [("tc drop", 2000, None, None)]),
    ("pkts_rate 1000", [("tc police 1000 packets/s", 1741, None, 1000.0)]),
    ("random netrand drop 2", [("tc drop", 997, None, None)]),
    ("drop random determ pass 10", [("tc drop", 1800, None, None)]),
    ("peakrate 8mbit", [("tc police 5Mbit", 1757, 625e3, None)]),
    ("overhead 20", [("tc police 2Mbit", 1940, 250e3, None)]),
    ("avrate 1mbit drop", [("tc police 1Mbit", 1780, 125e3, None)]),
    ("conform-exceed reclassify", [("tc police 1Mbit", 0, 125e3, None)]),
    ("conform-exceed pipe action drop", [("tc police 1Mbit", 0, 125e3, None), ("tc drop", 1962, None, None)]),
    ("police rate 8gbit", [("tc police 8Gbit", 0, 1e9, None)]),
    ("mirred egress redirect", []),
    ("egress clsact", [("tc police 1Mbit", 1976, 125e3, None)]),
    ("root htb", [("tc police 1Mbit", 1969, 125e3, None)]),
)
def test_filters(made, found):
    (text,) = (text for words, text in PARTS.items() if made in words)
    assert filters(text) == found


@each(
    "made words dropped",
    ("netem loss 1% 25%", "netem loss 1% on d0", 0),
    ("netem loss gemodel 1% 10% 70% 0.1%", "netem loss on d0", 126),
    ("netem loss state 1% 10% 70% 5% 0.1%", "netem loss on d0", 61),
    ("netem loss random 0.5% ecn", "netem loss 0.500% on d0", 14),
    ("netem corrupt 1% duplicate 1% delay 1ms", "netem corrupt on d0", None),
    ("netem limit 100 delay 10ms loss 0.3%", "netem loss 0.300% on d0", 35),
    ("netem slot 1ms 2ms loss 2%", "netem loss 2% on d0", 42),
)
def test_qdiscs(made, words, dropped):
    """With a list of all interfaces each entry has `dev`, with that of one it has none."""
    printed = PARTS[made].splitlines()[0].replace('{"kind"', '{"dev":"d0","kind"')
    assert [(one.words, one.packets) for one in packet_filters.of_qdiscs(printed)] == [(words, dropped)]


@each(
    "line rate packets",
    (" police 0x1 rate 8Mbit burst 100Kb mtu 2Kb action drop overhead 0b", 1e6, None),  # 6.8
    (" police 0x1 rate 10Mbit burst 10Mb mtu 2Kb action drop overhead 0b linklayer ethernet", 1.25e6, None),  # 5.x, with -d
    ("\taction order 0:  police 0x1 rate 0bit burst 0b mtu 4096Mb pkts_rate 1000 pkts_burst 200", None, 1000.0),  # 5.12
    ("\taction order 0:  police 0x1 rate 0bit burst 0b mtu 4Gb pkts_rate 1000 pkts_burst 200", None, 1000.0),  # 6.x
    (" police 0x1 rate 1000Kbit burst 10Kb mtu 2Kb action drop overhead 0b", 125e3, None),  # 3.x and 4.x
)
def test_lines_of_other_versions(line, rate, packets):
    counted = " Sent 3351952 bytes 2294 pkts (dropped 95, overlimits 95)"
    ((words, dropped, bytes_per_s, packets_per_s),) = filters(f"{line}\n\tref 1 bind 1  installed 5 sec\n\n{counted}\n")
    assert words.startswith("tc police")
    assert (dropped, bytes_per_s, packets_per_s) == (95, rate, packets)
