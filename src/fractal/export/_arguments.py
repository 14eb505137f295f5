"""Arguments that exports have in common: the model, and the length of whole sequences."""

from typing import Any, NamedTuple

from .._checks import check_count, check_flag
from .._errors import UserError
from ..nn import FractalSSM, PathRate, RetrievalHead, SequenceModel
from ._folder import check_prefix


class Graphs(NamedTuple):
    """What to write: a step if the model has one, and whole sequences if there is a length."""

    prefix: str
    length: int | None
    durations: bool


def check_graphs(model: Any, prefix: object, length: Any, durations: bool) -> Graphs:
    """Validate the arguments of exports of graphs."""
    prefix, durations = check_prefix(prefix), check_flag("durations", durations)
    check_model(model)
    if length is None:
        if why := whole_only(model):
            raise UserError(f"must be given: {why}", argument="length")
        if durations:
            raise UserError("must be given with durations", argument="length")
        return Graphs(prefix, None, durations)
    if durations and follows_path(model):
        raise UserError("must be False for rate='path'", argument="durations")
    length = check_count("length", length, smallest=1)
    if model.table is not None:
        check_count("length", length, 1, len(model.table), ", the number of learned positions")
    return Graphs(prefix, length, durations)


def check_model(model: Any) -> None:
    """Raise `UserError` for anything but a `SequenceModel`."""
    if not isinstance(model, SequenceModel):
        kind = type(model).__name__
        raise UserError(f"must be a SequenceModel, got a {kind}", argument="model")


def whole_only(model: SequenceModel) -> str | None:
    """Why a model has no step; None if it has one."""
    if isinstance(model.head, RetrievalHead):
        return "task='retrieval' needs two whole sequences"
    if any(block.mixer.bidirectional for block in model.blocks):
        return "a bidirectional model needs whole sequences"
    return None


def follows_path(model: SequenceModel) -> bool:
    """Whether the time of a layer is the path of its input, so that samples have no durations."""
    mixers = [block.mixer for block in model.blocks]
    return any(isinstance(one, FractalSSM) and isinstance(one.rate, PathRate) for one in mixers)
