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
# The tests that use several threads, for the thread sanitizer, and the fuzz cases, some of which do.
THREADED_TESTS = $(shell grep -rlE 'n_jobs|threads|Thread' tests --include='test_*.py') tests/fuzz/test_cases.py

ABI := cp$(subst .,,$(basename $(PYTHON_VERSION)))
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
WHEEL_TAG := $(ABI)-$(ABI)-$(subst -,_,$(subst .,_,$(word 2,$(INTERPRETER))))
WHEEL := dist/margrave-$(VERSION)-$(WHEEL_TAG).whl
TIDY := build/clang-tidy-$(ABI)
ALONE := build/headers-alone
ARCHIVE := dist/margrave-$(VERSION).tar.gz
PUBLISHED := $(SOURCES) Makefile $(shell find docs tests benchmarks examples tools -type f -not -name '*.pyc' -not -path 'docs/plots/*')
# Compiler warnings are errors, except in the demo, which runs with compilers that nobody has tried.
WERROR := ON

CREATED := $(VENV)/python-$(PYTHON_VERSION)
FOR_DEMO := $(VENV)/set-up-for-demo
FOR_TESTS := $(VENV)/set-up-for-tests
FOR_DOCS := $(VENV)/set-up-for-docs

.PHONY: demo test check lint format fuzz fuzz-core coverage test-asan test-tsan check-arm bench papers docs dist test-dist clean-all

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

lint: $(FOR_TESTS) $(ALONE)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/clang-format --dry-run --Werror $(CORE)
	@if [ -x $(BIN)/clang-tidy ]; then $(MAKE) --no-print-directory $(TIDY); \
	else echo "clang-tidy is not installed in $(VENV), so its checks are skipped."; fi

# Cases of new seeds for MINUTES minutes; those that fail are made smaller and kept in tests/fuzz/regressions.
MINUTES := 5
fuzz: $(FOR_TESTS)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(FUZZ)

# The core's readers by themselves, under the sanitizers: with clang's libFuzzer where it is installed, for MINUTES minutes
# in all; elsewhere the seeds and changed copies of them. A compiler of another name is CLANG=clang++-14.
CLANG := $(firstword $(notdir $(wildcard $(foreach folder,$(subst :, ,$(PATH)),$(folder)/clang++ $(folder)/clang++-[0-9]*))))
FUZZED := $(basename $(notdir $(filter-out %/replay.cpp,$(wildcard tests/fuzz/cpp/*.cpp))))
FUZZ_FLAGS := -std=c++20 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined -Isrc/margrave/_core -Itests/fuzz/cpp
fuzz-core: $(FOR_TESTS)
	rm -rf build/fuzz-core/seeds && mkdir -p build/fuzz-core
	$(BIN)/python -m tests.fuzz.cpp_seeds build/fuzz-core/seeds
	@set -e; cd build/fuzz-core; for target in $(FUZZED); do mkdir -p corpus/$$target; \
	if [ -n "$(CLANG)" ]; then \
	  (cd ../.. && $(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined tests/fuzz/cpp/$$target.cpp -o build/fuzz-core/$$target); \
	  echo "$$target, by libFuzzer:"; \
	  ./$$target -max_total_time=$$((60 * $(MINUTES) / $(words $(FUZZED)))) -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
	    -verbosity=0 -print_final_stats=1 corpus/$$target seeds/$$target > $$target.log 2>&1 || { tail -50 $$target.log; exit 1; }; \
	  grep number_of_executed_units $$target.log; \
	else \
	  (cd ../.. && $${CXX:-g++} $(FUZZ_FLAGS) -fsanitize=address,undefined tests/fuzz/cpp/$$target.cpp tests/fuzz/cpp/replay.cpp \
	    -o build/fuzz-core/$$target); \
	  echo "$$target, without libFuzzer:"; ./$$target -runs=100000 corpus/$$target seeds/$$target; \
	fi; done

# That the core's includes follow its layers, and that every header compiles alone.
$(ALONE): $(CORE) tools/check_layers.py | $(FOR_TESTS)
	$(BIN)/python tools/check_layers.py --alone
	@touch $@

# It reads the whole core anew, which takes minutes, so only after a change.
$(TIDY): $(CORE) .clang-tidy
	$(BIN)/run-clang-tidy.py -quiet -clang-tidy-binary $(BIN)/clang-tidy -p build/$(WHEEL_TAG) src/margrave/_core > $@.log \
	  || { cat $@.log; exit 1; }
	@touch $@

# Which lines of the Python code and of the core the tests run. This and the sanitizers below end with a record in
# benchmarks/results, which docs/reliability.md shows.
coverage: $(FOR_TESTS)
	$(PIP) "gcovr>=8.6"
	$(call build_instrumented,coverage,MARGRAVE_COVERAGE=ON)
	find build/coverage-$(ABI) -name '*.gcda' -delete
	PYTHONPATH=build/coverage-site-$(ABI) $(PYTEST) --cov=margrave --cov-report=term:skip-covered \
	  --cov-report=json:build/coverage-python.json --junitxml=build/coverage-tests.xml
	$(BIN)/gcovr --root . --filter src/margrave/_core/ --object-directory build/coverage-$(ABI) --exclude-throw-branches \
	  --gcov-ignore-parse-errors=negative_hits.warn --sort uncovered-number --txt - \
	  --json-summary build/coverage-core.json build/coverage-$(ABI)
	$(BIN)/python -m tests.records coverage build/coverage-tests.xml build/coverage-python.json build/coverage-core.json

format: $(FOR_TESTS)
	$(BIN)/ruff check --fix-only $(PYTHON_CODE)
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/clang-format -i $(CORE)

# All tests with the core under the address and undefined-behavior sanitizers. Python itself leaks at exit by design.
test-asan: $(FOR_TESTS)
	$(call build_instrumented,asan,MARGRAVE_SANITIZE=address$(comma)undefined)
	ASAN_OPTIONS=detect_leaks=0 $(call with_libraries,asan ubsan) PYTHONPATH=build/asan-site-$(ABI) $(PYTEST) \
	  --junitxml=build/asan-tests.xml
	$(BIN)/python -m tests.records sanitizers "AddressSanitizer, UndefinedBehaviorSanitizer" build/asan-tests.xml

# The tests of several threads under the thread sanitizer.
test-tsan: $(FOR_TESTS)
	$(call build_instrumented,tsan,MARGRAVE_SANITIZE=thread)
	$(call with_libraries,tsan) PYTHONPATH=build/tsan-site-$(ABI) $(PYTEST) --junitxml=build/tsan-tests.xml $(THREADED_TESTS)
	$(BIN)/python -m tests.records sanitizers "ThreadSanitizer" build/tsan-tests.xml

# The hot loops for 64-bit ARM, in an emulator; the compiler is not installed by anything here.
check-arm:
	$(PYTHON) tools/check_arm.py

# BENCHMARKS=NAME runs one benchmark, and BENCHMARKS=--help lists the names.
bench: $(FOR_TESTS)
	$(BIN)/python -m benchmarks $(BENCHMARKS)

# The experiments that docs/papers.md names, as far as their records are older than the code. This takes hours; if it is
# interrupted, the next run goes on from there.
PAPERS := $(sort $(shell grep -o 'benchmarks/experiments/[a-z0-9_]*[.]py' docs/papers.md | sed 's|.*/||; s|[.]py||'))
papers: $(FOR_TESTS)
	$(BIN)/python -m benchmarks --update $(PAPERS)

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

# The package with the core built for measuring, under build/$(1)-site: $(2) is an option of CMakeLists.txt.
define build_instrumented
rm -rf build/$(1)-site-$(ABI)
$(PIP) $(call requirements,["build-system"]["requires"]) cmake ninja
$(PIP) --no-build-isolation --no-deps --target build/$(1)-site-$(ABI) . -Cbuild-dir=build/$(1)-$(ABI) \
  -Ccmake.define.$(2) -Ccmake.define.MARGRAVE_WERROR=ON -Cinstall.strip=false
endef

# Loads the runtime libraries of sanitizers before anything else.
with_libraries = LD_PRELOAD="$(foreach library,$(1),$$($${CXX:-g++} -print-file-name=lib$(library).so))"

comma := ,
$(FOR_DEMO): $(CREATED) $(WHEEL)
	$(call set_up, plots)

$(FOR_TESTS): $(CREATED) $(WHEEL)
	$(call set_up, test$(comma)lint$(comma)plots)

# What builds the site, beside a package that is installed already.
$(FOR_DOCS): pyproject.toml | $(CREATED)
	$(PIP) $(call requirements,["project"]["optional-dependencies"]["docs"])
	@touch $@
