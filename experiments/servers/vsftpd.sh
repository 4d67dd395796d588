#!/bin/sh
# vsftpd (FTP), for a target of kind server_command. Needs root and vsftpd.
#
#   vsftpd.sh INSTANCE DATA ADDRESS    serves DATA as ftp://ADDRESS/data, in the foreground
#
# It runs in a mount namespace of its own, so nothing that it mounts is seen outside. Clients are anonymous, and files are
# written as the user nobody. The server flushes nothing.
set -eu
PATH=$PATH:/usr/sbin:/sbin
data=$2 address=$3
fail() { echo "vsftpd.sh: $1" >&2; exit 1; }
command -v vsftpd > /dev/null || fail "vsftpd: not found. Install vsftpd."

# A session runs as nobody, who may not look into the directory of the data: it sees them at another place.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/ftp/data /run/empty
mount --bind "$data" /run/ftp/data
chown nobody /run/ftp/data

# A session begins in the home of its user, who may not write there itself.
sed 's|^\(nobody:[^:]*:[^:]*:[^:]*:[^:]*\):[^:]*:|\1:/run/ftp:|' /etc/passwd > /run/passwd
mount --bind /run/passwd /etc/passwd

cat > /run/vsftpd.conf << END
background=NO
listen=YES
listen_address=$address
anonymous_enable=YES
no_anon_password=YES
ftp_username=nobody
anon_upload_enable=YES
anon_other_write_enable=YES
anon_world_readable_only=NO
write_enable=YES
secure_chroot_dir=/run/empty
connect_from_port_20=NO
xferlog_enable=NO
seccomp_sandbox=NO
END
exec vsftpd /run/vsftpd.conf
