"""Experiments, one file per question: `python -m experiments.NAME` writes results/NAME.jsonl.

- `clock`, `ecg`, `filter_bank`, `forecast`, `full_budget`, `induction`, `initialization`,
  `laptop`, `long_memory`, `models`, `morse`, `own_series`, `pathfinder`, `recall`, `selective`,
  `speech`, `synthetic`, `training_cases`: the experiments.
- `cases`: runs the cases of an experiment, each on a core of its own.
- `runs`: short runs of small models; training goes through `fractal.train.compare`.
- `fitting`, `sithcon`, `signals`, `speeds`: parts of experiments: training on drawn batches, a
  model for comparison, signals.
- `packages`: data files inside wheels of other packages.
- `results`, `code`: the lines of results/ and whether they are stale.
- `summaries`, `learned_clock`, `series_tables`, `forecast_tables`, `stream_tables`, `arena`,
  `laptop_table`, `page_charts`, `speed_charts`: tables and charts of the results;
  `python -m experiments.speed_charts` draws docs/images/speed.png.
- `paper_presets`: the presets `paper` for some steps; writes results/paper_presets.json.
- `model_cards`: `python -m experiments.model_cards` copies trained weights to models/.
- `render`: `python -m experiments.render` writes the tables of README.md and docs/.
- `page`: `python -m experiments.page` writes the page of `fractal report` with all experiments.
"""
