"""Figures that people posted, with the rule that must say why they are wrong; None for figures that are sound.

The first rows are of reports whose cause was told in the thread; the page of the casebook or the address names the thread.
"""

from assay.audit import limits
from assay.published import arithmetic, reading
from assay.published.claim import RULES, Case
from assay.records import Severity, State
from stage.rows import each

THRESHOLDS = {rule.id: limits.thresholds(rule.id) for rule in RULES}
GIVEN = (
    ("82.8 kIOPS 4 KiB random reads, 7200 rpm", "L08"),
    ("5,060.26 MiB/s read, 1 GB file, 8 GB RAM, USB 3.0", "L04"),
    ("39,772 IOPS sequential 4 KiB reads, limit 10,000 IOPS", "L04"),
    ("44.67 GB/s read over PCIe-3 x4, 16 GB file", "L04"),
    ("random 4 KiB reads 12 GB/s, sequential reads 10 GB/s", "L08"),
    ("48.1 Gbit/s over gigabit Ethernet", "L04"),
    ("1.72 Gbit/s over a 50 Mbit/s line", "L04"),
    ("85.97 Gbit/s over 10GbE, 302.56 GB in 30.23 s", "L04"),
    ("224.59 Gbit/s over PCIe-3 x8", "L04"),
    ("834.97 MiB/s over 1GbE, 855.01 objects/s of 1024 KiB", "L04"),
    ("855.01 reads/s of 1000 KiB, 834.97 MiB/s", None),
    ("132,163 IOPS of 4 KiB, 375 GiB in 887.769 s", "E05"),
    ("5,000 IOPS, 0.2 ms latency, queue depth 32", "L07"),
    ("median 0.858 s, p90 2.455 s, p95 2.766 s, p99 1.639 s", "E05"),
    ("latency avg 1 ms, 99th percentile 2 s", "E05"),
    ("mean 5 ms, max 3 ms", "E05"),
    ("latency avg 2 ms, min 3 ms", "E05"),
    ("941 Mbit/s, 28 ms RTT, window of 212992 B", "L07"),
    ("940 Mbit/s, 4 streams, 64k window, 50 ms RTT", "L07"),
    ("55 Gbit/s over WiFi 6", "L04"),
    ("1.9 Gbit/s over 2x2 802.11ac", "L04"),
    ("850 Mbit/s over 866 Mbit/s WiFi", "L04"),
    ("40 Mbit/s over 802.11g", "L04"),
    ("1008 entries in 2 s against 1008 entries in 7.961 s", "S02"),
    ("248 MB in 1 s over a 15 Mbit/s line", "L04"),
    ("50000 requests/s, 100 requests in 0.00 s", "W01"),
    ("1246.57 requests/s, 12479 requests in 10.01 s, 12479 errors", "G04"),
    ("111 kIOPS of 4 KiB, 375 GiB in 887.769 s", None),
    ("142 IOPS, 100 ms latency, queue depth 16", None),
    ("p50 1 ms, p95 3 ms, p99.9 12 ms, mean 2 ms, max 40 ms", None),
    ("read p99 3 ms, write p50 5 ms", None),
    ("59 Mbit/s, 28 ms RTT, window of 212992 B", None),
    ("22 Mbit/s over 802.11g", None),
    ("650 Mbit/s over 2x2 WiFi 5", None),
    ("14,468 IOPS sequential reads of 4 KiB, 57,875 KiB/s, 7200 rpm", None),
    ("random 4 KiB reads 58,550 IOPS, sequential 4 KiB reads 46,028 IOPS", None),
    ("random reads 240 MB/s at queue depth 64, sequential reads 189 MB/s at queue depth 1", None),
    ("97.4MiB/s, 24.9k IOPS, 4k", None),
    ("16.6 requests/s, 1,434,240 requests in 24 hours", None),
)
FOUND = (
    ("esnet/iperf/issues/114", "1.24 GBytes  1.06 Gbits/sec  0.001 ms  135795/162217 (84%)", "G04"),
    ("esnet/iperf/issues/571", "59.0 MBytes  49.5 Mbits/sec  0.062 ms  8274/15114 (55%)", "G04"),
    ("esnet/iperf/issues/1367", "3 Gbit/s UDP over 1GbE, 72 % packet loss", "G04"),
    ("esnet/iperf/issues/238", "94.0 Mbits/sec over a 10 Mbit/s line", "L04"),
    ("librespeed/speedtest/issues/65", "1015 Mbit/s over 1GbE", "L04"),
    ("taganaka/SpeedTest/issues/20", "469.22 Mbit/s over a 200 Mbit/s line", "L04"),
    (
        "the-benchmarker/web-frameworks/issues/3484",
        "15791 requests in 15.07s, 4.52MB read, Non-2xx or 3xx responses: 15791, Requests/sec: 1048.14, Transfer/sec: 307.03KB",
        "G04",
    ),
    (
        "the-benchmarker/web-frameworks/issues/6222",
        "1119706 requests in 15.10s, 91.83MB read, Non-2xx or 3xx responses: 1119706, Requests/sec: 74153.63",
        "G04",
    ),
    (
        "wg/wrk/issues/140",
        "296 requests in 30.10s, 61.57KB read, Socket errors: connect 0, read 0, write 0, timeout 41, Requests/sec: 9.83",
        "G04",
    ),
    ("redis/redis/issues/2900", "1 requests completed in 0.00 seconds, inf requests per second", "W01"),
    (
        "redis/redis/issues/3159",
        "10 requests completed in 0.00 seconds, 50 parallel clients, 10000.00 requests per second",
        "W01",
    ),
    ("openzfs/zfs/issues/8066", "read : io=1000.0MB, bw=5586.7MB/s, iops=5586, runt=   179msec", "W01"),
    ("distributed-system-analysis/pbench/issues/606", "894 IOPS of 64 KiB, 58390629.65 kB/s", "E05"),
    ("akopytov/sysbench/issues/12", "4 GiB in 44.714 s, 91.604 Mbit/s", "E05"),
    ("JustVugg/colibri/issues/86", "14.2 GB/s on a disk of up to 4 GB/s", "L04"),
    ("axboe/fio/issues/383", "5 GB/s read, 5 GiB file, 16 GB RAM", "T05"),
    ("scylladb/seastar/issues/1030", "262.6 MB/s, limit 128 MB/s", "L04"),
    ("esnet/iperf/issues/173", "1.05 Mbit/s, limit 1.00 Mbit/s", "L04"),
    ("esnet/iperf/issues/560", "60.2 MBytes   459 Mbits/sec  0.501 ms  7982/51824 (15%)", "G04"),
    ("esnet/iperf/issues/391", "15.9 MBytes   133 Mbits/sec  0.142 ms  13083/24418 (54%)", "G04"),
    ("esnet/iperf/issues/1984", "266 KBytes   715 Kbits/sec  0.200 ms  69/257 (27%)  receiver", "G04"),
    ("CPqD/ofsoftswitch13/issues/197", "21 Mbit/s, limit 20 Mbit/s", "L04"),
    ("deepspaceip/dipt-quic-workbench/issues/17", "10749312 bit/s over a 10 Mbit/s link", "L04"),
    ("JonMagon/KDiskMark/issues/58", "7.774 MB/s, 1943.6 IOPS of 4 KiB, 511.38 us latency", "E05"),
    ("esnet/iperf/issues/698", "10 datagrams sent, 1 received", "G04"),
    ("perfsonar/pscheduler/issues/1307", "10.51 Gbit/s over 10GbE", "L04"),
    ("ndt-project/ndt/issues/3", "900 MB/s over 1GbE", "L04"),
    ("axboe/fio/issues/41", "read : io=4096.0MB, bw=57875KB/s, iops=14468, runt= 72472msec, bs=4k", None),
    ("axboe/fio/issues/692", "read: IOPS=2979, BW=11.6MiB/s (12.2MB/s)(1906MiB/163778msec), bs=4k", None),
    ("openzfs/zfs/issues/16048", "read: IOPS=517, BW=518MiB/s (543MB/s)(30.3GiB/60015msec), bs=1M, over SATA 6Gb/s", None),
    (
        "distributed-system-analysis/pbench/issues/606",
        "write: IOPS=894, BW=55.9MiB/s (58.6MB/s)(1678MiB/30001msec), bs=64k",
        None,
    ),
    ("wg/wrk/issues/119", "1775704 requests in 10.00s, 397.96MB read, Requests/sec: 177583.42, Transfer/sec: 39.80MB", None),
    (
        "redis/redis/pull/5873",
        "1000000 requests completed in 4.09 seconds, 100 parallel clients, 244498.77 requests per second",
        None,
    ),
    ("wg/wrk/issues/223", "756500 requests in 10.20s, 166.62MB read, Requests/sec:  74168.62, Transfer/sec:     16.34MB", None),
    ("oxidecomputer/crucible/pull/191", "395.08 IOPS, limit 400 IOPS", None),
)
"""Repository and thread on GitHub, the figure, the rule."""


FORUM = (
    ("My SATA SSD does 1200 MB/s sequential read", "L04"),
    ("Samsung 870 EVO SATA SSD sequential read 560 MB/s", None),
    ("RAID0 of 2 SATA SSDs reads 1.8 GB/s", "L04"),
    ("RAID0 of 2 SATA SSDs reads 1.05 GB/s", None),
    ("NVMe gen3 x4 drive reads 5.2 GB/s", "L04"),
    ("Gen4 x4 NVMe reads 7.0 GB/s", None),
    ("Thunderbolt 3 enclosure reads 6 GB/s", "L04"),
    ("TB4 dock writes 2.9 GB/s", None),
    ("SD card UHS-I reads 280 MB/s", "L04"),
    ("SD card UHS-I reads 170 MB/s", None),
    ("hard drive does 20000 random IOPS", "L08"),
    ("hard disk 130 random read IOPS", None),
    ("two hard drives do 300 random IOPS", None),
    ("120,000 random write IOPS of 4k = 800 MB/s", "E05"),
    ("120,000 random write IOPS of 4k = 491 MB/s", None),
    ("1,000,000 requests, 10 s, 50k requests per second", "E05"),
    ("1,000,000 requests, 20 s, 50k requests per second", None),
    ("fsync takes 5 ms, 10000 commits per second with 1 client", "L07"),
    ("fsync takes 5 ms, 200 commits per second with 1 client", None),
    ("1.1 Pbytes/sec over 10GbE", "L04"),
)
"""As people write in forums and data sheets."""


def failed(text):
    """The rules that hold something against a claim."""
    findings = arithmetic.check(Case(statement=reading.read(text), thresholds=THRESHOLDS, matters=0.05))
    return {one.rule for one in findings if one.state is State.FAIL and one.severity is not Severity.NOTES}


@each("text rule", *GIVEN, *FORUM, *((text, rule) for _, text, rule in FOUND))
def test_a_posted_figure_is_named_or_left_alone(text, rule):
    assert (rule in failed(text)) if rule else not failed(text), failed(text)


def test_what_a_claim_says_is_read_to_the_last_word():
    unread = {text: [one.text for one in reading.read(text).quoted] for text, _ in GIVEN}
    assert {text: pieces for text, pieces in unread.items() if pieces} == {}
