"""Tasks from arrays in memory."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, UInt

from .._checks import check_choice, check_count, check_seed
from .._errors import UserError
from ._sequences import Labels, Sequences
from ._task import Kind, Split, Splits, Task, all_rows, portions
from ._tokens import id_type

_LARGEST_TOKEN = 2**31 - 1
_LARGEST_CLASS = 2**31 - 1


def from_arrays(
    sequences: Iterable[Any],
    labels: Any,
    *,
    name: str = "arrays",
    kind: Kind | None = None,
    validation: float | tuple[Iterable[Any], Any] = 0.1,
    test: float | tuple[Iterable[Any], Any] = 0.1,
    seed: int = 0,
    length: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    vocabulary: Sequence[str] = (),
) -> Task:
    """Build a task from sequences and labels in memory.

    >>> import numpy as np
    >>> from fractal import tasks
    >>> rng = np.random.default_rng(0)
    >>> recordings = [rng.normal(size=(rng.integers(20, 41), 3)) for _ in range(100)]
    >>> task = tasks.from_arrays(recordings, [len(one) > 30 for one in recordings])
    >>> task.kind, task.length, task.inputs, task.outputs
    ('classification', 40, 3, 2)
    >>> [len(split) for split in task.splits]
    [80, 10, 10]

    **Arguments:**

    - `sequences`: one array per example, of any lengths: integers (time,) are token ids,
      floats (time,) or (time, channels) are real values. A pair of such for `"retrieval"`.
    - `labels`: integers from 0 are classes; floats (examples,) or (examples, outputs) are the
      targets of a regression.
    - `name`: name of the task.
    - `kind`: by default `"classification"` for integers, `"regression"` for floats.
    - `validation`, `test`: a share of the examples, drawn at random, or `(sequences, labels)`.
    - `seed`: of that draw.
    - `length`: steps to which sequences are padded; default: the longest.
    - `inputs`: number of token ids; default: the largest plus 1.
    - `outputs`: number of classes; default: the largest plus 1.
    - `vocabulary`: the token of each id; it determines `inputs`.

    **Returns:** a `Task`. Values are stored as float32; they are not normalized.
    """
    if not isinstance(name, str) or not name:
        raise UserError(f"must be a name, got {name!r}", argument="name")
    if kind is not None:
        check_choice("kind", kind, ("classification", "regression", "retrieval"))
    check_seed(seed)
    documents = 2 if kind == "retrieval" else 1
    given = {"": (sequences, labels)}
    shares = {}
    for argument, part in (("validation", validation), ("test", test)):
        if isinstance(part, tuple) and len(part) == 2:
            given[argument] = part
        else:
            shares[argument] = _share(argument, part)
    if sum(shares.values()) >= 1:
        raise UserError(
            "the shares of validation and test must sum to less than 1", argument="test"
        )
    read = {
        argument: (
            _documents(_within("sequences", argument), part[0], documents),
            _labels(_within("labels", argument), part[1], kind),
        )
        for argument, part in given.items()
    }
    for argument, (arrays, targets) in read.items():
        if len(arrays) != documents * len(targets):
            raise UserError(
                f"{len(targets)} labels for {len(arrays) // documents} sequences",
                argument=_within("labels", argument),
            )
    _check_alike(read)
    first, targets = read[""]
    kind = kind or ("classification" if targets.ndim == 1 else "regression")
    arrays = [array for part, _ in read.values() for array in part]
    vocabulary = _vocabulary(vocabulary)
    inputs = _inputs(arrays, inputs, vocabulary)
    longest = max(map(len, arrays))
    if length is not None and check_count("length", length, 1) < longest:
        raise UserError(
            f"must be at least the longest sequence, {longest} steps, got {length}",
            argument="length",
        )
    is_tokens = first[0].ndim == 1
    dtype = id_type(inputs) if is_tokens else np.dtype(np.float32)
    stored = {
        argument: _joined(part, targets, documents, dtype)
        for argument, (part, targets) in read.items()
    }
    return Task(
        name=name,
        kind=kind,
        length=length or longest,
        inputs=inputs,
        outputs=_outputs(kind, [targets for _, targets in read.values()], outputs),
        splits=_splits(stored, shares, seed),
        vocabulary=vocabulary,
    )


def _within(argument: str, part: str) -> str:
    """The name of an argument, or of the item of a pair `validation=(sequences, labels)`."""
    return f"{part}[{('sequences', 'labels').index(argument)}]" if part else argument


def _share(argument: str, value: Any) -> float:
    """A share of the examples in (0, 1)."""
    if isinstance(value, int | float | np.floating) and 0 < value < 1:
        return float(value)
    raise UserError(
        f"must be a share between 0 and 1 or a pair (sequences, labels), got {_shown(value)}",
        argument=argument,
    )


def _documents(argument: str, sequences: Any, documents: int) -> list[np.ndarray]:
    """All documents as arrays, token ids (time,) or float32 values (time, channels)."""
    examples = _listed(argument, sequences)
    if documents == 1:
        return [_document(f"{argument}[{i}]", one) for i, one in enumerate(examples)]
    pairs = [_listed(f"{argument}[{i}]", one) for i, one in enumerate(examples)]
    for i, pair in enumerate(pairs):
        if len(pair) != documents:
            raise UserError(
                f"must be a pair of sequences, got {len(pair)}", argument=f"{argument}[{i}]"
            )
    return [
        _document(f"{argument}[{i}][{j}]", one)
        for i, pair in enumerate(pairs)
        for j, one in enumerate(pair)
    ]


def _listed(argument: str, value: Any) -> list[Any]:
    try:
        if isinstance(value, str | bytes | dict | set | frozenset):
            raise TypeError
        items = list(value)
    except TypeError:
        raise UserError(
            f"must be a list or an array of sequences, got {_shown(value)}", argument=argument
        ) from None
    if not items:
        raise UserError("must not be empty", argument=argument)
    return items


def _document(
    argument: str, value: Any
) -> Int[np.ndarray, " time"] | Float32[np.ndarray, "time channels"]:
    array = _array(argument, value)
    if array.dtype.kind in "iu" and array.ndim == 1 and array.size:
        if not 0 <= int(array.min()) <= int(array.max()) <= _LARGEST_TOKEN:
            raise UserError(
                f"token ids must lie in [0, {_LARGEST_TOKEN}], got {array.min()} to {array.max()}",
                argument=argument,
            )
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f" and array.ndim in (1, 2) and array.size:
        return _floats(argument, array).reshape(len(array), -1)
    raise UserError(
        "must be integers (time,), which are token ids, or floats (time,) or "
        f"(time, channels), not empty; got {array.dtype} {array.shape}",
        argument=argument,
    )


def _labels(argument: str, value: Any, kind: Kind | None) -> Labels:
    """Classes (examples,) as int32, or targets (examples, outputs) as float32."""
    array = _array(argument, value)
    if array.dtype.kind == "b":
        array = array.astype(np.int32)
    regression = array.dtype.kind == "f" if kind is None else kind == "regression"
    if regression and array.dtype.kind in "iuf" and array.ndim in (1, 2) and array.size:
        return _floats(argument, array).reshape(len(array), -1)
    if not regression and array.dtype.kind in "iu" and array.ndim == 1 and array.size:
        if not 0 <= int(array.min()) <= int(array.max()) <= _LARGEST_CLASS:
            raise UserError(
                f"classes must be integers from 0, got {array.min()} to {array.max()}",
                argument=argument,
            )
        return array.astype(np.int32)
    expected = "floats (examples,) or (examples, outputs)" if regression else ""
    raise UserError(
        f"must be {expected or 'integers (examples,), which are classes'}, not empty; "
        f"got {array.dtype} {array.shape}",
        argument=argument,
    )


def _array(argument: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths, or no array at all
        raise UserError(
            f"must be an array of numbers, got {_shown(value)}", argument=argument
        ) from None


def _floats(argument: str, array: np.ndarray) -> Float32[np.ndarray, "..."]:
    with np.errstate(over="ignore"):
        values = array.astype(np.float32)
    if not np.isfinite(values).all():
        raise UserError("must be finite in float32, got NaN or infinity", argument=argument)
    return values


def _check_alike(read: dict[str, tuple[list[np.ndarray], np.ndarray]]) -> None:
    """All sequences must be of tokens, or all of values with the same channels."""
    first = read[""][0][0].shape[1:]
    for part, (arrays, targets) in read.items():
        for i, array in enumerate(arrays):
            if array.shape[1:] != first:
                what = f"{array.shape[1]} channels" if array.ndim == 2 else "token ids"
                than = f"{first[0]} channels" if first else "token ids"
                raise UserError(
                    f"sequence {i} has {what}, the first one {than}",
                    argument=_within("sequences", part),
                )
        if targets.shape[1:] != read[""][1].shape[1:]:
            raise UserError(
                "must be of the same kind and width as those for training",
                argument=_within("labels", part),
            )


def _vocabulary(vocabulary: Any) -> tuple[str, ...]:
    if isinstance(vocabulary, list | tuple) and all(isinstance(one, str) for one in vocabulary):
        return tuple(vocabulary)
    raise UserError(f"must be a list of strings, got {_shown(vocabulary)}", argument="vocabulary")


def _inputs(arrays: list[np.ndarray], inputs: Any, vocabulary: tuple[str, ...]) -> int:
    """Number of token ids or of channels."""
    if arrays[0].ndim == 2:
        channels = arrays[0].shape[1]
        if vocabulary:
            raise UserError("must not be given for real-valued sequences", argument="vocabulary")
        if inputs is not None and check_count("inputs", inputs, 1) != channels:
            raise UserError(
                f"must equal the number of channels, {channels}, got {inputs}", argument="inputs"
            )
        return channels
    least = 1 + max(int(array.max()) for array in arrays)
    if vocabulary:
        if len(vocabulary) < least:
            raise UserError(
                f"has {len(vocabulary)} tokens, but ids reach {least - 1}", argument="vocabulary"
            )
        inputs = len(vocabulary) if inputs is None else inputs
        least = len(vocabulary)
    return check_count("inputs", least if inputs is None else inputs, least)


def _outputs(kind: Kind, labels: list[np.ndarray], outputs: Any) -> int:
    """Number of classes or of targets."""
    if kind == "regression":
        width = labels[0].shape[1]
        if outputs is not None and check_count("outputs", outputs, 1) != width:
            raise UserError(
                f"must equal the number of targets, {width}, got {outputs}", argument="outputs"
            )
        return width
    least = max(2, 1 + max(int(one.max()) for one in labels))
    if kind == "retrieval" and least > 2:
        raise UserError("must be 0 or 1 for retrieval", argument="labels")
    return check_count("outputs", least if outputs is None else outputs, least)


def _joined(arrays: list[np.ndarray], labels: Labels, documents: int, dtype: np.dtype) -> Sequences:
    values: UInt[np.ndarray, " total"] | Float32[np.ndarray, "total channels"]
    values = np.concatenate(arrays).astype(dtype, copy=False)
    offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
    return Sequences(values, offsets, labels, documents)


def _splits(stored: dict[str, Sequences], shares: dict[str, float], seed: int) -> Splits:
    """Given sets as they are; the others are drawn from the rest."""
    count = len(stored[""])
    drawn = portions(count, (1 - sum(shares.values()), *shares.values()), seed)
    if not all(map(len, drawn)):
        named = ", ".join(f"{name}={share:g}" for name, share in shares.items())
        raise UserError(f"{count} examples are too few for {named or 'training'}")
    parts = dict(zip(("train", *shares), drawn, strict=True))
    return Splits(
        *(
            Split(stored[""], parts[name]) if name in parts else all_rows(stored[name])
            for name in Splits._fields
        )
    )


def _shown(value: Any) -> str:
    """A value in a message: its type, and itself where it is short."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 40 else type(value).__name__
