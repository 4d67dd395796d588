# Every task by name. `make` alone lists them. `make quick` and `make test` do all their own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build clients servers quick test check check-python check-rust test-rust bench long docs dist tools clean

UV := .build/uv/bin/uv
BIN := .venv/bin
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
PROGRAMS := src/assay/bin/assay-engine src/assay/bin/assay-line
BUNDLE := src/assay/report/static/vega.js
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# Tests that have the machine to themselves: what they hold hangs on its speed, its quiet or its caches. All others run beside each other.
ALONE := $(addprefix tests/,controls/test_controls.py observers/test_memory.py watch/test_files.py test_known_disk.py test_quick.py test_service_demand.py \
  test_stat_observed.py workloads/test_backup_read.py)
# What fails there may have been disturbed by the others: it is run once more by itself, and has to hold then. What takes longest begins first,
# then what runs the whole line; the tests of single parts are short and fill the end, so that no worker waits for another's last file.
FIRST := $(addprefix tests/,test_server_crash.py test_directory_servers.py controls/test_no_false_alarms.py test_crash.py \
  anytime/test_controls_of_window.py test_experiments.py test_sittings.py test_bad_input.py anytime/test_controls_of_statistics.py \
  test_directory_audit.py anytime/test_controls_of_storage.py controls_over_hosts/test_lies.py undo/test_ways_back.py \
  selftest/test_sound.py test_stat_traps.py)
CHECKED := $(addprefix tests/,test_catalogue.py test_language.py test_pages.py)
TOGETHER := $(FIRST) $(filter-out $(FIRST) $(ALONE) $(CHECKED),$(sort $(wildcard tests/test_*.py)) \
  $(sort $(shell find tests -mindepth 2 -name "test_*.py")))

export UV_PYTHON_PREFERENCE := only-system
export UV_NO_PROGRESS := 1
export UV_LINK_MODE := copy
export UV_COMPILE_BYTECODE := 1
# Modules and templates are compiled and the ruleset's digest is reckoned once, also where the environment forbids Python to write that.
# Tests, too: pytest rewrites their assertions, which each of its workers would do again.
COMPILED = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q -j 0 src/assay && \
  env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -c "from assay.audit import judge; from assay.report import page; judge.ruleset(); page.compiled()"

help: ## list the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-7s %s\n", $$1, $$2}'

build: .build/run.stamp $(PROGRAMS) $(BUNDLE) ## build everything; leaves .venv/bin/assay
	@$(COMPILED)
	@scripts/others.sh

quick: build ## measure the storage below this directory, audit it, write the report
	$(BIN)/assay quick .

clients: src/assay/bin/assay-nfs ## build the optional clients of file servers (gcc, libnfs-dev, libfuse3-dev)

src/assay/bin/assay-nfs: clients/nfs.c
	gcc -O2 -std=gnu11 -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 -o $@ $< $$(pkg-config --cflags --libs fuse3) -lnfs

servers: .build/servers/versitygw ## build the optional S3 server (Go, which fetches its modules; about 10 minutes)

.build/servers/versitygw:
	@command -v go >/dev/null || { echo "go: not found. Install Go 1.25 or newer (https://go.dev/dl), or put versitygw on the PATH."; exit 1; }
	GOBIN=$(CURDIR)/.build/servers CGO_ENABLED=0 go install -ldflags '-s -w -X main.Version=v1.8.0' github.com/versity/versitygw/cmd/versitygw@v1.8.0

test: .build/dev.stamp $(PROGRAMS) $(BUNDLE) tools ## every check and every test, with the real controls (root adds evidence)
	@$(MAKE) --no-print-directory -j2 -Otarget check-python test-rust
	@$(COMPILED)
	@echo "tests that may run beside others, six at a time:"
	@$(BIN)/pytest -q -n 6 --dist loadfile --no-loadscope-reorder $(TOGETHER) || \
	  { test $$? -eq 1 && echo "once more, by itself, what failed beside others:" && $(BIN)/pytest -q --last-failed --last-failed-no-failures none $(TOGETHER); }
	@echo "tests that need the machine to themselves:"
	@$(BIN)/pytest -q $(ALONE)

check: .build/dev.stamp $(PROGRAMS) ## formatters, linters, types, import contracts, catalogue laws, language
	@$(MAKE) --no-print-directory -j2 -Otarget check-python check-rust

check-python:
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/mypy --no-error-summary
	$(BIN)/stubtest assay._core --mypy-config-file pyproject.toml > .build/stubtest.log || { cat .build/stubtest.log; exit 1; }
	$(BIN)/lint-imports --no-cache > .build/imports.log || { cat .build/imports.log; exit 1; }
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -q -p no:cacheprovider --collect-only tests > .build/collected.log
	$(BIN)/pytest -q $(CHECKED)

check-rust:
	env -u MAKEFLAGS cargo fmt --all --check
	env -u MAKEFLAGS cargo clippy --release --locked --quiet --workspace --all-targets -- -D warnings

test-rust: check-rust
	env -u MAKEFLAGS cargo test --release --locked --workspace --exclude assay-python --quiet

long: build .build/dev.stamp ## what takes hours: kill matrices, simulations, soaks (goes on where it was ended; writes benchmarks/LONG.md)
	$(BIN)/python benchmarks/long.py

bench: build .build/dev.stamp ## measure the cost of the lab itself: engine, observers, noise (informational; takes long)
	$(BIN)/python benchmarks/run.py

docs: build .build/dev.stamp ## all pages, those of the rules included, as a site that needs no network
	$(BIN)/python scripts/site/build.py

dist: .build/dev.stamp $(PROGRAMS) $(BUNDLE) ## a wheel with the engine inside, in dist/
	rm -rf dist
	$(BIN)/maturin build --release --locked --out dist --quiet
	@ls -l dist

tools: ## what the tests want beside the build: file system tools, fio, a browser (installed only where root)
	@scripts/tools.sh

clean: ## remove what was built
	rm -rf .build .venv target dist $(PROGRAMS) $(BUNDLE)

$(UV):
	@scripts/missing.sh
	@mkdir -p .build
	python3 -m venv .build/uv 2>/dev/null || python3 -m venv --without-pip .build/uv
	.build/uv/bin/python -m pip --version >/dev/null 2>&1 && .build/uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1' \
	  || python3 -m pip install --quiet --disable-pip-version-check --prefix .build/uv 'uv>=0.9,<1'

PYTHON_CORE := pyproject.toml uv.lock Cargo.toml Cargo.lock $(shell find crates/python crates/host crates/ldap -name '*.rs' -o -name Cargo.toml)

.build/run.stamp: $(UV) $(PYTHON_CORE)
	@echo "the first build fetches packages and compiles Rust: some minutes without a further line on two CPUs"
	test -e .build/dev.stamp || $(UV) sync --quiet --locked --python python3 --no-dev --group build
	test ! -e .build/dev.stamp || $(UV) sync --quiet --locked --python python3 --reinstall-package assay-lab
	@touch $@

.build/dev.stamp: $(UV) $(PYTHON_CORE)
	$(UV) sync --quiet --locked --python python3 --reinstall-package assay-lab
	@touch $@

src/assay/bin/%: $(RUST)
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --quiet -p $(@F) --target $(TRIPLE) --config 'profile.release.strip="symbols"'
	@mkdir -p $(@D)
	install -m 755 target/$(TRIPLE)/release/$(@F) $@

$(BUNDLE): | .build/run.stamp
	@mkdir -p $(@D)
	$(BIN)/python -m assay.report.picture
