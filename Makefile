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
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src -type f -not -name '*.pyc' -not -name '*.so')
# The folders whose tests exercise the core, for the sanitizers.
CORE_TESTS := $(addprefix tests/,core structures data features losses learners solvers custom estimators)

ABI := cp$(subst .,,$(basename $(PYTHON_VERSION)))
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
WHEEL := dist/margrave-$(VERSION)-$(ABI)-$(ABI)-$(subst -,_,$(subst .,_,$(word 2,$(INTERPRETER)))).whl
PUBLISHED := $(SOURCES) LICENSE Makefile $(shell find docs tests benchmarks examples tools -type f -not -name '*.pyc' -not -path 'docs/plots/*')

CREATED := $(VENV)/python-$(PYTHON_VERSION)
FOR_DEMO := $(VENV)/set-up-for-demo
FOR_TESTS := $(VENV)/set-up-for-tests
FOR_DOCS := $(VENV)/set-up-for-docs

.PHONY: demo test lint format test-asan check-arm bench docs dist test-dist clean-all

# An environment that is set up for tests runs the demo too; switching between the two would compile everything again.
demo: $(firstword $(wildcard $(FOR_TESTS)) $(FOR_DEMO))
	$(BIN)/python examples/town_entities.py

# One process per processor; a slow file does not hold up the others.
test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(FOR_TESTS)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CORE)

format: $(FOR_TESTS)
	$(BIN)/ruff check --fix-only $(PYTHON_CODE)
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/clang-format -i $(CORE)

# The core's tests under the address and undefined-behaviour sanitizers. Python itself leaks at exit by design.
test-asan: $(FOR_TESTS)
	rm -rf build/asan-site-$(ABI)
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

# A source archive, and the wheel of this version of Python, built from that archive in an isolated environment.
dist: $(WHEEL)

$(WHEEL): $(PUBLISHED) | $(CREATED)
	@$(BIN)/python tools/check_compiler.py
	$(PIP) "build>=1.2"
	rm -f dist/margrave-*.tar.gz dist/margrave-*-$(ABI)-*.whl
	PIP_ONLY_BINARY=:all: $(BIN)/python -m build --outdir dist
	@test -e $@ || { echo "The build should have made $@, but dist contains: $$(ls dist)"; exit 1; }

test-dist: $(WHEEL)
	$(BIN)/python tools/check_wheel.py $(WHEEL)

# Everything is read anew each time (-E): pages that are not read again would not repeat their warnings.
docs: $(firstword $(wildcard $(FOR_TESTS)) $(FOR_DEMO)) $(FOR_DOCS)
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -d build/doctrees docs build/docs
	@echo "The site is in build/docs/index.html."

clean-all:
	rm -rf .venv-* build dist demo docs/plots .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The name contains the full version, so that the environment is made anew for another release of the same minor version.
$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Margrave needs Python 3.11 or newer, and this is $(PYTHON_VERSION): name another one with make PYTHON=/path/to/python3")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make environments: install its venv module (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Installs the package with the extras $(1); compiler warnings are errors if $(2) is ON.
define set_up
@$(BIN)/python tools/check_compiler.py
@echo "Setting up $(VENV); compiling takes a few minutes the first time."
$(PIP) "scikit-build-core>=1.1" "nanobind>=3.1" cmake ninja
$(PIP) --no-build-isolation ".[$(strip $(1))]" -Ccmake.define.MARGRAVE_WERROR=$(strip $(2))
@touch $@
endef

comma := ,
$(FOR_DEMO): $(CREATED) $(SOURCES)
	$(call set_up, plots, OFF)

$(FOR_TESTS): $(CREATED) $(SOURCES)
	$(call set_up, test$(comma)lint$(comma)plots, ON)

# What builds the site, beside a package that is installed already.
$(FOR_DOCS): pyproject.toml | $(CREATED)
	$(PIP) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@
