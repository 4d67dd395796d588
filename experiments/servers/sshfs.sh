#!/bin/sh
# A file server behind a network on one machine: sshd in a network namespace of its own, a veth pair of known speed, and for each
# client a mount by sshfs that keeps nothing, so that every read and every write crosses the link. All that it makes is below DIR or has its
# name from DIR, so that two of them do not meet. Needs root, sshd, sshfs, ip and tc. Only Linux.
#
#   sshfs.sh start DIR RATE      the server, and a link of this RATE as tc(8) spells it; prints the directory of the server's data last
#   sshfs.sh mount DIR CLIENT    one client's mount; prints it last
#   sshfs.sh drop_caches DIR           gives back what the server's memory holds of its data
#   sshfs.sh facts DIR           what it is made of, a `key = value` a line
#   sshfs.sh stop DIR            undoes all of it, of what is half set up too; says nothing where nothing is
set -eu
PATH=$PATH:/usr/sbin:/sbin
dir=$2
number=$(printf %s "$dir" | cksum | cut -d ' ' -f 1)
space=$(printf 'assay-%08x' "$number")      # the server's network namespace
near=$(printf 'as%08xc' "$number")          # the clients' end of the link, in the lab's own namespace
far=$(printf 'as%08xs' "$number")           # the server's end

fail() { echo "sshfs.sh: $1" >&2; exit 1; }
case $dir in /*) ;; *) fail "found DIR $dir; expected an absolute path" ;; esac

# Waits until the rest of the line succeeds, ten seconds at most.
until_true() {
  for _ in $(seq 200); do
    if "$@"; then return; fi
    sleep 0.05
  done
  return 1
}

inside() { nsenter --net="/run/netns/$space" "$@"; }  # not `ip netns exec`, which would hide mounts and /sys/fs/cgroup

# The kernel hands packets of up to 64 KiB to a virtual link, which counts each once, with one header: a card would have cut them up.
# Without IPv6 nobody looks for routers; what crosses the link is the load's.
end_of_link() {  # RUNNER INTERFACE ADDRESS RATE
  $1 ip link set dev "$2" gso_max_segs 1
  $1 sh -c 'f=/proc/sys/net/ipv6/conf/$0/disable_ipv6; test ! -e "$f" || echo 1 > "$f"' "$2"
  $1 ip address add "$3/30" dev "$2"
  $1 ip link set dev "$2" up
  $1 tc qdisc add dev "$2" root tbf rate "$4" burst 32kb latency 50ms ||
    fail "found no link of $4; expected a RATE of tc, and a kernel with its token bucket filter (sch_tbf)"
}

# A network of four addresses that nothing here uses, of those kept for benchmarks of networks (RFC 2544): 198.18.0.0/15.
free_network() {
  for step in $(seq 0 99); do
    place=$(( (number + step) % 32768 * 4 ))
    network="198.$(( 18 + place / 65536 )).$(( place / 256 % 256 )).$(( place % 256 ))"
    if [ -z "$(ip -4 route show root "$network/30")" ]; then echo "$network"; return; fi
  done
  fail "found no free network in 198.18.0.0/15; expected one: remove routes that are left over"
}

start() {  # RATE
  for tool in sshd ssh-keygen sshfs ip tc nsenter; do
    command -v "$tool" > /dev/null || fail "found no $tool; expected openssh-server, sshfs, iproute2 and util-linux"
  done
  test -c /dev/fuse || fail "found no /dev/fuse; expected a kernel with FUSE"
  mkdir -m 700 "$dir"
  echo "$dir" > "$dir/made"                            # without it nothing is removed
  cp "$0" "$dir/new" && mv "$dir/new" "$dir/sshfs.sh"  # what undoes it stays with it, wherever this file may be then
  mkdir "$dir/data"
  network=$(free_network)
  client=${network%.*}.$(( ${network##*.} + 1 )) server=${network%.*}.$(( ${network##*.} + 2 ))
  ip netns add "$space" || fail "cannot make a network namespace: this needs root"
  ip link add "$near" type veth peer name "$far" netns "$space"
  end_of_link "" "$near" "$client" "$1"
  end_of_link inside "$far" "$server" "$1"
  echo "$server" > "$dir/address"
  keys "$server"
  mkdir -p -m 755 /run/sshd  # sshd wants it, and its package's own start makes it
  inside "$(command -v sshd)" -f "$dir/sshd_config" -E "$dir/log" > /dev/null 2>&1 || said "sshd does not start"
  until_true test -s "$dir/pid" || said "sshd does not listen"
  echo "$dir/data"
}

# Keys for this server alone, and what both ends are told.
keys() {  # SERVER
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/host"
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/user"
  echo "$1 $(cat "$dir/host.pub")" > "$dir/known"
  cat > "$dir/sshd_config" << END
ListenAddress $1
HostKey "$dir/host"
PidFile "$dir/pid"
AuthorizedKeysFile "$dir/user.pub"
AuthenticationMethods publickey
PermitRootLogin prohibit-password
AllowUsers root
StrictModes no
UsePAM no
UseDNS no
DisableForwarding yes
Subsystem sftp internal-sftp
ForceCommand internal-sftp
END
  cat > "$dir/ssh_config" << END
User root
IdentityFile "$dir/user"
IdentitiesOnly yes
UserKnownHostsFile "$dir/known"
StrictHostKeyChecking yes
BatchMode yes
Ciphers aes128-gcm@openssh.com
Compression no
END
}

said() { fail "$1: $(tail -n 3 "$dir/log")"; }

mount_client() {  # CLIENT
  point=$dir/client-$1
  mkdir "$point"
  sshfs "$(cat "$dir/address"):$dir/data" "$point" -F "$dir/ssh_config" -o direct_io,sshfs_sync,no_readahead,dir_cache=no \
    > /dev/null 2>> "$dir/log" || said "sshfs does not mount"
  # A mount that failed is a directory of the local disk: what a client makes must be the server's.
  is=$(findmnt -n -o FSTYPE --mountpoint "$point") || is="no mount"
  [ "$is" = fuse.sshfs ] || fail "found $is at $point; expected fuse.sshfs"
  echo "$point" > "$point/proof-$1"
  cmp -s "$point/proof-$1" "$dir/data/proof-$1" || fail "found a mount at $point that does not show $dir/data"
  rm "$point/proof-$1"
  echo "$point"
}

drop_caches() {
  find "$dir/data" -type f -exec sync -- {} + -exec sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
}

facts() {
  echo "sshfs = $(sshfs --version 2> /dev/null | sed -n 's/^SSHFS version //p')"
  echo "ssh = $(ssh -V 2>&1)"
  echo "link = $(tc qdisc show dev "$near" | head -n 1 | sed 's/.*: root refcnt [0-9]* //')"
  echo "mount = direct_io, sshfs_sync, no_readahead, dir_cache=no"
}

# Whether nothing runs in the namespace and nothing is mounted below DIR; ends and unmounts what is.
is_quiet() {
  running=$(ip netns pids "$space" 2> /dev/null) || running=""
  # shellcheck disable=SC2086  # one word a process
  [ -z "$running" ] || kill -KILL $running 2> /dev/null || true
  mounted=""
  for point in "$dir"/client-*; do ! umount -l "$point" 2> /dev/null || mounted=$point; done
  [ -z "$running$mounted" ]
}

stop() {
  grep -qsxF "$dir" "$dir/made" || return 0
  until_true is_quiet || fail "processes in $space or mounts below $dir do not end"
  ip link delete "$near" 2> /dev/null || true
  ip netns delete "$space" 2> /dev/null || true
  rm -rf --one-file-system "$dir"
}

case $1 in
  start) start "$3" ;;
  mount) mount_client "$3" ;;
  drop_caches) drop_caches ;;
  facts) facts ;;
  stop) stop ;;
  *) fail "found $1; expected start, mount, drop_caches, facts or stop" ;;
esac
