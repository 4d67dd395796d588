#!/bin/sh
# XRootD, for a target of kind server_command. Needs root and xrootd-server.
#
#   xrootd.sh INSTANCE DATA ADDRESS    serves DATA as root://ADDRESS//data on port 1094, in the foreground
#
# It runs in a mount namespace of its own, so nothing that it mounts is seen outside. Files are written as the user nobody.
# xrdcp flushes nothing at the server, and has no option for it.
set -eu
PATH=$PATH:/usr/sbin:/sbin
data=$2 address=$3
fail() { echo "xrootd.sh: $1" >&2; exit 1; }
command -v xrootd > /dev/null || fail "xrootd: not found. Install xrootd-server."

# The server refuses root, and no other user may look into the directory of the data: it sees them at another place.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/data /run/xrootd
mount --bind "$data" /run/data
chown nobody /run/data /run/xrootd

# Clients are sent on to the address of the host's own name, so the server has a name of its own that leads to ADDRESS.
name=files.test
{ echo "$address $name"; cat /etc/hosts; } > /run/hosts
mount --bind /run/hosts /etc/hosts

cat > /run/xrootd.conf << END
xrd.port 1094
all.export /data
oss.localroot /run
all.adminpath /run/xrootd
all.pidpath /run/xrootd
END
cd /run/xrootd
exec unshare --uts sh -c 'hostname "$0" && exec xrootd -I v4 -R nobody -c /run/xrootd.conf' "$name"
