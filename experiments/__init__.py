"""What was measured, one file a question: `python -m experiments.NAME` → results/NAME.jsonl."""
