"""The loop over train steps: batches, metrics, evaluation, checkpoints and signals."""

import contextlib
import pathlib
import signal
import time
from collections.abc import Callable, Generator
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from .._errors import UserError
from .._signals import stop_signals
from ..tasks import Batch
from ._checkpoints import Checkpoints
from ._config import Config
from ._devices import Devices
from ._metrics import MetricsLogger
from ._step import TrainState, step_number, trained_part

_DIVERGED = 10  # times the first loss


class Interrupted(KeyboardInterrupt):
    """A run that was interrupted by a signal, after its state was saved."""

    def __init__(self, step: int, folder: object, received: int):
        super().__init__(f"interrupted after step {step}: resume the run in {folder}")
        self.step, self.folder, self.exit_code = step, folder, 128 + received


@runtime_checkable
class BatchSource(Protocol):
    """Batches by number, such as `Batches` and `Curriculum`."""

    def stream(self, start: int = 0) -> Generator[Batch, None, None]:
        """An endless stream of the batches from number `start` on."""
        ...


Validate = Callable[[TrainState, int], tuple[TrainState, bool]]


def run_steps(
    state: TrainState,
    start: int,
    train_step: Callable[[TrainState, Batch, Any], TrainState],
    batches: BatchSource,
    config: Config,
    devices: Devices,
    checkpoints: Checkpoints,
    metrics: MetricsLogger,
    folder: pathlib.Path,
    *,
    metric: str,
    validate: Validate | None = None,
) -> TrainState:
    """The state after all steps of the settings, of which `start` are done.

    **Arguments:**

    - `folder`: folder of the run, for the message after a signal.
    - `metric`: name of the metric of training examples.
    - `validate`: called every `config.evaluate_every` steps and after the last one; returns the
      state, and whether it is the best so far.
    """
    stream, clock = batches.stream(start), _Clock(float(state.seconds))
    with contextlib.closing(metrics), contextlib.closing(stream), stop_signals() as signals:
        for step in range(start + 1, config.steps + 1):
            batch, number = devices.share(next(stream)), devices.copy(step_number(step))
            with jax.transfer_guard("disallow"):
                state = train_step(state, batch, number)
            last, best = step == config.steps, False
            if step % config.log_every == 0 or last:
                _log(state, step, config, metric, metrics)
            if validate is not None and (step % config.evaluate_every == 0 or last):
                state, best = validate(state, step)
            # With several processes, signals are exchanged every few steps: it costs a message.
            exchange = devices.processes == 1 or step % config.log_every == 0
            stop = exchange and devices.any_process(bool(signals))
            if step % config.checkpoint_every == 0 or last or best or stop:
                _check_finite(state, step)
                state = state._replace(seconds=devices.copy_first(np.float32(clock.seconds())))
                checkpoints.save(step, state, best=best)
            if stop and not (last and validate is not None):
                raise Interrupted(step, folder, signals[0] if signals else signal.SIGTERM)
    return state


class _Clock:
    """Wall time of training, in all processes that worked on a run."""

    def __init__(self, before: float):
        self._before, self._start = before, time.monotonic()

    def seconds(self) -> float:
        return self._before + time.monotonic() - self._start


def _log(state: TrainState, step: int, config: Config, name: str, metrics: MetricsLogger) -> None:
    """Write means since the last line, and stop if training has diverged."""
    count = (step - 1) % config.log_every + 1
    loss, metric = float(state.loss) / count, float(state.metric) / count
    if not np.isfinite(loss) or loss > _DIVERGED * float(state.first_loss):
        raise _diverged(f"the loss is {loss:.3g}", step)
    found = {"loss": loss, name: metric}
    metrics.log(step, **found)
    metrics.show(step, **found)


def _check_finite(state: TrainState, step: int) -> None:
    """Weights that are not finite must not become the last checkpoint."""
    if not _finite(trained_part(state.model)):
        raise _diverged("weights are not finite", step)


@jax.jit
def _finite(model: Any) -> Bool[Array, ""]:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(model)]).all()


def _diverged(what: str, step: int) -> UserError:
    return UserError(
        f"training diverged by step {step}: {what}. The last finite checkpoint is kept; lower "
        "optimizer.lr and optimizer.ssm_lr, or set optimizer.clip to 1"
    )
