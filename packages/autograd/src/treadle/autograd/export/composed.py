"""Array functions that a program holds as what they are composed of, from functions that have a form of their own.

Each is written against the recorder, ``xp``, and takes the arguments of the array function of its name.
"""

import math
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.ops.contractions import explicit
from treadle.ndarray import NDArray, pooling
from treadle.ndarray.sorting import TopK

__all__ = ["DEFINITIONS"]


def softmax(xp: Any, x: Any, /, axis: int = -1) -> Any:
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def log_softmax(xp: Any, x: Any, /, axis: int = -1) -> Any:
    shifted = x - xp.max(x, axis=axis, keepdims=True)
    return shifted - _log_of_sum(xp, xp.exp(shifted), axis)


def _log_of_sum(xp: Any, e: Any, axis: Any) -> Any:
    """log(sum), in double, since the sum may be next to 1 and its logarithm next to 0."""
    return xp.astype(xp.log(xp.sum(xp.astype(e, nd.float64), axis=axis, keepdims=True)), e.dtype)


def logsumexp(xp: Any, x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    top = xp.max(x, axis=axis, keepdims=True)
    safe = xp.where(xp.isfinite(top), top, 0.0)
    total = _log_of_sum(xp, xp.exp(x - safe), axis) + safe
    return total if keepdims else xp.reshape(total, nd.sum(x.value.example, axis=axis).shape)


def logcumsumexp(xp: Any, x: Any, /, axis: int | None = None) -> Any:
    if axis is None:
        return logcumsumexp(xp, xp.reshape(x, (-1,)), axis=0)
    lead, step = (slice(None),) * (axis % x.ndim), 1
    while step < x.shape[axis]:
        head, tail = x[(*lead, slice(None, -step))], x[(*lead, slice(step, None))]
        x = xp.concat([x[(*lead, slice(None, step))], xp.logaddexp(tail, head)], axis=axis)
        step *= 2
    return x


def var(xp: Any, x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    total = xp.sum(xp.square(centred), axis=axis, keepdims=keepdims)
    count = x.size // max(1, total.size)
    return total / max(count - correction, 0.0) if count > correction else total * math.nan


def std(xp: Any, x: Any, /, **options: Any) -> Any:
    return xp.sqrt(xp.var(x, **options))


def roll(xp: Any, x: Any, /, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return xp.reshape(roll(xp, xp.reshape(x, (-1,)), shift, axis=0), x.shape)
    pairs = [(shift, axis)] if isinstance(axis, int) else list(zip(_each(shift, len(axis)), axis, strict=True))
    for by, along in pairs:
        length = x.shape[along]
        cut = -by % length if length else 0
        if cut:
            lead = (slice(None),) * (along % x.ndim)
            x = xp.concat([x[(*lead, slice(cut, None))], x[(*lead, slice(None, cut))]], axis=along)
    return x


def _each(value: Any, count: int) -> tuple[Any, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)


def stack(xp: Any, arrays: Any, /, axis: int = 0) -> Any:
    return xp.concat([xp.expand_dims(each, axis=axis) for each in arrays], axis=axis)


def tile(xp: Any, x: Any, repetitions: Any, /) -> Any:
    counts = _each(repetitions, 1)
    shape = (1,) * (len(counts) - x.ndim) + tuple(x.shape)
    counts = (1,) * (len(shape) - len(counts)) + counts
    wide = xp.broadcast_to(
        xp.reshape(x, tuple(each for length in shape for each in (1, length))),
        tuple(each for count, length in zip(counts, shape, strict=True) for each in (count, length)),
    )
    return xp.reshape(wide, tuple(count * length for count, length in zip(counts, shape, strict=True)))


def outer(xp: Any, x: Any, y: Any, /) -> Any:
    return xp.expand_dims(x, axis=1) * y


def square_norm(xp: Any, x: Any, /, *, axis: Any = -1, keepdims: bool = False, ord: float = 2) -> Any:
    if ord == math.inf:
        return xp.max(xp.abs(x), axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return xp.min(xp.abs(x), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(xp.abs(x), axis=axis, keepdims=keepdims)
    if ord == 2:
        return xp.sqrt(xp.sum(xp.square(x), axis=axis, keepdims=keepdims))
    return xp.pow(xp.sum(xp.pow(xp.abs(x), ord), axis=axis, keepdims=keepdims), 1.0 / ord)


def clip(xp: Any, x: Any, /, min: Any = None, max: Any = None) -> Any:
    bounded = x if min is None else xp.maximum(x, min)
    result = bounded if max is None else xp.minimum(bounded, max)
    return xp.astype(result, x.dtype)


def triangle(keep: Any) -> Any:
    def define(xp: Any, x: Any, /, *, k: int = 0) -> Any:
        mask = keep(nd.ones(x.shape[-2:], dtype=nd.bool), k=k)
        return xp.where(mask, x, nd.zeros((), dtype=x.dtype))

    return define


def full_like(xp: Any, x: Any, value: Any, /, *, dtype: Any = None, **options: Any) -> Any:
    filled = nd.ones(x.shape, dtype=dtype or x.dtype)
    return xp.astype(xp.broadcast_to(value, x.shape), filled.dtype) if hasattr(value, "shape") else filled * value


def contraction(subscripts: Any) -> Any:
    """A product of two arrays as Einstein's summation; ``subscripts(x, y, **options)`` names the axes."""

    def define(xp: Any, x: Any, y: Any, /, **options: Any) -> Any:
        return xp.einsum(subscripts(x, y, **options), x, y)

    return define


def einsum(xp: Any, subscripts: str, /, *operands: Any) -> Any:
    """Two operands at a time, from the left; letters that nothing behind needs are summed on the way."""
    if len(operands) < 3:
        return xp.record("einsum", (subscripts, *operands), {})
    terms, out = explicit(subscripts, [each.ndim for each in operands])
    found, term = operands[0], terms[0]
    for at in range(1, len(operands)):
        behind = {*out, *"".join(terms[at + 1 :])}
        joined = "".join(each for each in dict.fromkeys(term + terms[at]) if each in behind)
        joined = out if at == len(operands) - 1 else joined
        found = xp.record("einsum", (f"{term},{terms[at]}->{joined}", found, operands[at]), {})
        term = joined
    return found


def get_item(xp: Any, x: Any, index: Any, /) -> Any:
    return xp.record("get_item", (x, _places_of_masks(xp, index)), {})


def set_item(xp: Any, x: Any, index: Any, values: Any, /) -> Any:
    index = _places_of_masks(xp, index)
    mask = index[0] if len(index) == 1 and getattr(index[0], "dtype", None) == nd.bool else None
    if mask is None or (hasattr(values, "shape") and values.shape):
        return xp.record("set_item", (x, index, values), {})
    mask = xp.reshape(xp.known(mask), (*mask.shape, *(1,) * (x.ndim - mask.ndim)))
    return xp.where(mask, xp.full_like(x, values), x)


def _places_of_masks(xp: Any, index: Any) -> tuple[Any, ...]:
    """An index as a tuple, in which the places that a constant mask selects stand in its stead."""
    found: list[Any] = []
    for each in index if isinstance(index, tuple) else (index,):
        mask = isinstance(each, NDArray) and each.dtype == nd.bool and each.ndim > 0 and xp.known(each) is each
        found += nd.nonzero(each) if mask else (each,)
    return tuple(found)


def _tensordot(x: Any, y: Any, axes: Any = 2) -> str:
    count = x.ndim
    pairs = (range(count - axes, count), range(axes)) if isinstance(axes, int) else axes
    left, right = (_each(each, 1) for each in pairs)
    letters = [chr(97 + at) for at in range(count)]
    others = [chr(97 + count + at) for at in range(y.ndim)]
    for a, b in zip(left, right, strict=True):
        others[b % y.ndim] = letters[a % count]
    summed = {letters[a % count] for a in left}
    out = [each for each in (*letters, *others) if each not in summed]
    return f"{''.join(letters)},{''.join(others)}->{''.join(out)}"


def pad(xp: Any, x: Any, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode == "constant" and isinstance(constant_values, bool | int | float):
        return xp.record("pad", (x, pad_width), {"constant_values": constant_values})
    return by_places(lambda array: nd.pad(array, pad_width, mode=mode))(xp, x)


def by_places(move: Any) -> Any:
    """A function that only moves elements, as a gathering by the places that it moves the numbers 0, 1, ... to."""

    def define(xp: Any, x: Any, /, *arguments: Any, **options: Any) -> Any:
        places = move(nd.arange(x.size).reshape(x.shape), *arguments, **options)
        return xp.take(xp.reshape(x, (-1,)), places, axis=0) if places.ndim else xp.reshape(x, (-1,))[places.item()]

    return define


def repeat(xp: Any, x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    if axis is None:
        return repeat(xp, xp.reshape(x, (-1,)), repeats, axis=0)
    places = nd.repeat(nd.arange(x.shape[axis]), repeats)
    return xp.take(x, places, axis=axis)


def one_hot(xp: Any, indices: Any, count: int, /, *, dtype: Any = None, **options: Any) -> Any:
    chosen = xp.expand_dims(indices, axis=-1) == nd.arange(count, dtype=indices.dtype)
    return xp.astype(chosen, dtype or nd.float32)


def sort(xp: Any, x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    return xp.take_along_axis(x, xp.argsort(x, axis=axis, descending=descending), axis=axis)


def topk(xp: Any, x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> Any:
    order = xp.argsort(x, axis=axis, descending=largest)
    chosen = order[(*(slice(None),) * (axis % x.ndim), slice(k))]
    return TopK(xp.take_along_axis(x, chosen, axis=axis), chosen)


def diff(xp: Any, x: Any, /, *, axis: int = -1, n: int = 1) -> Any:
    lead = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = x[(*lead, slice(1, None))] - x[(*lead, slice(None, -1))]
    return x


def conv(xp: Any, x: Any, weight: Any, bias: Any = None, /, **options: Any) -> Any:
    out = xp.record("conv", (x, weight), options)
    return out if bias is None else out + xp.reshape(bias, (-1, *(1,) * (x.ndim - 2)))


def max_pool_gradient(xp: Any, gradient: Any, indices: Any, input_shape: Any, /) -> Any:
    shape = tuple(input_shape)
    channels = shape[0] * shape[1]
    at = xp.reshape(indices, (channels, -1))
    parts = xp.where(at < 0, nd.zeros((), dtype=gradient.dtype), xp.reshape(gradient, (channels, -1)))
    row = nd.arange(channels)[:, None]
    flat = nd.zeros((channels, math.prod(shape[2:])), dtype=gradient.dtype)
    return xp.reshape(xp.scatter_add(flat, (row, xp.where(at < 0, 0, at)), parts), shape)


def _ones(channels: int, kernel: tuple[int, ...], dtype: Any) -> Any:
    return nd.ones((channels, 1, *kernel), dtype=dtype)


def avg_pool(
    xp: Any, x: Any, kernel: Any, /, *, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, **divisor: Any
) -> Any:
    lengths = x.shape[2:]
    geometry, asked = pooling._geometry("avg_pool", lengths, kernel, stride, padding, 1, ceil_mode)
    windows = {"stride": geometry.stride, "padding": geometry.padding, "groups": x.shape[1]}
    total = xp.record("conv", (x, _ones(x.shape[1], geometry.kernel, x.dtype)), windows)
    return total / _divisors(lengths, geometry, asked, x, divisor)


def _divisors(lengths: Any, geometry: Any, asked: Any, x: Any, options: dict[str, Any]) -> Any:
    counted, fixed = options.get("count_include_pad", True), options.get("divisor_override")
    return pooling._divisors(lengths, geometry, asked, counted, fixed, nd.zeros((), dtype=x.dtype))


def avg_pool_gradient(
    xp: Any, gradient: Any, input_shape: Any, kernel: Any, /, *, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, **divisor: Any,
) -> Any:  # fmt: skip
    lengths = tuple(input_shape[2:])
    geometry, asked = pooling._geometry("avg_pool_gradient", lengths, kernel, stride, padding, 1, ceil_mode)
    shared = gradient / _divisors(lengths, geometry, asked, gradient, divisor)
    windows = {"stride": geometry.stride, "padding": geometry.padding, "groups": input_shape[1]}
    ones = _ones(input_shape[1], geometry.kernel, gradient.dtype)
    return xp.conv_input_gradient(shared, ones, tuple(input_shape), **windows)


DEFINITIONS: dict[str, Any] = {
    "softmax": softmax, "log_softmax": log_softmax, "logsumexp": logsumexp, "logcumsumexp": logcumsumexp,
    "var": var, "std": std, "roll": roll,
    "stack": stack, "tile": tile, "outer": outer, "linalg.vector_norm": square_norm, "clip": clip,
    "tril": triangle(nd.tril), "triu": triangle(nd.triu), "tensordot": contraction(_tensordot),
    "linalg.matmul": lambda xp, x, y: xp.matmul(x, y),
    "linalg.matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "einsum": einsum, "get_item": get_item, "set_item": set_item,
    "dot": lambda xp, x, y: xp.matmul(x, y) if x.ndim and y.ndim else x * y,
    "full_like": full_like, "pad": pad, "repeat": repeat, "one_hot": one_hot, "sort": sort, "topk": topk,
    "diff": diff, "conv": conv,
    "max_pool_gradient": max_pool_gradient, "avg_pool": avg_pool, "avg_pool_gradient": avg_pool_gradient,
    "real": lambda xp, x: x, "conj": lambda xp, x: x,  # C99 has no complex arrays here, so these are real
    "vecdot": lambda xp, x, y, axis=-1: xp.sum(x * y, axis=axis),
}  # fmt: skip
"""By the array function's name; the functions of ``linalg`` are spelled ``linalg.vector_norm``."""
