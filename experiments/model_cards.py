"""Trained models in models/TASK: weights, settings and a card for each finished task.

`python -m experiments.model_cards` copies the weights and settings of FRACTAL's runs of
`experiments.laptop`, and writes their cards from results/laptop.jsonl. `fractal eval models/TASK`
evaluates them.
"""

import hashlib
import pathlib
import shutil

from fractal.tasks import DataError

from . import arena, cases, code, laptop
from .results import Line, read_experiment

MODELS = code.ROOT / "models"
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
_DATA = {
    "listops": "ListOps, generated as published: 96,000 training, 2,000 test expressions",
    "text": "IMDB reviews (Maas et al., 2011), 25,000 for the test",
    "retrieval": "a generated substitute for AAN; not comparable with published scores",
    "image": "CIFAR-10 (Krizhevsky, 2009) in gray, 10,000 test images",
    "pathfinder": "Pathfinder, generated as published: 160,000 training, 20,000 test images",
    "smnist": "MNIST (LeCun et al., 1998), 10,000 test images",
    "psmnist": "MNIST (LeCun et al., 1998) in one fixed random order, 10,000 test images",
}


def card(line: Line) -> str:
    """The card of a model: data, settings, score, license and checksum of its weights."""
    task, settings, origin = line["task"], line["settings"], line["provenance"]
    model, data, optimizer = (settings[name] for name in ("model", "data", "optimizer"))
    gate = {"gate": model["gate"]} if model["gate"] else {}
    options = {"width": model["width"], "depth": model["depth"], **gate, **model["options"]}
    first = f"{line['pretrain']:,} steps of self-pretraining, then " if line["pretrain"] else ""
    cores = "one core" if line["cores"] == 1 else f"{line['cores']} cores"
    easier = f", the first 30 % on {', '.join(data['curriculum'])}" if data["curriculum"] else ""
    return f"""# {arena.TASKS.get(task, task)}, FRACTAL, {line["parameters"]:,} parameters

| | |
|---|---|
| test accuracy | {line["test_accuracy"]:.4f} (most frequent class {line["chance"]:.4f}) |
| validation accuracy | {line["validation_accuracy"]:.4f}, at step {line["best_step"]:,} |
| data | {_DATA[task]} |
| length | {_length(task)} |
| command | `fractal train {task} --preset laptop --seed {line["seed"]}` |
| model | {", ".join(f"{name} {value}" for name, value in options.items())} |
| training | {first}{line["steps"]:,} steps of {data["batch"]} examples{easier} |
| learning rates | {optimizer["lr"]:g}, recurrence {optimizer["ssm_lr"]:g} |
| cost | {line["cpu_hours"]} CPU hours, {line["hours"]} hours on {cores} |
| commit | {origin.get("commit", "unknown")!s} |
| license | Apache 2.0, for the weights; the data has its own |
| sha256 | `{line["sha256"]}` |

```python
import fractal

model = fractal.load("models/{task}/{WEIGHTS}")
```

`fractal eval models/{task}` measures the test accuracy. `python -m experiments.model_cards` wrote
this card from `results/laptop.jsonl`.
"""


def _length(task: str) -> str:
    return arena.LENGTHS[task][0] if task in arena.LENGTHS else "784"


def checksum(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def publish(line: Line) -> None:
    """Write models/TASK, from the folder of the run if that exists."""
    run, place = laptop.folder_of(line), MODELS / line["task"]
    if run.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        for name in (CONFIG, WEIGHTS):
            shutil.copyfile(run / name, place / name)
    if not (place / WEIGHTS).exists() or checksum(place / WEIGHTS) != line["sha256"]:
        raise DataError(f"neither {run} nor {place} contains the weights of {line['task']}")
    (place / CARD).write_text(card(line), encoding="utf-8")


def main() -> None:
    for line in read_experiment(code.ROOT / "results", "laptop") or []:
        if line["model"] == "fractal":
            publish(line)


if __name__ == "__main__":
    cases.main(main)
