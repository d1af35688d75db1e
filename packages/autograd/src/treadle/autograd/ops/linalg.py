"""Matrix products."""

import math
from typing import Any

from treadle.autograd._affine import AffineOp, direct
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.errors import OpContractError
from treadle.autograd.ops._common import Shape, fit, tried
from treadle.ndarray import DType, ShapeError, broadcast_shapes

__all__ = ["Linear", "MatMul"]


class MatMul(Op):
    """The matrix product of the last two axes, of either operand transposed on request; leading axes broadcast.

    A 1-D operand is a row on the left and a column on the right, and its axis is gone from the result; it has no
    transpose. Transposed operands are read where they lie.

    >>> import treadle.autograd as ag
    >>> a, b = ag.Tensor([[1.0, 2.0]]), ag.Tensor([[3.0, 4.0]])
    >>> ag.ops.MatMul(transpose_b=True)(a, b).tolist()
    [[11.0]]
    """

    holomorphic = True

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        a, b = arrays
        self._check(a.ndim, b.ndim)
        left = xp.matrix_transpose(a) if self.transpose_a else a
        right = xp.matrix_transpose(b) if self.transpose_b else b
        return xp.matmul(left, right), (a, b)

    def _check(self, a_ndim: int, b_ndim: int) -> None:
        if (self.transpose_a and a_ndim < 2) or (self.transpose_b and b_ndim < 2):
            raise ShapeError(f"{self}: an operand of {min(a_ndim, b_ndim)} dimensions has no transpose")

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        a, b = node.saved
        row, column = len(a.shape) == 1, len(b.shape) == 1
        if row:
            grad = xp.expand_dims(grad, axis=-1 if column else -2)
        if column:
            grad = xp.expand_dims(grad, axis=-1)
        first = self._first(xp, grad, a, b, row, column) if node.needs_grad(0) else None
        second = self._second(xp, grad, a, b, row, column) if node.needs_grad(1) else None
        return first, second

    def _first(self, xp: Any, grad: Any, a: Any, b: Any, row: bool, column: bool) -> Any:
        other = xp.expand_dims(b, axis=0) if column else b if self.transpose_b else xp.matrix_transpose(b)  # (n, k)
        if self.transpose_a:
            result = xp.matmul(xp.matrix_transpose(other), xp.matrix_transpose(grad))
        else:
            result = xp.matmul(grad, other)
        if row:
            return fit(xp, xp.squeeze(result, -2), a.shape, a.dtype)
        return fit(xp, result, a.shape, a.dtype)

    def _second(self, xp: Any, grad: Any, a: Any, b: Any, row: bool, column: bool) -> Any:
        other = xp.expand_dims(a, axis=1) if row else a if self.transpose_a else xp.matrix_transpose(a)  # (k, m)
        if self.transpose_b:
            result = xp.matmul(xp.matrix_transpose(grad), xp.matrix_transpose(other))
        else:
            result = xp.matmul(other, grad)
        if column:
            return fit(xp, xp.squeeze(result, -1), b.shape, b.dtype)
        return fit(xp, result, b.shape, b.dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        a, b = shapes
        self._check(len(a), len(b))
        if not a or not b:
            raise ShapeError(f"{self}: shapes {a} and {b}: a 0-d operand has no axis to sum")
        row, column = len(a) == 1, len(b) == 1
        a = (1, *a) if row else (*a[:-2], a[-1], a[-2]) if self.transpose_a else a
        b = (*b, 1) if column else (*b[:-2], b[-1], b[-2]) if self.transpose_b else b
        if a[-1] != b[-2]:
            raise ShapeError(
                f"{self}: shapes {shapes[0]} and {shapes[1]}: the inner lengths {a[-1]} and {b[-2]} differ"
            )
        tail = (() if row else (a[-2],)) + (() if column else (b[-1],))
        return broadcast_shapes(a[:-2], b[:-2]) + tail, tried(self, shapes, dtypes)


class Linear(AffineOp):
    """x @ weight.T + bias as one node: (..., k), (n, k) and (n,) give (..., n). The bias may be left out."""

    holomorphic = True

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        self._check(tuple(each.shape for each in arrays))
        x, weight = arrays[:2]
        out = xp.matmul(x, weight.mT)
        if len(arrays) == 3:
            bias = arrays[2]
            out = xp.add(out, bias, out=out) if out.dtype is bias.dtype else xp.add(out, bias)
        return out, (x, weight)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, weight = node.saved
        inputs = node.inputs
        gradients: list[Any] = [None] * len(inputs)
        if inputs[0].requires_grad:
            gradients[0] = fit(xp, xp.matmul(grad, weight), x.shape, x.dtype)
        rows = grad
        if len(grad.shape) != 2:
            rows = xp.reshape(grad, (math.prod(grad.shape[:-1]), weight.shape[0]))
        if inputs[1].requires_grad:
            samples = x if len(x.shape) == 2 else xp.reshape(x, (rows.shape[0], weight.shape[1]))
            gradients[1] = fit(xp, xp.matmul(xp.matrix_transpose(rows), samples), weight.shape, weight.dtype)
        if len(inputs) == 3 and inputs[2].requires_grad:
            gradients[2] = fit(xp, xp.sum(rows, axis=0), inputs[2].shape, inputs[2].dtype)
        return tuple(gradients)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        self._check(shapes)
        return (*shapes[0][:-1], shapes[1][0]), tried(self, shapes, dtypes)

    def _check(self, shapes: tuple[Shape, ...]) -> None:
        """Raise ShapeError, OpContractError."""
        if len(shapes) not in (2, 3):
            raise OpContractError(f"{self} takes 2 or 3 tensors, not {len(shapes)}")
        x, weight = shapes[:2]
        if len(weight) != 2 or not x or x[-1] != weight[1]:
            raise ShapeError(f"Linear: input of shape {x} does not fit a weight of shape {weight}")
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            raise ShapeError(f"Linear: bias of shape {shapes[2]} does not fit a weight of shape {weight}")


matmul = MatMul()
_linear = direct(Linear())


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias as one node. Shapes (..., k), (n, k), (n,) -> (..., n). Raises ShapeError.

    >>> import treadle.autograd as ag
    >>> ag.linear(ag.Tensor([1.0, 2.0]), ag.Tensor([[3.0, 4.0]]), ag.Tensor([0.5])).tolist()
    [11.5]
    """
    return _linear(x, weight) if bias is None else _linear(x, weight, bias)
