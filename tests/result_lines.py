"""Lines of results as the experiments write them, with numbers that are easy to check."""

import json
import pathlib

AGES = [0.0, 0.001, 0.01, 1.0]


def recall(signal: str, memory: str, seed: int, error: list[float]) -> dict:
    return {
        "signal": signal, "memory": memory, "seed": seed, "order": 64, "ages": AGES, "error": error,
    }  # fmt: skip


def trained(seed: int, accuracy: float, **named) -> dict:
    return named | {
        "seed": seed,
        "steps": 600,
        "parameters": 44_000,
        "early_loss": 2.0 + accuracy,
        "late_loss": 1.0 + accuracy,
        "test_accuracy": accuracy,
        "curve": [[10, 2.0], [20, 1.0 + accuracy]],
        "validation_accuracy": accuracy + 0.01,
        "not read": "by any table",
    }


def all_lines() -> dict[str, list[dict]]:
    """A few of each experiment."""
    rates = {"training rate": 0.9, "2× upsampled": 0.8}
    return {
        "recall": [
            recall("brownian", memory, seed, [level, 2 * level, level + seed])
            for memory, level in (("fractional 0.5", 0.1), ("legs", 0.3))
            for seed in range(2)
        ],
        "initialization": [
            trained(seed, accuracy, task="listops", init=init, dt_min=low, dt_max=0.5)
            for init, low, seed, accuracy in (
                ("s5", 0.001, 0, 0.40),
                ("s5", 0.01, 0, 0.45),
                ("s5", 0.01, 1, 0.35),
                ("normal", 0.001, 0, 0.50),
                ("normal", 0.001, 1, 0.60),
                ("normal", 0.01, 0, 0.20),
            )
        ],
        "filter_bank": [
            trained(seed, 0.5 + seed / 10, task="smnist", bank=bank, clock=clock, alphas=alphas)
            for bank, alphas in (("bank", None), ("learned", [0.12, 0.87]))
            for clock in ("uniform", "scale-invariant")
            for seed in range(2)
        ],
        "clock": [
            {
                "task": "smnist", "model": model, "direction": "causal", "pooling": "last",
                "seed": seed, "steps": 400, "parameters": 17_000,
                "accuracy": {name: score - 0.1 * seed for name, score in (rates | more).items()},
            }
            for model, more in (
                ("s5", {"2× upsampled, rescaled Δ": 0.7}), ("fractal, scale-invariant", {}),
            )
            for seed in range(2)
        ],
        "models": [
            trained(
                seed, accuracy + seed / 100, task=task, model=model,
                examples=30_000, seconds=60 + seed, chance=0.125, bag=0.25,
            )
            for task in ("listops", "image")
            for model, accuracy in (("transformer", 0.3), ("fractal", 0.5), ("s5", 0.6))
            for seed in range(3)
        ],
        "laptop": [
            trained(
                0, accuracy, task=task, model=model, pretrain=0, examples=300_000, hours=3.5,
                cpu_hours=2.5, cores=2, chance=0.5, best_step=500, settings={}, sha256="0" * 64,
            )
            for task in ("text", "retrieval", "smnist")
            for model, accuracy in (("fractal", 0.8125), ("s5", 0.75))
        ],
        "own_series": [
            {
                "data": data, "method": method, "seed": seed, "log_loss": loss,
                "accuracy": {"training rate": score - 0.01 * seed, "2×": more},
                "calibration_error": loss,
            }
            for data, low in (("GunPoint", 0.1), ("PLAID", 0.3))
            for method, score, more, loss in (
                ("fractal", 0.9 - low, 0.8, 0.05), ("ROCKET", 1 - low, None, None),
            )
            for seed in range(2)
        ],
        "forecast": [
            {
                "series": series, "horizon": horizon, "model": model, "seed": seed,
                "mse": mse and mse + horizon / 1000 + seed / 10, "mae": mse,
                "mse_few": 0.5 + seed / 10, "coverage": coverage,
            }
            for series in ("ETTh1", "power")
            for horizon in (96, 336)
            for model, mse, coverage in (
                ("seasonal naive", 0.6, None), ("fractal", 0.3, 0.8), ("AutoETS", None, None),
            )
            for seed in range(2)
        ],
        "ecg": [
            {
                "method": method, "seed": seed, "threshold": 0.5, "peak": 0.5 * margin,
                "margin": margin, "delay": delay, "false_alarms": alarms, "regular_seconds": 8.78,
            }
            for method, margin, delay, alarms in (
                ("last season", 0.9, None, 3), ("fractal", 1.5, 0.1, 0),
            )
            for seed in range(2)
        ],
        "long_memory": [
            {
                "series": series, "model": model, "seed": seed, "parameters": 13_000,
                "mse_1": 0.5 + seed / 10, "mse_24": 0.8, "best_1": best, "best_24": best,
                "alphas": None,
            }
            for series, best in (("arfima 0.4", 0.4), ("power", None))
            for model in ("ar", "fractal")
            for seed in range(2)
        ],
        "selective": [
            trained(seed, accuracy + seed / 10, task="listops", clock=clock, rate=rate)
            for clock in ("uniform", "scale-invariant")
            for rate, accuracy in (("selective", 0.5), ("fixed", 0.4))
            for seed in range(2)
        ],
        "full_budget": [
            trained(seed, accuracy + seed / 10, task="listops", clock="uniform", rate=rate)
            for rate, accuracy in (("selective", 0.7), ("fixed", 0.6))
            for seed in range(2)
        ],
        "synthetic": [
            trained(seed, accuracy, task=task, model=model, length=256, longer={"4096": 0.6})
            for task in ("selective copying", "induction heads")
            for model, accuracy in (("s5", 0.07), ("fractal, uniform, selective", 0.8))
            for seed in range(2)
        ],
        "induction": [
            trained(seed, 0.9, model=model, longer={"1024": 0.7 - reach, "4096": 0.5 - reach})
            for model, reach in (("s5", 0.4), ("fractal, uniform, selective", 0.0))
            for seed in range(2)
        ],
        "training_cases": [
            {
                "data": data, "method": method, "cases": cases, "seed": 0, "accuracy": accuracy,
                "log_loss": 0.5, "calibration_error": 0.05, "fit_seconds": 10.0,
            }
            for data, cases, method, accuracy in (
                ("MNIST by pixels", 1000, "network", 0.8), ("MNIST by pixels", 100, "filters", 0.7),
                ("MNIST by pixels", 1000, "filters", 0.9),
            )
        ],
        "pathfinder": [
            trained(seed, 0.8, task="pathfinder_6", model=model, pretrain=0)
            for model in ("s5", "fractal, period 32")
            for seed in range(2)
        ],
        "morse": [
            {
                "model": model, "seed": seed, "steps": 200, "parameters": 14_000,
                "accuracy": {"1": low, "10": 1.0, "40": low + seed / 10, "10, pause 50": 0.5}
                | more,
            }
            for model, low, more in (
                ("s5", 0.02, {"1, rescaled Δ": 0.9, "40, rescaled Δ": 0.8}), ("sithcon", 0.6, {}),
            )
            for seed in range(2)
        ],
        "speech": [
            {
                "model": model, "seed": seed, "steps": 400, "parameters": 14_000, "rate": 2000,
                "split": split, "accuracy": {"trained": 0.8, "speed 2": 0.3 + seed / 10} | more,
            }
            for split in ("recordings", "speakers")
            for model, more in (
                ("s5", {"speed 2, rescaled Δ": 0.7, "tempo 2": 0.5, "silence 1 s": 0.6}),
                ("log-mel, logistic regression", {"tempo 2": 0.75, "silence 1 s": 0.2}),
            )
            for seed in range(2)
        ],
    }  # fmt: skip


def write(folder: pathlib.Path, lines: dict[str, list[dict]]) -> pathlib.Path:
    """As results/*.jsonl."""
    folder.mkdir(exist_ok=True)
    for name, some in lines.items():
        text = "".join(json.dumps(line) + "\n" for line in some)
        (folder / f"{name}.jsonl").write_text(text)
    return folder
