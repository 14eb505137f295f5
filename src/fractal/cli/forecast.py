"""`fractal forecast`: the next steps of the series of a file."""

import csv
import dataclasses
import io
import pathlib
import sys
import time
from typing import Annotated, Any

import numpy as np
import tyro

from .._allocator import keep_freed_memory
from .._checks import check_count, check_seed
from .._errors import UserError
from .._predictions import Predictions
from .._run_folder import WEIGHTS
from .._series.read import read_records
from .._series.records import Record, Records
from .errors import warnings_in_one_line
from .parse import NO_HINT
from .result_folder import as_json, check_out, whole_folder, write_page, write_run

_TEST = 0.1  # share of the series at its end, on which forecasts are tested


@dataclasses.dataclass(frozen=True)
class Forecast:
    """Forecast the next steps of the series of a file, and print them as CSV.

    The file is a table (.csv, .tsv or .parquet) with one row per time, oldest first, or an .npz
    file. Times must be regular; missing rows are gaps. The last tenth of each series tests the
    forecasts and is not used for training. The result is also written to a folder, with the model,
    its errors and a report page.

    Example: fractal forecast load.csv --horizon 24 --period 24

    Args:
        file: file with one or several series.
        horizon: number of steps to forecast.
        target: columns to forecast, separated by commas; by default all columns of numbers.
        covariates: columns that are known in advance, separated by commas; their future values are
            in rows at the end without targets.
        period: season in steps, such as 24 for hours of a day; several separated by commas.
        quantiles: levels of the quantiles, separated by commas.
        out: folder for the results; default runs/forecast-NAME.
        id: column that identifies the series.
        time: column with the times.
        steps: maximum number of train steps.
        seed: seed of the weights and of the training.
        json: print one JSON object.
    """

    file: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    horizon: int = 24
    target: Annotated[str | None, NO_HINT] = None
    covariates: Annotated[str | None, NO_HINT] = None
    period: Annotated[str | None, NO_HINT] = None
    quantiles: str = "0.1,0.5,0.9"
    out: Annotated[pathlib.Path | None, NO_HINT] = None
    id: Annotated[str | None, NO_HINT] = None
    time: Annotated[str | None, NO_HINT] = None
    steps: Annotated[int | None, NO_HINT] = None
    seed: int = 0
    json: bool = False

    def run(self) -> int:
        check_count("horizon", self.horizon, smallest=1)
        check_seed(self.seed)
        if self.steps is not None:
            check_count("steps", self.steps, smallest=0)
        levels = _numbers("quantiles", self.quantiles)
        periods = None if self.period is None else _numbers("period", self.period)
        folder = check_out(self.out, f"forecast-{self.file.name.split('.')[0]}")
        records = read_records(
            self.file,
            targets=_names("target", self.target),
            covariates=_names("covariates", self.covariates),
            identity=self.id,
            time=self.time,
        )
        self._check_future(records)
        print(f"{self.file}: {records.summary}", file=sys.stderr)
        keep_freed_memory()
        forecaster = self._forecaster(levels, periods)
        began = time.monotonic()
        errors = self._fit(forecaster, records)
        rows = self._rows(forecaster, records, levels)
        result = self._result(forecaster, errors, time.monotonic() - began)
        with whole_folder(folder) as place:
            forecaster.save(place / WEIGHTS)
            (place / "forecast.csv").write_text(_csv(rows), encoding="utf-8")
            write_run(place, self._config(forecaster), forecaster.history_, result,
                      _predictions(errors))  # fmt: skip
            missing = write_page(place)
        if missing:
            print(missing, file=sys.stderr)
        print(_summary(result, folder), file=sys.stderr)
        if self.json:
            print(as_json({**result, "folder": str(folder), "forecast": rows}))
        else:
            print(_csv(rows), end="")
        return 0

    def _check_future(self, records: Records) -> None:
        for record in records.records:
            left = record.covariates.shape[1] - record.values.shape[1]
            if records.covariates and left < self.horizon:
                raise UserError(
                    f"{self.file}: covariates are known for {left} later times, but the horizon is "
                    f"{self.horizon}",
                    argument="covariates",
                )

    def _forecaster(self, levels: list[float], periods: list[float] | None) -> Any:
        from ..estimators import FractalForecaster  # loads JAX

        options: dict[str, Any] = {} if self.steps is None else {"max_steps": self.steps}
        return FractalForecaster(
            self.horizon, quantiles=levels, period=periods, random_state=self.seed, **options
        )

    def _fit(self, forecaster: Any, records: Records) -> dict[str, Any]:
        """Fit to the first part of the series, test on the rest, and read on to the end."""
        found = records.records
        if records.covariates and len(found) > 1:
            raise UserError(
                "are for files with one series; leave out the option", argument="covariates"
            )
        X = found[0].covariates if records.covariates else None
        series = [one.values for one in found]
        # Of each series its own part: the test must not begin before the training ends.
        ends = [one.shape[1] - max(self.horizon, round(_TEST * one.shape[1])) for one in series]
        short = [one.name for one, end in zip(found, ends, strict=True) if end < 1]
        if short:
            which = f"series {short[0]!r}" if short[0] else "the series"
            raise UserError(f"{self.file}: {which} is too short for a horizon of {self.horizon}")
        parts = list(zip(series, ends, strict=True))
        try:
            with warnings_in_one_line():
                forecaster.fit([one[:, :end] for one, end in parts], X)
        except UserError as error:
            if error.argument != "y":
                raise
            raise UserError(f"{self.file}, without the part for the test: {error}") from None
        held = max(one.shape[1] - end for one, end in parts)
        errors = forecaster.backtest(series, X, start=ends, stride=max(1, held // 50), keep=True)
        last = None if X is None else X[:, ends[0] : series[0].shape[1]]
        forecaster.update([one[:, end:] for one, end in parts], last)
        return errors

    def _rows(self, forecaster: Any, records: Records, levels: list[float]) -> list[dict[str, Any]]:
        first = records.records[0]
        X = first.covariates[:, first.values.shape[1] :] if records.covariates else None
        points, quantiles = forecaster.predict(X=X), forecaster.predict_quantiles(X=X)
        rows = []
        for record, point, quantile in zip(records.records, points, quantiles, strict=True):
            rows += _of_record(record, records.channels, point, quantile, levels)
        return rows

    def _result(self, forecaster: Any, errors: dict[str, Any], seconds: float) -> dict[str, Any]:
        return {
            "horizon": self.horizon,
            "seconds": seconds,
            "context": forecaster.context_,
            "train_steps": forecaster.n_steps_,
            "test_origins": errors["origins"],
            "test_mse": errors["mse"],
            "test_mae": errors["mae"],
            "test_r2": errors["r2"],
            "last_value_mse": errors["naive_mse"],
            "coverage": {str(level): share for level, share in errors["coverage"].items()},
        }

    def _config(self, forecaster: Any) -> dict[str, Any]:
        data = {"task": self.file.name, "file": str(self.file), "target": self.target}
        settings = {n: v for n, v in forecaster.get_params().items() if n != "random_state"}
        model = {"name": "FractalForecaster", **settings}
        return {"data": data, "model": model, "seed": self.seed}


def _names(argument: str, text: str | None) -> list[str]:
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if not all(names):
        raise UserError(f"a name is empty: {text!r}", argument=argument)
    if len(set(names)) < len(names):
        raise UserError(f"a column is named twice: {text}", argument=argument)
    return names


def _numbers(argument: str, text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        message = f"must be numbers separated by commas, got {text!r}"
        raise UserError(message, argument=argument) from None


def _of_record(
    record: Record, channels: list[str], points: np.ndarray, quantiles: np.ndarray,
    levels: list[float],
) -> list[dict[str, Any]]:  # fmt: skip
    labels = record.grid.labels(record.values.shape[1], points.shape[-1])
    return [
        ({"series": record.name} if record.name else {})
        | {"time": label, "channel": channel, "forecast": float(point)}
        | {f"q{level:g}": float(q) for level, q in zip(levels, row, strict=True)}
        for channel, own, own_quantiles in zip(channels, points, quantiles, strict=True)
        for label, point, row in zip(labels, own, own_quantiles, strict=True)
    ]


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: f"{x:.6g}" if isinstance(x, float) else x for name, x in row.items()} for row in rows
    )
    return text.getvalue()


def _predictions(errors: dict[str, Any]) -> Predictions | None:
    known = ~np.isnan(errors["targets"]).any(axis=1)
    if not known.any():
        return None
    return Predictions(
        errors["forecasts"][known].astype(np.float32), errors["targets"][known].astype(np.float32)
    )


def _summary(result: dict[str, Any], folder: pathlib.Path) -> str:
    return (
        f"test: mean squared error {result['test_mse']:.4g} (last value "
        f"{result['last_value_mse']:.4g}), R² {result['test_r2']:.3f}, {result['test_origins']} "
        f"origins; forecast, model and report page: {folder}"
    )
