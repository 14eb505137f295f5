"""Benchmarks: interleaved measurements of candidates in a single process, and their ratios."""
