"""The texts of the ways back: what /bin/sh runs on a far machine to undo one thing of each kind.

Each is put between HEAD and FOOT, after the names that it uses, by `ways_back`. They do what `kinds` does here, with the same
proofs. Beside POSIX they take `find -mindepth -maxdepth`, `stat -c` and, where it is known, `sleep 0.1`: GNU, busybox.
`settled` waits for a killed command of that name that is still in the system call in which it was killed: a mount may yet appear
(proc_pid_stat(5): PF_EXITING is 4 in the flags, the 7th field after the name; SIGKILL pending is 256 in the 29th).
"""

HEAD = r"""(
PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"; LC_ALL=C; export PATH LC_ALL
unset IFS; set -f; tries=0
end() { trap '' PIPE; echo "$1" 2>/dev/null; exit 0; }
undone() { end undone; }
gone() { end gone; }
left() { printf '%s\n' "$1" >&2; exit 1; }
again() {
  if sleep 0.1 2>/dev/null; then tries=$((tries + 1)); else sleep 1; tries=$((tries + 10)); fi
  [ "$tries" -lt 50 ]
}
settled() {
  set +f
  while cat /proc/[0-9]*/stat 2>/dev/null | awk -v who="$1" '
    { stat = $0; sub(/^.*\) /, "", stat); split(stat, field, " ") }
    index($0, " (" who) && field[1] !~ /[ZX]/ && (int(field[7] / 4) % 2 || int(field[29] / 256) % 2) { found = 1 }
    END { exit !found }
  '; do again || break; done
  set -f
}
"""
FOOT = ") </dev/null\n"

OURS = r"""
ours() {
  [ -d "$1" ] && [ -r "$1" ] && [ -x "$1" ] || return 1
  if [ -z "$(find "$1/" -mindepth 1 -maxdepth 1)" ]; then
    case "${1##*/}" in .assay-*) return 0 ;; esac
    return 1
  fi
  [ -e "$1/.assay-marker" ] && found=$(cat "$1/.assay-marker") || return 1
  [ "$found" = "$marker" ] && return 0
  [ -z "$found" ] && [ -z "$(find "$1/" -mindepth 1 -maxdepth 1 ! -name .assay-marker)" ]
}
"""

DIRECTORY = r"""
cd /
[ ! -L "$path" ] && ours "$path" || gone
tab=$(printf '\t')
as_in_mountinfo() { sed -e ':a' -e '$!{' -e N -e 'ba' -e '}' -e 's/\\/\\134/g; s/ /\\040/g; s/\n/\\012/g' -e "s/$tab/\\\\011/g"; }
real=$(cd -P -- "$path" && pwd -P && echo .) || left "$path cannot be entered"
real=$(printf '%s\n' "${real%??}" | as_in_mountinfo)
if table=$(cat /proc/self/mountinfo 2>/dev/null); then
  while read -r _ _ _ _ at _; do
    case "$at" in "$real" | "$real"/*) left "$at is still mounted below $path" ;; esac
  done <<END
$table
END
elif [ "$(uname -s)" = Linux ]; then
  left "/proc/self/mountinfo cannot be read: perhaps something is mounted below $path"
fi
if find "$path" -maxdepth 0 -type b -type c -delete 2>/dev/null; then
  find "$path" -xdev -mindepth 1 ! -path "$kept" -delete || left "$path cannot be emptied"
else  # some builds of busybox
  find "$path" -xdev -depth -mindepth 1 ! -path "$kept" ! -type d -exec rm -f -- {} \;
  find "$path" -xdev -depth -mindepth 1 -type d -exec rmdir -- {} \; || left "$path cannot be emptied"
fi
rm -f -- "$path/.assay-marker" && rmdir -- "$path" || left "$path cannot be removed"
undone
"""

FILE = r"""
cd /
[ -e "$path" ] && ours "${path%/*}/." || gone
rm -f -- "$path" || left "$path cannot be removed"
undone
"""

OWN_FILE = r"""
cd /
identity() { stat -c '%i %.9W' -- "$1" 2>/dev/null || :; }
field() { rest=${text#*"\"$1\": "}; rest=${rest#'"'}; rest=${rest%%[,\}]*}; printf '%s' "${rest%'"'}"; }
own=no; kept=; inode=; birth=
if text=$(cat "$beside" 2>/dev/null); then
  inode=$(field inode); birth=$(field birth); kept=$(field kept)
  [ "$text" = "{\"birth\": \"$birth\", \"inode\": \"$inode\", \"kept\": $kept, \"token\": \"$marker\"}" ] && own=yes
fi
[ "$own $kept" != 'yes true' ] || gone
known=$(identity "$temporary")
if [ "$own" = yes ]; then
  case "$birth" in '' | - | 0 | 0.000000000 | W) ;; *) known="$inode $birth" ;; esac
fi
done=no
if [ -n "$known" ] && [ "$(identity "$path")" = "$known" ]; then
  rm -f -- "$path" || left "$path cannot be removed"
  done=yes
fi
if [ -e "$temporary" ]; then rm -f -- "$temporary" || left "$temporary cannot be removed"; done=yes; fi
if [ "$own" = yes ]; then rm -f -- "$beside" || left "$beside cannot be removed"; done=yes; fi
[ "$done" = yes ] || gone
undone
"""

MOUNT = r"""
cd /
there() {
  table=$(cat /proc/self/mountinfo) || left "/proc/self/mountinfo cannot be read"
  is=no; top=
  while read -r _ _ _ _ at _ rest; do
    [ "$at" = "$point" ] || continue
    rest=${rest#*- }; rest=${rest#* }; top=no
    case "${rest%% *}" in "$source" | "$older") is=yes; top=yes ;; esac
  done <<END
$table
END
  [ "$is" = yes ]
}
there || { settled mount; there; } || gone
while :; do
  [ "$top" = yes ] || left "$path is covered by another mount. Unmount that first."
  why=$(umount -- "$path" 2>&1)
  there || undone
  again || left "$path cannot be unmounted ($why). End the processes that use the file system."
done
"""

LOOP = r"""
cd /
name=${device##*/}
attached() {
  held=$(cat "/sys/block/$name/loop/backing_file" 2>/dev/null) || return 1
  [ "${held%" (deleted)"}" = "$image" ]
}
attached || { settled losetup; attached; } || gone
[ -z "$ahead" ] || { echo "$ahead" > "/sys/block/$name/queue/read_ahead_kb"; } 2>/dev/null
why=$(losetup -d "$device" 2>&1)
while attached; do
  again || left "$device cannot be detached ($why). End the processes that use the device."
done
undone
"""

THROTTLE = r"""
cd /
grep -qxF -e "$device $value" -- "$file" 2>/dev/null || gone
{ echo "$device 0" > "$file"; } 2>/dev/null || left "$file: the rule of $device cannot be removed"
undone
"""

CGROUP = r"""
cd /
[ -d "$path" ] || gone
case "$path" in */assay*) ;; *) gone ;; esac
set +f
for inner in "$path"/*/cgroup.procs; do [ ! -e "$inner" ] || gone; done
set -f
if [ -e "$path/tasks" ]; then
  refuge=${path%/*}
else
  own=$(sed -n 's/^0:://p' /proc/self/cgroup); refuge=$root${own%/}
  [ -e "$refuge/cgroup.procs" ] || refuge=$root
fi
move() { { echo "$1" > "$2/cgroup.procs"; } 2>/dev/null; }
empty() {
  for pid in $(cat "$path/cgroup.procs"); do
    move "$pid" "$refuge" || [ ! -e "/proc/$pid" ] || left "process $pid cannot be moved to $refuge"
  done
}
empty
until why=$(rmdir -- "$path" 2>&1) || [ ! -d "$path" ]; do
  again || left "$path cannot be removed ($why)"
  empty
done
undone
"""

PROCESS = r"""
cd /
alive() {
  { stat=$(cat "/proc/$pid/stat"); } 2>/dev/null || return 1
  set -- ${stat##*)}
  state=$1 group=$3
  [ "${20}" = "$start_ticks" ]
}
alive || gone
whom=$pid
[ "$group" != "$pid" ] || whom=-$pid
kill -s KILL -- "$whom" 2>/dev/null
while alive; do
  case "$state" in Z | X) undone ;; esac
  again || left "process $pid does not end after SIGKILL (state $state): it waits for a device"
done
undone
"""

FAMILY_ENDED = r"""
cd /proc || left "/proc cannot be entered"
set +f
if printf 'a\0b\0' | grep -qzxF -e b 2>/dev/null; then
  holders() { grep -lszxF -e "$entry" -- [0-9]*/environ; }
else
  holders() {
    for file in [0-9]*/environ; do
      { tr '\0' '\n' < "$file" | grep -qxF -e "$entry"; } 2>/dev/null && echo "$file"
    done
  }
fi
members() {
  found=
  for file in $(holders); do found="$found ${file%/environ}"; done
  [ -n "$found" ]
}
members || gone
while :; do
  kill -s KILL $found 2>/dev/null
  members || undone
  again || left "processes$found do not end after SIGKILL: they wait for a device"
done
"""

SETTING = r"""
cd /
{ now=$(cat -- "$path"); } 2>/dev/null || gone
case "$now" in *"["*"]"*) now=${now#*"["}; now=${now%%"]"*} ;; esac
set -f; now=$(echo $now)
[ "$now" = "$value" ] || gone
{ printf '%s\n' "$back" > "$back_path"; } 2>/dev/null || left "$back_path does not take $back"
undone
"""

COMMAND = r"""
limit=
if timeout 9 true 2>/dev/null; then limit='timeout 120'; fi
$limit sh -c 'exec "$@"' sh "$@" >&2 || left "exit status $?"
undone
"""
