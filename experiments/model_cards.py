"""Trained weights in models/: TASK.safetensors and TASK.md, a card, for each finished task.

`python -m experiments.model_cards` copies the weights of FRACTAL's runs of `experiments.laptop`,
and writes their cards from results/laptop.jsonl.
"""

import hashlib
import pathlib
import shutil

from fractal.train import preset

from . import arena, code, laptop
from .results import Line, read_experiment

MODELS = code.ROOT / "models"
_DATA = {
    "listops": "ListOps, generated as published: 96,000 training, 2,000 test expressions",
    "text": "IMDB reviews (Maas et al., 2011), 25,000 for the test",
    "retrieval": "a generated substitute for AAN; not comparable with published scores",
    "image": "CIFAR-10 (Krizhevsky, 2009) in gray, 10,000 test images",
    "pathfinder": "Pathfinder, generated as published: 160,000 training, 20,000 test images",
    "smnist": "MNIST (LeCun et al., 1998), 10,000 test images",
    "psmnist": "MNIST (LeCun et al., 1998) in one fixed random order, 10,000 test images",
}


def card(line: Line, weights: pathlib.Path) -> str:
    """The card of a model: data, settings, score, license and checksum of its weights."""
    task, origin = line["task"], line["provenance"]
    name = arena.TASKS.get(task, task)
    config = preset(task, "laptop", line["model"])
    return f"""# {name}, FRACTAL, {line["parameters"]:,} parameters

| | |
|---|---|
| test accuracy | {line["test_accuracy"]:.4f} (most frequent class {line["chance"]:.4f}) |
| validation accuracy | {line["validation_accuracy"]:.4f} |
| data | {_DATA[task]} |
| length | {laptop_length(task)} |
| command | `fractal train {task} --preset laptop --seed {line["seed"]}` |
| size | width {config.model.width}, depth {config.model.depth} |
| training | {line["steps"]:,} steps of {config.data.batch} examples |
| cost | {line["cpu_hours"]} CPU hours |
| commit | {origin.get("commit", "unknown")!s} |
| license | Apache 2.0, for the weights; the data has its own |
| sha256 | `{checksum(weights)}` |

```python
import fractal

model = fractal.load("models/{weights.name}")
```

`python -m experiments.model_cards` wrote this card from `results/laptop.jsonl`.
"""


def laptop_length(task: str) -> str:
    return arena.LENGTHS[task][0] if task in arena.LENGTHS else "784"


def checksum(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    for line in read_experiment(code.ROOT / "results", "laptop") or []:
        if line["model"] != "fractal":
            continue
        run = laptop.folder_of(line["task"], line["model"], int(line["seed"]))
        weights = MODELS / f"{line['task']}.safetensors"
        if (run / "model.safetensors").exists():
            MODELS.mkdir(exist_ok=True)
            shutil.copyfile(run / "model.safetensors", weights)
        if weights.exists():
            weights.with_suffix(".md").write_text(card(line, weights), encoding="utf-8")


if __name__ == "__main__":
    main()
