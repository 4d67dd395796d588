#!/usr/bin/env bash
# Install what the tests use beside the build, where root and apt-get are there; else say what will be skipped.
set -u
declare -A package=([mkfs.ext4]=e2fsprogs [mkfs.xfs]=xfsprogs [mkfs.btrfs]=btrfs-progs [fio]=fio [chromium]=chromium [losetup]=util-linux [bpftrace]=bpftrace
  [nft]=nftables [ethtool]=ethtool
  [bonnie++]=bonnie++ [hdparm]=hdparm [eatmydata]=eatmydata [/usr/share/doc/fio/examples]=fio-examples
  [slapd]=slapd [ldapsearch]=ldap-utils [ns-slapd]=389-ds-base [certutil]=libnss3-tools [curl]=curl [tc]=iproute2 [busybox]=busybox
  [sshfs]=sshfs [qemu-storage-daemon]=qemu-system-common [nbdfuse]=libnbd-bin [nbdkit]=nbdkit [tgtd]=tgt [/usr/share/doc/qemu-block-extra]=qemu-block-extra [ganesha.nfsd]=nfs-ganesha-vfs [rpcbind]=rpcbind [smbd]=samba
  [smbclient]=smbclient [zsh]=zsh [fish]=fish [rclone]=rclone [apache2]=apache2-bin [fusermount3]=fuse3
  [mfsmaster]=moosefs-master [mfschunkserver]=moosefs-chunkserver [mfsmount]=moosefs-client [mfscli]=moosefs-cli
  [glusterd]=glusterfs-server [glusterfs]=glusterfs-client [zfs-fuse]=zfs-fuse)  # no openssh-server: at the next start it would let others in, so it is only unpacked (below)
wanted=()
for tool in "${!package[@]}"; do
  [ -e "$tool" ] || PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" >/dev/null || wanted+=("${package[$tool]}")
done
# The sshd of the far machines of tests/far_machines.py: never installed, never started by the system.
sshd=$(cd "$(dirname "$0")/.." && pwd)/.build/sshd
if [ ! -x "$sshd/usr/sbin/sshd" ]; then
  fetched=$(mktemp -d)
  if command -v apt-get >/dev/null && command -v dpkg >/dev/null && (cd "$fetched" && apt-get download -qq openssh-server >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get download -qq openssh-server >/dev/null 2>&1; }); then
    mkdir -p "$sshd" && dpkg -x "$fetched"/openssh-server_*.deb "$sshd"
  else
    echo "no openssh-server to unpack (apt-get download): tests on far machines are skipped and counted"
  fi
  rm -rf "$fetched"
fi
# The agent of tests/snmp_agents.py, in the same way.
snmpd=$(cd "$(dirname "$0")/.." && pwd)/.build/snmpd
if [ ! -x "$snmpd/usr/sbin/snmpd" ]; then
  fetched=$(mktemp -d) packages="snmpd libsnmp40 libsnmp-base libpci3"
  # shellcheck disable=SC2086 - four words
  if command -v apt-get >/dev/null && command -v dpkg >/dev/null && (cd "$fetched" && apt-get download -qq $packages >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get download -qq $packages >/dev/null 2>&1; }); then
    mkdir -p "$snmpd" && for package in "$fetched"/*.deb; do dpkg -x "$package" "$snmpd"; done
  else
    echo "no snmpd to unpack (apt-get download): tests of SNMP against a real agent are skipped and counted"
  fi
  rm -rf "$fetched"
fi
# The header of the markers that tests/machine/test_dsio_trace.py compiles, in the same way.
sdt=$(cd "$(dirname "$0")/.." && pwd)/.build/sdt
if [ ! -d "$sdt/usr/include" ]; then
  fetched=$(mktemp -d)
  if command -v apt-get >/dev/null && command -v dpkg >/dev/null && (cd "$fetched" && apt-get download -qq systemtap-sdt-dev >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get download -qq systemtap-sdt-dev >/dev/null 2>&1; }); then
    mkdir -p "$sdt" && dpkg -x "$fetched"/systemtap-sdt-dev_*.deb "$sdt"
  else
    echo "no systemtap-sdt-dev to unpack (apt-get download): the test of a server's own markers is skipped and counted"
  fi
  rm -rf "$fetched"
fi
[ "${#wanted[@]}" -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "installing for the tests: ${wanted[*]}"
  # RUNLEVEL=1: packages of servers start none.
  apt-get update -qq >/dev/null && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null && exit 0
fi
echo "not here, the tests that need them are skipped and counted: ${wanted[*]}"
