# Everything runs from a virtual environment in .venv that the targets create themselves.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests examples docs $(wildcard benchmarks)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo browser test test-unit test-bounds bench-quick lint format docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/installed-demo ## find the planted errors in a table of parcel shipments
	@$(BIN)/python examples/demo.py

browser: ## a Chromium for the tests of the report, where Debian's packages can be installed
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || test -n "$$RFOD_BROWSER" || \
		{ command -v apt-get >/dev/null && test "$$(id -u)" = 0 && echo "installing chromium" && \
		timeout 60 apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		timeout 240 apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
		echo "no browser here: the tests of the report in a browser are skipped"

test: lint test-unit test-bounds ## every check: lint, types, layers, tests, tests with bounds checks
	@echo "all checks passed"

lint: $(VENV)/installed-test ## style, types and layers
	@$(BIN)/ruff check --quiet $(SOURCES) && echo "ruff check: ok"
	@$(BIN)/ruff format --quiet --check $(SOURCES) && echo "ruff format: ok"
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

test-unit: $(VENV)/installed-test ## the tests
	@$(BIN)/python -m pytest -q -n $(WORKERS)

# numba does not key its cache by the bounds-check flag, so the checked kernels get a cache of their own.
test-bounds: $(VENV)/installed-test ## the kernel tests with array bounds checked
	@echo "kernel tests, array bounds checked:"
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/numba-boundscheck" \
		$(BIN)/python -m pytest tests/forest -q -x -n $(WORKERS)

bench-quick: $(VENV)/installed-bench ## before a release: fails if accuracy on seven small datasets has dropped
	@$(BIN)/python -m benchmarks.paper.run quick --workers $(WORKERS)

format: $(VENV)/installed-test ## put the sources in order
	@$(BIN)/ruff check --quiet --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

docs: $(VENV)/installed-docs ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "RFOD needs Python 3.11 or newer. Hint: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of dependencies; a newer pyproject.toml installs again.
$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo "installing rfod[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
