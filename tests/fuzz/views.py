"""Statements that make arrays, and views of them."""

from typing import Any

import numpy as np

from fuzz.draw import Draw
from fuzz.machine import Statement, Values
from fuzz.shrink import literal, patterned

_NASTY: dict[str, list[Any]] = {
    "b": [False, True],
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf],
    "c": [0.0, 1.0, -1.0, 1j, 2 - 3j, 0.5 + 0.5j],
}


def same(op: str, draw: Draw, text: str, *uses: str, view_of: str = "") -> Statement:
    """A statement that both libraries write alike; {xp} stands for their names."""
    name = draw.name()
    ours, theirs = (f"{name} = {text.format(xp=xp)}" for xp in ("nd", "np"))
    return Statement(op, name, ours, theirs, uses, view_of=view_of)


# --- arrays -----------------------------------------------------------------------------------------------------------
def make(draw: Draw) -> Statement:
    """Small numbers in any shape and dtype."""
    return patterned(draw.name(), draw.shape(), draw.dtype(), draw.chance.randrange(1000))


def make_nasty(draw: Draw) -> Statement:
    """The values at the edges of a dtype."""
    dtype = np.dtype(draw.dtype())
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        values: list[Any] = [0, 1, int(bounds.min), int(bounds.max), int(bounds.max) - 1]
    else:
        values = list(_NASTY[dtype.kind])
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        values += [float(each) for each in (limits.max, limits.tiny, limits.smallest_subnormal, -limits.max)]
    count = draw.chance.choice([1, 3, 6, 12])
    return literal(draw.name(), np.array([draw.chance.choice(values) for _ in range(count)], dtype))


def make_plain(draw: Draw) -> Statement:
    """Counted, constant, or with ones on a diagonal."""
    dtype = draw.dtype("biuf")
    text = draw.chance.choice(
        [
            f"{{xp}}.full({draw.shape()}, {draw.scalar(dtype)!r}, dtype={{xp}}.{dtype})",
            f"{{xp}}.eye({draw.chance.randrange(5)}, {draw.chance.randrange(5)}, "
            f"k={draw.chance.randrange(-2, 3)}, dtype={{xp}}.{dtype})",
            f"{{xp}}.arange({draw.chance.randrange(-3, 4)}, {draw.chance.randrange(9)}, "
            f"{draw.chance.choice([1, 2, 3])}, dtype={{xp}}.int64)",
        ]
    )
    return same("make", draw, text)


# --- views ------------------------------------------------------------------------------------------------------------
def take_slice(draw: Draw) -> Statement | None:
    x = draw.array()
    return None if x is None else same("slice", draw, f"{x}[{draw.basic_index(draw[x])}]", x, view_of=x)


def take_view(draw: Draw) -> Statement | None:
    """The axes in another order, reversed, inserted, dropped."""
    x = draw.array(lambda x: x.ndim)
    if x is None:
        return None
    value, order = draw[x], list(range(draw[x].ndim))
    draw.chance.shuffle(order)
    first, second = draw.axis(value), draw.axis(value)
    kinds = [f"{x}.T", f"{{xp}}.permute_dims({x}, {tuple(order)})", f"{{xp}}.flip({x}, axis={draw.axes(value)})"]
    kinds += [f"{{xp}}.moveaxis({x}, {first}, {second})", f"{{xp}}.swapaxes({x}, {first}, {second})"]
    kinds += [f"{{xp}}.expand_dims({x}, axis={first})"]
    if 1 in value.shape:
        kinds.append(f"{{xp}}.squeeze({x}, axis={value.shape.index(1)})")
    if value.ndim > 1:
        kinds += [f"{x}.mT", f"{{xp}}.matrix_transpose({x})"]
    return same("view", draw, draw.chance.choice(kinds), x, view_of=x)


def _factored(draw: Draw, size: int) -> tuple[int, ...]:
    shape: list[int] = []
    while size > 1 and len(shape) < 4 and draw.often(0.8):
        factor = draw.chance.choice([each for each in range(1, min(size, 40) + 1) if size % each == 0])
        shape.insert(draw.chance.randrange(len(shape) + 1), factor)
        size //= factor
    shape.insert(draw.chance.randrange(len(shape) + 1), size)
    return tuple(shape)


def reshape(draw: Draw) -> Statement | None:
    """A view or a copy, as strides allow."""
    x = draw.array(lambda x: x.size)
    if x is None:
        return None
    shape = _factored(draw, draw[x].size)
    if draw.often(0.3):
        at = draw.chance.randrange(len(shape))
        shape = (*shape[:at], -1, *shape[at + 1 :])
    return same("reshape", draw, f"{{xp}}.reshape({x}, {shape})", x, view_of=x)


def broadcast(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim < 5 and x.size < 500)
    if x is None:
        return None
    shape = tuple(draw.chance.randrange(0, 4) if length == 1 else length for length in draw[x].shape)
    shape = (draw.chance.randrange(1, 4), *shape) if draw.often(0.4) else shape
    return same("broadcast_to", draw, f"{{xp}}.broadcast_to({x}, {shape})", x, view_of=x)


def diagonal(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim > 1)
    if x is None:
        return None
    first, second = draw.chance.sample(range(draw[x].ndim), 2)
    arguments = f"{x}, offset={draw.chance.randrange(-2, 3)}, axis1={first}, axis2={second}"
    name = draw.name()
    theirs = f"np.diagonal({arguments})"
    if draw[x].flags.writeable:
        theirs = f"support.writable({theirs})"
    return Statement("diagonal", name, f"{name} = nd.diagonal({arguments})", f"{name} = {theirs}", (x,), view_of=x)


def windows(draw: Draw) -> Statement | None:
    """Sliding windows, and free strides that repeat elements."""
    x = draw.array(lambda x: x.ndim and x.size and x.size < 2000)
    if x is None:
        return None
    value, name = draw[x], draw.name()
    axis = draw.axis(value)
    length = draw.chance.randrange(1, min(value.shape[axis], 6) + 1)
    ours = f"nd.sliding_window_view({x}, {length}, axis={axis})"
    theirs = f"np.lib.stride_tricks.sliding_window_view({x}, {length}, axis={axis})"
    if value.ndim == 1 and value.strides == draw.machine.ours[x].strides and draw.often():
        ours, theirs = _strided(draw, x, value)
    return Statement("windows", name, f"{name} = {ours}", f"{name} = {theirs}", (x,), view_of=x)


def _strided(draw: Draw, x: str, value: Values) -> tuple[str, str]:
    """Rows of neighbours at a distance, the first row perhaps the last in memory."""
    (size,), (stride,) = value.shape, value.strides
    width = draw.chance.randrange(1, size + 1)
    step = draw.chance.randrange(0, 3)
    rows = (size - width) // step + 1 if step else 2
    shape, strides = (rows, width), (step * stride, stride)
    return (
        f"nd.as_strided({x}, {shape}, {strides})",
        f"np.lib.stride_tricks.as_strided({x}, {shape}, {strides}, writeable=False)",
    )
