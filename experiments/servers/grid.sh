#!/bin/sh
# XRootD or GridFTP behind a network, on one machine, for files that their own client programs carry (workload transfer).
# Needs Linux, root, ip, tc, unshare, and the packages that it names where one is missing.
#
# The server runs in a network namespace of its own, behind a veth pair of known speed, as the user nobody, and sees its data alone.
# All files are below DIR, and all names derive from DIR, so two servers never clash.
#
#   grid.sh start DIR RATE xrootd|gridftp  starts the server and a link of this RATE (tc(8)); its last line is the data directory
#   grid.sh put DIR SOURCE NAME            carries one file to the server
#   grid.sh get DIR NAME DESTINATION       fetches one file
#   grid.sh drop_caches DIR                drops the server's data from its page cache
#   grid.sh facts DIR                      prints facts, one `key = value` per line
#   grid.sh stop DIR                       removes everything, also after a half-finished start; silent if nothing exists
set -eu
PATH=$PATH:/usr/sbin:/sbin
dir=$2
number=$(printf %s "$dir" | cksum | cut -d ' ' -f 1)
space=$(printf 'assay-%08x' "$number")      # the server's network namespace
near=$(printf 'as%08xc' "$number")          # the clients' end of the link, in the lab's own namespace
far=$(printf 'as%08xs' "$number")           # the server's end

fail() { echo "grid.sh: $1" >&2; exit 1; }
case $dir in /*) ;; *) fail "found DIR $dir; expected an absolute path" ;; esac

need() {  # PROGRAM PACKAGE
  command -v "$1" > /dev/null || fail "$1: not found. Install $2."
}

programs() {  # SERVER
  need ip iproute2; need tc iproute2; need nsenter util-linux; need unshare util-linux
  case $1 in
    xrootd) need xrootd xrootd-server; need xrdcp xrootd-client ;;
    gridftp) need globus-gridftp-server globus-gridftp-server-progs; need globus-url-copy globus-gass-copy-progs ;;
    *) fail "found server $1; expected xrootd or gridftp" ;;
  esac
}

inside() { nsenter --net="/run/netns/$space" "$@"; }

end_of_link() {  # RUNNER INTERFACE ADDRESS RATE
  $1 ip address add "$3/30" dev "$2"
  $1 ip link set dev "$2" up
  $1 tc qdisc add dev "$2" root tbf rate "$4" burst 32kb latency 50ms || fail "cannot limit the link to $4"
}

free_network() {  # of four addresses, from the range for network benchmarks (RFC 2544)
  for step in $(seq 0 99); do
    place=$(( (number + step) % 32768 * 4 ))
    network="198.$(( 18 + place / 65536 )).$(( place / 256 % 256 )).$(( place % 256 ))"
    if [ -z "$(ip -4 route show root "$network/30")" ]; then echo "$network"; return; fi
  done
  fail "no free network in 198.18.0.0/15. Remove leftover routes."
}

start() {  # RATE SERVER
  programs "$2"
  mkdir -m 700 "$dir"
  echo "$dir" > "$dir/made"                           # marker: without it nothing is removed
  cp "$0" "$dir/new" && mv "$dir/new" "$dir/grid.sh"  # a copy for teardown, independent of this file's path
  echo "$2" > "$dir/server"
  mkdir -m 777 "$dir/data"
  network=$(free_network)
  client=${network%.*}.$(( ${network##*.} + 1 )) server=${network%.*}.$(( ${network##*.} + 2 ))
  ip netns add "$space" || fail "cannot create a network namespace. Run as root."
  inside ip link set lo up
  ip link add "$near" type veth peer name "$far" netns "$space"
  end_of_link "" "$near" "$client" "$1"
  end_of_link inside "$far" "$server" "$1"
  echo "$server" > "$dir/address"
  printf 'xrd.port 1094\nall.export /data\noss.localroot /run\nall.adminpath /run/own\nall.pidpath /run/own\n' > "$dir/xrootd.cfg"
  # The first process of a process namespace: all that the server starts ends with it. Its mounts are seen by it alone.
  # shellcheck disable=SC2016  # the words are those of the inner shell
  nsenter --net="/run/netns/$space" unshare --mount --pid --fork --kill-child -- sh -c '
    mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/data && mkdir -m 777 /run/own || exit 1
    mount --bind "$1/data" /run/data && cp "$1/xrootd.cfg" /run/own/ && cd /run/own || exit 1
    case $2 in
      xrootd) chown nobody /run/own; xrootd -I v4 -R nobody -c /run/own/xrootd.cfg -l /run/own/log -n assay ;;
      gridftp) globus-gridftp-server -aa -anonymous-user nobody -control-interface "$3" -data-interface "$3" -p 2811 \
        -l /run/own/log -no-detach ;;
    esac' sh "$dir" "$2" "$server" > "$dir/log" 2>&1 &
  echo $! > "$dir/pid"
  case $2 in xrootd) port=1094 ;; *) port=2811 ;; esac
  for _ in $(seq 200); do
    if inside cat /proc/net/tcp /proc/net/tcp6 | grep -q ":$(printf %04X "$port") .* 0A "; then echo "$dir/data"; return; fi
    kill -0 "$(cat "$dir/pid")" 2> /dev/null || fail "$2 has ended: $(tail -n 3 "$dir/log")"
    sleep 0.05
  done
  fail "$2 does not listen: $(tail -n 3 "$dir/log")"
}

put() {  # SOURCE NAME
  address=$(cat "$dir/address")
  case $(cat "$dir/server") in
    xrootd) exec xrdcp -f -N -s "$1" "root://$address//data/$2" ;;
    gridftp) exec globus-url-copy -fast "file://$1" "ftp://$address:2811/run/data/$2" ;;
  esac
}

get() {  # NAME DESTINATION
  address=$(cat "$dir/address")
  case $(cat "$dir/server") in
    xrootd) exec xrdcp -f -N -s "root://$address//data/$1" "$2" ;;
    gridftp) exec globus-url-copy -fast "ftp://$address:2811/run/data/$1" "file://$2" ;;
  esac
}

drop_caches() {
  find "$dir/data" -type f -exec sync -- {} + -exec sh -c 'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
}

facts() {
  case $(cat "$dir/server") in
    xrootd) echo "software = XRootD $(xrootd -v 2>&1 | head -n 1)" ;;
    gridftp) echo "software = GridFTP $(globus-gridftp-server --version 2>&1 | head -n 1)" ;;
  esac
  echo "link = $(tc qdisc show dev "$near" | head -n 1 | sed 's/.*: root refcnt [0-9]* //')"
}

# Ends the server's processes; succeeds when none is left.
is_quiet() {
  running=$(ip netns pids "$space" 2> /dev/null) || running=""
  # shellcheck disable=SC2086  # one word per process
  [ -z "$running" ] || kill -KILL $running 2> /dev/null || true
  [ -z "$running" ]
}

stop() {
  grep -qsxF "$dir" "$dir/made" || return 0
  for _ in $(seq 200); do if is_quiet; then break; fi; sleep 0.05; done
  is_quiet || fail "processes in $space do not end"
  ip link delete "$near" 2> /dev/null || true
  ip netns delete "$space" 2> /dev/null || true
  rm -rf --one-file-system "$dir"
}

case $1 in
  start) start "$3" "$4" ;;
  put) put "$3" "$4" ;;
  get) get "$3" "$4" ;;
  drop_caches) drop_caches ;;
  facts) facts ;;
  stop) stop ;;
  *) fail "found $1; expected start, put, get, drop_caches, facts or stop" ;;
esac
