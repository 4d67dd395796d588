#!/bin/sh
# The GridFTP server of the Globus toolkit, for a target of kind server_command. Needs root and globus-gridftp-server-progs.
#
#   gridftp.sh INSTANCE DATA ADDRESS    serves DATA as ftp://ADDRESS:2811/run/data, in the foreground
#
# It runs in a mount namespace of its own, so nothing that it mounts is seen outside. Clients are anonymous: without keys and
# without encryption. Files are written as the user nobody. The server flushes nothing.
set -eu
PATH=$PATH:/usr/sbin:/sbin
data=$2 address=$3
fail() { echo "gridftp.sh: $1" >&2; exit 1; }
command -v globus-gridftp-server > /dev/null || fail "globus-gridftp-server: not found. Install globus-gridftp-server-progs."

# A session runs as nobody, who may not look into the directory of the data: it sees them at another place.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/data
mount --bind "$data" /run/data
chown nobody /run/data

# The server wants to know the name of its own address, and no name server is reached from here.
{ echo "$address files.test"; cat /etc/hosts; } > /run/hosts
mount --bind /run/hosts /etc/hosts

exec globus-gridftp-server -no-detach -allow-anonymous -anonymous-user nobody \
  -control-interface "$address" -data-interface "$address" -port 2811
