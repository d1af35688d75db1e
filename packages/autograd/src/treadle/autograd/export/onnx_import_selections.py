"""Ops of ONNX that read or write elements at places that a tensor names."""

import math
from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import axis_of, cast, numbers, whole
from treadle.ndarray import NDArray

__all__ = ["SELECTIONS"]

_REDUCERS = {"mul": F.multiply, "max": F.maximum, "min": F.minimum}


def _gather_elements(at: Any, x: Tensor, places: Tensor) -> Tensor:
    axis = axis_of(at.get("axis", 0), x.ndim)
    part = tuple(slice(None) if each == axis else slice(length) for each, length in enumerate(places.shape))
    return F.take_along_axis(x[part], places, axis=axis)


def _gather_nd(at: Any, x: Tensor, places: Tensor) -> Tensor:
    batches, depth = at.get("batch_dims", 0), places.shape[-1]
    ndim = places.ndim - 1
    lead = [
        nd.arange(places.shape[each]).reshape((1,) * each + (-1,) + (1,) * (ndim - 1 - each)) for each in range(batches)
    ]
    return x[(*lead, *[places.data[..., each] for each in range(depth)])]


def _scattered(x: Tensor, index: tuple[NDArray, ...], updates: Tensor, reduction: str) -> Tensor:
    """x with updates at the places that arrays of one shape name, one for each leading axis of x."""
    shape, rest = nd.broadcast_shapes(*[each.shape for each in index]), x.shape[len(index) :]
    flat = nd.zeros(shape, dtype=nd.int64)
    for axis, (each, length) in enumerate(zip(index, x.shape, strict=False)):
        if bool(nd.any((each < -length) | (each >= length))):
            raise OnnxError(f"an index lies outside of axis {axis} of length {length}")
        flat = flat * length + nd.where(each < 0, each + length, each)
    places = flat.reshape(-1)
    rows, new = F.reshape(x, (math.prod(x.shape[: len(index)]), *rest)), F.reshape(updates, (places.size, *rest))
    if reduction == "none":
        return F.reshape(F.set_item(rows, (places,), new), x.shape)
    if reduction == "add":
        return F.reshape(F.scatter_add(rows, constant(places), new), x.shape)
    seen: dict[int, int] = {}
    turns = []
    for each in places.tolist():  # how often the place was named before
        turns.append(seen.get(each, 0))
        seen[each] = turns[-1] + 1
    for turn in range(max(turns, default=-1) + 1):
        chosen = nd.asarray([place for place, each in enumerate(turns) if each == turn])
        where = nd.take(places, chosen)
        found = _REDUCERS[reduction](F.take(rows, constant(where), axis=0), F.take(new, constant(chosen), axis=0))
        rows = F.set_item(rows, (where,), found)
    return F.reshape(rows, x.shape)


def _scatter_elements(at: Any, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    axis = axis_of(at.get("axis", 0), x.ndim)
    index = [
        places.data if each == axis else nd.arange(length).reshape((1,) * each + (-1,) + (1,) * (x.ndim - 1 - each))
        for each, length in enumerate(places.shape)
    ]
    return _scattered(x, tuple(index), updates, at.get("reduction", "none"))


def _scatter_nd(at: Any, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    if places.shape[-1] > x.ndim:
        raise OnnxError(f"indices of {places.shape[-1]} axes into an array of {x.ndim}")
    index = tuple(places.data[..., each] for each in range(places.shape[-1]))
    return _scattered(x, index, updates, at.get("reduction", "none"))


def _nonzero(at: Any, x: Tensor) -> Tensor:
    return constant(nd.stack(list(nd.nonzero(x.data.reshape(-1) if x.ndim == 0 else x.data))))


def _unique(at: Any, x: Tensor) -> tuple[Tensor, ...]:
    axis = at.get("axis")
    flat = F.reshape(x, (-1,)) if axis is None else x
    axis = 0 if axis is None else axis
    rows = nd.moveaxis(flat.data, axis, 0).reshape((flat.shape[axis], -1)).tolist()
    firsts: dict[tuple[Any, ...], int] = {}
    for place, row in enumerate(rows):
        firsts.setdefault(tuple(row), place)
    order = sorted(firsts) if at.get("sorted", 1) else list(firsts)
    number = {row: place for place, row in enumerate(order)}
    inverse = [number[tuple(row)] for row in rows]
    counts = [0] * len(order)
    for each in inverse:
        counts[each] += 1
    chosen, back, often = (
        constant(nd.asarray(each, dtype="int64")) for each in ([firsts[row] for row in order], inverse, counts)
    )
    return F.take(flat, chosen, axis=axis), chosen, back, often


def _one_hot(at: Any, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    axis, count = at.get("axis", -1), whole(depth)
    axis = axis_of(axis, indices.ndim + 1)
    if count < 1:
        raise OnnxError(f"{count} classes; at least one is needed")
    places = cast(indices, nd.int64)
    places = F.expand_dims(F.where(places < 0, places + count, places), axis)
    classes = constant(nd.arange(count).reshape((-1,) + (1,) * (indices.ndim - axis)))
    return F.where(places == classes, values[1], values[0])


def _compress(at: Any, x: Tensor, condition: Tensor) -> Tensor:
    (places,) = nd.nonzero(condition.data)
    axis = at.get("axis")
    if axis is None:
        return F.take(F.reshape(x, (-1,)), constant(places), axis=0)
    return F.take(x, constant(places), axis=axis)


def _reverse_sequence(at: Any, x: Tensor, lengths: Tensor) -> Tensor:
    time, batch = at.get("time_axis", 0), at.get("batch_axis", 1)
    shape = [1] * x.ndim
    shape[time] = x.shape[time]
    steps = nd.arange(x.shape[time]).reshape(tuple(shape))
    shape = [1] * x.ndim
    shape[batch] = x.shape[batch]
    each = lengths.data.reshape(tuple(shape))
    places = nd.where(steps < each, each - 1 - steps, steps)
    return F.take_along_axis(x, constant(nd.broadcast_to(places, x.shape)), axis=time)


def _tensor_scatter(at: Any, past: Tensor, update: Tensor, starts: Tensor | None = None) -> Tensor:
    axis = axis_of(at.get("axis", -2), past.ndim)
    first = nd.zeros((past.shape[0],), dtype=nd.int64) if starts is None else starts.data
    steps = first.reshape((-1, 1)) + nd.arange(update.shape[axis]).reshape((1, -1))
    if at.get("mode", "linear") == "circular":
        steps = nd.remainder(steps, past.shape[axis])
    rows = nd.arange(past.shape[0]).reshape((-1, 1))
    moved, new = F.moveaxis(past, axis, 1), F.moveaxis(update, axis, 1)
    return F.moveaxis(F.set_item(moved, (rows, steps), new), 1, axis)


def _corners(box: list[float], centred: bool) -> tuple[float, float, float, float]:
    """Top, left, bottom, right."""
    if centred:
        x, y, width, height = box
        return y - height / 2, x - width / 2, y + height / 2, x + width / 2
    return min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Intersection over union."""
    height, width = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, height) * max(0.0, width)
    total = sum((each[2] - each[0]) * (each[3] - each[1]) for each in (a, b)) - shared
    return shared / total if total > 0 else 0.0


def _non_max_suppression(at: Any, boxes: Tensor, scores: Tensor, *given: Tensor | None) -> Tensor:
    limits = [None if each is None else numbers(each)[0] for each in (*given, None, None, None)[:3]]
    most, share, least = int(limits[0] or 0), limits[1] or 0.0, -math.inf if limits[2] is None else limits[2]
    chosen: list[list[int]] = []
    for batch, classes in enumerate(scores.tolist()):
        corners = [_corners(each, bool(at.get("center_point_box", 0))) for each in boxes[batch].tolist()]
        for label, row in enumerate(classes):
            kept: list[int] = []
            for place in sorted(range(len(row)), key=lambda each: -row[each]):
                if len(kept) == most:
                    break
                if row[place] > least and all(_overlap(corners[place], corners[other]) <= share for other in kept):
                    kept.append(place)
            chosen += [[batch, label, each] for each in kept]
    return constant(nd.asarray(chosen, dtype="int64").reshape((-1, 3)))


SELECTIONS: dict[str, Callable[..., Any]] = {
    "Gather": lambda at, x, places: F.take(x, places, axis=at.get("axis", 0)), "GatherElements": _gather_elements,
    "GatherND": _gather_nd, "ScatterElements": _scatter_elements, "Scatter": _scatter_elements,
    "ScatterND": _scatter_nd, "NonZero": _nonzero, "Unique": _unique, "OneHot": _one_hot, "Compress": _compress,
    "ReverseSequence": _reverse_sequence, "TensorScatter": _tensor_scatter,
    "NonMaxSuppression": _non_max_suppression,
    "ai.onnx.ml:ArrayFeatureExtractor": lambda at, x, places: F.take(x, F.reshape(places, (-1,)), axis=-1),
    "ai.onnx.ml:Binarizer": lambda at, x: cast(x > at.get("threshold", 0.0), x.dtype),
}  # fmt: skip
"""By name."""
