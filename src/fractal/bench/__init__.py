"""Benchmarks: candidates measured in turns in a single process, and their ratios."""
