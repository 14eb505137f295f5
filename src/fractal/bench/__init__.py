"""Benchmarks: ratios measured in one process, interleaved, with their spread."""
