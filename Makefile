PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Built once for each state of the files that say what to install.
READY := $(VENV)/.ready

.PHONY: help install demo test test-all check format lint types docs bench build clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(READY)  ## make .venv with the tested versions of everything

$(READY): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "albert needs Python 3.11, 3.12 or 3.13; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $(READY)

demo: $(READY)  ## raw text to a trained model in a few minutes, in ./demo
	$(BIN)/python -m benchmarks.demo demo

check: lint types  ## everything that reads the code without running it

lint: $(READY)  ## style and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(READY)  ## mypy, strict
	$(BIN)/mypy

format: $(READY)  ## rewrite the code in the one style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: check  ## checks and the fast tests
	$(BIN)/python -m pytest -n 2 --no-loadscope-reorder

test-all: $(READY)  ## the slow tests: live parity, kills
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,slow]"
	-@command -v npm > /dev/null && npm install --silent --prefix $(VENV)/azurite azurite@3.37.0
	-@$(BIN)/python -m tests.engines.install
	$(BIN)/python -m pytest -m slow -n 2 --no-loadscope-reorder

docs: $(READY)  ## rewrite the generated pages in docs/
	$(BIN)/python docs/generate.py

bench: $(READY)  ## speed of reading, vocab, make-data; TEXT="--books DIR" OPTIONS="--vocab DIR"
	$(BIN)/python -m benchmarks.reading $(TEXT)
	$(BIN)/python -m benchmarks.make_data $(TEXT) $(OPTIONS)

build: $(READY)  ## a wheel in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove what the targets made
	rm -rf $(VENV) demo dist build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
