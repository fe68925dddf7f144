# The verbs of this project. `make` alone lists them.

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
CODE := portal accounting scheduler_view tests bench manage.py
export GPU_LEDGER_CACHE ?= $(HOME)/.cache/gpu-ledger

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-unit test-integration test-browser test-e2e check \
  lint format types layers migrations templates lock bench soak mutation provision \
  run worker beat clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

# --- set-up ------------------------------------------------------------------------

setup: $(VENV)/development ## the virtual environment with everything for development

# uv comes first, from the same lock and by its hash; it installs the rest in seconds.
# It believes the system's certificates, as there may be a proxy with one of its own. Where pip
# is configured for an index that uv does not know, pip does it.
install = $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --require-hashes -r $(1) \
  || $(BIN)/pip install --quiet --require-hashes -r $(1)

$(VENV)/uv: requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.txt > $(VENV)/uv.txt
	$(BIN)/pip install --quiet --require-hashes -r $(VENV)/uv.txt
	touch $@

$(VENV)/runtime: requirements.txt | $(VENV)/uv
	$(call install,requirements.txt)
	touch $@

$(VENV)/development: requirements-dev.txt $(VENV)/uv
	$(call install,requirements-dev.txt)
	touch $(VENV)/runtime $@

provision: ## as root: what the Prometheus, cluster and browser tests need
	deploy/provision.sh

lock: $(VENV)/uv ## write the locks after a change of dependencies in pyproject.toml
	$(BIN)/uv pip compile $(LOCK) -o requirements.txt pyproject.toml
	$(BIN)/uv pip compile $(LOCK) --group test --group lint --group mutation --group bench \
	  -o requirements-dev.txt pyproject.toml

# One lock for every Python that `requires-python` names.
LOCK := --quiet --generate-hashes --universal --python-version 3.11 --extra demo --no-annotate \
  --no-emit-index-url --custom-compile-command "make lock"

# --- running -----------------------------------------------------------------------

demo: $(VENV)/runtime ## a simulated cluster, live, with eight weeks of history
	@exec $(BIN)/python manage.py demo

run: $(VENV)/runtime ## the web server of this environment, on port 8000
	@exec $(BIN)/python -m portal.services.roles web

worker: $(VENV)/runtime ## a worker of this environment
	@exec $(BIN)/python -m portal.services.roles worker

beat: $(VENV)/runtime ## the clock of this environment
	@exec $(BIN)/python -m portal.services.roles beat

# --- tests -------------------------------------------------------------------------

test: $(VENV)/development ## every test that this machine can run
	@exec $(BIN)/python -m tests.run

test-unit: $(VENV)/development ## values only, in seconds
	@exec $(BIN)/pytest -q tests/unit

test-integration: $(VENV)/development ## with a real PostgreSQL, Redis and Prometheus
	@exec $(BIN)/pytest -q tests/integration

test-browser: $(VENV)/development ## pages in a real Chromium
	@exec $(BIN)/pytest -q tests/browser

test-e2e: $(VENV)/development ## the whole product, started as a person starts it
	@exec $(BIN)/pytest -q tests/e2e

bench: $(VENV)/development ## speed and memory against the named rivals
	@exec $(BIN)/python -m bench

mutation: $(VENV)/development ## small faults in accounting/domain (MODULES, SAMPLE): do tests find them?
	SAMPLE=$(SAMPLE) SEED=$(SEED) $(BIN)/python -m tests.mutation $(MODULES)

soak: $(VENV)/development ## an hour with a worker killed every 30 s; docs/operations.md names the others
	@if [ -n "$(STATEFUL_STEPS)" ]; then \
		export STATEFUL_STEPS="$(STATEFUL_STEPS)" STATEFUL_SEED="$(STATEFUL_SEED)"; \
		exec $(BIN)/python -m tests.oracle.soak; \
	elif [ -n "$(PAGE_ADDRESSES)" ]; then \
		export PAGE_ADDRESSES="$(PAGE_ADDRESSES)" PAGE_SEED="$(PAGE_SEED)"; \
		exec $(BIN)/pytest -q tests/integration/access/test_addresses.py; \
	elif [ -n "$(SCHEMA_EXAMPLES)" ]; then \
		export SCHEMA_EXAMPLES="$(SCHEMA_EXAMPLES)" SCHEMA_SEED="$(SCHEMA_SEED)"; \
		exec $(BIN)/pytest -q --timeout 0 tests/integration/api/test_schemathesis.py; \
	else exec $(BIN)/python -m bench.soak; fi

# --- checks ------------------------------------------------------------------------

check: lint types layers migrations templates test-unit ## all checks and the unit tests

lint: $(VENV)/development ## ruff: rules and format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

format: $(VENV)/development ## ruff: fix and format
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

types: $(VENV)/development ## mypy, strict
	$(BIN)/mypy portal accounting scheduler_view tests bench

layers: $(VENV)/development ## who may import whom (.importlinter)
	$(BIN)/lint-imports

migrations: $(VENV)/development ## models and migrations agree
	$(BIN)/python manage.py check
	$(BIN)/python manage.py makemigrations --check

templates: $(VENV)/development ## templates are well formed
	$(BIN)/djlint --lint templates

clean: ## delete what the embedded services keep (the demo begins anew)
	rm -rf .gpu-ledger
