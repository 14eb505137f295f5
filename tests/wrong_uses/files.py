"""The files that the wrong uses refer to, in a folder of their own."""

import functools
import json
import pathlib
from typing import Any

# A valid configuration, of which each file below breaks one thing.
_CONFIG: dict[str, Any] = {
    "data": {"task": "listops", "preset": "mini"},
    "model": {"name": "fractal", "width": 8, "depth": 1, "options": {"order": 4}},
    "optimizer": {"warmup": 0},
    "steps": 2,
}


def _broken(path: str, value: Any) -> str:
    """The configuration as JSON, with the value at a dotted path replaced."""
    config = json.loads(json.dumps(_CONFIG))
    *outer, last = path.split(".")
    place = config
    for name in outer:
        place = place[name]
    place[last] = value
    return json.dumps(config)


_CONFIGS = {
    "steps-float": ("steps", 3.5),
    "steps-text": ("steps", "3"),
    "steps-bool": ("steps", True),
    "steps-zero": ("steps", 0),
    "steps-null": ("steps", None),
    "seed-float": ("seed", 1.5),
    "seed-negative": ("seed", -1),
    "options-null": ("model.options", None),
    "options-list": ("model.options", [1]),
    "options-nested": ("model.options", {"order": {"a": 1}}),
    "options-unknown": ("model.options", {"ordre": 4}),
    "options-order-odd": ("model.options", {"order": 5}),
    "preset-tiny": ("data.preset", "tiny"),
    "task-unknown": ("data.task", "listop"),
    "task-number": ("data.task", 3),
    "task-empty": ("data.task", ""),
    "model-unknown": ("model.name", "s6"),
    "model-list": ("model", []),
    "model-null": ("model", None),
    "width-float": ("model.width", 8.5),
    "width-negative": ("model.width", -8),
    "width-huge": ("model.width", 10**8),
    "gate-unknown": ("model.gate", "relu"),
    "dropout-one": ("model.dropout", 1.0),
    "lr-text": ("optimizer.lr", "fast"),
    "lr-zero": ("optimizer.lr", 0),
    "warmup-late": ("optimizer.warmup", 2),
    "field-unknown": ("stepz", 3),
    "optimiser": ("optimiser", {}),
    "data-missing": ("data", {}),
    "batch-zero": ("data.batch", 0),
    "validation-unknown": ("data.validation", "train"),
}


def make_files(folder: pathlib.Path) -> None:
    """Write them all."""
    for name, (path, value) in _CONFIGS.items():
        (folder / f"{name}.json").write_text(_broken(path, value))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "number.json").write_text("3")
    (folder / "empty.json").write_text("")
    (folder / "cut.json").write_text(json.dumps(_CONFIG)[:50])
    (folder / "bom.json").write_bytes(b"\xef\xbb\xbf" + b"[]")
    (folder / "latin.json").write_bytes('{"steps": "größer"}'.encode("latin-1"))
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "nan.json").write_text(_broken("optimizer.lr", float("nan")))
    (folder / "empty").mkdir()
    (folder / "file").write_text("not a folder")
    (folder / "run").mkdir()
    (folder / "run" / "config.json").write_text("{}")
    (folder / "good").mkdir()
    (folder / "good" / "config.json").write_text(json.dumps(_CONFIG))
    (folder / "broken.py").write_text("raise RuntimeError('no')\n")
    (folder / "syntax.py").write_text("def\n")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "words.csv").write_text("a,b\n1,2\n3,four\n")
    (folder / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (folder / "nan.csv").write_text("a\n1\nnan\n")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "dates.csv").write_text("day\n2026-01-01\n2026-01-02\n")
    (folder / "series.csv").write_text("a\n" + "\n".join(map(str, range(50))) + "\n")
    (folder / "cases.csv").write_text("a,b,label\n1,2,up\n3,4,down\n5,6,up\n")
    (folder / "wrong.csv").write_text("a,b,label\n1,2,up\n3,x,down\n5,6,up\n")
    (folder / "unlabeled.csv").write_text("a,b,label\n1,2,up\n3,4,\n")
    (folder / "gaps.csv").write_text("t,v\n1,2\n2,3\n2.7,4\n")
    (folder / "back.csv").write_text("t,v\n1,2\n3,3\n2,4\n")
    (folder / "known.csv").write_text("t,v,holiday\n1,2,0\n2,3,1\n3,,0\n")
    (folder / "head.ts").write_text("@classLabel true a b\n")
    (folder / "value.ts").write_text("@classLabel true a b\n@data\n1,x:a\n")
    (folder / "label.ts").write_text("@classLabel true a b\n@data\n1,2:c\n")
    (folder / "broken.npz").write_bytes(b"not arrays")
    (folder / "table.xlsx").write_bytes(b"not read")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "model.safetensors").write_bytes(b"not a model")
    _make_models(folder)
    (folder / "results").mkdir()
    (folder / "results" / "clock.jsonl").write_text("{broken\n")


def _make_models(folder: pathlib.Path) -> None:
    """Valid models, for wrong exports."""
    import jax

    import fractal
    from fractal import baselines, nn

    layer = functools.partial(nn.FractalSSM, order=4, alphas=0.5)
    mixers = {
        "causal": layer,
        "bidirectional": functools.partial(layer, bidirectional=True),
        "path": functools.partial(layer, rate="path"),
        "s4d": functools.partial(baselines.S4D, order=4),
    }
    for name, mixer in mixers.items():
        key = jax.random.key(0)
        model = nn.SequenceModel(3, 2, width=4, depth=1, mixer=mixer, key=key)
        fractal.save(folder / f"{name}.safetensors", model)
    fractal.OnlineMemory(0.5, 4).save(folder / "memory.safetensors")
