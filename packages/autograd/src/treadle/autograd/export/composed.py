"""Array functions that a program holds as what they are composed of, from functions that have a form of their own.

Each is written against the recorder, ``xp``, and takes the arguments of the array function of its name.
"""

import math
from typing import Any

import treadle.ndarray as nd

__all__ = ["DEFINITIONS"]


def softmax(xp: Any, x: Any, /, *, axis: int = -1) -> Any:
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def log_softmax(xp: Any, x: Any, /, *, axis: int = -1) -> Any:
    shifted = x - xp.max(x, axis=axis, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def logsumexp(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    top = xp.max(x, axis=axis, keepdims=True)
    safe = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.log(xp.sum(xp.exp(x - safe), axis=axis, keepdims=True)) + safe
    return total if keepdims else xp.reshape(total, nd.sum(x.value.example, axis=axis).shape)


def var(xp: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    total = xp.sum(xp.square(centred), axis=axis, keepdims=keepdims)
    count = x.size // max(1, total.size)
    return total / max(count - correction, 0.0) if count > correction else total * math.nan


def std(xp: Any, x: Any, /, **options: Any) -> Any:
    return xp.sqrt(xp.var(x, **options))


def roll(xp: Any, x: Any, /, shift: Any, *, axis: Any = None) -> Any:
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


def stack(xp: Any, arrays: Any, /, *, axis: int = 0) -> Any:
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


def contraction(subscripts: Any) -> Any:
    """A product of two arrays as Einstein's summation; ``subscripts(x, y, **options)`` names the axes."""

    def define(xp: Any, x: Any, y: Any, /, **options: Any) -> Any:
        return xp.einsum(subscripts(x, y, **options), x, y)

    return define


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


DEFINITIONS: dict[str, Any] = {
    "softmax": softmax, "log_softmax": log_softmax, "logsumexp": logsumexp, "var": var, "std": std, "roll": roll,
    "stack": stack, "tile": tile, "outer": outer, "linalg.vector_norm": square_norm, "clip": clip,
    "tril": triangle(nd.tril), "triu": triangle(nd.triu), "tensordot": contraction(_tensordot),
    "linalg.matmul": lambda xp, x, y: xp.matmul(x, y),
    "linalg.matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "dot": lambda xp, x, y: xp.matmul(x, y) if x.ndim and y.ndim else x * y,
    "vecdot": lambda xp, x, y, axis=-1: xp.sum(x * y, axis=axis),
}  # fmt: skip
"""By the array function's name; the functions of ``linalg`` are spelled ``linalg.vector_norm``."""
