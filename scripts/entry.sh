#!/usr/bin/env bash
# entry.sh KIND NAME: the checks that speak of one entry of a catalogue, each by name; goes on after a failure. Ends with 1 where one failed.
set -u
kinds="observers parsers rules targets workloads"
kind=${1-} name=${2-}
if ! grep -qw -- "${kind:-.}" <<< "$kinds" || [ ! -f "src/assay/$kind/$name.py" ]; then
  echo "found KIND=$kind NAME=$name; expected a file src/assay/KIND/NAME.py, KIND one of: $kinds" >&2
  echo "such as: make entry KIND=rules NAME=filling" >&2
  exit 2
fi
files="src/assay/$kind/$name.py tests/$kind/test_$name.py"
case $kind in
  rules) more="tests/rules/test_every_rule.py tests/audit/test_sources.py" page="src/assay/rules/$name.py" ;;
  observers) more="tests/observers/test_declared_cost.py" page="docs/observers src/assay/observers/$name.py" ;;
  parsers) more="tests/parsers/test_laws.py" page="docs/parsers src/assay/parsers/$name.py" ;;
  *) more="" page="docs/$kind src/assay/$kind/$name.py" ;;
esac
tested="tests/$kind/test_$name.py tests/test_catalogue.py tests/test_pages.py $more"
failed=0
check() {
  local began=$SECONDS label=$1 told
  shift
  if told=$("$@" 2>&1 < /dev/null); then
    echo "$label: passed, $((SECONDS - began)) s"
  else
    failed=1
    printf '%s: FAILED\n%s\n' "$label" "$told"
  fi
}
check "format" .venv/bin/ruff format --quiet --check $files
check "lint" .venv/bin/ruff check --quiet --output-format concise $files
check "words" .venv/bin/python scripts/language.py $page
check "types" .venv/bin/mypy --no-error-summary "src/assay/$kind/$name.py"
check "laws and tests ($tested)" .venv/bin/pytest -q -n 2 --dist loadfile --hypothesis-profile few $tested
[ "$kind" = observers ] && check "cost" .venv/bin/python benchmarks/observer_cost.py "$name"
[ "$kind" = rules ] && echo "the control, run for real: .venv/bin/assay selftest --audit --rules $(grep -oE 'id="[A-Z][0-9]+[a-z]?"' "src/assay/rules/$name.py" | cut -d'"' -f2)"
exit $failed
