"""A model with a configuration, labels and a loss, in the form of Hugging Face's."""

import dataclasses
import functools
from typing import NamedTuple

import torch

import fractal


@dataclasses.dataclass
class FractalConfig:
    """What `from_config` needs to build a model."""

    vocab_size: int = 256
    num_labels: int = 2
    hidden_size: int = 64
    num_hidden_layers: int = 2
    state_size: int = 16
    clock: str = "uniform"
    hidden_dropout_prob: float = 0.0


class Output(NamedTuple):
    """The loss, if labels were given, and the logits."""

    loss: torch.Tensor | None
    logits: torch.Tensor


class FractalForSequenceClassification(torch.nn.Module):
    """A classifier of token sequences."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = fractal.torch.SequenceModel(
            inputs=config.vocab_size,
            outputs=config.num_labels,
            width=config.hidden_size,
            depth=config.num_hidden_layers,
            dropout=config.hidden_dropout_prob,
            mixer=functools.partial(
                fractal.torch.FractalSSM, order=config.state_size, clock=config.clock
            ),
        )

    def forward(self, input_ids, attention_mask=None, labels=None):
        """Logits, and the cross entropy with labels."""
        mask = None if attention_mask is None else attention_mask.bool()
        logits = self.model(input_ids, mask=mask)
        loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
        return Output(loss, logits)
