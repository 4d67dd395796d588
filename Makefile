# Every task by name. `make` alone lists them. Each does all its own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build clients servers quick fast test check long bench mutants docs dist tools clean \
  entry format lint format-check types stubs contracts rust-format rust-format-check clippy rust-tests units collected all-units ready

UV := .build/uv/bin/uv
BIN := .venv/bin
STEP := @scripts/step.sh
STEPS = @rm -rf .build/steps; $(MAKE) --no-print-directory -k -j2
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
PROGRAMS := src/assay/bin/assay-engine src/assay/bin/assay-line
BUNDLE := src/assay/report/static/vega.js
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# The tests of `make fast`: what needs no root, no server, no load engine, no second process. They take CPU time alone.
UNITS := $(addprefix tests/,analysis answer audit evidence experiment notebook parsers prediction published rulekit rules settings sizing statistics \
  test_catalogue.py test_language.py test_measures.py test_plain.py test_units.py)
# Tests that have the machine to themselves (the marker `alone`). All others run beside each other.
ALONE = $(shell grep -rlw 'mark\.alone' tests --include='test_*.py')
WORKERS := 6
# What reads the files waits for the step that may write them.
FORMATTED := $(filter format,$(MAKECMDGOALS))
CHECKS := format-check lint rust-format-check types stubs contracts clippy
TESTED = mkdir -p .build/steps; ASSAY_SKIPPED=.build/skipped $(BIN)/pytest -q

export UV_PYTHON_PREFERENCE := only-system
export UV_NO_PROGRESS := 1
export UV_LINK_MODE := copy
export UV_COMPILE_BYTECODE := 1
# What Python and pytest compile is kept: else each worker would do it again.
unexport PYTHONDONTWRITEBYTECODE
# Modules and templates are compiled and the ruleset's digest is reckoned once.
COMPILED = $(BIN)/python -m compileall -q -j 0 src/assay && \
  $(BIN)/python -c "from assay.audit import judge; from assay.report import page; judge.ruleset(); page.compiled()"

help: ## list the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-7s %s\n", $$1, $$2}'

build: .build/run.stamp $(PROGRAMS) $(BUNDLE) ## build everything that runs; leaves .venv/bin/assay
	@$(COMPILED)
	@scripts/others.sh

ready: .build/dev.stamp $(PROGRAMS) $(BUNDLE)
	@$(COMPILED)

quick: build ## measure the storage below this directory, audit it, write the report
	$(BIN)/assay quick .

clients: src/assay/bin/assay-nfs ## build the optional clients of file servers (gcc, libnfs-dev, libfuse3-dev)

src/assay/bin/assay-nfs: clients/nfs.c
	gcc -O2 -std=gnu11 -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 -o $@ $< $$(pkg-config --cflags --libs fuse3) -lnfs

servers: .build/servers/versitygw ## build the optional S3 server (Go, which fetches its modules; about 10 minutes)

.build/servers/versitygw:
	@command -v go >/dev/null || { echo "go: not found. Install Go 1.25 or newer (https://go.dev/dl), or put versitygw on the PATH."; exit 1; }
	GOBIN=$(CURDIR)/.build/servers CGO_ENABLED=0 go install -ldflags '-s -w -X main.Version=v1.8.0' github.com/versity/versitygw/cmd/versitygw@v1.8.0

# Rust is checked where it was changed: that compiles everything once more, for the checks alone.
CHANGED = $(shell git diff --quiet HEAD -- crates Cargo.toml Cargo.lock clippy.toml 2>/dev/null || echo clippy)

fast: ## before each commit: format, lint, types, contracts, unit tests; no root; shows every failure at the end
	$(STEPS) format lint rust-format types contracts units $(CHANGED) || { mkdir -p .build/steps; echo "see above" > .build/steps/build; }
	@scripts/failures.sh

test: ## everything, with the real controls; installs nothing, skips and counts what is not here (root adds evidence)
	@rm -f .build/skipped
	$(STEPS) format-check lint ready $(CHECKS) all-units rust-tests || { mkdir -p .build/steps; echo "see above" > .build/steps/build; }
	@test ! -e .build/steps/build || exec scripts/failures.sh
	@echo "tests that may run beside others, $(WORKERS) at a time:"
	@$(TESTED) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not alone' $(UNITS:%=--ignore=%) || echo "shown above" > .build/steps/tests
	@echo "tests that need the machine to themselves:"
	@$(TESTED) -m alone $(ALONE) || echo "shown above" > .build/steps/alone
	@$(BIN)/python tests/skips.py .build/skipped
	@scripts/failures.sh

entry: .build/dev.stamp ## the checks of one entry of a catalogue: make entry KIND=rules NAME=filling
	@scripts/entry.sh "$(KIND)" "$(NAME)"

check: ## formatters, linters, types, import contracts, for Python and Rust; changes nothing
	$(STEPS) $(CHECKS) || { mkdir -p .build/steps; echo "see above" > .build/steps/build; }
	@scripts/failures.sh

format: $(BIN)/ruff
	$(STEP) format $(BIN)/ruff format --quiet .

format-check: $(BIN)/ruff
	$(STEP) format $(BIN)/ruff format --check --quiet .

lint: $(BIN)/ruff | $(FORMATTED)
	$(STEP) lint $(BIN)/ruff check --quiet --output-format concise .

types: .build/dev.stamp | $(FORMATTED)
	$(STEP) types $(BIN)/mypy --no-error-summary

stubs: .build/dev.stamp
	$(STEP) stubs $(BIN)/stubtest assay._core --mypy-config-file pyproject.toml

contracts: .build/dev.stamp
	$(STEP) contracts $(BIN)/lint-imports --no-cache

units: .build/dev.stamp | $(FORMATTED)
	$(STEP) units $(BIN)/pytest -q -n 2 --dist worksteal --hypothesis-profile few -m 'not root and not slow and not alone' $(UNITS)

# What pytest makes of the tests' own code is made once and kept: else in a new clone each worker makes all of it.
collected: .build/dev.stamp $(BUNDLE)
	$(STEP) collected $(BIN)/pytest -q --collect-only tests

all-units: .build/dev.stamp $(BUNDLE) collected
	$(STEP) units env ASSAY_SKIPPED=.build/skipped $(BIN)/pytest -q -n 2 --dist worksteal -m 'not alone' $(UNITS)

rust-format:
	$(STEP) rust-format cargo fmt --all

rust-format-check:
	$(STEP) rust-format cargo fmt --all --check

clippy:
	$(STEP) clippy env -u MAKEFLAGS cargo clippy --locked --quiet --workspace --all-targets -- -D warnings

rust-tests:
	$(STEP) rust-tests env -u MAKEFLAGS cargo test --locked --workspace --quiet

long: ready ## what takes hours: kill matrices, simulations, soaks (goes on where it was ended; writes benchmarks/LONG.md)
	$(BIN)/python benchmarks/long.py

bench: ready ## measure the cost of the lab itself: engine, observers, noise (informational; takes long)
	$(BIN)/python benchmarks/run.py

mutants: ready ## small faults in the code that judges: which ones the tests see (informational; goes on where it was ended)
	$(BIN)/python benchmarks/mutants.py

docs: ready ## all pages, those of the rules included, as a site that needs no network
	$(UV) sync --quiet --locked --inexact --group site
	$(BIN)/python scripts/site/build.py

dist: .build/run.stamp $(PROGRAMS) $(BUNDLE) ## a wheel with the engine inside for any Linux of glibc 2.17 or newer, in dist/
	rm -rf dist
	$(SYNC) --inexact --only-group dist
	rm -rf assay._core.data; $(BIN)/python scripts/man_pages.py assay._core.data/data/share/man/man1
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_17 --out dist --quiet; \
	  status=$$?; rm -rf assay._core.data; exit $$status
	@ls -l dist

tools: ## install what the tests use beside the build: file system tools, fio, servers, a browser; asks first (YES=1: does not ask)
	@YES="$(YES)" scripts/tools.sh

clean: ## remove what was built
	rm -rf .build .venv target dist $(PROGRAMS) $(BUNDLE)

$(UV):
	@scripts/missing.sh
	@mkdir -p .build
	python3 -m venv .build/uv 2>/dev/null || python3 -m venv --without-pip .build/uv
	.build/uv/bin/python -m pip --version >/dev/null 2>&1 && .build/uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1' \
	  || python3 -m pip install --quiet --disable-pip-version-check --prefix .build/uv 'uv>=0.9,<1'

PYTHON_CORE := pyproject.toml uv.lock Cargo.toml Cargo.lock $(shell find crates/python crates/host crates/ldap -name '*.rs' -o -name Cargo.toml)
SYNC = $(UV) sync --quiet --locked --python python3

# The formatter and linter alone: nothing is compiled for them.
$(BIN)/ruff: | $(UV)
	$(SYNC) --inexact --only-group lint

# One after the other: both write into .venv. Who only measures needs no linter.
.build/run.stamp: $(UV) $(PYTHON_CORE) | $(if $(filter lint,$(MAKECMDGOALS)),$(BIN)/ruff)
	@echo "the first build fetches packages and compiles Rust: some minutes without a further line on two CPUs"
	$(SYNC) --inexact --no-dev --group build --reinstall-package assay-lab
	@touch $@

# What the checks and tests add to that; the Rust core is not compiled again.
.build/dev.stamp: .build/run.stamp
	$(SYNC)
	@touch $@

src/assay/bin/%: $(RUST)
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --quiet -p $(@F) --target $(TRIPLE)
	@mkdir -p $(@D)
	install -m 755 target/$(TRIPLE)/release/$(@F) $@

$(BUNDLE): | .build/run.stamp
	@mkdir -p $(@D)
	$(BIN)/python -m assay.report.picture

.PHONY: frozen frozen-accept
frozen: .build/dev.stamp ## compare what Assay says of stored notebooks with the kept texts (tests/frozen; NAMES="..." for some)
	@$(BIN)/python tests/frozen/frozen.py check $(NAMES)

frozen-accept: .build/dev.stamp ## write the new texts, so that a wanted change stands in the commit
	@$(BIN)/python tests/frozen/frozen.py accept $(NAMES)
