# Everything runs in .venv, which the first call creates and later calls reuse.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
RUN    := runs/listops
# pytest starts one worker per core; the libraries' own threads would compete with them.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# In the order of collection: doctests, the shortest files, come last. Ordered by the number of tests,
# the last ones would be files of few long tests, for which one worker waits.
WORKERS := -n auto --dist loadfile --no-loadscope-reorder

.PHONY: train test test-slow test-torch lint format bench docs clean

train: $(READY)
	$(BIN)/fractal train $(if $(wildcard $(RUN)/config.json),--resume $(RUN),listops --preset mini --out $(RUN))

test: $(READY)
	$(ONE_THREAD) $(BIN)/pytest $(WORKERS) -q

# At XLA's default optimization level; with PyTorch, which some of these tests need.
test-slow: $(VENV)/torch-ready
	$(ONE_THREAD) XLA_FLAGS= $(BIN)/pytest $(WORKERS) -q -m slow

# PyTorch is not part of the default installation; without it `make test` skips these tests. Their
# folder is not named torch: the folder tests is on the path, and would then provide `import torch`.
test-torch: $(VENV)/torch-ready
	$(ONE_THREAD) $(BIN)/pytest $(WORKERS) -q tests/pytorch src/fractal/torch

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

# On Python 3.11 the exact versions of constraints.txt, which this version was tested with; other
# Pythons take the newest versions that pyproject.toml allows.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	$$($(BIN)/python -c 'import sys; print("-c constraints.txt" * (sys.version_info[:2] == (3, 11)))')

# `ready` is written last, so that an interrupted installation is repeated.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "FRACTAL needs Python 3.11 or newer; call: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/torch-ready: $(READY)
	$(INSTALL) --editable '.[dev,torch]' torch==2.13.0
	@touch $@

$(VENV)/docs-ready: $(READY)
	$(INSTALL) --editable '.[dev,docs]'
	@touch $@
