#!/usr/bin/env bash
# step.sh NAME COMMAND...: run a step of a lane; say in one line how it ended; keep its output, which failures.sh shows. Ends with 0.
set -u
name=$1 log=.build/steps/$1 began=$SECONDS
shift
mkdir -p .build/steps
if "$@" > "$log" 2>&1 < /dev/null; then
  echo "$name: passed, $((SECONDS - began)) s"
  rm -f "$log"
else
  echo "$name: FAILED, $((SECONDS - began)) s (shown at the end)"
fi
