"""Entry points: read a file or folder by its type."""

import dataclasses
import pathlib
from collections.abc import Sequence

from .._errors import UserError
from .content import Cases, TrainedOn
from .layout import cases_of
from .npz import read_npz
from .records import Records, records_of, records_of_npz
from .table import DataTable, read_csv, read_parquet
from .ts import read_ts
from .wav import read_wav, read_wav_folder

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_KINDS = "a .ts, .npz, .csv, .tsv or .parquet file, or a folder of WAV files"


def read_cases(
    path: pathlib.Path,
    *,
    target: str | None = None,
    identity: str | None = None,
    time: str | None = None,
    trained: TrainedOn | None = None,
    labeled: bool = True,
) -> Cases:
    """Series of a file or folder; options of columns are for tables only.

    **Arguments:**

    - `target`, `identity`, `time`: columns of the label, the id and the time.
    - `trained`: what the model was fitted to that the cases are for.
    - `labeled`: whether all cases must have a label.
    """
    if path.is_dir():
        _check_no_columns(path, target=target, id=identity, time=time)
        return _with_labels(path, _recordings(path), labeled)
    kind = _kind(path)
    if kind == ".ts":
        _check_no_columns(path, target=target, id=identity, time=time)
        return _with_labels(path, read_ts(path, labeled), labeled)
    if kind == ".npz":
        _check_no_columns(path, id=identity, time=time)
        return _with_labels(path, read_npz(path, target, labeled), labeled)
    table = _table(path, kind)
    return cases_of(table, target, identity, time, trained=trained, labeled=labeled)


def read_records(
    path: pathlib.Path,
    *,
    targets: Sequence[str] = (),
    covariates: Sequence[str] = (),
    identity: str | None = None,
    time: str | None = None,
) -> Records:
    """Series to forecast, from a table or an `.npz` file."""
    kind = _kind(path)
    if kind == ".npz":
        named = {"target": targets or None, "covariates": covariates or None}
        _check_no_columns(path, **named, id=identity, time=time)
        return records_of_npz(path)
    if kind == ".ts":
        raise UserError(f"{path}: a .ts file has cases, not one series; use a table or .npz file")
    return records_of(_table(path, kind), targets, covariates, identity, time)


def _kind(path: pathlib.Path) -> str:
    if path.is_dir():
        raise UserError(f"{path} is a folder: a table or an .npz file is expected")
    if not path.exists():
        raise UserError(f"there is no file {path}")
    name = path.name.lower()
    for kind in (".ts", ".npz", ".parquet", *_TEXT):
        if name.endswith(kind):
            return kind
    raise UserError(f"{path}: unknown type of file; expected {_KINDS}")


def _table(path: pathlib.Path, kind: str) -> DataTable:
    return read_parquet(path) if kind == ".parquet" else read_csv(path)


def _recordings(folder: pathlib.Path) -> Cases:
    """The recordings in a folder, with the interval between samples where it is that of all."""
    cases = read_wav_folder(folder)
    if cases.times is not None or not cases.ids:
        return cases
    _, rate = read_wav(folder / cases.ids[0])
    return dataclasses.replace(cases, interval=1.0 / rate)


def _with_labels(path: pathlib.Path, cases: Cases, labeled: bool) -> Cases:
    if labeled and cases.labels is None:
        raise UserError(f"{path}: has no labels, which fractal fit needs")
    return cases


def _check_no_columns(path: pathlib.Path, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UserError(f"{path} is not a table: it has no named columns", argument=name)
