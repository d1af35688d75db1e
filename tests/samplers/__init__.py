"""For every op a sampler: a function that draws a configuration and operands for which the op is smooth.

An elementwise op, a reduction and a scan get theirs from their rows of the op table. The tests of the whole table fail
for an op that has none. Values are pairwise different, so that no order is ambiguous, and away from kinks and poles.
"""

from samplers import products, rows, selecting, transforms
from samplers.drawing import SAMPLERS, Draw, Sample

__all__ = ["SAMPLERS", "Draw", "Sample", "products", "rows", "selecting", "transforms"]
