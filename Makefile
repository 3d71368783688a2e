# Everything that a developer runs. The machine needs Python 3.11 or newer with its C headers, a C++20 compiler and make.
# Each Python version has an environment of its own: `make test PYTHON=python3.12` uses .venv-3.12.
PYTHON ?= python3
INTERPRETER := $(shell $(PYTHON) -c 'import sys, sysconfig; print("%d.%d.%d " % sys.version_info[:3] + sysconfig.get_platform())' 2>/dev/null)
ifeq ($(INTERPRETER),)
$(error PYTHON=$(PYTHON) does not run: install Python 3.11 or newer, or name one with make PYTHON=/path/to/python3)
endif
PYTHON_VERSION := $(word 1,$(INTERPRETER))
VENV := .venv-$(basename $(PYTHON_VERSION))
BIN := $(VENV)/bin
# Dependencies come as wheels, so that a missing one is an error here and not a failing build somewhere else.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all:

PYTHON_CODE := src tests benchmarks examples docs tools
CORE := $(shell find src/margrave/_core -name '*.h' -o -name '*.cpp')
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find src -type f -not -name '*.pyc' -not -name '*.so')
# The folders whose tests exercise the core, for the sanitizers.
CORE_TESTS := $(addprefix tests/,core structures data features losses learners solvers custom estimators)

ABI := cp$(subst .,,$(basename $(PYTHON_VERSION)))
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
WHEEL := dist/margrave-$(VERSION)-$(ABI)-$(ABI)-$(subst -,_,$(subst .,_,$(word 2,$(INTERPRETER)))).whl
ARCHIVE := dist/margrave-$(VERSION).tar.gz
PUBLISHED := $(SOURCES) Makefile $(shell find docs tests benchmarks examples tools -type f -not -name '*.pyc' -not -path 'docs/plots/*')
# Compiler warnings are errors, except in the demo, which runs with compilers that nobody has tried.
WERROR := ON

CREATED := $(VENV)/python-$(PYTHON_VERSION)
FOR_DEMO := $(VENV)/set-up-for-demo
FOR_TESTS := $(VENV)/set-up-for-tests
FOR_DOCS := $(VENV)/set-up-for-docs

.PHONY: demo test check lint format coverage test-asan check-arm bench docs dist test-dist clean-all

demo: WERROR := OFF
demo: $(FOR_DEMO)
	$(BIN)/python examples/town_entities.py

# One process per processor; a slow file does not hold up the others.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: lint
	$(PYTEST)

# Before every commit: one case of every test, without those that run whole programs. It takes about a minute.
check: lint
	$(PYTEST) --quick --ignore=tests/cli --ignore=tests/test_examples.py --ignore=tests/test_docs.py

lint: $(FOR_TESTS)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tools/check_layers.py
	$(BIN)/clang-format --dry-run --Werror $(CORE)

# Which lines of the Python code the tests run.
coverage: $(FOR_TESTS)
	$(PYTEST) --cov=margrave --cov-report=term:skip-covered

format: $(FOR_TESTS)
	$(BIN)/ruff check --fix-only $(PYTHON_CODE)
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/clang-format -i $(CORE)

# The core's tests under the address and undefined-behavior sanitizers. Python itself leaks at exit by design.
test-asan: $(FOR_TESTS)
	rm -rf build/asan-site-$(ABI)
	$(PIP) $(call requirements,["build-system"]["requires"]) cmake ninja
	$(PIP) --no-build-isolation --no-deps --target build/asan-site-$(ABI) . -Cbuild-dir=build/asan-$(ABI) \
	  -Ccmake.define.MARGRAVE_SANITIZE=ON -Ccmake.define.MARGRAVE_WERROR=ON -Cinstall.strip=false
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libubsan.so)" \
	  PYTHONPATH=build/asan-site-$(ABI) $(BIN)/python -m pytest -p no:cacheprovider $(CORE_TESTS)

# The hot loops for 64-bit ARM, in an emulator; the compiler is not installed by anything here.
check-arm:
	$(PYTHON) tools/check_arm.py

# BENCHMARKS=NAME runs one benchmark, and BENCHMARKS=--help lists the names.
bench: $(FOR_TESTS)
	$(BIN)/python -m benchmarks $(BENCHMARKS)

# A source archive, and the wheel of this version of Python. Tests and documentation use this wheel too. It is built in
# the tree, so that a change compiles only the files that it concerns.
dist: $(ARCHIVE) $(WHEEL)

$(WHEEL): $(SOURCES) | $(CREATED)
	@$(BIN)/python tools/check_compiler.py
	@echo "Building $@; compiling takes a few minutes the first time."
	$(PIP) $(call requirements,["build-system"]["requires"]) cmake ninja
	rm -f dist/margrave-*-$(ABI)-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist . \
	  -Ccmake.define.MARGRAVE_WERROR=$(WERROR)
	@test -e $@ || { echo "The build should have made $@, but dist contains: $$(ls dist)"; exit 1; }

$(ARCHIVE): $(PUBLISHED) | $(CREATED)
	$(PIP) "build>=1.2" $(call requirements,["build-system"]["requires"])
	$(BIN)/python -m build --sdist --no-isolation --outdir dist > /dev/null

test-dist: $(ARCHIVE) $(WHEEL)
	$(BIN)/python tools/check_dist.py $(ARCHIVE) $(WHEEL)

# Everything is read anew each time (-E): pages that are not read again would not repeat their warnings.
docs: $(FOR_DEMO) $(FOR_DOCS)
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -d build/doctrees docs build/docs
	@echo "The site is in build/docs/index.html."

clean-all:
	rm -rf .venv-* build dist demo docs/plots .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The name contains the full version, so that the environment is made anew for another release of the same minor version.
$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Margrave needs Python 3.11 or newer, and this is $(PYTHON_VERSION): name another one with make PYTHON=/path/to/python3")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make environments: install its venv module (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# A list of requirements in pyproject.toml, in quotes: its place is given in Python.
requirements = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1))')

# Installs the wheel with the extras $(1).
define set_up
$(PIP) --force-reinstall --no-deps $(WHEEL)
$(PIP) "$(WHEEL)[$(strip $(1))]"
@touch $@
endef

comma := ,
$(FOR_DEMO): $(CREATED) $(WHEEL)
	$(call set_up, plots)

$(FOR_TESTS): $(CREATED) $(WHEEL)
	$(call set_up, test$(comma)lint$(comma)plots)

# What builds the site, beside a package that is installed already.
$(FOR_DOCS): pyproject.toml | $(CREATED)
	$(PIP) $(call requirements,["project"]["optional-dependencies"]["docs"])
	@touch $@
