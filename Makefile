# The verbs of this project. `make` alone lists them.

# Each runs a program of the virtual environment, which is made first. This file contains no
# path of a folder: the name of a checkout or of a home may contain spaces.
RUNTIME := deploy/with-venv runtime
DEVELOPMENT := deploy/with-venv development
DRAWN := tests/oracle/test_domain.py tests/oracle/test_remembered.py tests/oracle/test_shapes.py \
  tests/integration/changes/test_concurrent.py
SIZED := tests/acceptance/test_many_pods.py tests/acceptance/test_public_trace.py
CODE := portal accounting scheduler_view tests bench deploy manage.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-unit test-integration test-browser test-e2e test-python check \
  lint format types layers migrations templates lock bench soak mutation provision \
  run worker beat clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 18

# --- setup -------------------------------------------------------------------------

setup: ## create the virtual environment for development
	@$(DEVELOPMENT) python -c ''

provision: ## as root: install what the Prometheus, cluster and browser tests need
	deploy/provision.sh

lock: ## update the lock files after a change of dependencies in pyproject.toml
	$(DEVELOPMENT) uv pip compile $(LOCK) -o requirements.txt pyproject.toml
	$(DEVELOPMENT) uv pip compile $(LOCK) --extra s3 --group test --group lint --group mutation --group bench \
	  -o requirements-dev.txt pyproject.toml

# One lock for every Python that `requires-python` names.
LOCK := --quiet --generate-hashes --universal --python-version 3.11 --no-annotate \
  --extra demo --extra parquet --extra xlsx --no-emit-index-url --custom-compile-command "make lock"

# --- running -----------------------------------------------------------------------

demo: ## run a simulated cluster with eight weeks of history (ARGS="--port 8080", --help)
	@exec $(RUNTIME) python manage.py demo $(ARGS)

run: ## run the web server of your own ledger, at PUBLIC_URL (http://127.0.0.1:8000)
	@exec $(RUNTIME) python manage.py serve web

worker: ## run a worker of your own ledger; start more of them to scale
	@exec $(RUNTIME) python manage.py serve worker

beat: ## run the scheduler of your own ledger: it sends tasks to the workers
	@exec $(RUNTIME) python manage.py serve beat

# --- tests -------------------------------------------------------------------------

test: ## run every test that this machine supports (ARGS for pytest)
	@exec $(DEVELOPMENT) python -m tests.run $(ARGS)

test-unit: ## run the tests without services, in seconds
	@exec $(DEVELOPMENT) pytest -q -n 2 --dist worksteal tests/unit

test-integration: ## run the tests with real PostgreSQL, Redis and Prometheus
	@exec $(DEVELOPMENT) pytest -q tests/integration

test-browser: ## run the tests of pages in Chromium
	@exec $(DEVELOPMENT) pytest -q tests/browser

test-e2e: ## run the tests of the whole product, started by its commands
	@exec $(DEVELOPMENT) pytest -q tests/e2e

test-python: ## run unit tests and a demo on another Python (PYTHON, VENV), as CI does
	$(DEVELOPMENT) pytest -q -n 2 tests/unit
	$(DEVELOPMENT) pytest -q \
	  tests/e2e/test_demo.py::test_next_port_is_used_and_nothing_is_left_after_a_kill

bench: ## measure speed and memory, also of the compared products
	@exec $(DEVELOPMENT) python -m bench

mutation: ## mutation tests of accounting/*/rules (MODULES, SAMPLE)
	SAMPLE=$(SAMPLE) SEED=$(SEED) $(DEVELOPMENT) python -m tests.mutation $(MODULES)

soak: ## run for an hour, with a worker killed every 30 s; see docs/operations.md for others
	@if [ -n "$(STATEFUL_STEPS)$(ORACLE_FLEETS)" ]; then \
		export STATEFUL_STEPS="$(STATEFUL_STEPS)" STATEFUL_SEED="$(STATEFUL_SEED)"; \
		export ORACLE_FLEETS="$(ORACLE_FLEETS)" ORACLE_SEED="$(ORACLE_SEED)"; \
		exec $(DEVELOPMENT) python -m tests.oracle.soak; \
	elif [ -n "$(MONEY_WORLDS)" ]; then \
		export MONEY_WORLDS="$(MONEY_WORLDS)" MONEY_SEED="$(MONEY_SEED)"; \
		exec $(DEVELOPMENT) pytest -q tests/integration/months/test_random_worlds.py; \
	elif [ -n "$(PAGE_ADDRESSES)" ]; then \
		export PAGE_ADDRESSES="$(PAGE_ADDRESSES)" PAGE_SEED="$(PAGE_SEED)"; \
		exec $(DEVELOPMENT) pytest -q tests/integration/access/test_addresses.py; \
	elif [ -n "$(SCHEMA_EXAMPLES)" ]; then \
		export SCHEMA_EXAMPLES="$(SCHEMA_EXAMPLES)" SCHEMA_SEED="$(SCHEMA_SEED)"; \
		exec $(DEVELOPMENT) pytest -q --timeout 0 tests/integration/api/test_schemathesis.py; \
	elif [ -n "$(OPENB_SEEDS)" ]; then \
		export OPENB_SEEDS="$(OPENB_SEEDS)"; \
		exec $(DEVELOPMENT) pytest -q -s --timeout 0 tests/acceptance/test_openb_policies.py; \
	elif [ -n "$(PENDING_CASES)" ]; then \
		export PENDING_CASES="$(PENDING_CASES)"; \
		exec $(DEVELOPMENT) pytest -q -s --timeout 0 tests/acceptance/test_pending_live.py; \
	elif [ -n "$(SITUATIONS)" ]; then \
		export SITUATIONS="$(SITUATIONS)"; \
		exec $(DEVELOPMENT) pytest -q -s --timeout 0 tests/acceptance/test_situations_live.py; \
	elif [ -n "$(SERVER_KILLS)" ]; then \
		export SERVER_KILLS="$(SERVER_KILLS)"; \
		exec $(DEVELOPMENT) pytest -q -s --timeout 0 tests/integration/changes/test_server_killed.py; \
	elif [ -n "$(FULL_SIZE)" ]; then \
		export FULL_SIZE="$(FULL_SIZE)"; \
		exec $(DEVELOPMENT) pytest -q --timeout 0 $(SIZED); \
	elif [ -n "$(SHORT)" ]; then \
		exec $(DEVELOPMENT) pytest -q tests/soak; \
	elif [ -n "$(EXAMPLES)" ]; then \
		export EXAMPLES="$(EXAMPLES)"; \
		exec $(DEVELOPMENT) pytest -q -n auto --dist worksteal $(DRAWN); \
	else exec $(DEVELOPMENT) python -m bench.soak; fi

# --- checks ------------------------------------------------------------------------

check: lint types layers migrations templates test-unit ## run all checks and the unit tests

lint: ## check code with ruff: rules and format
	$(DEVELOPMENT) ruff check $(CODE)
	$(DEVELOPMENT) ruff format --check $(CODE)

format: ## fix and format code and templates
	$(DEVELOPMENT) ruff check --fix $(CODE)
	$(DEVELOPMENT) ruff format $(CODE)
	$(DEVELOPMENT) djangofmt templates

types: ## check types with mypy, strict
	$(DEVELOPMENT) mypy portal accounting scheduler_view tests bench deploy

layers: ## check the import layers (.importlinter)
	$(DEVELOPMENT) lint-imports

# Django's system checks run before it, as before almost every command.
migrations: ## run Django's checks, and check that migrations match the models
	$(DEVELOPMENT) python manage.py makemigrations --check

templates: ## check the syntax and format of templates
	$(DEVELOPMENT) djlint --lint templates
	$(DEVELOPMENT) djangofmt --check templates

clean: ## delete the data of the embedded services (the next demo starts from zero)
	@deploy/clean
