"""Measurements of treadle against NumPy and PyTorch, as ratios: ``python -m benchmarks``."""
