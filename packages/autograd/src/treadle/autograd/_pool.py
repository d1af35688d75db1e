"""How nodes are allocated and collected. Compiled, ``_pool.pyx`` stands in; uncompiled, Python does as it does."""

from typing import Any

__all__ = ["SPARE_NODES", "look_through_operands", "recycle"]

SPARE_NODES = 4095
"""About a megabyte; the collector sleeps through graphs of that many nodes."""


def recycle(kind: type, limit: int) -> int:
    """Keep up to ``limit`` dead objects of this type for the next ones; gives the limit that holds."""
    return 0


def look_through_operands(one: Any) -> None:
    """Have the collector visit a node's operands rather than their tuple, which then need not be tracked."""
