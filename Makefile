# Every target sets itself up from nothing, and does not install again what is there.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

# The corpora for development, where they lie beside the checkout; the library itself knows only SAYWHY_DATA.
ifneq ($(wildcard ../shared/data),)
export SAYWHY_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test test-slow check format bench docs clean

help:
	@echo "make demo    train, explain and measure a small model; writes demo/report.html"
	@echo "make test    the tests (test-slow: the long ones)"
	@echo "make check   ruff and mypy"
	@echo "make bench   speed beside Captum and the bare model calls"
	@echo "make docs    the documentation, into site/"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/saywhy demo --out demo

test: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(ARGS)

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python scripts/tables.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/explainers.py $(ARGS)
ifdef SAYWHY_DATA
	$(BIN)/saywhy train plain --data sst2 --model minilm --out runs/plain-sst2-minilm
	$(BIN)/python benchmarks/completeness.py runs/plain-sst2-minilm
else
	@echo "set SAYWHY_DATA to also measure integrated gradients on sst2"
endif

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict -q -d site
	@echo "open site/index.html"

clean:
	rm -rf $(VENV) site demo build dist .mypy_cache .pytest_cache .ruff_cache
