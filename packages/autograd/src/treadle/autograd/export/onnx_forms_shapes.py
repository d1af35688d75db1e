"""Forms of the functions that turn, stretch, join and cut arrays."""

from collections.abc import Callable
from typing import Any

from treadle.autograd.export.program import Call

__all__ = ["SHAPES"]

Form = Callable[..., Any]


def _reshape(e: Any, call: Call) -> Any:
    return e.node("Reshape", e.of(call.arguments[0]), e.ints(call.results[0].shape), allowzero=1)


def _permute(e: Any, call: Call) -> Any:
    x = call.arguments[0]
    axes = call.arguments[1] if len(call.arguments) > 1 else call.options["axes"]
    return e.node("Transpose", e.of(x), perm=[each % len(x.shape) for each in axes])


def _matrix_transpose(e: Any, call: Call) -> Any:
    ndim = len(call.arguments[0].shape)
    return e.node("Transpose", e.of(call.arguments[0]), perm=[*range(ndim - 2), ndim - 1, ndim - 2])


def _moved(e: Any, call: Call) -> Any:
    """moveaxis and swapaxes."""
    x, first, second = call.arguments
    order = list(range(len(x.shape)))
    if call.function == "moveaxis":
        order.insert(second % len(order), order.pop(first % len(order)))
    else:
        order[first], order[second] = order[second], order[first]
    return e.node("Transpose", e.of(x), perm=order)


def _expand(e: Any, call: Call) -> Any:
    return e.node("Expand", e.of(call.arguments[0]), e.ints(call.results[0].shape))


def _flip(e: Any, call: Call) -> Any:
    x = call.arguments[0]
    axis = call.options.get("axis", call.arguments[1] if len(call.arguments) > 1 else None)
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    places = [each % len(x.shape) for each in axes]
    starts, ends, steps = ([each] * len(places) for each in (-1, -(2**31), -1))
    return e.node("Slice", e.of(x), e.ints(starts), e.ints(ends), e.ints(places), e.ints(steps))


def _concat(e: Any, call: Call) -> Any:
    result, axis = call.results[0], call.options.get("axis", 0)
    parts = [e.of(each, result.dtype) for each in call.arguments[0]]
    if axis is None:
        parts, axis = [e.node("Reshape", each, e.ints([-1])) for each in parts], 0
    return e.node("Concat", *parts, axis=axis)


def _pad(e: Any, call: Call) -> Any:
    x, widths = call.arguments[:2]
    count = len(x.shape)
    if isinstance(widths, int):
        widths = ((widths, widths),) * count
    pairs = [(each, each) if isinstance(each, int) else tuple(each) for each in widths]
    pairs = pairs * count if len(pairs) == 1 else pairs
    sides = [pair[0] for pair in pairs] + [pair[-1] for pair in pairs]
    fill = e.of(call.options.get("constant_values", 0), x.dtype)
    return e.node("Pad", e.of(x), e.ints(sides), fill)


def _triangle(upper: int) -> Form:
    return lambda e, call: e.node("Trilu", e.of(call.arguments[0]), e.of(call.options.get("k", 0)), upper=upper)


SHAPES: dict[str, Form] = {
    "reshape": _reshape, "expand_dims": _reshape, "squeeze": _reshape, "permute_dims": _permute,
    "matrix_transpose": _matrix_transpose, "moveaxis": _moved, "swapaxes": _moved, "broadcast_to": _expand,
    "flip": _flip, "concat": _concat, "pad": _pad, "tril": _triangle(0), "triu": _triangle(1),
    "copy": lambda e, call: e.of(call.arguments[0]),
}  # fmt: skip
"""By the array function's name."""
