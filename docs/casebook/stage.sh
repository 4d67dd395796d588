# Read by every case before its own lines: what cases share. Each works in a directory of its own, $CASE, and may be root.
# A case runs in a mount namespace of its own where it is root: its mounts end with it. Programs and groups end here.
set -e
cd "$CASE"
STARTED=
at_end() {
	cd "$CASE"
	for one in $STARTED; do kill "$one" 2>/dev/null && wait "$one" 2>/dev/null; done
	[ ! -e undo ] || while read -r line; do sh -c "$line" || true; done < undo
}
trap at_end EXIT
trap 'exit 143' TERM INT HUP

# start COMMAND...: a program that runs beside the case, without output
start() { "$@" > /dev/null 2>&1 & STARTED="$STARTED $!"; sleep 1; }

# disk NAME SIZE FILESYSTEM [OPTIONS]: an image as a disk with direct I/O, mounted on NAME; the case goes on in there
disk() {
	truncate -s "$2" "$1.img"
	case $3 in ext4) mkfs.ext4 -q -F "$1.img" ;; *) "mkfs.$3" -q -f "$1.img" > /dev/null ;; esac
	DEVICE=$(losetup -f --show --direct-io=on "$1.img")
	mkdir "$1"
	mount ${4:+-o "$4"} "$DEVICE" "$1"
	losetup -d "$DEVICE"
	cd "$1"
}

# memory_disk SIZE: a zram device of its own, mounted; the case goes on in there
memory_disk() {
	NUMBER=$(cat /sys/class/zram-control/hot_add)
	echo "umount $CASE/zram; echo $NUMBER > /sys/class/zram-control/hot_remove" >> "$CASE/undo"
	echo "$1" > "/sys/block/zram$NUMBER/disksize"
	mkfs.ext4 -q "/dev/zram$NUMBER"
	mkdir zram
	mount "/dev/zram$NUMBER" zram
	cd zram
}

# raw NAME: the image NAME as a device with direct I/O; its path is in DEVICE
raw() { DEVICE=$(losetup -f --show --direct-io=on "$1"); echo "losetup -d $DEVICE" >> "$CASE/undo"; }

# data FILE MIB: random bytes on the disk; cold FILE: none of them in the page cache; warm FILE: all of them
data() { dd if=/dev/urandom of="$1" bs=1M count="$2" conv=fsync status=none; cold "$1"; }
cold() { dd if="$1" iflag=nocache count=0 status=none; }
warm() { cat "$1" > /dev/null; }

# group CONTROLLER FILE VALUE...: a control group with these limits (version 1 or 2), for `in_group COMMAND...`
group() {
	if [ -d "/sys/fs/cgroup/$1" ]; then GROUP=/sys/fs/cgroup/$1/assay-casebook-$$; else GROUP=/sys/fs/cgroup/assay-casebook-$$; fi
	mkdir -p "$GROUP"
	echo "rmdir $GROUP" >> "$CASE/undo"
	shift
	while [ $# -gt 1 ]; do echo "$2" > "$GROUP/$1"; shift 2; done
}
in_group() { sh -c 'echo $$ > '"$GROUP"'/cgroup.procs; exec "$@"' sh "$@"; }
cpu_quota() { # percent of one CPU
	if [ -d /sys/fs/cgroup/cpu ]; then group cpu cpu.cfs_period_us 100000 cpu.cfs_quota_us "$1"000
	else group cpu cpu.max "$1"000\ 100000; fi
}
write_limit() { # bytes a second of DEVICE
	NUMBER=$(cat "/sys/block/${DEVICE#/dev/}/dev")
	if [ -d /sys/fs/cgroup/blkio ]; then group blkio blkio.throttle.write_bps_device "$NUMBER $1"
	else group io io.max "$NUMBER wbps=$1"; fi
}

# far [TC...]: two namespaces, `near` and `far` (10.77.0.2), joined by a line whose near end has this queue
far() {
	mkdir -p /run/netns
	mount -t tmpfs none /run/netns
	ip netns add near
	ip netns add far
	ip link add va netns near type veth peer name vb netns far
	end near va 10.77.0.1
	end far vb 10.77.0.2
	[ $# -eq 0 ] || ip netns exec near tc qdisc add dev va root "$@"
}
end() { # NAMESPACE INTERFACE ADDRESS
	ip -n "$1" addr add "$3/24" dev "$2"
	ip -n "$1" link set lo up
	ip -n "$1" link set "$2" up
}

# routed [TC...]: `near` and `far` (10.77.2.1) with a router between them, whose way to `far` has this queue
routed() {
	mkdir -p /run/netns
	mount -t tmpfs none /run/netns
	for one in near router far; do ip netns add "$one"; done
	ip link add va netns near type veth peer name ra netns router
	ip link add vb netns far type veth peer name rb netns router
	end near va 10.77.1.1
	end router ra 10.77.1.2
	end router rb 10.77.2.2
	end far vb 10.77.2.1
	ip -n near route add default via 10.77.1.2
	ip -n far route add default via 10.77.2.2
	ip netns exec router sysctl -qw net.ipv4.ip_forward=1
	[ $# -eq 0 ] || ip netns exec router tc qdisc add dev rb root "$@"
}
near() { ip netns exec near "$@"; }
on_far() { start ip netns exec far "$@"; }

# web STATUS: a server on port 8931 that answers every request with this status
web() { start python3 "$CASEBOOK/answers.py" 8931 "$1"; }

# directory [LINE]: an OpenLDAP server with 5,000 people on port 3899; LINE is of its access control
directory() {
	mkdir db
	assay ldif --entries 5000 --out people.ldif > ldif.txt 2>&1
	{
		for one in core cosine inetorgperson nis; do echo "include /etc/ldap/schema/$one.schema"; done
		printf 'modulepath /usr/lib/ldap\nmoduleload back_mdb\nsizelimit unlimited\ndatabase mdb\nsuffix "dc=example,dc=com"\n'
		printf 'rootdn "cn=admin,dc=example,dc=com"\nrootpw secret\ndirectory %s/db\nmaxsize 268435456\n' "$CASE"
		printf 'index objectClass eq\nindex uid eq,sub\n%s\naccess to * by * read\n' "${1:-}"
	} > slapd.conf
	slapadd -q -f slapd.conf -l people.ldif
	start slapd -f slapd.conf -h ldap://127.0.0.1:3899 -d 0
}

# Reports of tools with these figures, as their threads print them
wrk_report() { # REQUESTS SECONDS RATE FAILED
	printf 'Running %ss test @ http://10.0.0.1/\n  8 threads and 64 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n' "${2%.*}"
	printf '    Latency    53.39ms   30.83ms 371.49ms   76.14%%\n    Req/Sec   138.09     57.56   490.00     68.50%%\n'
	printf '  %s requests in %ss, 4.52MB read\n%sRequests/sec:   %s\n' "$1" "$2" "$4" "$3"
}
db_bench_report() { # MICROS RATE SECONDS MB FOUND
	echo "readrandom   :       $1 micros/op $2 ops/sec $3 seconds 100000 operations;   $4 MB/s ($5 of 100000 found)"
}
iperf3_report() { # MBYTES MBITS LOST
	printf 'Connecting to host 10.0.0.1, port 5201\n[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n'
	printf '[  5]   0.00-10.00  sec   358 MBytes   300 Mbits/sec  0.000 ms  0/268222 (0%%)  sender\n'
	printf '[  5]   0.00-10.07  sec   %s MBytes  %s Mbits/sec  0.142 ms  %s  receiver\n\niperf Done.\n' "$1" "$2" "$3"
}
memtier_report() { # HITS MISSES
	printf 'ALL STATS\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency       KB/sec\n'
	for one in Gets Totals; do printf '%s  120345.10  %s  %s  1.65000  1.60000  3.20000  4687.10\n' $one "$1" "$2"; done
}
ab_report() { # REQUESTS SECONDS RATE FAILED OTHERS
	printf 'This is ApacheBench, Version 2.3 <$Revision: 1923142 $>\n\nServer Software:        nginx\n\nConcurrency Level:      10\n'
	printf 'Time taken for tests:   %s seconds\nComplete requests:      %s\nFailed requests:        %s\n' "$2" "$1" "$4"
	[ "$4" = 0 ] || printf '   (Connect: 0, Receive: 0, Length: %s, Exceptions: 0)\n' "$4"
	printf '%sTotal transferred:      16350000 bytes\nRequests per second:    %s [#/sec] (mean)\n' "$5" "$3"
}
redis_report() {
	printf '====== GET ======\n  100000 requests completed in 0.96 seconds\n  50 parallel clients\n  3 bytes payload\n  keep alive: 1\n\n'
	printf '99.99%% <= 1 milliseconds\n100.00%% <= 1 milliseconds\n103842.16 requests per second\n\n'
}
