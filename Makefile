# The one door: people, hooks and CI call these targets and nothing else.
# Real data for tests and benchmarks: GOFAST_TEST_DATA=<folder>; tests that need it skip without it.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
FUZZTIME ?= 30s
WHEEL_PYTHONS ?= 3.10@2.4.0 3.10 3.11 3.12 3.13
GO_PACKAGES := ./gofast/... ./pybind/...
GO_TIMEOUT ?= 600s
PYTEST_JOBS ?= 2
GO_FILES = $(shell find gofast pybind examples benchmarks -name '*.go' -not -path 'pybind/build/*')

# The first Python that really runs and is new enough: version managers leave names on PATH that do not.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup build test test-go test-race test-pure test-asan test-python test-wheel test-integrations \
	test-gpu fuzz soak bench bench-tables bench-images bench-gpu lint format wheel demo clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ------------------------------------------------------------------ set-up and build

setup: $(VENV)/.stamp ## make .venv with pinned tools (PYTHON=python3.12 chooses the interpreter)

$(VENV)/.stamp: python/requirements-dev.txt
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "gofast needs Python >= 3.11 to develop: none found, give one with PYTHON=..."; exit 1; }
	@echo "setting up $(VENV): torch and its kin are about 3 GB to download, a few minutes, once"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement python/requirements-dev.txt
	$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "gofast-sources.pth").write_text("$(CURDIR)/python\n")'
	touch $@

build: setup ## build the native module into python/gofast (DEBUG=1 keeps symbols)
	$(BIN)/python pybind/build_native.py $(if $(DEBUG),--debug)

# An environment that sees gofast's sources and all that $(VENV) has, and what else is installed into it.
define beside
	$(BIN)/python -m venv $(1)
	$(1)/bin/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "gofast-development.pth").write_text( \
		"$(CURDIR)/python\n" + pathlib.Path("$(CURDIR)/$(VENV)", *pathlib.Path(sysconfig.get_path("purelib")).parts[-3:]).as_posix() + "\n")'
endef

wheel: setup ## build dist/gofast_torch-<version>-cp310-abi3-<platform>.whl
	rm -rf dist/*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

# ------------------------------------------------------------------ tests

test: lint test-go test-race test-pure test-python ## everything a change must pass, 15 minutes on two cores

test-go: ## Go tests, and every benchmark once so that none rots
	go test -timeout $(GO_TIMEOUT) -bench . -benchtime 1x $(GO_PACKAGES)

test-race: ## Go tests under the race detector (-short: it makes them ten times slower)
	go test -timeout $(GO_TIMEOUT) -short -race $(GO_PACKAGES)

test-pure: ## Go tests with every C kernel replaced by its Go twin
	go test -timeout $(GO_TIMEOUT) -tags purego $(GO_PACKAGES)

# Its search for leaks crashes where a library was loaded with dlopen; tests of growth see leaks.
test-asan: ## Go tests with the C code under the address sanitizer
	ASAN_OPTIONS=detect_leaks=0 go test -timeout $(GO_TIMEOUT) -short -asan $(GO_PACKAGES)

# Torch's threads wait for each other with the processor in use, which is somebody else's where two processes test:
# test_blur.py took four times as long.
test-python soak: export OMP_WAIT_POLICY = passive

test-python: build ## Python tests, the wheel's among them (ARGS="-k csv" chooses)
	$(BIN)/python -m pytest -n $(PYTEST_JOBS) --dist loadgroup $(ARGS)

test-wheel: wheel ## the wheel on four Pythons, no Go or gcc in sight (WHEEL_PYTHONS="3.10@2.4.0 3.13": with torch 2.4.0, the newest)
	$(BIN)/python python/tests/wheel_matrix.py $(WHEEL_PYTHONS)

# The frameworks stand beside the development environment, whose torch they use.
.venv-integrations/.stamp: python/requirements-integrations.txt $(VENV)/.stamp
	$(call beside,.venv-integrations)
	.venv-integrations/bin/python -m pip install --quiet --requirement $<
	touch $@

test-integrations: build .venv-integrations/.stamp ## gofast.integrations with the real Accelerate and transformers (200 MB)
	GOFAST_INTEGRATIONS=1 .venv-integrations/bin/python -m pytest python/tests/test_integrations.py $(ARGS)

test-gpu: build ## the GPU path on a real GPU
	@$(BIN)/python -c 'import sys, torch; torch.cuda.is_available() or sys.exit("there is no GPU here: make test-python runs the GPU path on a stand-in for the driver")'
	$(BIN)/python -m pytest python/tests/test_gpu.py $(ARGS)

soak: build ## the long ones: many forks, many epochs, growth of memory, every byte of files changed in every way
	GOFAST_SOAK=1 go test -timeout 1800s -run FlippedBytes $(GO_PACKAGES)
	$(BIN)/python -m pytest -m soak --timeout 1800 $(ARGS)

fuzz: ## every Go fuzz target for FUZZTIME=30s
	@set -e; for package in $$(go list $(GO_PACKAGES)); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
		done; \
	done

# ------------------------------------------------------------------ measurements

bench: ## Go benchmarks, ten runs each, for benchstat
	go test -run '^$$' -bench . -count 10 $(GO_PACKAGES)

bench-tables: build ## tables against pandas, pyarrow, polars, numpy and TensorDataset (ARGS="--quick")
	$(BIN)/python -m benchmarks.tables $(ARGS)

# The peers stand beside the development environment, not in it: they are large, and none is needed to work on gofast.
.venv-bench/.stamp: benchmarks/requirements-peers.txt $(VENV)/.stamp
	$(call beside,.venv-bench)
	grep -v '^#' $< | while read -r peer; do \
		.venv-bench/bin/python -m pip install --quiet "$$peer" || echo "$$peer cannot be installed: it will be reported as not measured"; done
	touch $@

bench-images: build .venv-bench/.stamp ## pictures against torchvision, DALI, OpenCV, SPDL and datago, 10 minutes on two cores (ARGS="--quick")
	.venv-bench/bin/python -m benchmarks.images $(ARGS)

bench-recipes: build .venv-bench/.stamp ## what people train with, a recipe a line, 30 minutes on two cores (ROUNDS=3 ARGS="--only simclr,dino")
	.venv-bench/bin/python -m benchmarks.recipes $(ARGS)

bench-gpu: build ## the GPU path's figures, on a machine with a GPU (ARGS="--rounds 3")
	$(BIN)/python -m benchmarks.gpu $(ARGS)

# ------------------------------------------------------------------ one definition of clean

PYTHON_CFLAGS = -I$(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["include"])')

lint: setup ## gofmt, vet, staticcheck, ruff, mypy
	@unformatted=$$(gofmt -l $(GO_FILES)); test -z "$$unformatted" || { echo "gofmt -w $$unformatted"; exit 1; }
	go vet ./...
	go vet -tags purego ./...
	CGO_CFLAGS="$(PYTHON_CFLAGS)" go vet -tags python ./pybind/...
	go tool staticcheck ./...
	go tool staticcheck -tags purego ./...
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## let gofmt and ruff write
	gofmt -w $(GO_FILES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# ------------------------------------------------------------------ the rest

demo: build ## train small CNNs on real digits and a folder of photographs, before and after
	$(BIN)/python examples/demo.py

clean: ## remove what was built (the environments .venv* stay)
	rm -rf build dist pybind/build python/gofast/_native.abi3.so python/*.egg-info \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results/*.tmp
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
