"""Array functions that a model in ONNX holds as what they are composed of; ONNX has ops of its own for more than C."""

from typing import Any

from treadle.autograd.export.composed import DEFINITIONS, avg_pool, clip

__all__ = ["ONNX_DEFINITIONS"]

_NAMED = ("softmax", "log_softmax", "logsumexp", "tril", "triu", "topk", "conv")
"""Those that ONNX has itself."""


def _avg_pool(xp: Any, x: Any, kernel: Any, /, **options: Any) -> Any:
    if options.get("divisor_override") is not None:
        return avg_pool(xp, x, kernel, **options)
    return xp.record("avg_pool", (x, kernel), options)


def _clip(xp: Any, x: Any, /, min: Any = None, max: Any = None) -> Any:
    if all(each is None or isinstance(each, int | float) for each in (min, max)):
        return xp.record("clip", (x, min, max), {})
    return clip(xp, x, min, max)


def _cumprod(xp: Any, x: Any, /, axis: Any = None) -> Any:
    """Doubling: after the step of s, each element is the product of the 2 s before and at it."""
    if axis is None:
        return _cumprod(xp, xp.reshape(x, (-1,)), axis=0)
    lead, step = (slice(None),) * (axis % x.ndim), 1
    while step < x.shape[axis]:
        ones = xp.ones_like(x[(*lead, slice(None, step))])
        x = x * xp.concat([ones, x[(*lead, slice(None, -step))]], axis=axis)
        step *= 2
    return x


def _scatter_add(xp: Any, x: Any, indices: Any, values: Any, /, *, axis: int = 0) -> Any:
    """Along the first axis, to which another one is moved; so are the axes of the values that the indices stand for."""
    axis = 0 if isinstance(indices, tuple) else axis % x.ndim
    if axis == 0:
        return xp.record("scatter_add", (x, indices, values), {})
    count = indices.ndim
    wide = xp.broadcast_to(values, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    named = range(axis, axis + count)
    order = (*named, *(each for each in range(wide.ndim) if each not in named))
    moved = xp.record("scatter_add", (xp.moveaxis(x, axis, 0), indices, xp.permute_dims(wide, order)), {})
    return xp.moveaxis(moved, 0, axis)


ONNX_DEFINITIONS: dict[str, Any] = {
    **{name: define for name, define in DEFINITIONS.items() if name not in _NAMED},
    "avg_pool": _avg_pool, "clip": _clip, "cumprod": _cumprod, "scatter_add": _scatter_add,
}  # fmt: skip
"""As :data:`treadle.autograd.export.composed.DEFINITIONS`."""
