# Everything that a developer runs. Nothing is needed beforehand but Python 3.11+, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src -type f -not -name '*.pyc' -not -name '*.so')
CORE := $(shell find src/margrave/_core -name '*.h' -o -name '*.cpp')
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint format test-asan bench docs clean-all

demo: $(VENV)/installed
	$(BIN)/python examples/town_entities.py

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/installed
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CORE)

format: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -q -m margrave._core -o src/margrave/_core.pyi
	$(BIN)/ruff check --fix-only src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/clang-format -i $(CORE)

# The core's tests under the address and undefined-behaviour sanitizers. Python itself leaks at exit by design.
test-asan: $(VENV)/installed
	rm -rf build/asan-site
	$(PIP) --no-build-isolation --no-deps --target build/asan-site . \
	  -Ccmake.define.MARGRAVE_SANITIZE=ON -Cbuild-dir=build/asan -Cinstall.strip=false
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libubsan.so)" \
	  PYTHONPATH=build/asan-site $(BIN)/python -m pytest -p no:cacheprovider \
	  tests/structures tests/features tests/losses tests/learners tests/solvers tests/custom tests/core tests/labels \
	  tests/estimators/test_bad_input.py

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks

# Everything is read anew each time (-E): pages that are not read again would not repeat their warnings.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -d build/doctrees docs build/docs
	@echo "the site is in build/docs/index.html"

clean-all:
	rm -rf $(VENV) build dist demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Margrave needs Python 3.11 or newer: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "scikit-build-core>=1.1" "nanobind>=3.1" cmake ninja
	touch $@

$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(PIP) --no-build-isolation ".[test,lint,plots]"
	touch $@

$(VENV)/docs: $(VENV)/tools $(SOURCES)
	$(PIP) --no-build-isolation ".[docs]"
	touch $@
