# Everything runs in .venv; models and the built engine are kept in the user's cache folder.
PYTHON ?= python3
BIN := .venv/bin
TEST_MODEL := smollm2-135m
BENCH_MODEL := qwen2.5-coder-0.5b
# JUDGE=openai/NAME judges the demo through an API instead of the local model, and builds no local engine.
JUDGE ?=
# Further options of the demo, such as DEMO="--all".
DEMO ?=

.PHONY: help demo test check format bench clean compiler

help:
	@echo "make demo    judge the bundled examples (JUDGE=openai/NAME to use a key; DEMO=--all for all of them)"
	@echo "make test    pass the tests"
	@echo "make check   format, lint, types, layers"
	@echo "make bench   measure cost and time per verdict, memory and start-up; results in bench/results/"

ifeq ($(JUDGE),)
demo: compiler .venv/.local
	$(BIN)/bineval demo $(DEMO)
else
demo: .venv/.core
	@case "$(JUDGE)" in anthropic/*) $(BIN)/pip install -q -e '.[anthropic]' ;; litellm/*) $(BIN)/pip install -q -e '.[litellm]' ;; esac
	$(BIN)/bineval demo --judge "$(JUDGE)" $(DEMO)
endif

test: compiler .venv/.dev
	$(BIN)/bineval models pull $(TEST_MODEL)
	$(BIN)/python -m pytest

check: .venv/.check
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.check
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: compiler .venv/.dev
	$(BIN)/bineval models pull $(BENCH_MODEL)
	$(BIN)/python bench/harness.py
	$(BIN)/python bench/memory.py
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/judges.py --judge llamacpp/$(BENCH_MODEL)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The environment grows in steps, each a stamp file in .venv.
.venv/.core: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'bineval needs Python 3.11 or newer; say which with make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --upgrade 'pip>=25.1'
	$(BIN)/pip install -q -e .
	@touch $@

.venv/.check: .venv/.core
	$(BIN)/pip install -q -e '.[parquet,anthropic]' --group dev
	@touch $@

# Said at once, before anything is installed.
compiler:
	@scripts/local-engine check $(PYTHON)

.venv/.local: .venv/.core
	scripts/local-engine install $(BIN)/python
	@touch $@

.venv/.dev: .venv/.check .venv/.local
	$(BIN)/python scripts/wordnet
	$(BIN)/python scripts/nltk-data
	@touch $@
