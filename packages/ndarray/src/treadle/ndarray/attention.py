"""Scaled dot-product attention and its gradient: of a device's fused kernel, or composed.

Neither keeps the weights, (..., queries, keys): the result's companion is one number a query, the logarithm of its sum
of exponentials, from which the gradient makes the weights again.

Sources: A. Vaswani et al., "Attention is all you need" (2017), section 3.2.1; T. Dao, "FlashAttention-2" (2023), for
what is saved and the form of the gradient.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from treadle.ndarray import _attention
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import dtype_named, result_dtype
from treadle.ndarray.creation import asarray, empty, ones, tril
from treadle.ndarray.elementwise import equal, exp, log, where
from treadle.ndarray.errors import DeviceError, DTypeError, ShapeError
from treadle.ndarray.manipulation import broadcast_shapes
from treadle.ndarray.products import matmul
from treadle.ndarray.reductions import max as max_of
from treadle.ndarray.reductions import sum as sum_of

__all__ = ["attention", "attention_gradient", "attention_shape", "default_scale"]

Shape = tuple[int, ...]


def default_scale(features: int) -> float:
    """1 / sqrt(features), so that the scores of independent features of variance 1 have variance 1.

    >>> default_scale(16)
    0.25
    """
    return 1.0 / math.sqrt(features) if features else 1.0


def attention_shape(query: Shape, key: Shape, value: Shape, mask: Shape | None = None) -> Shape:
    """The shape of the result of :func:`attention`, from those of its operands. Raises ShapeError.

    >>> attention_shape((8, 5, 16), (8, 3, 16), (8, 3, 4))
    (8, 5, 4)
    """
    if min(len(query), len(key), len(value)) < 2 or query[-1] != key[-1]:
        raise ShapeError(
            f"attention: queries of shape {query} do not fit keys of shape {key}; the last dimensions, the features, "
            "must be equal"
        )
    if key[-2] != value[-2]:
        raise ShapeError(f"attention: keys of shape {key} and values of shape {value} differ in number")
    try:
        batch = broadcast_shapes(query[:-2], key[:-2], value[:-2])
    except ShapeError as error:
        raise ShapeError(f"attention: queries {query}, keys {key} and values {value}: {error}") from None
    scores = (*batch, query[-2], key[-2])
    if mask is not None and not _fits(mask, scores):
        raise ShapeError(
            f"attention: a mask of shape {mask} does not broadcast to the scores' {scores}, which are (..., queries, "
            "keys)"
        )
    return (*batch, query[-2], value[-1])


def _fits(mask: Shape, scores: Shape) -> bool:
    try:
        return broadcast_shapes(mask, scores) == scores
    except ShapeError:
        return False


def attention(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    /,
    *,
    causal: bool = False,
    past: int = 0,
    scale: float | None = None,
) -> tuple[NDArray, NDArray]:
    """(out, logsumexp): each query's mean of the values, weighted by the softmax of scale * query @ key.T + mask.

    (..., queries, features), (..., keys, features) and (..., keys, width) give (..., queries, width), and
    (..., queries, 1) of float32 for halves and else of the result's dtype; leading axes broadcast. A boolean ``mask``
    says where a query may look; one of floats is added. With ``causal`` query i looks at keys j <= i + past. A query
    that may look nowhere gives zeros and -inf. ``scale`` is 1 / sqrt(features) by default.

    Raises ShapeError, DTypeError, DeviceError.

    >>> import treadle.ndarray as nd
    >>> out, total = attention(nd.ones((2, 1)), nd.zeros((2, 1)), nd.asarray([[1.0], [3.0]]), causal=True)
    >>> out.tolist(), [round(each, 4) for (each,) in total.tolist()]
    ([[1.0], [2.0]], [0.0, 0.6931])
    """
    shape = attention_shape(query.shape, key.shape, value.shape, None if mask is None else mask.shape)
    operands, added = _promoted((query, key, value), mask)
    call = _Call(added, causal, past, scale, (query.shape[-2], key.shape[-2], key.shape[-1]))
    method = _method(query, "attention")
    found = None
    for given in _precisions(operands):
        if method is not None and 0 not in (*shape, key.shape[-2]):
            found = _fused(method, given, shape, call)
        if found:
            break
    out, total = found or _composed(given, call)
    return out.astype(operands[0].dtype, copy=False), total


def attention_gradient(
    gradient: NDArray,
    query: NDArray,
    key: NDArray,
    value: NDArray,
    out: NDArray,
    logsumexp: NDArray,
    mask: NDArray | None = None,
    /,
    *,
    causal: bool = False,
    past: int = 0,
    scale: float | None = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """The gradients of query, key and value from that of the result of :func:`attention`, which made ``out`` and
    ``logsumexp``. Leading axes are the result's: where an operand was broadcast along them, its gradient is still to be
    summed.

    >>> import treadle.ndarray as nd
    >>> q, k, v = nd.ones((1, 1)), nd.zeros((2, 1)), nd.asarray([[1.0], [3.0]])
    >>> dq, dk, dv = attention_gradient(nd.ones((1, 1)), q, k, v, *attention(q, k, v))
    >>> dq.tolist(), dk.tolist(), dv.tolist()
    ([[0.0]], [[-0.5], [0.5]], [[0.5], [0.5]])
    """
    shape = attention_shape(query.shape, key.shape, value.shape, None if mask is None else mask.shape)
    if gradient.shape != shape:
        raise ShapeError(f"attention_gradient: a gradient of shape {gradient.shape}; the result has shape {shape}")
    operands, added = _promoted((query, key, value, gradient, out), mask)
    call = _Call(added, causal, past, scale, (query.shape[-2], key.shape[-2], key.shape[-1]))
    method = _method(query, "attention_gradient")
    found = None
    for given in _precisions(operands):
        if method is not None and 0 not in (*shape, key.shape[-2]):
            found = _fused_gradient(method, given, logsumexp, shape[:-2], call)
        if found:
            break
    made, dtype = found or _composed_gradient(given, logsumexp, call), operands[0].dtype
    return made[0].astype(dtype, copy=False), made[1].astype(dtype, copy=False), made[2].astype(dtype, copy=False)


def _precisions(operands: tuple[NDArray, ...]) -> Iterator[tuple[NDArray, ...]]:
    """The operands as they are, which a kernel may decline, and halves in float32."""
    yield operands
    if operands[0].dtype.itemsize == 2:
        yield tuple(each.astype("float32") for each in operands)


class _Call:
    """What a call is beside its operands: the mask as it is added or chosen by, causality, the scale."""

    __slots__ = ("causal", "mask", "past", "scale")

    def __init__(
        self, mask: NDArray | None, causal: bool, past: int, scale: float | None, sizes: tuple[int, int, int]
    ) -> None:
        queries, keys, features = sizes
        self.mask = mask
        self.causal = bool(causal)
        self.past = max(-queries, min(int(past), keys))  # beyond these nothing changes
        self.scale = default_scale(features) if scale is None else float(scale)

    def spread_mask(self, scores: Shape) -> NDArray | None:
        """The mask as a view of the scores' shape."""
        return None if self.mask is None else self.mask.view_broadcast(scores)


def _promoted(operands: tuple[NDArray, ...], mask: NDArray | None) -> tuple[tuple[NDArray, ...], NDArray | None]:
    """The operands in one floating dtype; a mask of numbers in the dtype that scores are computed in."""
    device = operands[0].device
    given = operands if mask is None else (*operands, mask)
    if any(each.device is not device for each in given):
        raise DeviceError(f"attention: operands on {', '.join(str(each.device) for each in given)}; move them to one")
    dtype = operands[0].dtype
    for each in operands[1:3]:
        dtype = result_dtype(dtype, each.dtype)
    if dtype.kind == "c":
        raise DTypeError("attention: not defined for complex operands, whose scores have no order")
    if dtype.kind != "f":
        dtype = dtype_named("float32")
    if mask is not None and mask.dtype.kind not in "bf":
        raise DTypeError(f"attention: a mask is of booleans, or of floats to add, not of {mask.dtype.name}")
    if mask is not None and mask.dtype.kind == "f":
        mask = mask.astype("float32" if dtype.itemsize == 2 else dtype, copy=False)
    return tuple(each.astype(dtype, copy=False) for each in operands), mask


# --- fused ----------------------------------------------------------------------------------------------------------
def _cpu_gradient(gradient: NDArray, *others: Any) -> bool:
    """By a kernel that reads rows: what a sum leaves behind is one number for all."""
    dense = gradient.strides[-1] == gradient.dtype.itemsize
    return _attention.attention_gradient(gradient if dense else gradient.copy(), *others)


_CPU: dict[str, Callable[..., bool]] = {"attention": _attention.attention, "attention_gradient": _cpu_gradient}
"""The cpu's own kernels, by the names and with the arguments of the optional methods of a backend."""


def _method(x: NDArray, name: str) -> Callable[..., bool] | None:
    return _CPU.get(name) if x.device.type == "cpu" else getattr(x.device.backend, name, None)


def _in_order_of(like: NDArray, shape: Shape) -> NDArray:
    """A fresh array of a shape whose axes lie in memory in the order of those of ``like``, so that heads that were
    split off by a view are joined again by one."""
    strides = (0,) * (len(shape) - like.ndim) + like.strides
    order = sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis))
    fresh = empty(tuple(shape[axis] for axis in order), dtype=like.dtype, device=like.device)
    return fresh.transpose(*(order.index(axis) for axis in range(len(shape))))


def _fused(
    method: Callable[..., bool], operands: tuple[NDArray, ...], shape: Shape, call: _Call
) -> tuple[NDArray, NDArray] | None:
    """By the device's kernel, which may decline."""
    query, key, value = _spread(operands, shape[:-2])
    out = _in_order_of(operands[0], shape)
    total = empty((*shape[:-1], 1), dtype=_companion(query), device=query.device)
    mask = call.spread_mask((*shape[:-1], key.shape[-2]))
    return (out, total) if method(query, key, value, mask, call.causal, call.past, call.scale, out, total) else None


def _fused_gradient(
    method: Callable[..., bool], operands: tuple[NDArray, ...], total: NDArray, batch: Shape, call: _Call
) -> tuple[NDArray, NDArray, NDArray] | None:
    query, key, value, gradient, out = _spread(operands, batch)
    found = tuple(
        _in_order_of(given, each.shape) for given, each in zip(operands[:3], (query, key, value), strict=True)
    )
    mask = call.spread_mask((*query.shape[:-1], key.shape[-2]))
    served = method(
        gradient, query, key, value, mask, call.causal, call.past, call.scale, out, total, *found
    )  # fmt: skip
    return (found[0], found[1], found[2]) if served else None


def _spread(operands: tuple[NDArray, ...], batch: Shape) -> tuple[NDArray, ...]:
    """Views of one batch shape."""
    return tuple(each.view_broadcast((*batch, *each.shape[-2:])) for each in operands)


def _companion(x: NDArray) -> Any:
    return x.dtype if x.dtype.itemsize > 2 else dtype_named("float32")


# --- composed -------------------------------------------------------------------------------------------------------
def _scores(query: NDArray, key: NDArray, call: _Call) -> NDArray:
    """query, which is scaled already, times key, -inf where a query may not look."""
    scores = matmul(query, key.mT)
    if call.causal:
        queries, keys = scores.shape[-2:]
        seen = tril(ones((queries, keys), dtype="bool", device=query.device), k=call.past)
        scores = where(seen, scores, -math.inf)
    if call.mask is None:
        return scores
    return where(call.mask, scores, -math.inf) if call.mask.dtype.kind == "b" else scores + call.mask


def _composed(operands: tuple[NDArray, ...], call: _Call) -> tuple[NDArray, NDArray]:
    query, key, value = operands
    if key.shape[-2] == 0:
        shape = attention_shape(query.shape, key.shape, value.shape)
        nothing = asarray(-math.inf, dtype=query.dtype, device=query.device)
        zero = asarray(0.0, dtype=query.dtype, device=query.device)
        return zero.view_broadcast(shape).copy(), nothing.view_broadcast((*shape[:-1], 1)).copy()
    scores = _scores(query * call.scale, key, call)
    top = max_of(scores, axis=-1, keepdims=True)
    top = where(equal(top, -math.inf), 0.0, top)
    scores -= top
    weights = exp(scores, out=scores)
    total = sum_of(weights, axis=-1, keepdims=True)
    blind = equal(total, 0.0)
    out = where(blind, 0.0, matmul(weights, value) / where(blind, 1.0, total))  # 0 times NaN is no 0
    return out, (log(total) + top).view_broadcast((*out.shape[:-1], 1))


def _composed_gradient(operands: tuple[NDArray, ...], total: NDArray, call: _Call) -> tuple[NDArray, NDArray, NDArray]:
    query, key, value, gradient, out = operands
    scaled = (query * call.scale).view_broadcast((*total.shape[:-1], query.shape[-1]))
    weights = _scores(scaled, key, call)
    weights -= where(equal(total, -math.inf), 0.0, total)
    exp(weights, out=weights)
    by_value = matmul(weights.mT, gradient)
    by_score = matmul(gradient, value.mT) - sum_of(gradient * out, axis=-1, keepdims=True)
    by_score = where(equal(total, -math.inf), 0.0, by_score * weights)
    return matmul(by_score, key) * call.scale, matmul(by_score.mT, scaled), by_value
