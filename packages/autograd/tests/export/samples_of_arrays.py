"""Samplers of what moves, joins, selects and orders elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
from packages.autograd.tests.export.drawing import Case, Draws

import treadle.autograd as ag

__all__ = ["ARRAYS"]

DTYPES = ("float32", "float32", "float64", "int32", "uint8", "bool")


def moved(function: Callable[..., Any], low: int = 0, least: int = 0) -> Callable[[Draws], Case]:
    """A sampler of a function of one array whose elements it only moves; the configuration is drawn with the shape."""

    def sample(draws: Draws) -> Case:
        x = draws.values(draws.shape(low=low, least=least), draws.of(*DTYPES))
        return Case(function(draws, x.shape), [x], exact=True, nasty=True)

    return sample


def _reshape(draws: Draws, shape: Any) -> Any:
    size = int(np.prod(shape))
    wanted = draws.of((size,), (1, size), (size, 1, 1), (2, size // 2) if size % 2 == 0 and size else (size,))
    if draws.integer(0, 1) and len(shape) > 1:
        return lambda x: ag.reshape(ag.swapaxes(x, 0, -1), wanted)
    return lambda x: ag.reshape(x, wanted)


def _permuted(draws: Draws, shape: Any) -> Any:
    order = tuple(int(each) for each in draws.random.permutation(len(shape)))
    return lambda x: ag.permute_dims(x, order)


def _broadcast(draws: Draws, shape: Any) -> Any:
    wanted = (*draws.of((), (2,), (3, 1)), *(draws.of(3, 1) if length == 1 else length for length in shape))
    return lambda x: ag.broadcast_to(x, wanted)


def _index(draws: Draws, shape: Any) -> Any:
    """A basic or advanced index."""
    items: list[Any] = []
    arrays = draws.integer(0, 1)
    for length in shape[: draws.integer(1, len(shape))]:
        way = draws.integer(0, 4)
        if way == 0 and length:
            items.append(draws.integer(-length, length - 1))
        elif way == 1:
            items.append(slice(draws.of(None, 1, -2), draws.of(None, -1, 3), draws.of(None, 2, -1, -2)))
        elif way == 2 and length and arrays:
            items.append(draws.whole(draws.of((3,), (2, 1), ()), length, least=-length))
        elif way == 3:
            items += [None, slice(None)]
        else:
            items.append(slice(None))
    if draws.integer(0, 3) == 0:
        items.append(...)
    return tuple(items)


def _get_item(draws: Draws, shape: Any) -> Any:
    index = _index(draws, shape)
    return lambda x: ag.get_item(x, index)


def _set_item(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1), draws.of("float32", "float32", "int32", "float64", "bool"))
    index = _index(draws, x.shape)
    selected = x[index]
    shape = draws.of(selected.shape, (1, *selected.shape), selected.shape[-1:], ())
    values = draws.values(shape, x.dtype.name)
    if draws.integer(0, 2) == 0:
        return Case(lambda x: ag.set_item(x, index, 2), [x], exact=True, nasty=True)
    return Case(lambda x, v: ag.set_item(x, index, v), [x, values], exact=True, nasty=True)


def _taken(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1, least=1), draws.of(*DTYPES))
    axis = draws.axis(x.shape)
    indices = draws.whole(
        draws.of((3,), (2, 2), (0,), ()), x.shape[axis], draws.of("int64", "int32", "uint8"),
    )  # fmt: skip
    return Case(lambda x, at: ag.take(x, at, axis=axis), [x, indices], exact=True, nasty=True)


def _taken_along(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1, least=1), draws.of(*DTYPES))
    axis = draws.axis(x.shape)
    shape = list(x.shape)
    shape[axis] = draws.of(1, 3, 0)
    indices = draws.whole(shape, x.shape[axis], least=-x.shape[axis])
    return Case(lambda x, at: ag.take_along_axis(x, at, axis=axis), [x, indices], exact=True, nasty=True)


def _scatter(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1, least=1), draws.of("float32", "float32", "int32", "int8"), -3, 3)
    axis = draws.integer(0, x.ndim - 1)
    count = draws.of(1, 5, 0)
    indices = draws.whole((count,), x.shape[axis])
    values = draws.values((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype.name, -3, 3)
    return Case(lambda x, at, v: ag.scatter_add(x, at, v, axis=axis), [x, indices, values], linear=True)


def _joined(function: Any, along: bool) -> Callable[[Draws], Case]:
    def sample(draws: Draws) -> Case:
        shape = draws.shape(low=1 if along else 0)
        axis = draws.integer(-len(shape) - (not along), len(shape) - along)
        shapes = [list(shape) for _ in range(draws.of(1, 2, 3))]
        if along:
            for each in shapes:
                each[axis] = draws.of(0, 1, 3)
        kind = draws.of(*DTYPES)
        parts = [draws.values(each, draws.of(kind, kind, "float32")) for each in shapes]
        flat = along and draws.integer(0, 4) == 0
        return Case(lambda *parts: function(parts, axis=None if flat else axis), parts, exact=True, nasty=True)

    return sample


def _padded(draws: Draws, shape: Any) -> Any:
    mode = draws.of("constant", "constant", "reflect", "edge", "wrap")
    most = min([2, *(length - 1 for length in shape)]) if mode != "constant" else 2
    widths = [(draws.integer(0, most), draws.integer(0, most)) for _ in shape]
    if mode != "constant":
        return lambda x: ag.pad(x, widths, mode=mode)
    value = draws.of(0, 1)
    return lambda x: ag.pad(x, draws_of_widths(widths), constant_values=value)


def draws_of_widths(widths: Any) -> Any:
    """Widths as they are; one number where all are equal."""
    flat = {each for pair in widths for each in pair}
    return flat.pop() if len(flat) == 1 else widths


def _rolled(draws: Draws, shape: Any) -> Any:
    if draws.integer(0, 2) == 0:
        return lambda x: ag.roll(x, 5)
    axis = draws.axis(shape)
    shift = draws.integer(-6, 6)
    return draws.of(lambda x: ag.roll(x, shift, axis=axis), lambda x: ag.roll(x, (shift, 1), axis=(axis, 0)))


def _repeated(draws: Draws, shape: Any) -> Any:
    axis = draws.axis(shape)
    counts = draws.whole((shape[axis],), 4)
    count = draws.integer(0, 3)
    return draws.of(
        lambda x: ag.repeat(x, count), lambda x: ag.repeat(x, count, axis=axis),
        lambda x: ag.repeat(x, counts, axis=axis),
    )  # fmt: skip


def _tiled(draws: Draws, shape: Any) -> Any:
    counts = draws.of(2, (2,), (1, 3), (2, 1, 2), (0, 2))
    return lambda x: ag.tile(x, counts)


def _flipped(draws: Draws, shape: Any) -> Any:
    axes = draws.axes(shape)
    return lambda x: ag.flip(x, axis=axes)


def _turned(draws: Draws, shape: Any) -> Any:
    k = draws.integer(-1, 4)
    return lambda x: ag.rot90(x, k=k)


def _triangle(function: Any) -> Any:
    def choose(draws: Draws, shape: Any) -> Any:
        k = draws.integer(-3, 3)
        return lambda x: function(x, k=k)

    return choose


def _diagonal(function: Any) -> Any:
    def choose(draws: Draws, shape: Any) -> Any:
        offset = draws.integer(-1, 1)
        return lambda x: function(x, offset=offset)

    return choose


def _traced(draws: Draws) -> Case:
    x = draws.floats(draws.shape(low=2))
    offset = draws.integer(-1, 1)
    return Case(lambda x: ag.trace(x, offset=offset), [x], linear=True)


def _diff(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1), draws.of("float32", "int32", "float64"))
    axis, n = draws.axis(x.shape), draws.of(0, 1, 2)
    return Case(lambda x: ag.diff(x, axis=axis, n=n), [x])


def _ordered(function: Any) -> Callable[[Draws], Case]:
    def sample(draws: Draws) -> Case:
        x = draws.values(draws.shape(low=1), draws.of("float32", "float32", "int16", "uint8", "float64"), -4, 4)
        axis, descending = draws.axis(x.shape), draws.of(False, True)
        return Case(lambda x: function(x, axis=axis, descending=descending), [x], exact=True, nasty=True)

    return sample


def _topk(draws: Draws) -> Case:
    x = draws.values(draws.shape(low=1, least=1), draws.of("float32", "int16"))
    axis = draws.axis(x.shape)
    k, largest = draws.integer(0, x.shape[axis]), draws.of(False, True)
    return Case(lambda x: tuple(ag.topk(x, k, axis=axis, largest=largest)), [x], exact=True, nasty=True)


def _one_hot(draws: Draws) -> Case:
    return Case(lambda x: ag.one_hot(x, 5), [draws.whole(draws.shape(), 5, draws.of("int64", "int8"))], exact=True)


def _split(draws: Draws, shape: Any) -> Any:
    axis = draws.axis(shape)
    cuts = sorted(draws.integer(0, shape[axis]) for _ in range(2))
    return lambda x: tuple(ag.split(x, cuts, axis=axis))


def _unstacked(draws: Draws, shape: Any) -> Any:
    axis = min(range(len(shape)), key=lambda at: shape[at])
    return lambda x: tuple(ag.unstack(x, axis=axis))


def _cast(draws: Draws) -> Case:
    kinds = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    x = draws.values(draws.shape(), draws.of("float32", draws.of(*kinds)), -300.0, 300.0)
    wanted = draws.of(*kinds)
    return Case(lambda x: ag.astype(x, wanted), [x], exact=True, nasty=True)


def _filled(function: Any) -> Callable[[Draws], Case]:
    return lambda draws: Case(lambda x: function(x) * x, [draws.floats(draws.shape())], exact=True)


def _zeros_times(draws: Draws) -> Case:
    return Case(lambda x: ag.empty_like(x) * 0.0 + x if x.size < 0 else x + 0.0, [draws.floats(draws.shape())])


ARRAYS: dict[str, Callable[[Draws], Case]] = {
    "argsort": _ordered(ag.argsort), "sort": _ordered(ag.sort), "topk": _topk, "astype": _cast,
    "reshape": moved(_reshape), "permute_dims": moved(_permuted), "broadcast_to": moved(_broadcast),
    "expand_dims": moved(lambda draws, shape: lambda x: ag.expand_dims(x, axis=0)),
    "squeeze": moved(lambda draws, shape: lambda x: ag.squeeze(ag.expand_dims(x, axis=-1), axis=-1)),
    "flip": moved(_flipped), "matrix_transpose": moved(lambda draws, shape: ag.matrix_transpose, low=2),
    "moveaxis": moved(lambda draws, shape: lambda x: ag.moveaxis(x, 0, -1), low=1),
    "swapaxes": moved(lambda draws, shape: lambda x: ag.swapaxes(x, 0, -1), low=1),
    "rot90": moved(_turned, low=2),
    "to_device": moved(lambda draws, shape: lambda x: ag.to_device(x, "cpu")),
    "get_item": moved(_get_item, low=1), "set_item": _set_item, "take": _taken, "take_along_axis": _taken_along,
    "scatter_add": _scatter, "concat": _joined(ag.concat, True), "stack": _joined(ag.stack, False),
    "pad": moved(_padded, low=1, least=1), "roll": moved(_rolled, low=1), "repeat": moved(_repeated, low=1),
    "tile": moved(_tiled), "tril": moved(_triangle(ag.tril), low=2), "triu": moved(_triangle(ag.triu), low=2),
    "diagonal": moved(_diagonal(ag.diagonal), low=2, least=2), "trace": _traced, "diff": _diff, "one_hot": _one_hot,
    "split": moved(_split, low=1), "unstack": moved(_unstacked, low=1, least=1),
    "zeros_like": _filled(ag.zeros_like), "ones_like": _filled(ag.ones_like),
    "full_like": _filled(lambda x: ag.full_like(x, 2.5)), "empty_like": _zeros_times,
}  # fmt: skip
