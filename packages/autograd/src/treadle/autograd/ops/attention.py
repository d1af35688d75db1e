"""Attention as one node, whose weights are made again in backward instead of being kept."""

import math
import operator
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.errors import OpContractError
from treadle.autograd.ops._common import Shape, fit, floating
from treadle.ndarray import DType, DTypeError
from treadle.ndarray.attention import attention as attend
from treadle.ndarray.attention import attention_gradient, attention_shape, default_scale

__all__ = ["Attention"]


class Attention(Op):
    """softmax(scale * query @ key.T + mask) @ value: ``Attention(causal=True)(query, key, value)``.

    The operands are (..., queries, features), (..., keys, features), (..., keys, width) and perhaps a mask, which
    broadcasts to (..., queries, keys): booleans say where to look, floats are added. With ``causal`` query i looks at
    keys j <= i + past. A query that may look nowhere gives zeros. ``scale`` is 1 / sqrt(features) by default.

    With P the weights, O the result and G its gradient, the gradient of the scores is P (G @ V.T - sum(G O)), and that
    of the values P.T @ G (Dao et al. 2022, "FlashAttention", appendix B.2).
    """

    def __init__(self, causal: bool = False, past: int = 0, scale: float | None = None) -> None:
        self.causal = causal
        self.past = operator.index(past)
        self.scale = None if scale is None else float(scale)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        if xp is nd:
            out, total = attend(*arrays, **self._options())
            return out, (*arrays, out, total)
        query, key, value, *mask = arrays
        self._check([each.shape for each in arrays], [each.dtype for each in arrays])
        out = xp.matmul(self._weights(xp, query, key, mask), value)
        return out, (*arrays, out, None)

    def _options(self) -> dict[str, Any]:
        return {"causal": self.causal, "past": self.past, "scale": self.scale}

    def _scale(self, query: Any) -> float:
        return default_scale(query.shape[-1]) if self.scale is None else self.scale

    def _weights(self, xp: Any, query: Any, key: Any, mask: list[Any]) -> Any:
        """The softmax of the scores; zeros for a query that may look nowhere."""
        scores = xp.matmul(query * self._scale(query), xp.matrix_transpose(key))
        if self.causal:
            queries, keys = scores.shape[-2:]
            seen = xp.tril(xp.ones((queries, keys), dtype="bool", device=query.device), k=self.past)
            scores = xp.where(seen, scores, -math.inf)
        if mask and mask[0].dtype.kind == "b":
            scores = xp.where(mask[0], scores, -math.inf)
        elif mask:
            scores = scores + xp.astype(mask[0], scores.dtype)
        if not scores.shape[-1] or not (mask or (self.causal and self.past < 0)):
            return xp.softmax(scores, axis=-1)
        blind = xp.equal(xp.max(scores, axis=-1, keepdims=True), -math.inf)
        return xp.where(blind, 0.0, xp.softmax(xp.where(blind, 0.0, scores), axis=-1))

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        *operands, out, total = node.saved
        if xp is nd and total is not None and not (len(operands) == 4 and node.needs_grad(3)):
            query, key, value, *mask = operands
            found = attention_gradient(grad, query, key, value, out, total, *mask, **self._options())
        else:
            found = self._composed_gradient(xp, grad, operands, out)
        return tuple(
            fit(xp, each, operand.shape, operand.dtype) if node.needs_grad(at) else None
            for at, (each, operand) in enumerate(zip((*found, None)[: len(operands)], operands, strict=True))
        )

    def _composed_gradient(self, xp: Any, grad: Any, operands: list[Any], out: Any) -> tuple[Any, ...]:
        query, key, value, *mask = operands
        weights = self._weights(xp, query, key, mask)
        by_weight = xp.matmul(grad, xp.matrix_transpose(value))
        by_score = weights * (by_weight - xp.sum(grad * out, axis=-1, keepdims=True))
        scale = self._scale(query)
        by_key = xp.matmul(xp.matrix_transpose(by_score), query * scale)
        return (
            xp.matmul(by_score, key) * scale,
            by_key,
            xp.matmul(xp.matrix_transpose(weights), grad),
            *([by_score] if mask else []),
        )

    def _check(self, shapes: Any, dtypes: Any) -> tuple[Shape, DType]:
        """The result's shape and dtype. Raises ShapeError, DTypeError."""
        shape = attention_shape(*shapes)
        if any(each.kind == "c" for each in dtypes[:3]):
            raise DTypeError(f"{self}: attention is not defined for complex operands, whose scores have no order")
        if len(dtypes) == 4 and dtypes[3].kind not in "bf":
            raise DTypeError(f"{self}: a mask is of booleans, or of floats to add, not of {dtypes[3].name}")
        return shape, floating(*dtypes[:3])

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        if len(shapes) not in (3, 4):
            raise OpContractError(f"{self} does not take {len(shapes)} tensors")
        return self._check(shapes, dtypes)

    def flops(self, shapes: tuple[Shape, ...], out: Shape) -> int:
        """The two products, and 6 for each score: scale, mask and softmax. Causality is not made use of."""
        scores = math.prod(out[:-1]) * shapes[1][-2]
        return scores * (2 * shapes[0][-1] + 2 * out[-1] + 6)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    /,
    *,
    causal: bool = False,
    past: int = 0,
    scale: float | None = None,
) -> Tensor:
    """Each query's mean of the values, weighted by the softmax of its scores; see
    :class:`treadle.autograd.ops.Attention`.

    >>> import treadle.autograd as ag
    >>> ag.attention(ag.zeros((2, 1)), ag.zeros((2, 1)), ag.Tensor([[1.0], [3.0]]), causal=True).tolist()
    [[1.0], [2.0]]
    """
    op = Attention(causal, past, scale)
    return op(query, key, value) if mask is None else op(query, key, value, mask)
