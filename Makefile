# Two commands do all the set-up: `make run` and `make test`. Needs Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run upgrade test check bench lock format

run: $(VENV)/base
	@exec $(BIN)/python manage.py serve --upgrade

# All that a new version needs while the old one still serves.
upgrade: $(VENV)/base
	@$(BIN)/python manage.py upgrade

test: $(VENV)/dev
	$(BIN)/pytest --numprocesses auto --dist worksteal

check: $(VENV)/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry . --extend-exclude bench
	$(BIN)/deptry . --exclude '\.venv' --ignore DEP002,DEP004
	$(BIN)/djlint --lint templates --profile jinja --extend-exclude templates/django --quiet
	$(BIN)/djlint --lint templates/django --profile django --quiet
	DEBUG=1 $(BIN)/python manage.py makemigrations --check --dry-run
	DEBUG=1 DJANGO_SETTINGS_MODULE=chatapp.settings $(BIN)/python -m tests.support.lint_migrations
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/pip-licenses --packages $$(sed -n 's/^\([a-z0-9._-]*\)==.*/\1/p' requirements/base.txt) >/dev/null
	$(BIN)/python -m tests.support.known_vulnerabilities requirements/base.txt

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
	  $$UV pip install --quiet --python $(BIN)/python --require-hashes -r $<
	@touch $@
