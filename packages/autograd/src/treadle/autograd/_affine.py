"""The affine op's share of the op call: operands in, the array's kernel, what the rule reads saved.

Compiled by Cython with the types of ``_affine.pxd``. The op itself is plain Python, in ``ops/linalg.py``.
"""

from typing import Any

import treadle.ndarray as _nd
from treadle.autograd._arrays import linear, untrack
from treadle.autograd._tensor import Op, Tensor
from treadle.ndarray import NDArray

__all__ = ["AffineOp", "direct"]


class AffineOp(Op):
    """Base of :class:`treadle.autograd.ops.Linear`, which has the rules and what serves where there is no kernel."""

    def _compute(self, inputs: tuple[Tensor, ...]) -> Any:
        found: Any = None
        if len(inputs) == 3:
            x, weight, bias = inputs
            found = linear(x._data, weight._data, bias._data)
        elif len(inputs) == 2:
            x, weight = inputs
            found = linear(x._data, weight._data, None)
        if found is None:
            found, _ = self.forward(_nd, *[each.data for each in inputs])
        return found

    def _kept(self, inputs: tuple[Tensor, ...], data: NDArray) -> tuple[Any, ...]:
        x = inputs[0]
        weight = inputs[1]
        kept = (x._data, weight._data)
        untrack(kept)
        return kept

    def _gradients(self, grad: NDArray, node: Tensor) -> Any:
        return self.backward(_nd, grad, node)


def direct(op: AffineOp) -> AffineOp:
    """The op, whose calls ask the array's kernel first."""
    op._is_direct = True
    return op
