#!/bin/sh
# A file server behind a network, on one machine. Needs Linux, root, sshd, sshfs, ip and tc.
#
# sshd runs in a network namespace of its own, behind a veth pair of known speed. Each client has an sshfs mount without a cache,
# so every read and every write crosses the link. All files are below DIR, and all names derive from DIR, so two servers never clash.
#
#   sshfs.sh start DIR RATE      starts the server and a link of this RATE (tc(8)); its last line is the server's data directory
#   sshfs.sh mount DIR CLIENT    mounts for one client; its last line is the mount
#   sshfs.sh drop_caches DIR     drops the server's data from its page cache
#   sshfs.sh facts DIR           prints facts, one `key = value` per line
#   sshfs.sh stop DIR            removes everything, also after a half-finished start; silent if nothing exists
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

# Segmentation stays on: without it the CPUs would be the limit of a link of 1 Gbit/s (36 instead of 65 MB/s on a busy machine).
# The kernel then passes packets of up to 64 KiB to the link, which counts the headers of each once.
# Without IPv6 there is no router discovery, so only the load uses the link.
end_of_link() {  # RUNNER INTERFACE ADDRESS RATE
  $1 sh -c 'f=/proc/sys/net/ipv6/conf/$0/disable_ipv6; test ! -e "$f" || echo 1 > "$f"' "$2"
  $1 ip address add "$3/30" dev "$2"
  $1 ip link set dev "$2" up
  $1 tc qdisc add dev "$2" root tbf rate "$4" burst 32kb latency 50ms ||
    fail "cannot limit the link to $4. Use a RATE of tc, and a kernel with the token bucket filter (sch_tbf)."
}

# An unused network of four addresses from the range for network benchmarks (RFC 2544): 198.18.0.0/15.
free_network() {
  for step in $(seq 0 99); do
    place=$(( (number + step) % 32768 * 4 ))
    network="198.$(( 18 + place / 65536 )).$(( place / 256 % 256 )).$(( place % 256 ))"
    if [ -z "$(ip -4 route show root "$network/30")" ]; then echo "$network"; return; fi
  done
  fail "no free network in 198.18.0.0/15. Remove leftover routes."
}

start() {  # RATE
  for tool in sshd ssh-keygen sshfs ip tc nsenter; do
    command -v "$tool" > /dev/null || fail "$tool: not found. Install openssh-server, sshfs, iproute2 and util-linux."
  done
  test -c /dev/fuse || fail "/dev/fuse: not found. Use a kernel with FUSE."
  mkdir -m 700 "$dir"
  echo "$dir" > "$dir/made"                            # marker: without it nothing is removed
  cp "$0" "$dir/new" && mv "$dir/new" "$dir/sshfs.sh"  # a copy for teardown, independent of this file's path
  mkdir "$dir/data"
  network=$(free_network)
  client=${network%.*}.$(( ${network##*.} + 1 )) server=${network%.*}.$(( ${network##*.} + 2 ))
  ip netns add "$space" || fail "cannot create a network namespace. Run as root."
  ip link add "$near" type veth peer name "$far" netns "$space"
  end_of_link "" "$near" "$client" "$1"
  end_of_link inside "$far" "$server" "$1"
  echo "$server" > "$dir/address"
  keys "$server"
  mkdir -p -m 755 /run/sshd  # required by sshd; normally created by its service
  inside "$(command -v sshd)" -f "$dir/sshd_config" -E "$dir/log" > /dev/null 2>&1 || fail_with_log "sshd does not start"
  until_true test -s "$dir/pid" || fail_with_log "sshd does not listen"
  echo "$dir/data"
}

# Keys and configurations of this server and its clients.
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

fail_with_log() { fail "$1: $(tail -n 3 "$dir/log")"; }

mount_client() {  # CLIENT
  point=$dir/client-$1
  mkdir "$point"
  sshfs "$(cat "$dir/address"):$dir/data" "$point" -F "$dir/ssh_config" -o direct_io,sshfs_sync,no_readahead,dir_cache=no \
    > /dev/null 2>> "$dir/log" || fail_with_log "sshfs does not mount"
  # A failed mount is a local directory: a file that the client creates must appear at the server.
  is=$(findmnt -n -o FSTYPE --mountpoint "$point") || is="no mount"
  [ "$is" = fuse.sshfs ] || fail "$point is $is, not fuse.sshfs"
  echo "$point" > "$point/proof-$1"
  cmp -s "$point/proof-$1" "$dir/data/proof-$1" || fail "the mount at $point does not show $dir/data"
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

# Ends the processes of the namespace and unmounts below DIR; succeeds when none is left.
is_quiet() {
  running=$(ip netns pids "$space" 2> /dev/null) || running=""
  # shellcheck disable=SC2086  # one word per process
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
