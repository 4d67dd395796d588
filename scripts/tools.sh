#!/usr/bin/env bash
# Install what the tests use beside the build (scripts/tools.txt). Asks first; YES=1 is the answer yes. No service is started or enabled.
set -u
cd "$(dirname "$0")/.." || exit 1
PATH="$PATH:/usr/sbin:/sbin"
plain=() servers=() unpacked=()
while read -r -a line; do
  case ${line[0]:-#} in
    \#*) ;;
    unpack) [ -e ".build/${line[2]}/${line[3]}" ] || unpacked+=("${line[*]:2}") ;;
    *) if [ -e "${line[0]}" ] || command -v "${line[0]}" >/dev/null; then continue; fi
      if [ "${line[2]:-}" = service ]; then servers+=("${line[1]}"); else plain+=("${line[1]}"); fi ;;
  esac
done < scripts/tools.txt
[ $((${#plain[@]} + ${#servers[@]} + ${#unpacked[@]})) -gt 0 ] || { echo "all programs that the tests use are here"; exit 0; }

packages() { local each; for each in "${unpacked[@]}"; do set -- $each; shift 2; echo "$*"; done; }
[ ${#plain[@]} -eq 0 ] || echo "to install: ${plain[*]}"
[ ${#servers[@]} -eq 0 ] || echo "to install, with services that are neither started nor enabled: ${servers[*]}"
[ ${#unpacked[@]} -eq 0 ] || echo "to unpack below .build, not to install: $(packages | paste -sd ' ')"
command -v apt-get >/dev/null || { echo "no apt-get here: install them as your system does. Tests that need them are skipped and counted."; exit 0; }
if [ -z "${YES:-}${ASSUME_YES:-}" ]; then
  [ -t 0 ] || { echo "nothing was installed: nobody can be asked here. \`make tools YES=1\` installs them."; exit 0; }
  read -r -p "Install them? [y/N] " answer
  [[ $answer == [yY]* ]] || { echo "nothing was installed"; exit 0; }
fi

unpack() { # DIRECTORY PROOF PACKAGE...: a package's files below .build
  local into=.build/$1 fetched package
  fetched=$(mktemp -d) && chmod 755 "$fetched" # apt fetches as a user of its own
  shift 2
  if (cd "$fetched" && apt-get download -qq "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get download -qq "$@"; } >/dev/null 2>&1); then
    mkdir -p "$into" && for package in "$fetched"/*.deb; do dpkg -x "$package" "$into"; done
  else
    echo "apt-get download fetched no $*: its tests are skipped and counted"
  fi
  rm -rf "$fetched"
}
for each in "${unpacked[@]}"; do unpack $each; done
[ $((${#plain[@]} + ${#servers[@]})) -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] || { echo "only root can install the others: tests that need them are skipped and counted"; exit 0; }

enabled() { systemctl list-unit-files --root=/ --state=enabled --no-legend --no-pager 2>/dev/null | cut -d' ' -f1 | sort; }
before=$(mktemp) policy=/usr/sbin/policy-rc.d
enabled > "$before"
# What a package would start asks this file first; 101 is the answer no. RUNLEVEL tells scripts of older packages the same.
[ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy && trap 'rm -f $policy' EXIT; }
apt-get update -qq >/dev/null
RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${plain[@]}" "${servers[@]}" >/dev/null \
  || echo "apt-get did not install all of them: tests that need the others are skipped and counted"
if command -v systemctl >/dev/null; then
  for unit in $(enabled | comm -13 "$before" -); do systemctl -q --root=/ disable "$unit" 2>/dev/null || :; done
fi
rm -f "$before"
