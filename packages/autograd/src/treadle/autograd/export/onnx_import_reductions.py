"""Ops of ONNX that run along axes: sums and their like, softmax, normalisations, sorting."""

import math
from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import axis_of, cast, numbers, whole

__all__ = ["REDUCTIONS"]

Op = Callable[..., Any]


def _reduction(function: Op, input_since: int = 18) -> Op:
    """A reduction, whose axes are an attribute before version ``input_since`` and an input from there on."""

    def op(at: Any, x: Tensor, axes: Tensor | None = None) -> Any:
        given = at.get("axes") if at.version < input_since else numbers(axes) if axes is not None else None
        if not given:
            if at.get("noop_with_empty_axes", 0):
                return function(x, (), True)
            given = range(x.ndim)
        return function(
            x, tuple(axis_of(each, x.ndim) if x.ndim else each for each in given), bool(at.get("keepdims", 1))
        )

    return op


def _sum(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
    return cast(F.sum(x, axis=axes, keepdims=keepdims), x.dtype)


def _mean(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
    return cast(F.mean(x if x.dtype.kind == "f" else cast(x, nd.float64), axis=axes, keepdims=keepdims), x.dtype)


def _product(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
    return cast(F.prod(x, axis=axes, keepdims=keepdims), x.dtype)


def _extremum(function: Op, empty: float) -> Op:
    def op(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
        if x.dtype is nd.bool:
            return (F.any if empty < 0 else F.all)(x, axis=axes, keepdims=keepdims)
        if x.size == 0 and x.dtype.kind == "f":
            return constant(nd.full(F.sum(x, axis=axes, keepdims=keepdims).shape, empty, dtype=x.dtype))
        return function(x, axis=axes, keepdims=keepdims) if axes else x

    return op


def _log_sum_exp(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
    if x.size == 0:
        return F.log(_sum(x, axes, keepdims))
    if x.dtype.kind != "f":
        return cast(F.logsumexp(cast(x, nd.float64), axis=axes, keepdims=keepdims), x.dtype)
    return F.logsumexp(x, axis=axes, keepdims=keepdims) if axes else x


def _arg(function: Op, at: Any, x: Tensor) -> Any:
    axis, keepdims = at.get("axis", 0), bool(at.get("keepdims", 1))
    if not at.get("select_last_index", 0):
        return function(x, axis=axis, keepdims=keepdims)
    return (x.shape[axis] - 1) - function(F.flip(x, axis=axis), axis=axis, keepdims=keepdims)


def _along(function: Op) -> Op:
    """A function along ``axis``, which before version 13 meant that axis and all behind it."""

    def op(at: Any, x: Tensor) -> Any:
        if at.version >= 13:
            return function(x, axis=at.get("axis", -1))
        axis = at.get("axis", 1) % max(x.ndim, 1)
        flat = F.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return F.reshape(function(flat, axis=1), x.shape)

    return op


def _hardmax(x: Tensor, axis: int) -> Tensor:
    first = F.argmax(x, axis=axis, keepdims=True)
    places = nd.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - 1 - axis_of(axis, x.ndim)))
    return cast(first == constant(places), x.dtype)


def _scan(function: Op, start: int) -> Op:
    def op(at: Any, x: Tensor, axis: Tensor) -> Tensor:
        along = axis_of(whole(axis), x.ndim)
        lead = (slice(None),) * along
        x = F.flip(x, axis=along) if at.get("reverse", 0) else x
        found = cast(function(x, axis=along), x.dtype)
        if at.get("exclusive", 0):
            first = constant(nd.full_like(x.data[(*lead, slice(0, 1))], start))
            found = F.concat([first, found[(*lead, slice(0, -1))]], axis=along)
        return F.flip(found, axis=along) if at.get("reverse", 0) else found

    return op


# --- normalisations ---------------------------------------------------------------------------------------------------
def _layer_norm(at: Any, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
    axes = tuple(range(axis_of(at.get("axis", -1), x.ndim), x.ndim))
    wide = cast(x, nd.float32) if x.dtype.itemsize < 4 else x
    mean = F.mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    inverse = F.reciprocal(F.sqrt(F.mean(F.square(centred), axis=axes, keepdims=True) + at.get("epsilon", 1e-5)))
    out = cast(centred * inverse, x.dtype) * scale
    return (out if bias is None else out + bias), mean, inverse


def _channels(x: Tensor, ndim: int) -> Tensor:
    return F.reshape(x, (-1, *(1,) * (ndim - 2)))


def _batch_norm(at: Any, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Any:
    epsilon, kept = at.get("epsilon", 1e-5), at.get("momentum", 0.9)
    running: tuple[Tensor, ...] = ()
    if at.get("training_mode", 0) or (at.version < 7 and not at.get("is_test", 0)):
        axes = (0, *range(2, x.ndim))
        now = F.mean(x, axis=axes), F.var(x, axis=axes)
        pairs = zip((mean, var), now, strict=True)
        running = tuple(cast(before * kept + each * (1.0 - kept), before.dtype) for before, each in pairs)
        mean, var = now
    if any(each.size != x.shape[1] for each in (scale, bias, mean, var)):
        raise OnnxError(f"numbers for {scale.size} channels; the input has {x.shape[1]}")
    factor = scale / F.sqrt(var + epsilon)
    out = (x - _channels(mean, x.ndim)) * _channels(factor, x.ndim) + _channels(bias, x.ndim)
    return (cast(out, x.dtype), *running)


def _instance_norm(at: Any, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = tuple(range(2, x.ndim))
    centred = x - F.mean(x, axis=axes, keepdims=True)
    spread = F.sqrt(F.var(x, axis=axes, keepdims=True) + at.get("epsilon", 1e-5))
    return centred / spread * _channels(scale, x.ndim) + _channels(bias, x.ndim)


def _local_response(at: Any, x: Tensor) -> Tensor:
    size = at.attributes["size"]
    before = (size - 1) // 2
    padded = F.pad(F.square(x), [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
    total = sum((padded[:, each : each + x.shape[1]] for each in range(1, size)), padded[:, : x.shape[1]])
    base = total * (at.get("alpha", 1e-4) / size) + at.get("bias", 1.0)
    return x / F.pow(base, at.get("beta", 0.75))


def _lp_normalization(at: Any, x: Tensor) -> Tensor:
    axis, order = at.get("axis", -1), at.get("p", 2)
    size = F.abs(x) if order == 1 else F.square(x)
    total = F.sum(size, axis=axis, keepdims=True)
    length = total if order == 1 else F.sqrt(F.where(total == 0, 1.0, total))
    return x / F.where(total == 0, 1.0, length)


def _dropout(at: Any, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None) -> tuple[Tensor, Tensor]:
    share = at.get("ratio", 0.5) if ratio is None else float(numbers(ratio)[0])
    if training is None or not whole(training) or share == 0.0:
        return x, constant(nd.ones(x.shape, dtype=nd.bool))
    if not 0.0 <= share < 1.0:
        raise OnnxError(f"the ratio of what is dropped is {share}; it must lie in [0, 1)")
    keep = nd.random.uniform(shape=x.shape) >= share
    return cast(x * constant(keep.astype(x.dtype)) * (1.0 / (1.0 - share)), x.dtype), constant(keep)


# --- order ------------------------------------------------------------------------------------------------------------
def _top(at: Any, x: Tensor, count: Tensor | None = None) -> Any:
    number = at.attributes["k"] if count is None else whole(count)
    axis = axis_of(at.get("axis", -1), x.ndim)
    if not 0 <= number <= x.shape[axis]:
        raise OnnxError(f"the first {number} of axis {axis} of length {x.shape[axis]}")
    order = F.argsort(x, axis=axis, descending=bool(at.get("largest", 1)))
    chosen = order[(*(slice(None),) * axis, slice(number))]
    return F.take_along_axis(x, chosen, axis=axis), chosen


_abs_sum = _reduction(lambda x, axes, keep: _sum(F.abs(x), axes, keep))
_square_sum = _reduction(lambda x, axes, keep: _sum(F.square(x), axes, keep))

REDUCTIONS: dict[str, Op] = {
    "ReduceSum": _reduction(_sum, 13), "ReduceMean": _reduction(_mean), "ReduceProd": _reduction(_product),
    "ReduceMax": _reduction(_extremum(F.max, -math.inf)), "ReduceMin": _reduction(_extremum(F.min, math.inf)),
    "ReduceL1": _abs_sum, "ReduceSumSquare": _square_sum,
    "ReduceL2": lambda at, x, *axes: cast(F.sqrt(_square_sum(at, x, *axes)), x.dtype),
    "ReduceLogSum": _reduction(lambda x, axes, keep: cast(F.log(_sum(x, axes, keep)), x.dtype)),
    "ReduceLogSumExp": _reduction(_log_sum_exp),
    "ArgMax": lambda at, x: _arg(F.argmax, at, x), "ArgMin": lambda at, x: _arg(F.argmin, at, x),
    "Softmax": _along(F.softmax), "LogSoftmax": _along(F.log_softmax), "Hardmax": _along(_hardmax),
    "CumSum": _scan(F.cumsum, 0), "CumProd": _scan(F.cumprod, 1), "LayerNormalization": _layer_norm,
    "BatchNormalization": _batch_norm, "InstanceNormalization": _instance_norm, "LRN": _local_response,
    "LpNormalization": _lp_normalization, "Dropout": _dropout, "TopK": _top,
}  # fmt: skip
"""By name."""
