"""Experiments, one file per question: `python -m experiments.NAME` writes results/NAME.jsonl.

- `clock`, `filter_bank`, `initialization`, `long_memory`, `models`, `recall`: the experiments.
- `runs`: runs the cases of an experiment; training goes through `fractal.train.compare`.
- `results`, `code`: the lines of results/ and whether they are stale.
- `summaries`, `arena`, `page_charts`: tables and charts of the results.
- `render`: `python -m experiments.render` writes the tables of README.md and docs/.
- `page`: `python -m experiments.page` writes the page of `fractal report` with all experiments.
"""
