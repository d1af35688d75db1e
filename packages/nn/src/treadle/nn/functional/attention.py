"""Scaled dot-product attention."""

import math

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_host
from treadle.nn.functional.dropout import dropout

__all__ = ["attention_weights", "causal_mask", "scaled_dot_product_attention"]


def causal_mask(queries: int, keys: int, past: int = 0, device: nd.Device | None = None) -> Tensor:
    """Boolean ``(queries, keys)``: whether query i, which ``past`` keys precede, may look at key j: j <= i + past.

    >>> causal_mask(2, 3).tolist()
    [[True, False, False], [True, True, False]]
    """
    return Tensor(nd.tril(nd.ones((queries, keys), dtype="bool", device=device), k=past))


def _blind(mask: nd.NDArray) -> nd.NDArray | None:
    """The rows of a mask in which no key may be seen; None if the host sees that there are none."""
    hidden = nd.logical_not(mask) if mask.dtype.kind == "b" else mask == -math.inf
    rows = nd.all(hidden, axis=-1, keepdims=True)
    return rows if not is_host(rows.device) or bool(nd.any(rows)) else None


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None, scale: float | None = None) -> Tensor:
    """``softmax(query @ key.T * scale + mask)``: ``(..., queries, features)`` and ``(..., keys, features)`` give
    ``(..., queries, keys)``.

    A boolean ``mask`` says where a query may look; one of floats is added. A query that may look nowhere has zeros.
    ``scale`` is 1 / sqrt(features) by default.

    >>> attention_weights(Tensor([[1.0]]), Tensor([[0.0], [0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if query.ndim < 2 or key.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise nd.ShapeError(
            f"attention: queries of shape {query.shape} do not fit keys of shape {key.shape}; the last dimensions, the "
            "features, must be equal"
        )
    if query.dtype is nd.float16:  # scores overflow beyond 65504
        return attention_weights(query.astype(nd.float32), key.astype(nd.float32), mask, scale).astype(query.dtype)
    factor = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    scores = autograd.ops.MatMul(transpose_b=True)(query * factor, key)
    if mask is not None and mask.dtype.kind not in "bf":
        raise nd.DTypeError(f"attention: a mask is of booleans, or of floats to add, not of {mask.dtype.name}")
    if mask is None:
        return autograd.softmax(scores, axis=-1)
    try:
        fits = nd.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except nd.ShapeError:
        fits = False
    if not fits:
        raise nd.ShapeError(
            f"attention: a mask of shape {mask.shape} does not broadcast to the scores' {scores.shape}, which are "
            "(..., queries, keys)"
        )
    blind = _blind(mask.data)
    scores = autograd.where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + mask.astype(scores.dtype)
    if blind is None:
        return autograd.softmax(scores, axis=-1)
    rows = Tensor(blind)
    return autograd.where(rows, 0.0, autograd.softmax(autograd.where(rows, 0.0, scores), axis=-1))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Each query's mean of the values, weighted by :func:`attention_weights`.

    ``(..., queries, features)``, ``(..., keys, features)`` and ``(..., keys, width)`` give ``(..., queries, width)``.
    ``attn_mask`` broadcasts to ``(..., queries, keys)``: booleans say where to look, floats are added to the scores. A
    query that may look nowhere gives zeros, as in PyTorch since 2.5. ``is_causal`` lets query i look at keys up to i,
    and excludes ``attn_mask``. ``dropout_p`` is applied whenever it is not 0. With ``enable_gqa`` dimension -3 of query
    (heads) is a multiple of that of key and value, whose heads are repeated (Ainslie et al. 2023, "GQA").
    Vaswani et al. 2017, "Attention is all you need", section 3.2.1.

    >>> ones = Tensor([[1.0, 1.0], [1.0, 1.0]])
    >>> mask = Tensor([[True, True], [False, False]])
    >>> scaled_dot_product_attention(ones, ones, ones, mask).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: give attn_mask or is_causal=True, not both")
    if enable_gqa:
        if min(query.ndim, key.ndim, value.ndim) < 3:
            raise nd.ShapeError(f"attention: enable_gqa needs (..., heads, queries, features), not {query.shape}")
        heads, kept = query.shape[-3], key.shape[-3]
        if heads % kept or value.shape[-3] != kept:
            raise nd.ShapeError(f"attention: {heads} heads of queries are no multiple of {kept} heads of keys")
        key, value = (autograd.repeat(each, heads // kept, axis=-3) for each in (key, value))
    if not dropout_p:
        return autograd.attention(query, key, value, attn_mask, causal=is_causal, scale=scale)
    if is_causal:
        attn_mask = causal_mask(query.shape[-2], key.shape[-2], device=query.device)
    return autograd.matmul(dropout(attention_weights(query, key, attn_mask, scale), dropout_p), value)
