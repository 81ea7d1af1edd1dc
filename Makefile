# Two commands do all the set-up: `make run` and `make test`. Needs Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Every process would compile all of its modules again.
unexport PYTHONDONTWRITEBYTECODE
# Tests wait for servers and browsers, so there is one process more than processors.
PROCESSES = $$(($$(nproc) + 1))
PYTEST = $(BIN)/pytest --numprocesses $(PROCESSES) --dist worksteal

.PHONY: run upgrade test test-databases test-deployment test-all coverage check costs bench lock format

run: $(VENV)/base
	@exec $(BIN)/python manage.py serve --upgrade

# All that a new version needs while the old one still serves.
upgrade: $(VENV)/base
	@$(BIN)/python manage.py upgrade

# What to run before each commit.
test: $(VENV)/dev
	$(PYTEST)

# Again on PostgreSQL and Redis, which DATABASE_URL and REDIS_URL name, and upgrades of older data on
# both databases. Who may see what, in tests/security, depends on neither.
test-databases: $(VENV)/dev
	DATABASE_URL=$${DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres} \
	REDIS_URL=$${REDIS_URL:-redis://127.0.0.1:6379/0} \
	$(PYTEST) -m "database or transaction" --count-calls --ignore=tests/security
	$(PYTEST) tests/upgrades

# Whole deployments, and a person's main job in Firefox and WebKit.
test-deployment: $(VENV)/dev
	$(BIN)/pytest --numprocesses $(PROCESSES) --dist loadfile tests/deployment tests/engines

# Lines and branches that `make test` runs, in the servers of the tests, too.
coverage: export COVERAGE_FILE = $(CURDIR)/var/coverage/data
coverage: $(VENV)/dev
	rm -rf var/coverage && mkdir -p var/coverage
	$(BIN)/coverage run -m pytest --numprocesses $(PROCESSES) --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

# Everything there is: each size and window, large random inputs, every database.
test-all: export CHATAPP_TEST_THOROUGH := 1
test-all: $(VENV)/dev
	$(PYTEST) tests tests/deployment tests/engines tests/upgrades
	DATABASE_URL=$${DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres} \
	REDIS_URL=$${REDIS_URL:-redis://127.0.0.1:6379/0} \
	$(PYTEST) -m "not pure and not network and not browser"
	$(BIN)/python -m tests.support.fuzz --seconds 300

check: $(VENV)/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python -m tests.support.lint_names
	$(BIN)/python -m tests.support.lint_lengths
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry . --extend-exclude bench
	$(BIN)/deptry . --exclude '\.venv' --ignore DEP002,DEP004
	$(BIN)/djlint --lint templates --profile jinja --quiet
	DEBUG=1 $(BIN)/python manage.py makemigrations --check --dry-run
	DEBUG=1 DJANGO_SETTINGS_MODULE=chatapp.settings $(BIN)/python -m tests.support.lint_migrations
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/pip-licenses --packages $$(sed -n 's/^\([a-z0-9._-]*\)==.*/\1/p' requirements/base.txt) >/dev/null
	$(BIN)/python -m tests.support.known_vulnerabilities requirements/base.txt
	$(BIN)/python -m tests.support.commit_subjects

# Records what actions cost, which a test compares.
costs: $(VENV)/dev
	$(BIN)/python -m tests.costs

bench: $(VENV)/dev
	$(BIN)/python -m bench

format: $(VENV)/dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# Locks name hashes and no registry, so any mirror works.
lock: $(VENV)/uv
	cd requirements && for name in base dev; do \
	  extra=$$(test $$name = dev && echo "--extra dev"); \
	  UV=$$(test -x ../$(BIN)/uv && echo ../$(BIN)/uv || echo uv); \
	  $$UV pip compile ../pyproject.toml $$extra --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    --upgrade --quiet --output-file $$name.txt; \
	done

# uv comes by pip where the machine has none; it installs what the lock names and nothing else.
$(VENV)/uv:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@command -v uv >/dev/null || $(BIN)/python -m pip install --quiet uv
	@touch $@

$(VENV)/%: requirements/%.txt $(VENV)/uv
	@echo "Installing $<…"
	@UV=$$(test -x $(BIN)/uv && echo $(BIN)/uv || echo uv); \
	  $$UV pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r $<
	@touch $@
