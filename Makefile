# Every target sets up what it needs by itself; a fresh machine needs Python 3.11 or later, git and make.
.DEFAULT_GOAL := help
.PHONY: help demo test test-agents test-real check bench soak soak-full docs coverage node-tools go-tools mcp-tools orchestrator-core box-tools agents real-projects pins clean
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PY     := .venv/bin/python
PIP    := -m pip --disable-pip-version-check
PYTEST := $(PY) -m pytest
DOCS   := $(PY) -m tools.docs
READY  := .venv/.ready
READY_BENCH := .venv-bench/.ready
export SOAK_MINUTES ?= 10
# Tests start thousands of processes: where the environment forbids bytecode, each would compile the sources anew.
export PYTHONDONTWRITEBYTECODE :=

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-18s %s\n' "$$name" "$$text"; done

demo: $(READY) ## watch v3 build a small library, in one command
	@.venv/bin/treadle demo

test: $(READY) ## the test suite (without the soak tests)
	@$(PY) -m tools.box.install || true
	$(PYTEST) -n auto --dist worksteal

test-agents: $(READY) agents mcp-tools orchestrator-core ## the tests that start real coding agents, against a model that is played
	@$(PY) -m tools.box.install || true
	$(PYTEST) -m agents -n auto --dist worksteal

# Where packages cannot be had, this says so, and their tests are skipped with the same reason.
test-real: $(READY) ## the tests that add features to real packages whose suites are quick
	@$(PY) -m tools.real_projects.install || true
	timeout --kill-after=30 1800 $(PYTEST) -rs -m "real and not soak_full" -n auto --dist worksteal

check: $(READY) node-tools ## format, lint, types, import rules, generated docs, protocols
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PYTEST) -q tests/test_imports.py
	$(DOCS) --check
	.venv/bin/treadle protocol check

# Where the agents, the box or the public memory server cannot be had, the benchmark that calls them says so.
bench: $(READY_BENCH) ## measure, beside other programs, in an environment of its own
	@.venv-bench/bin/python -m tools.agents.install || true
	@.venv-bench/bin/python -m tools.box.install || true
	@.venv-bench/bin/python -m tools.mcp.install || true
	.venv-bench/bin/python bench/run.py

# A soak test runs for about SOAK_MINUTES; the hard limit is there for one that does not stop.
soak: $(READY) ## the long random runs: SOAK_MINUTES=10 each
	@if $(PYTEST) -m soak --collect-only -q >/dev/null; then \
	  timeout --kill-after=30 $$((SOAK_MINUTES * 240 + 3300)) $(PYTEST) -m soak -n auto --dist worksteal; \
	elif [ $$? -eq 5 ]; then echo 'soak: there are no soak tests yet'; \
	else $(PYTEST) -m soak --collect-only -q; fi

soak-full: $(READY) real-projects ## the real packages, those with slow suites too; writes docs/real-projects.md
	$(PYTEST) -m soak_full -n auto --dist worksteal --ignore tests/real_projects/test_stories.py
	$(PY) -m tools.real_projects.measure

docs: $(READY) ## write the generated pages anew
	$(DOCS)

coverage: $(READY) ## the test suite with branch coverage
	$(PYTEST) -n auto --dist worksteal --cov --cov-report=term

node-tools: $(READY) ## install node and what the tests of JavaScript need, in the user's cache
	@$(PY) -m tools.node.install

go-tools: $(READY) ## install Go for the test that needs it, in the user's cache
	@$(PY) -m tools.go.install

mcp-tools: $(READY) ## install the public memory server and the MCP inspector, in the user's cache (120 MB)
	@$(PY) -m tools.mcp.install

orchestrator-core: $(READY) ## install the published orchestrator of the Agentic Coding Protocol, in the user's cache (1 MB)
	@$(PY) -m tools.orchestrator_core.install

# Where it cannot be had, this says so and `make test` skips what needs it, with the same reason.
box-tools: $(READY) ## put bubblewrap in the user's cache, for the tests of the box that agents run in
	@$(PY) -m tools.box.install

agents: $(READY) ## install the real coding agents that tests can start, in the user's cache (1.8 GB)
	@$(PY) -m tools.agents.install

real-projects: $(READY) ## download the real packages that tests add features to, in the user's cache (55 MB)
	@$(PY) -m tools.real_projects.install

pins: ## refresh requirements/*.txt to the newest versions that pyproject.toml allows
	@PYTHON='$(PYTHON)' tools/pins

clean: ## remove what these targets made in this folder
	rm -rf .venv .venv-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements/dev.txt
	$(call environment,.venv,requirements/dev.txt)

$(READY_BENCH): pyproject.toml requirements/bench.txt
	$(call environment,.venv-bench,requirements/bench.txt)

# $(1) = folder, $(2) = pinned requirements. The build tool is pinned with them, so nothing is built in isolation.
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "Treadle needs Python 3.11 or later; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo 'Setting up $(1) (once; about a minute) ...'
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python $(PIP) install -qq --requirement $(2)
	@$(1)/bin/python $(PIP) install -qq --no-deps --no-build-isolation --editable .
	@$(1)/bin/python $(PIP) check >/dev/null || $(1)/bin/python $(PIP) check
	@touch $(1)/.ready
endef
