#!/usr/bin/env bash
# Say whether other users can run what root built: Python and everything above it must let them in.
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(id -u)" -eq 0 ] || exit 0
closed() { # the first directory above a file that others may not enter
  local path
  path=$(readlink -f "$1") && [ -n "$path" ] || return
  while path=$(dirname "$path"); do
    (($(stat -c '0%a' "$path") & 1)) || { echo "$path"; return; }
    [ "$path" = / ] && return
  done
}
for file in .venv/bin/python "$PWD/.venv/bin/assay"; do
  gate=$(closed "$file")
  [ -z "$gate" ] || { echo "built for root alone: other users may not enter $gate, where ${file#"$PWD"/} leads. Build as the user who runs Assay, or with a Python and a directory that all may read."; break; }
done
