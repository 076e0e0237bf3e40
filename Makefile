# Everything runs from a virtual environment in .venv that the targets create themselves.
# Another interpreter: make test PYTHON=python3.13
# Other tests on every Python: make test-pythons TESTS=smoke, or the arguments of pytest, as in TESTS=tests/io

PYTHON ?= python3
WORKERS ?= 2
TESTS ?= light

VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests examples docs $(wildcard benchmarks)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo browser test test-unit test-bounds test-pythons test-distributed bench-quick lint format dist docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/installed-demo ## find the planted errors in a table of parcel shipments
	@$(BIN)/python examples/demo.py

browser: $(VENV)/installed-test ## a Chromium for the tests of the report, where there is none and one can be had
	@$(BIN)/python tests/browser/install.py

test: browser lint test-unit test-bounds ## every check: lint, types, layers, tests, tests with bounds checks
	@echo "all checks passed"

lint: $(VENV)/installed-test ## style, types and layers
	@$(BIN)/ruff check --quiet $(SOURCES) && echo "ruff check: ok"
	@$(BIN)/ruff format --quiet --check $(SOURCES) && echo "ruff format: ok"
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

test-unit: $(VENV)/installed-test ## the tests
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q -n $(WORKERS)

# numba does not key its cache by the bounds-check flag, so the checked kernels get a cache of their own.
test-bounds: $(VENV)/installed-test ## the kernel tests with array bounds checked
	@echo "kernel tests, array bounds checked:"
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/numba-boundscheck" \
		$(BIN)/python -m pytest tests/forest -q -x -n $(WORKERS)

test-pythons: $(VENV)/installed-test ## the light tests from a wheel, on every Python that is claimed and found
	@$(BIN)/python tests/pythons.py --workers $(WORKERS) $(TESTS)

# Java comes from Debian's package where the superuser runs this, as in containers.
test-distributed: $(VENV)-distributed/installed ## Ray, Spark and object storage, in an environment of their own
	@command -v java > /dev/null || { \
		echo "installing Debian's default-jre-headless"; export DEBIAN_FRONTEND=noninteractive; \
		timeout 30 apt-get update -qq > /dev/null 2>&1 && timeout 120 apt-get install -y -qq \
			--no-install-recommends default-jre-headless > /dev/null 2>&1; \
	} || echo "no Java here and none could be installed: the tests of Spark are skipped"
	@timeout 420 $(VENV)-distributed/bin/python -m pytest -q tests/distributed

bench-quick: $(VENV)/installed-bench ## before a release: fails if accuracy on seven small datasets has dropped
	@$(BIN)/python -m benchmarks.paper.run quick --workers $(WORKERS)

format: $(VENV)/installed-test ## put the sources in order
	@$(BIN)/ruff check --quiet --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

dist: $(VENV)/installed-test ## the source archive and the wheel, into dist/
	@$(BIN)/python -m hatchling build

docs: $(VENV)/installed-docs ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) $(VENV)-distributed build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "RFOD needs Python 3.11 or newer. Hint: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# Far larger than all the rest, so no part of the other one.
$(VENV)-distributed/installed: pyproject.toml
	@echo "installing rfod[ray,spark,test] and moto into $(VENV)-distributed"
	@$(PYTHON) -m venv $(VENV)-distributed
	@$(VENV)-distributed/bin/python -m pip install --quiet --disable-pip-version-check --editable \
		".[ray,spark,test]" "moto[server]>=5.0"
	@touch $@

# One stamp per set of dependencies; a newer pyproject.toml installs again.
$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo "installing rfod[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
