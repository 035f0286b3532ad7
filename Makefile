# `make` prints the targets. Each can be repeated: what is done already is not done again.

# 3.11 first: the oldest Python that we promise is the one that we test.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)
LAKE ?= lake
# Three, since with two processes two cores wait for a quarter of the time: for disks, other processes
# and browsers.
PYTEST ?= -n 3 $(if $(CI),--slow)
LOWEST ?= -n 3
UV_VERSION = 0.13.8

# Every test starts processes, and without Python's cache of compiled modules each takes twice as long.
# Some containers switch the cache off.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint docs generated lowest .venv .venv-lowest bench simulations torture audit lock clean

# $(call environment,FOLDER,LOCK)
define environment
@python='$(PYTHON)'; \
"$${python:-false}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "Python 3.11 or newer is needed (found: $${python:-none}):" \
		"install it, or name one as in make $@ PYTHON=/path/to/python3.11" >&2; exit 1; }; \
"$$python" requirements/environment.py $(1) $(2)
endef

help:  ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "PYTHON=…  another interpreter, 3.11 or newer"
	@echo "LAKE=…    another folder for the tables of make demo"
	@echo "PYTEST=…  arguments for pytest, as in make test PYTEST='-k votes'; LOWEST=… the same for make lowest"
	@echo "AUDIT=…   arguments for pip-audit, as in make audit AUDIT='--vulnerability-service osv'"

demo:  ## install into .venv, ingest the sample games and print the leaderboard
	$(call environment,.venv,run)
	.venv/bin/magic ingest data/sample/results --lake '$(LAKE)'
	.venv/bin/magic leaderboard --lake '$(LAKE)'
	@echo
	@echo "The tables are in $(LAKE)/: Delta Lake tables, one folder each. What to try next:"
	@echo "  .venv/bin/magic metrics --lake '$(LAKE)' --metric judgement    each value, and what it is made of"
	@echo "  .venv/bin/magic sql --lake '$(LAKE)' \"SELECT model, target, count(*) FROM votes GROUP BY ALL\""
	@echo "  .venv/bin/magic tables --lake '$(LAKE)'    what is there; 'magic schema' says what it means"
	@echo "  .venv/bin/magic ingest PATH --lake '$(LAKE)'    your own logs: a folder or an archive"
	@echo "  .venv/bin/magic view --lake '$(LAKE)'    all of it in the browser"

test: lint  ## install the test tools as well, check style and types, run the tests
	@echo "Running the tests: three minutes on two cores"
	.venv/bin/python -m pytest $(PYTEST)

lint:  ## the checks of style and types alone
	$(call environment,.venv,dev)
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

generated:  ## renew the tables of the docs (RELEASE=1: also docs/systems.md, notebooks and pictures)
	$(call environment,.venv,dev)
	PYTHONPATH=.:tests .venv/bin/python tests/generated.py $(if $(RELEASE),--release)

.venv:
	$(call environment,.venv,dev)

.venv-lowest:
	$(call environment,.venv-lowest,lowest)

lowest: .venv-lowest  ## run the tests with the lower bounds of pyproject.toml, in .venv-lowest
	@# Whether results are right is the question here, not what old releases warn of.
	.venv-lowest/bin/python -m pytest -W default $(LOWEST)

docs:  ## build the documentation site into site/: open site/index.html
	$(call environment,.venv,dev)
	PYTHONPATH=. .venv/bin/python docs

bench:  ## measure speed and memory against named baselines (BENCH=metrics: only that one)
	$(call environment,.venv,dev)
	.venv/bin/python benchmarks $(BENCH)

simulations:  ## play games of known rates: do intervals cover, are false alarms rare? (half an hour)
	$(call environment,.venv,dev)
	.venv/bin/python simulations

torture:  ## kill, fill, race and mutate for hours, as docs/reliability.md has it (TORTURE=kills: one)
	$(call environment,.venv,dev)
	PYTHONPATH=. .venv/bin/python tests/reliability $(TORTURE)

audit:  ## ask an advisory service about all locked packages; fails where none is reached
	$(call environment,.venv,dev)
	.venv/bin/python requirements/audit.py dev $(AUDIT)

# dev.txt is resolved first and holds run.txt to the same versions. UPGRADE=1 leaves the versions locked
# before behind. The locks name no index, so that pip takes the files from wherever it is set up to.
compile = .venv-lock/bin/uv pip compile pyproject.toml --quiet --group build --universal \
	--python-version 3.11 --generate-hashes --no-config --custom-compile-command 'make lock' \
	$(if $(UPGRADE),--upgrade)

lock:  ## resolve pyproject.toml into requirements/*.txt anew (UPGRADE=1: to the newest releases)
	@test -x .venv-lock/bin/uv || $(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(compile) --extra dev --output-file requirements/dev.txt
	$(compile) --extra view --constraints requirements/dev.txt --output-file requirements/run.txt
	$(compile) --extra dev --resolution lowest-direct --output-file requirements/lowest.txt

clean:  ## remove environments, caches and builds; lakes stay
	rm -rf .venv .venv-lowest .venv-lock build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find pipeline sql tests requirements -name __pycache__ -type d -prune -exec rm -rf {} +
