# The one door: people, hooks and CI call these targets and nothing else.

VENV := .venv
PYTHON ?= $(firstword $(shell command -v python3.13 python3.12 python3.11 python3))
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the native module into python/gofast
	$(PY) pybind/build_native.py
