import json

from experiments import runs


def test_early_and_late_loss_are_those_of_the_first_and_last_tenth(tmp_path):
    curve = [[10 * i, float(i)] for i in range(1, 21)]
    lines = (json.dumps({"step": step, "loss": loss}) for step, loss in curve)
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    scores = dict.fromkeys(("parameters", "steps", "validation_accuracy", "test_accuracy"), 200)
    summary = runs.Trained(tmp_path, None, None, scores, curve, 0.0).summary()
    assert (summary["early_loss"], summary["late_loss"]) == (1.5, 19.5)
