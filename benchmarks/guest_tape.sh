#!/bin/bash
# Make /dev/nst0 in the emulated guest: tgtd serves the image of a cartridge over iSCSI, the kernel's st makes a drive of it.
# Then run a command there:  python benchmarks/guest.py bash benchmarks/guest_tape.sh .venv/bin/assay doctor
set -e
name=iqn.2001-04.com.example:tape image=/mnt/cartridge
modprobe -a iscsi_tcp st
mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
echo "InitiatorName=iqn.2001-04.com.example:client" > /etc/iscsi/initiatorname.iscsi
tgtd -f > /run/tgtd.log 2>&1 &
until tgtadm --lld iscsi --mode system --op show > /dev/null 2>&1; do sleep 0.1; done
tgtimg --op new --device-type tape --barcode ASSAY1L5 --size 1024 --type data --file $image > /dev/null
admin() { tgtadm --lld iscsi --mode "$@"; }
admin target --op new --tid 1 -T $name
admin logicalunit --op new --tid 1 --lun 1 --device-type tape --bstype ssc -b $image
admin logicalunit --op update --tid 1 --lun 1 --params online=1
admin target --op bind --tid 1 -I ALL
iscsid -f > /run/iscsid.log 2>&1 &
until iscsiadm -m discovery -t st -p 127.0.0.1 > /dev/null 2>&1; do sleep 0.1; done
iscsiadm -m node -l > /dev/null
until [ -e /dev/nst0 ]; do sleep 0.1; done
"$@"
