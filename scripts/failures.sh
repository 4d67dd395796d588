#!/usr/bin/env bash
# Show what the steps of a lane left that failed (scripts/step.sh), all of it; exit 1 where one did.
set -u
shopt -s nullglob
failed=(.build/steps/*)
[ ${#failed[@]} -eq 0 ] && { echo "everything passed"; exit 0; }
for log in "${failed[@]}"; do printf '\n--- %s\n' "${log##*/}"; cat "$log"; done
printf '\nfailed: %s\n' "$(printf '%s, ' "${failed[@]##*/}" | sed 's/, $//')"
exit 1
