#!/usr/bin/env bash
# Say everything that is missing for the build, all at once, with the fix; exit 1 where anything is.
set -u
missing=()
need() { missing+=("$1"); }

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  || need "Python 3.11 or newer as python3            (Debian: apt-get install python3)"
{ python3 -c 'import venv, ensurepip' || python3 -m pip --version; } >/dev/null 2>&1 \
  || need "Python's venv with ensurepip, or pip        (Debian: apt-get install python3-venv)"
command -v cc >/dev/null || need "a C compiler as cc, to link                 (Debian: apt-get install gcc libc6-dev)"
lowest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if command -v cargo >/dev/null && command -v rustc >/dev/null; then
  found=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
  [ "$(printf '%s\n%s\n' "$lowest" "$found" | sort -V | head -n1)" = "$lowest" ] || need "Rust $lowest or newer; found $found           (rustup update)"
else
  need "Rust $lowest or newer (cargo and rustc)        (see rustup, or your distribution's packages)"
fi
[ "${#missing[@]}" -eq 0 ] && exit 0
echo "Assay cannot be built here yet. Missing:" >&2
printf '  - %s\n' "${missing[@]}" >&2
exit 1
