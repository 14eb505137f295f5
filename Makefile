# Everything runs in .venv, which the first call makes and later calls reuse.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
RUN    := runs/listops
# A worker for each core is enough: the libraries' own threads would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: train test test-slow lint format bench docs clean

train: $(READY)
	$(BIN)/fractal train $(if $(wildcard $(RUN)/config.json),--resume $(RUN),listops --preset mini --out $(RUN))

test: $(READY)
	$(ONE_THREAD) $(BIN)/pytest -n auto -q

test-slow: $(READY)
	$(ONE_THREAD) XLA_FLAGS= $(BIN)/pytest -n auto -q -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/docs-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY)
	$(BIN)/fractal bench memory
	$(BIN)/fractal bench layer

clean:
	rm -rf $(VENV) figures runs site

# `ready` is written last, so an interrupted installation is done again.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "FRACTAL needs Python 3.11 or newer; call: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/docs-ready: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
