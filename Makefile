# Two commands are enough: `make run` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
export UV_SYSTEM_CERTS := 1
unexport PYTHONDONTWRITEBYTECODE  # the tests start many processes, and each would compile all modules again

# Tests without a server, browser, sandbox or running engine.
UNIT_TESTS := tests/llm_app tests/extending $(wildcard tests/test_*.py tests/agentsite/test_configuration_*.py tests/tasks_app/test_*.py) \
  $(addprefix tests/tools_app/test_, charset.py coercion.py enclosure.py file_patch.py file_tool.py internal_addresses.py \
  network_guard.py recall_tool.py review_rules.py shell_judgement.py skill_folders.py text_diff.py workspace_files.py) \
  --ignore-glob=*storm.py --ignore=tests/llm_app/test_pictures.py

# Groups of slow tests: entire tasks with a fake of each provider; killed or overloaded servers; browsers and programs
# against servers, sandboxes and upgraded databases. Tests that measure time run alone.
CONTRACTS := tests/contracts
FAULTS := $(wildcard tests/faults) tests/team tests/acceptance/test_kill_and_restart.py tests/acceptance/test_canary.py \
  tests/e2e/test_reconnect.py $(wildcard tests/llm_app/test_*storm.py)
ALONE := tests/acceptance/test_time_of_a_tree.py
OUTSIDE := $(filter-out $(FAULTS) $(ALONE),$(wildcard $(addsuffix /test_*.py,tests/e2e tests/acceptance tests/recorded tests/tools_app/sandbox))) \
  tests/agentsite/test_run_agent_ends.py tests/agentsite/test_run_agent_leaves_nothing.py tests/tools_app/test_browser_tool.py \
  $(addprefix tests/tasks_app/engine/test_,browser.py litellm.py mcp_arguments.py mcp_tools.py) tests/tools_app/test_mcp_tools.py
# One process more than there are processors, because slow tests mostly wait.
SLOWLY := -n $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# Tests in which the databases could differ: our own statements, the order of rows, full text, locks, the pool.
BOTH := $(addprefix tests/,agentsite/test_requests.py llm_app/test_renewing_reservations.py \
  $(addprefix tasks_app/,test_admission.py test_cached_sql.py test_session_search.py api/test_forks.py tracing/test_delivery.py \
  $(addprefix engine/test_,commits.py file_history.py file_history_properties.py leases.py stop_of_a_tree.py undone_deletions.py)))
LEFT_OUT = $(foreach kind,OUTSIDE CONTRACTS FAULTS,make $(shell echo $(kind) | tr A-Z a-z) ($(call functions,$($(kind)))))
functions = $(shell grep -rhE "^(async )?def test_" --include="test_*.py" $(1) | wc -l) test functions

.DEFAULT_GOAL := help
.PHONY: help run dev team test test-postgres test-fast test-slow test-all outside contracts faults soak e2e lint bench real keys recorded schema lock clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/base.stamp  ## Install, migrate and start everything; prints the address and a sign-in link
	@exec $(PY) manage.py serve

dev: $(VENV)/base.stamp  ## Run for development: reload, Django's debug page, demo data in var/dev; on 127.0.0.1 only
	@exec env -u REDIS_URL -u DATABASE_URL DEBUG=1 AGENTSITE_VAR=$${AGENTSITE_VAR:-var/dev} $(PY) manage.py dev

team: $(VENV)/base.stamp  ## Run a team on this machine: 2 webs, 2 workers (WEBS=, WORKERS=) and beat, on a local PostgreSQL and Redis
	@exec env AGENTSITE_VAR=$${AGENTSITE_VAR:-var/team} $(PY) -m agentsite.team

test: $(VENV)/dev.stamp  ## Run all tests except outside, contracts and faults
	AGENTSITE_TESTS_LEFT_OUT="$(LEFT_OUT)" $(PY) -m pytest -n auto $(addprefix --ignore=,$(OUTSIDE) $(ALONE) $(CONTRACTS) $(FAULTS)) $(ARGS)

test-postgres: $(VENV)/dev.stamp  ## Run on PostgreSQL, if there is one, the tests in which databases could differ
	TEST_DATABASE=postgresql $(PY) -m pytest -n auto $(BOTH) $(ARGS)

outside: $(VENV)/dev.stamp  ## Run the tests that need browsers, servers, sandboxes, a heavy library or an older database
	$(PY) -m pytest -n auto $(OUTSIDE) $(ARGS)
	$(PY) -m pytest $(ALONE)

contracts: $(VENV)/dev.stamp  ## Run entire tasks with strict fakes of the providers, in each protocol
	$(PY) -m pytest -n auto $(CONTRACTS) $(ARGS)

faults: $(VENV)/dev.stamp  ## Run the tests that kill and overload servers, and those of a team's PostgreSQL and Redis
	$(PY) -m pytest -n auto $(FAULTS) $(ARGS)

soak: $(VENV)/dev.stamp  ## Run the long form of faults: over 1,000 tasks with faults, then random ones for SOAK_MINUTES=30 (FAULTS_SEED=)
	FAULTS_LONG=1 $(PY) -m pytest tests/faults $(ARGS)

test-slow: $(VENV)/dev.stamp  ## Run outside, contracts and faults together, which is faster than one after the other
	$(PY) -m pytest $(SLOWLY) $(OUTSIDE) $(CONTRACTS) $(FAULTS) $(ARGS)
	$(PY) -m pytest $(ALONE)

test-all: $(VENV)/dev.stamp  ## Run all tests together: fast ones use the cores while slow ones wait
	$(PY) -m pytest -n auto $(addprefix --ignore=,$(ALONE)) $(ARGS)
	$(PY) -m pytest $(ALONE)

test-fast: $(VENV)/dev.stamp  ## Run the unit tests: no servers, browsers or sandboxes; under a minute on two cores
	$(PY) -m pytest -n auto --dist worksteal $(UNIT_TESTS)

e2e: $(VENV)/dev.stamp  ## Run the browser tests alone
	$(PY) -m pytest tests/e2e

lint: $(VENV)/dev.stamp  ## Check style, types, English, import direction and migrations
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/djlint templates --check --quiet
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tests.english --check
	$(PY) manage.py makemigrations --check --dry-run

bench: $(VENV)/dev.stamp  ## Measure the engine's cost per iteration and compare it with a floor
	$(PY) -m benchmarks

real: $(VENV)/dev.stamp .venv-real/stamp  ## Run the main job against a real, small model server
	$(PY) -m pytest tests/real -m real -s

keys: $(VENV)/base.stamp  ## Write missing keys and passwords of docker-compose.yml into secrets/
	@$(PY) -m agentsite.secret_files

recorded: $(VENV)/dev.stamp  ## Record the database of tests/recorded again
	$(PY) -m tests.recorded.make

schema: $(VENV)/dev.stamp  ## Write the prepared schema of new SQLite databases, after each new migration
	$(PY) -m tests.recorded.prepare

lock: $(VENV)/bin/python  ## Resolve the dependencies again
	cd requirements && for name in uv base dev proxy workshop; do \
	  ../$(UV) pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	    --custom-compile-command "make lock" $$name.in -o $$name.txt || exit 1; done
	cd requirements && ../$(UV) pip compile --quiet --upgrade --no-deps --universal --generate-hashes --no-emit-index-url \
	  --python-version 3.11 --custom-compile-command "make lock" real.in -o real.txt

clean:  ## Remove the installed packages; var/ and its data stay
	rm -rf $(VENV) .venv-real

# --- installing: uv where it has a wheel, pip otherwise; both check every hash -------------------------------------
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements/uv.txt \
	  || echo "uv has no wheel for this machine: pip installs instead, which takes longer."

$(VENV)/base.stamp: $(VENV)/bin/python requirements/base.txt
	@echo "Installing the dependencies …"
	@if [ -x $(UV) ]; then $(UV) pip install --quiet --python $(PY) --require-hashes -r requirements/base.txt; \
	  else $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/base.txt; fi
	@touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp requirements/dev.txt
	@echo "Installing the packages of the tests …"
	@if [ -x $(UV) ]; then $(UV) pip install --quiet --python $(PY) --require-hashes -r requirements/dev.txt; \
	  else $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt; fi
	@touch $@

.venv-real/stamp: $(VENV)/base.stamp requirements/real.txt requirements/proxy.txt
	$(PYTHON) -m venv .venv-real
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/proxy.txt
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/real.txt
	@touch $@
