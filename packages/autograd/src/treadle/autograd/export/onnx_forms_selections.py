"""Forms of indexing, reading and writing.

An index that is known is the list of the places that it names in the flat array; one that is computed goes by GatherND
and ScatterND.
"""

from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.program import Call, Role, Value, values_in
from treadle.autograd.export.recorder import _arrays
from treadle.ndarray import NDArray

__all__ = ["SELECTIONS"]

Form = Callable[..., Any]
FULL = slice(None)


def _items(index: Any, ndim: int) -> list[Any]:
    """The index's items, one for each axis or None for a new one, without an ellipsis."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(each is not None and each is not Ellipsis for each in items)
    if Ellipsis in [each for each in items if not isinstance(each, Value)]:
        at = next(place for place, each in enumerate(items) if each is Ellipsis)
        return [*items[:at], *[FULL] * (ndim - used), *items[at + 1 :]]
    return [*items, *[FULL] * (ndim - used)]


def _is_known(index: Any) -> bool:
    return all(each.role is Role.CONSTANT for each in values_in(index if isinstance(index, tuple) else (index,)))


def _places(shape: tuple[int, ...], index: Any) -> NDArray:
    """The places in the flat array that a known index names."""
    size = 1
    for length in shape:
        size *= length
    found = nd.arange(size).reshape(shape)[_arrays(index, None)]
    return found if found.ndim else found.reshape(())


def _get_item(e: Any, call: Call) -> Any:
    x, index = call.arguments
    items = _items(index, len(x.shape))
    arrays = [each for each in items if isinstance(each, Value)]
    if not arrays and not any(isinstance(each, bool) for each in items):
        return _sliced(e, call, x, items)
    if len(arrays) == 1 and arrays[0].dtype.kind in "iu" and all(each is arrays[0] or each == FULL for each in items):
        return e.node("Gather", e.of(x), e.of(arrays[0]), axis=items.index(arrays[0]))
    if _is_known(index):
        flat = e.node("Reshape", e.of(x), e.ints([-1]))
        return e.node("Gather", flat, e.array(_places(x.shape, index)), axis=0)
    return e.node("GatherND", e.of(x), _stacked(e, items))


def _stacked(e: Any, items: list[Any]) -> Any:
    """Arrays of integers that stand for the first axes, side by side."""
    count = next((place for place, each in enumerate(items) if each == FULL), len(items))
    lead = items[:count]
    if any(each != FULL for each in items[count:]) or not all(
        isinstance(each, int) or (isinstance(each, Value) and each.dtype.kind in "iu") for each in lead
    ):
        raise e.refusal("a computed index that is not of integers for the first axes; use take or take_along_axis")
    shape = nd.broadcast_shapes(*[each.shape if isinstance(each, Value) else () for each in lead])
    wide = [e.node("Expand", e.of(each, nd.int64), e.ints((*shape,))) for each in lead]
    return e.node("Concat", *[e.node("Unsqueeze", each, e.ints([-1])) for each in wide], axis=-1)


def _sliced(e: Any, call: Call, x: Value, items: list[Any]) -> Any:
    """An index of slices, numbers and new axes."""
    lengths, cuts, axis = x.shape, [], 0
    for each in items:
        if each is None:
            continue
        length = lengths[axis]
        if isinstance(each, slice):
            start, stop, step = each.indices(length)
            if (start, stop, step) != (0, length, 1):
                cuts.append((start, stop if stop >= 0 else -(2**31), axis, step))
        else:
            place = int(each) % length
            cuts.append((place, place + 1, axis, 1))
        axis += 1
    name = e.of(x)
    if cuts:
        name = e.node("Slice", name, *[e.ints(column) for column in zip(*cuts, strict=True)])
    plain = all(isinstance(each, slice) for each in items)
    return name if plain else e.node("Reshape", name, e.ints(call.results[0].shape), allowzero=1)


def _set_item(e: Any, call: Call) -> Any:
    x, index, values = call.arguments
    if _is_known(index):
        places = _places(x.shape, index)
        named = places.reshape(-1).tolist()
        if len(set(named)) != len(named):
            raise e.refusal("an index that names a place twice: which value stays is open in ONNX")
        wide = e.node("Expand", e.of(values, x.dtype), e.ints(places.shape))
        flat, new = (e.node("Reshape", each, e.ints([-1])) for each in (e.of(x), wide))
        out = e.node("ScatterElements", flat, e.array(places.reshape(-1)), new, axis=0)
        return e.node("Reshape", out, e.ints(x.shape))
    return _written(e, x, _items(index, len(x.shape)), values, "none")


def _written(e: Any, x: Value, items: list[Any], values: Any, reduction: str) -> Any:
    places = _stacked(e, items)
    lead = [each for each in items if each != FULL]
    shape = nd.broadcast_shapes(*[each.shape if isinstance(each, Value) else () for each in lead])
    wide = e.node("Expand", e.of(values, x.dtype), e.ints((*shape, *x.shape[len(lead) :])))
    return e.node("ScatterND", e.of(x), places, wide, reduction=reduction)


def _scatter_add(e: Any, call: Call) -> Any:
    x, index, values = call.arguments
    return _written(e, x, _items(index if isinstance(index, tuple) else (index,), len(x.shape)), values, "add")


def _take(e: Any, call: Call) -> Any:
    x, places = call.arguments[:2]
    return e.node("Gather", e.of(x), _whole(e, places), axis=call.options.get("axis") or 0)


def _whole(e: Any, places: Value) -> Any:
    return e.of(places, places.dtype if places.dtype in (nd.int32, nd.int64) else nd.int64)


def _take_along_axis(e: Any, call: Call) -> Any:
    x, places = call.arguments[:2]
    axis = call.options.get("axis", -1) % len(x.shape)
    lengths = [length if at != axis else places.shape[at] for at, length in enumerate(x.shape)]
    shape = [max(a, b) if at != axis else b for at, (a, b) in enumerate(zip(lengths, places.shape, strict=True))]
    index, array = _whole(e, places), e.of(x)
    if tuple(shape) != places.shape:
        index = e.node("Expand", index, e.ints(shape))
    if tuple(shape[:axis] + shape[axis + 1 :]) != x.shape[:axis] + x.shape[axis + 1 :]:
        array = e.node("Expand", array, e.ints([*shape[:axis], x.shape[axis], *shape[axis + 1 :]]))
    return e.node("GatherElements", array, index, axis=axis)


def _diagonal(e: Any, call: Call) -> Any:
    x = call.arguments[0]
    size = 1
    for length in x.shape:
        size *= length
    places = nd.linalg.diagonal(nd.arange(size).reshape(x.shape), **call.options).copy()
    return e.node("Gather", e.node("Reshape", e.of(x), e.ints([-1])), e.array(places), axis=0)


SELECTIONS: dict[str, Form] = {
    "get_item": _get_item, "set_item": _set_item, "scatter_add": _scatter_add, "take": _take,
    "take_along_axis": _take_along_axis, "linalg.diagonal": _diagonal, "diagonal": _diagonal,
}  # fmt: skip
"""By the array function's name."""
