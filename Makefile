# The one door: people, hooks and CI call these targets and nothing else.
# Real data for tests and benchmarks: GOFAST_TEST_DATA=<folder>; tests that need it skip without it.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
FUZZTIME ?= 30s
WHEEL_PYTHONS ?= 3.10@2.4.0 3.10 3.11 3.12 3.13
GO_PACKAGES := ./gofast/... ./pybind/... ./benchmarks/...
GO_TIMEOUT ?= 600s
# Tests wait for processes half of the time: three at once take two thirds of the time of two, on two cores.
PYTEST_JOBS ?= 3
SUDO = $(if $(filter 0,$(shell id -u)),,sudo)
GO_FILES = $(shell find gofast pybind examples benchmarks -name '*.go' -not -path 'pybind/build/*')

# The first Python that really runs and is new enough: version managers leave names on PATH that do not.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup build test test-all test-full test-go test-race test-tsan faults test-asan test-python test-wheel test-integrations \
	test-gpu fuzz soak bench bench-go compare bench-tables bench-images bench-strangers bench-warm bench-storage bench-far bench-scale bench-gpu gpu-kit bench-system check-figures \
	lint lint-workflows format wheel demo demo-shards docs article guides notebook clean \
	notices release try-release attach-release check-tag apt-aarch64 test-aarch64 wheel-aarch64 test-wheel-aarch64

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ------------------------------------------------------------------ set-up and build

setup: $(VENV)/.stamp ## make .venv with pinned tools (PYTHON=python3.12 chooses the interpreter)

# What is missing is said at once, before a download of minutes.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "gofast needs Python >= 3.11 to develop: none found, give one with PYTHON=..."; exit 1; }
	@$(PYTHON) pybind/build_native.py --check 1
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp: python/requirements-dev.txt | $(BIN)/python
	@$(BIN)/python pybind/build_native.py --check $(if $(wildcard $@),0,9)
	@echo "setting up $(VENV): torch and its kin are about 3 GB to download, a few minutes, once"
	$(BIN)/python -m pip install --requirement python/requirements-dev.txt
	$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "gofast-sources.pth").write_text("$(CURDIR)/python\n")'
	touch $@

# The command of the wheel, for the sources.
$(BIN)/gofast: $(VENV)/.stamp
	@printf '#!%s\nimport sys\n\nfrom gofast._command.main import main\n\nsys.exit(main())\n' "$(CURDIR)/$(BIN)/python" > $@
	@chmod +x $@

build: setup $(BIN)/gofast ## build the native module into python/gofast (DEBUG=1 keeps symbols)
	$(BIN)/python pybind/build_native.py $(if $(DEBUG),--debug)

# An environment that sees gofast's sources and all that $(VENV) has, and what else is installed into it.
define beside
	$(BIN)/python -m venv $(1)
	$(1)/bin/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "gofast-development.pth").write_text( \
		"$(CURDIR)/python\n" + pathlib.Path("$(CURDIR)/$(VENV)", *pathlib.Path(sysconfig.get_path("purelib")).parts[-3:]).as_posix() + "\n")'
endef

wheel: | $(BIN)/python ## build dist/gofast_torch-<version>-cp310-abi3-<platform>.whl
	rm -rf dist/*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

# ------------------------------------------------------------------ tests

# Vet is lint's, once; symbols are for debuggers, and traces do not need them.
GO_TEST = go test -timeout $(GO_TIMEOUT) -vet=off -ldflags='-s -w'

test: lint test-go test-race test-tsan test-python ## everything a change must pass, 12 minutes on two cores

test-all: test test-full ## everything a release must pass

test-full: build test-asan ## what takes longer: the address sanitizer, long Go tests, every start method and parameter, the wheel from the sdist, the article
	$(GO_TEST) $(GO_PACKAGES)
	$(BIN)/python -m pytest -m "full and not soak" -n $(PYTEST_JOBS) --dist loadgroup $(ARGS)

test-go: ## Go tests, without those that take seconds (-short)
	$(GO_TEST) -short $(GO_PACKAGES)

# The race detector sees no C: packages that are C with a border of Go are test-tsan's.
test-race: ## Go tests of what is Go under the race detector (-short: it makes them ten times slower)
	$(GO_TEST) -short -race $(shell go list -f '{{if not .CgoFiles}}{{.ImportPath}}{{end}}' ./gofast/... ./pybind/...)

# Its search for leaks crashes where a library was loaded with dlopen; tests of growth see leaks.
test-asan: ## Go tests with the C code under the address sanitizer
	ASAN_OPTIONS=detect_leaks=0 go test -timeout $(GO_TIMEOUT) -short -asan $(GO_PACKAGES)

# C alone is seen: what Go does between two calls of C is left out, and so is the code that gcc did not compile.
# The sanitizer keeps Go's signals for preemption and may hand one to a thread whose Go half has ended: 1 run of 10 crashed.
test-tsan: ## the C crew, slots, rings and what they fill under gcc's thread sanitizer
	CGO_CFLAGS="-g -O1 -fsanitize=thread" CGO_LDFLAGS=-fsanitize=thread TSAN_OPTIONS=halt_on_error=1 GODEBUG=asyncpreemptoff=1 \
		go test -timeout $(GO_TIMEOUT) -vet=off -short ./gofast/ ./gofast/engine/... ./gofast/table/gather ./gofast/image

faults: build ## plants faults in a copy of the sources, one at a time, and says which test notices (ARGS="--only crew,png")
	$(BIN)/python python/tests/faults/run.py $(ARGS)

# Torch's threads wait for each other with the processor in use, which is somebody else's where two processes test:
# test_blur.py took four times as long.
test-python test-full soak: export OMP_WAIT_POLICY = passive

# Where it is set, as in containers, each of hundreds of processes compiles our sources again, and all tests are
# compiled for each run: 5 s more until the first test.
test-python test-full soak: export PYTHONDONTWRITEBYTECODE =

test-python: build ## Python tests (ARGS="-k csv" chooses)
	$(BIN)/python -m pytest -n $(PYTEST_JOBS) --dist loadgroup $(ARGS)

test-wheel: wheel ## the wheel on four Pythons, no Go or gcc in sight (WHEEL_PYTHONS="3.10@2.4.0 3.13": with torch 2.4.0, the newest)
	$(BIN)/python python/tests/wheel_matrix.py $(WHEEL_PYTHONS)

# The frameworks stand beside the development environment, whose torch they use.
.venv-integrations/.stamp: python/requirements-integrations.txt $(VENV)/.stamp
	$(call beside,.venv-integrations)
	.venv-integrations/bin/python -m pip install --quiet --requirement $<
	.venv-integrations/bin/python -m pip install --quiet --no-deps mosaicml-streaming==0.13.0 # its orders need numpy, and nothing of six clouds
	touch $@

# A server of S3 that checks signatures, of rclone's sources: these are 300 MB, and a minute or two, once. It is no part of go.mod.
RCLONE := .cache/rclone/serve-s3

$(RCLONE):
	mkdir -p $(@D)
	printf 'module rclone\n\ngo 1.26.0\n\nrequire github.com/rclone/rclone v1.76.0\n' > $(@D)/go.mod
	printf '%s\n' 'package main' '' 'import (' '	_ "github.com/rclone/rclone/backend/local"' '	"github.com/rclone/rclone/cmd"' \
		'	_ "github.com/rclone/rclone/cmd/serve"' '	_ "github.com/rclone/rclone/cmd/serve/s3"' ')' '' 'func main() { cmd.Main() }' > $(@D)/main.go
	cd $(@D) && GOFLAGS=-mod=mod go build -buildvcs=false -trimpath -ldflags='-s -w' -o $(@F) .

# A proxy that delays, cuts and resets connections.
TOXIPROXY := .cache/toxiproxy/server

$(TOXIPROXY):
	mkdir -p $(@D)
	printf 'module toxiproxy\n\ngo 1.26.0\n\nrequire github.com/Shopify/toxiproxy/v2 v2.12.0\n' > $(@D)/go.mod
	cd $(@D) && GOFLAGS=-mod=mod go build -buildvcs=false -trimpath -ldflags='-s -w' -o $(@F) github.com/Shopify/toxiproxy/v2/cmd/server

test-integrations: build .venv-integrations/.stamp .venv-buckets/.stamp $(RCLONE) $(TOXIPROXY) ## with the real Accelerate, transformers, datasets, webdataset, litdata, Lightning, Ray, torchdata, timm and lightly (400 MB), and rclone as a server of S3
	GOFAST_INTEGRATIONS=1 .venv-integrations/bin/python -m pytest python/tests/frameworks python/tests/loader/test_integrations.py python/tests/loader/test_ray.py python/tests/loader/test_streaming_order.py python/tests/loader/test_torchdata.py python/tests/tables/test_text_cache.py python/tests/images/test_webdataset.py python/tests/images/test_tar_pictures.py python/tests/tools/test_shard.py python/tests/lazy/test_timm_lightly.py $(ARGS)
	GOFAST_RCLONE=$(CURDIR)/$(RCLONE) GOFAST_TOXIPROXY=$(CURDIR)/$(TOXIPROXY) \
		.venv-buckets/bin/python -m pytest python/tests/remote/test_s3.py python/tests/remote/test_toxiproxy.py

test-gpu: build ## the GPU path on a real GPU
	@$(BIN)/python -c 'import sys, torch; torch.cuda.is_available() or sys.exit("there is no GPU here: make test-python runs the GPU path on a stand-in for the CUDA driver")'
	$(BIN)/python -m pytest python/tests/device/test_gpu.py $(ARGS)

soak: build ## the long ones: many forks, many epochs, growth of memory, every byte of files changed in every way
	GOFAST_SOAK=1 go test -timeout 1800s -run 'FlippedBytes|TestNumbers' $(GO_PACKAGES)
	$(BIN)/python -m pytest -m soak --timeout 1800 $(ARGS)

fuzz: ## every Go fuzz target for FUZZTIME=30s
	@set -e; for package in $$(go list $(GO_PACKAGES)); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
		done; \
	done

# ------------------------------------------------------------------ measurements

bench: ## tables, pictures and other people's code, one after another, two hours on two cores; docs/benchmarks.md with them
	@echo "1 of 3: tables" >&2; $(MAKE) --no-print-directory bench-tables
	@echo "2 of 3: images" >&2; $(MAKE) --no-print-directory bench-images
	@echo "3 of 3: strangers" >&2; $(MAKE) --no-print-directory bench-strangers

bench-go: ## Go benchmarks, ten runs each, for benchstat
	go test -run '^$$' -bench . -count 10 $(GO_PACKAGES)

compare: build ## turns of this checkout and another, several processes each, BASE=../base, 5 minutes (ARGS="--cases tables")
	$(BIN)/python -m benchmarks.compare $(BASE) $(ARGS)

bench-tables: build ## tables against pandas, pyarrow, polars, numpy and TensorDataset (ARGS="--quick")
	$(BIN)/python -m benchmarks.tables $(ARGS)

# The peers stand beside the development environment, not in it: they are large, and none is needed to work on gofast.
# One that cannot be installed is named with pip's reason in the result; the others are measured.
define peers
	$(call beside,$(1))
	@rm -f $(1)/not-installed
	@grep -v '^#' $(2) | while read -r peer; do \
		$(1)/bin/python -m pip install --quiet $$peer 2> $(1)/pip.log || \
		echo "$${peer##* }: $$(grep -im1 error $(1)/pip.log || tail -n 1 $(1)/pip.log)" | tee -a $(1)/not-installed; done
	touch $(1)/.stamp
endef

.venv-bench/.stamp: benchmarks/requirements-peers.txt $(VENV)/.stamp
	$(call peers,.venv-bench,$<)

# Two whose packages go with nobody else's.
.venv-bench-%/.stamp: benchmarks/requirements-%.txt $(VENV)/.stamp
	$(call peers,.venv-bench-$*,$<)

bench-system: ## what FFCV is built from and SPDL runs with, by apt (without it they are reported as not measured)
	$(SUDO) apt-get install --yes --no-install-recommends libopencv-dev libturbojpeg0-dev pkg-config ffmpeg

bench-images: build .venv-bench/.stamp .venv-bench-ffcv/.stamp .venv-bench-tensorflow/.stamp ## pictures against torchvision, DALI, OpenCV, FFCV, tf.data, SPDL, datago and Grain, 20 minutes on two cores (ARGS="--quick")
	.venv-bench/bin/python -m benchmarks.images $(ARGS)

bench-strangers: build .venv-bench/.stamp ## other people's code, unmodified and with names swapped, an hour on two cores (ROUNDS=3 ARGS="--quick --only dino,mnist")
	.venv-bench/bin/python -m benchmarks.strangers $(ARGS)

bench-warm: build .venv-bench/.stamp .venv-bench-ffcv/.stamp ## later epochs of pictures with and without a cache, 10 minutes on two cores (ARGS="--only train")
	.venv-bench/bin/python -m benchmarks.warm $(ARGS)

bench-far: build .venv-bench/.stamp ## shards behind a server that is 20 and 50 ms away (ARGS="--only first-batch-20ms")
	.venv-bench/bin/python -m benchmarks.far $(ARGS)

bench-storage: build .venv-bench/.stamp .venv-bench-tensorflow/.stamp ## tables, HDF5, TFRecord, generators and texts beside what people read them with, 20 minutes on two cores (ARGS="--only csv,hdf5")
	.venv-bench/bin/python -m benchmarks.storage $(ARGS)

bench-scale: build ## many ranks on many hosts, simulated (ARGS="--plan"), beside real processes (ARGS="--check"), and the unit costs (ARGS="--costs")
	$(BIN)/python -m benchmarks.simulate $(ARGS)

bench-gpu: build ## the GPU path's figures, on a machine with a GPU (ARGS="--rounds 3 wire")
	$(BIN)/python -m benchmarks.gpu $(ARGS)

gpu-kit: build ## build/gpu-kit: tests and figures of the GPU path in one folder, for a machine without Go, gcc or network
	$(BIN)/python -m benchmarks.gpu.kit

# ------------------------------------------------------------------ one definition of clean

PYTHON_CFLAGS = -I$(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["include"])')

check-figures: setup ## docs/benchmarks.md's figures are those of benchmarks/results
	$(BIN)/python -m benchmarks.publish --check

lint: setup check-figures ## gofmt, vet, staticcheck, ruff, mypy, the figures, the census of names and second answers
	@$(BIN)/python python/tests/census.py
	@unformatted=$$(gofmt -l $(GO_FILES)); test -z "$$unformatted" || { echo "gofmt -w $$unformatted"; exit 1; }
	go vet ./...
	CGO_CFLAGS="$(PYTHON_CFLAGS)" go vet -tags python ./pybind/...
	go tool staticcheck ./...
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## let gofmt and ruff write
	gofmt -w $(GO_FILES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint-workflows: ## actionlint for .github/workflows (downloads it the first time)
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# ------------------------------------------------------------------ a release

.venv-release/.stamp: python/requirements-release.txt $(VENV)/.stamp
	$(BIN)/python -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --requirement $<
	touch $@

notices: setup ## write THIRD_PARTY_NOTICES.txt; `make release` and test_release.py fail when it is stale
	$(BIN)/python -m pybind.release.notices

release: .venv-release/.stamp ## make dist/: sdist, manylinux wheel, bill of materials, checksums (MACHINES=aarch64: for that as well)
	.venv-release/bin/python -m pybind.release $(MACHINES)

check-tag: ## what CHANGELOG.md says of TAG=v0.1.0; fails unless that is the version of the sources
	@$(or $(PYTHON),python3) -m pybind.release.version "$(TAG)"

attach-release: ## dist/ and what CHANGELOG.md says of TAG=v0.1.0 to a release on GitHub, by its command gh
	$(or $(PYTHON),python3) -m pybind.release.version "$(TAG)" > dist/notes.md
	gh release create "$(TAG)" dist/gofast_torch-* dist/SHA256SUMS --title "gofast $(TAG)" --notes-file dist/notes.md --verify-tag

try-release: ## the checksums and this machine's wheel of dist/, with the newest torch, no Go or gcc in sight
	cd dist && sha256sum --check --strict SHA256SUMS
	$(PYTHON) python/tests/wheel_matrix.py $$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# ------------------------------------------------------------------ aarch64 (Grace, Graviton), on an x86-64 machine

# Debian's libraries and Python for that processor, unpacked and not installed, with packages of the index in site/.
AARCH64 := .venv-aarch64
CROSS := GOOS=linux GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc
EMULATED := qemu-aarch64-static -L $(CURDIR)/$(AARCH64)/root

# Tests that start themselves again, which takes a kernel that knows the emulator.
STARTERS = $(if $(wildcard /proc/sys/fs/binfmt_misc/qemu-aarch64),,-skip 'TestLoadRefuses|TestNoDriver|TestTwoProcessesKeepKernels|TestKilledBuilder|TestRunOnADevice|TestSignalsEndAtOnce')

apt-aarch64: ## install what the aarch64 targets need: a cross compiler and an emulator (Debian, Ubuntu; as root or with sudo)
	$(SUDO) apt-get install --yes --no-install-recommends \
		gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static mmdebstrap debian-archive-keyring

$(AARCH64)/.stamp: python/requirements-aarch64.txt $(VENV)/.stamp
	rm -rf $(AARCH64) && mkdir $(AARCH64)
	mmdebstrap --quiet --variant=extract --arch=arm64 --include=python3,zlib1g,libstdc++6 bookworm $(AARCH64)/root
	$(BIN)/python -m pip install --quiet --requirement $< --target $(AARCH64)/site --no-deps --only-binary=:all: \
		--python-version 3.11 --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64
	printf '#!/bin/sh\nexec %s -L %s %s/usr/bin/python3.11 "$$@"\n' "$$(command -v qemu-aarch64-static)" \
		$(CURDIR)/$(AARCH64)/root $(CURDIR)/$(AARCH64)/root > $(AARCH64)/python
	chmod +x $(AARCH64)/python
	@# Workers that are spawned are this processor's too, which the kernel alone cannot start.
	printf 'import multiprocessing.spawn\nmultiprocessing.spawn.set_executable("%s")\n' $(CURDIR)/$(AARCH64)/python > $(AARCH64)/site/sitecustomize.py
	touch $@

test-aarch64: $(AARCH64)/.stamp ## Go tests for aarch64, in the emulator: slow, and no measure of speed (make apt-aarch64 first)
	$(CROSS) GOFAST_TEST_PILLOW=$(CURDIR)/$(AARCH64)/site/pillow.libs QEMU_LD_PREFIX=$(CURDIR)/$(AARCH64)/root \
		go test -short -timeout 3600s -exec "$(EMULATED)" $(STARTERS) $(GO_PACKAGES)

wheel-aarch64: setup ## build the wheel for aarch64 with a cross compiler
	rm -rf dist/*linux*_aarch64.whl
	$(CROSS) _PYTHON_HOST_PLATFORM=linux-aarch64 $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*linux*_aarch64.whl

test-wheel-aarch64: wheel-aarch64 $(AARCH64)/.stamp ## that wheel with torch, in the emulator
	rm -rf $(AARCH64)/wheel
	$(BIN)/python -m zipfile --extract dist/*linux*_aarch64.whl $(AARCH64)/wheel
	PYTHONPATH=$(CURDIR)/$(AARCH64)/wheel:$(CURDIR)/$(AARCH64)/site PATH= $(CURDIR)/$(AARCH64)/python python/tests/wheel_smoke.py

# ------------------------------------------------------------------ the rest

demo: build ## train small CNNs on real digits and a folder of photographs, before and after
	$(BIN)/python examples/demo.py
	@echo "the command is $(BIN)/gofast: try $(BIN)/gofast doctor train.py with a script of yours"

.venv-buckets/.stamp: python/requirements-buckets.txt $(VENV)/.stamp
	$(call beside,.venv-buckets)
	.venv-buckets/bin/python -m pip install --quiet --requirement $<
	touch $@

demo-shards: build .venv-buckets/.stamp ## a server of S3 on this machine: shard a folder of photographs into a bucket, and train from there
	.venv-buckets/bin/python examples/demo_shards.py

article: build ## from a naive Dataset to gofast, step by step, a minute (ARGS="--table my.parquet --pictures my/photos")
	$(BIN)/python examples/article.py $(ARGS)

guides: build ## what five well-known articles advise, and the line of gofast, measured, half a minute
	@set -e; for guide in examples/guide_*.py; do $(BIN)/python $$guide; done

notebook: setup ## examples/article.ipynb, made from examples/article.py
	$(BIN)/jupytext --quiet --to notebook examples/article.py

# The site is made from Markdown and docstrings; mkdocs says too loudly that its theme has a successor.
.venv-docs/.stamp: python/requirements-docs.txt $(VENV)/.stamp
	$(call beside,.venv-docs)
	.venv-docs/bin/python -m pip install --quiet --requirement $<
	touch $@

docs: build .venv-docs/.stamp ## the documentation site, strictly, into build/site
	$(BIN)/python docs/generate.py --check
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict
	@echo "build/site/index.html"

clean: ## remove what was built (the environments .venv* and .cache stay)
	rm -rf build dist pybind/build python/gofast/_native.abi3.so python/*.egg-info \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results/*.tmp
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
