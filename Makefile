# All that a target needs it makes for itself, once: environments inside this folder, packages from the registry.
# Nothing else outside this folder is written to, and only python3.11 and make must be there.

PYTHON ?= python3.11
VENV := .venv
PROFILE ?= quick
VLLM_VENV := .venv-vllm
VLLM_VERSION ?= 0.28.0
VLLM_FLAGS ?= --ops 200000 --expect expectations/vllm-0.28.toml --report reports/vllm-0.28.0

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Built with the setuptools of the environment, so that the constraints hold for it too.
INSTALL := $(PIP) install --constraint constraints.txt --no-build-isolation

# A path from the shell could put another checkout in front of this one.
unexport PYTHONPATH

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help check test lint types prove check-vllm constraints clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

check: $(VENV)/check-ready  ## hold the torch manager to the model and to every clause, PROFILE=quick, ci or deep
	$(BIN)/pagedkv check impl --profile $(PROFILE)

test: $(VENV)/dev-ready  ## run the whole test suite
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: $(VENV)/dev-ready  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev-ready  ## mypy, strict
	$(BIN)/mypy

prove: $(VENV)/prove-ready  ## contracts, lemmas and exhaustive search
	$(BIN)/pagedkv prove

check-vllm: $(VLLM_VENV)/ready  ## hold vLLM's manager to the clauses (about 3 GB the first time)
	$(VLLM_VENV)/bin/pagedkv check vllm $(VLLM_FLAGS)

constraints:  ## resolve all requirements anew and write the versions down
	rm -rf $(VENV)-resolve
	$(PYTHON) -m venv $(VENV)-resolve
	$(VENV)-resolve/bin/python -m pip install --quiet --editable '.[dev]'
	sed -n '/^#/p' constraints.txt > $(VENV)-resolve/constraints.txt
	$(VENV)-resolve/bin/python -m pip freeze --all --exclude pip --exclude-editable >> $(VENV)-resolve/constraints.txt
	mv $(VENV)-resolve/constraints.txt constraints.txt
	rm -rf $(VENV)-resolve

clean:  ## remove environments, builds and caches
	rm -rf $(VENV) $(VENV)-resolve $(VLLM_VENV) build dist src/pagedkv.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made from nothing when the versions change, and added to, extra by extra, as targets ask.
$(VENV)/made: constraints.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --constraint constraints.txt setuptools
	touch $@

$(VENV)/check-ready: EXTRA := check,impl
$(VENV)/prove-ready: EXTRA := prove
$(VENV)/dev-ready: EXTRA := dev
$(VENV)/check-ready $(VENV)/prove-ready $(VENV)/dev-ready: $(VENV)/made pyproject.toml setup.py
	$(INSTALL) --editable '.[$(EXTRA)]'
	touch $@

$(VLLM_VENV)/ready: scripts/vllm_env.sh pyproject.toml setup.py
	PYTHON=$(PYTHON) scripts/vllm_env.sh $(VLLM_VENV) $(VLLM_VERSION)
	touch $@
