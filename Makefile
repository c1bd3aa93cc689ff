# make            what can be made, in one line each
# make demo       orders on their way through three workers, of which one is killed, as is the server
# make bench      what is claimed of speed, measured beside peers: tests/bench/RESULTS.md
# make test       run all tests, against an embedded server or the one that HAREL_TEST_DSN names

PYTHON ?= python3
PG_CONFIG ?= pg_config
BIN := .venv/bin
VERSION := 1.1
RELEASE := $(VERSION).0
PREVIOUS := 1.0
EXTENSION := extension/harel--$(VERSION).sql
UPGRADE := extension/harel--$(PREVIOUS)--$(VERSION).sql
DIST ?= dist
# An upgrade replaces every function; what it does besides stands in a folder of its own.
STEPS := extension/upgrade/$(PREVIOUS)--$(VERSION)
FUNCTIONS := $(filter-out %/00_header.sql %/20_tables.sql %/21_indexes.sql %/99_dump.sql,$(sort $(wildcard extension/sql/*.sql)))

# A statement that hands a script to pg_tle: its function, the arguments after the name, the script.
comma := ,
COMMENT := $(shell sed -n "s/^comment = '\(.*\)'/\1/p" extension/harel.control)
tle = echo "SELECT pgtle.$(1)('harel', $(2), \$$_pgtle_\$$" && sed '/^\\/d' $(3) && echo '$$_pgtle_$$);'

assemble_upgrade = cat $(STEPS)/before.sql && sed 's/^CREATE FUNCTION/CREATE OR REPLACE FUNCTION/' $(FUNCTIONS) && cat $(STEPS)/after.sql extension/sql/99_dump.sql

.DEFAULT_GOAL := help
.PHONY: help demo test test-matrix soak bench screenshots docs check format build generate verify all install uninstall installcheck \
    wheel pgxn tle clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# One environment for all, remade when the dependencies change.
.venv/made: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "harel needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: .venv/made ## orders through workers, with crashes on the way (a log of your own: .venv/bin/harel replay FILE)
	$(BIN)/python -m harel.demo

test: .venv/made ## run all tests (ARGS='-k name' for some)
	$(BIN)/pytest -n auto $(ARGS)

test-matrix: .venv/made ## the tests on PostgreSQL 14 to 18, and the client's on other Pythons (SMOKE=1: some, and 18 left to make test)
	$(BIN)/python tests/matrix.py $(if $(SMOKE),--smoke) -- $(ARGS)

soak: .venv/made ## the tests that take minutes: more faults, longer histories, larger stores
	$(BIN)/pytest -n auto -m soak $(ARGS)

bench: .venv/made ## ratios beside peers, into tests/bench/RESULTS.md (ONLY=name: one of them, to the terminal)
	cd tests && ../$(BIN)/python -m bench $(if $(ONLY),$(ONLY),--write bench)

screenshots: .venv/made ## the pictures of the console, into docs/images
	PYTHONPATH=tests/python $(BIN)/python tests/ui/screenshots.py

docs: .venv/made ## the documentation as a site, into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

check: .venv/made verify docs ## format, lint, types, generated files up to date, the site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 1 --disable-progress-bar extension/sql

format: .venv/made ## format and sort what can be
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

build: ## assemble the extension from its sources
	cat extension/sql/*.sql > $(EXTENSION)
	{ $(assemble_upgrade); } > $(UPGRADE)

generate: .venv/made build ## everything that is generated: the extension, the synchronous twin, the SQL reference
	$(BIN)/python python/generate_twin.py
	$(BIN)/python python/generate_reference.py

verify: .venv/made ## fail where a generated file is not up to date
	cat extension/sql/*.sql | diff -q - $(EXTENSION) || { echo 'run make build'; exit 1; }
	{ $(assemble_upgrade); } | diff -q - $(UPGRADE) || { echo 'run make build'; exit 1; }
	$(BIN)/python python/generate_twin.py --check
	$(BIN)/python python/generate_reference.py --check

# Clients of PGXN call these four. There is nothing to compile.
all:

install: ## install the extension into a server (PG_CONFIG=..., DESTDIR=...)
uninstall: ## remove it from there
installcheck: ## try it on a running server, the one of libpq's PG* variables
	$(MAKE) -C extension $@ || { cat build/installcheck/regression.diffs; exit 1; }
install uninstall:
	$(MAKE) -C extension $@ $(if $(DESTDIR),DESTDIR='$(if $(filter /%,$(DESTDIR)),,$(CURDIR)/)$(DESTDIR)')

wheel: .venv/made ## build the source distribution and, from it, the wheel into dist/
	$(BIN)/python -m build --no-isolation --outdir $(DIST)

pgxn: ## build the distribution for PGXN, of what is committed, into dist/
	mkdir -p $(DIST)
	git archive --prefix=harel-$(RELEASE)/ --output=$(DIST)/harel-$(RELEASE).zip HEAD

tle: ## write the scripts for servers that take extensions by pg_tle, into build/
	mkdir -p build
	{ $(call tle,install_extension,'$(VERSION)'$(comma) '$(COMMENT)',$(EXTENSION)); } > build/harel--$(VERSION).tle.sql
	{ $(call tle,install_update_path,'$(PREVIOUS)'$(comma) '$(VERSION)',$(UPGRADE)); \
	    echo "SELECT pgtle.set_default_version('harel', '$(VERSION)');"; } > build/harel--$(PREVIOUS)--$(VERSION).tle.sql

clean: ## remove what was made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
