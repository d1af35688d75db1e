"""Ops of ONNX that make, join, cut and turn arrays."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_files import dtype_of
from treadle.autograd.export.onnx_import_arithmetic import axis_of, cast, numbers, whole

__all__ = ["SHAPES", "ints"]

Op = Callable[..., Any]


def ints(values: Sequence[int]) -> Tensor:
    """A vector of integers."""
    return constant(nd.asarray(list(values), dtype="int64"))


def _constant(at: Any) -> Tensor:
    for name, value in at.attributes.items():
        if name == "value":
            return constant(value)
        if name in ("value_float", "value_floats"):
            return constant(nd.asarray(value, dtype="float32"))
        if name in ("value_int", "value_ints"):
            return constant(nd.asarray(value, dtype="int64"))
    raise OnnxError("a constant of strings, or a sparse one; treadle has neither")


def _filled(at: Any, shape: Tensor) -> Tensor:
    value = at.get("value")
    lengths = tuple(numbers(shape))
    if value is None:
        return constant(nd.zeros(lengths))
    return constant(nd.full(lengths, value.reshape(-1)[0].item(), dtype=value.dtype))


def _shape(at: Any, x: Tensor) -> Tensor:
    return ints(x.shape[at.get("start", 0) : at.get("end", x.ndim)])


def _range(at: Any, start: Tensor, limit: Tensor, step: Tensor) -> Tensor:
    first, last, by = (each.item() for each in (start, limit, step))
    count = max(0, math.ceil((last - first) / by))
    steps = nd.arange(count, dtype="float64" if start.dtype.kind == "f" else "int64")
    return constant((steps * by + first).astype(start.dtype))


def _eye(at: Any, x: Tensor) -> Tensor:
    dtype = dtype_of(at.attributes["dtype"]) if "dtype" in at.attributes else x.dtype
    return constant(nd.eye(x.shape[0], x.shape[1], k=at.get("k", 0), dtype=dtype))


def _reshape(at: Any, x: Tensor, shape: Tensor | None = None) -> Tensor:
    wanted = at.attributes["shape"] if at.version < 5 else numbers(shape)
    if not at.get("allowzero", 0):
        wanted = [x.shape[place] if each == 0 else each for place, each in enumerate(wanted)]
    if -1 in wanted and x.size == 0:  # the rest says what the open length is
        known = math.prod(each for each in wanted if each != -1)
        wanted = [(0 if known == 0 else x.size // known) if each == -1 else each for each in wanted]
    return F.reshape(x, tuple(wanted))


def _flatten(at: Any, x: Tensor) -> Tensor:
    axis = at.get("axis", 1)
    axis = axis if axis == x.ndim else axis_of(axis, x.ndim)
    return F.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _axes(at: Any, given: Tensor | None) -> list[int] | None:
    if at.version < 13:
        return at.get("axes")  # type: ignore[no-any-return]
    return None if given is None else numbers(given)


def _squeeze(at: Any, x: Tensor, axes: Tensor | None = None) -> Tensor:
    given = _axes(at, axes)
    return F.squeeze(x, None if given is None else tuple(given))


def _unsqueeze(at: Any, x: Tensor, axes: Tensor | None = None) -> Tensor:
    given = _axes(at, axes) or []
    ndim = x.ndim + len(given)
    places = {axis_of(each, ndim) for each in given}
    if len(places) < len(given):
        raise OnnxError(f"axes {given} name one twice")
    lengths = iter(x.shape)
    return F.reshape(x, tuple(1 if each in places else next(lengths) for each in range(ndim)))


def _transpose(at: Any, x: Tensor) -> Tensor:
    return F.permute_dims(x, tuple(at.get("perm") or range(x.ndim)[::-1]))


def _expand(at: Any, x: Tensor, shape: Tensor) -> Tensor:
    return F.broadcast_to(x, nd.broadcast_shapes(x.shape, tuple(numbers(shape))))


def _tile(at: Any, x: Tensor, repeats: Tensor, axis: Tensor | None = None) -> Tensor:
    if axis is None:
        return F.tile(x, tuple(numbers(repeats)))
    counts = [1] * x.ndim  # before version 6: how often, and along which axis
    counts[whole(axis)] = whole(repeats)
    return F.tile(x, tuple(counts))


def _concat(at: Any, *parts: Tensor) -> Tensor:
    return F.concat(parts, axis=at.get("axis", 1)) if len(parts) > 1 else parts[0]


def _split(at: Any, x: Tensor, sizes: Tensor | None = None) -> Any:
    axis = axis_of(at.get("axis", 0), x.ndim)
    parts = at.get("split") if at.version < 13 else numbers(sizes) if sizes is not None else None
    if parts is None:
        count, length = at.get("num_outputs", len(at.outputs)), x.shape[axis]
        size = -(-length // count)
        parts = [max(0, min(size, length - each * size)) for each in range(count)]
    found, start = [], 0
    for each in parts:
        found.append(x[(*(slice(None),) * axis, slice(start, start + each))])
        start += each
    if start != x.shape[axis] or min(parts, default=0) < 0:
        raise OnnxError(f"parts of {parts} do not make up axis {axis} of length {x.shape[axis]}")
    return tuple(found)


def _slice(at: Any, x: Tensor, *given: Tensor | None) -> Tensor:
    if at.version < 10:
        starts, ends, axes, steps = at.attributes["starts"], at.attributes["ends"], at.get("axes"), None
    else:
        starts, ends, axes, steps = (None if each is None else numbers(each) for each in (*given, None, None)[:4])
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        length = x.shape[axis]
        low, high = (0, length) if step > 0 else (-1, length - 1)
        first, last = (each + length if each < 0 else each for each in (start, end))
        first, last = max(0, min(high, first)), max(low, min(high, last))
        index[axis] = slice(first, None if last < 0 else last, step)
    return x[tuple(index)]


def _pad(at: Any, x: Tensor, widths: Tensor | None = None, value: Tensor | None = None, axes: Any = None) -> Tensor:
    given = at.get("pads", at.get("paddings")) if at.version < 11 else numbers(widths)
    fill = at.get("value", 0.0) if at.version < 11 else 0 if value is None else numbers(value)[0]
    along = [axis_of(each, x.ndim) for each in numbers(axes)] if axes is not None else list(range(x.ndim))
    pairs = [(0, 0)] * x.ndim
    for place, axis in enumerate(along):
        pairs[axis] = (given[place], given[len(along) + place])
    cut = tuple(
        slice(max(0, -before), length - max(0, -after)) for (before, after), length in zip(pairs, x.shape, strict=True)
    )
    x = x[cut] if any(each < 0 for pair in pairs for each in pair) else x
    return padded(x, [(max(0, before), max(0, after)) for before, after in pairs], at.get("mode", "constant"), fill)


def padded(x: Tensor, pairs: list[tuple[int, int]], mode: str, fill: Any = 0) -> Tensor:
    """An array with margins; those of ``reflect``, ``edge`` and ``wrap`` may be wider than the array."""
    if mode == "constant":
        return F.pad(x, pairs, constant_values=fill)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            length = x.shape[axis]
            places = nd.arange(-before, length + after)
            if mode == "edge":
                places = nd.clip(places, 0, length - 1)
            elif mode == "wrap":
                places = nd.remainder(places, length)
            else:
                period = max(1, 2 * (length - 1))
                places = nd.remainder(places, period)
                places = nd.minimum(places, period - places)
            x = F.take(x, constant(places), axis=axis)
    return x


def _depth_to_space(at: Any, x: Tensor) -> Tensor:
    size, (batch, channels, height, width) = at.attributes["blocksize"], x.shape
    if at.get("mode", "DCR") == "DCR":
        cut, order = (batch, size, size, channels // size**2, height, width), (0, 3, 4, 1, 5, 2)
    else:
        cut, order = (batch, channels // size**2, size, size, height, width), (0, 1, 4, 2, 5, 3)
    return F.reshape(
        F.permute_dims(F.reshape(x, cut), order), (batch, channels // size**2, height * size, width * size)
    )


def _space_to_depth(at: Any, x: Tensor) -> Tensor:
    size, (batch, channels, height, width) = at.attributes["blocksize"], x.shape
    cut = F.reshape(x, (batch, channels, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if at.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return F.reshape(F.permute_dims(cut, order), (batch, channels * size**2, height // size, width // size))


def _triangle(at: Any, x: Tensor, k: Tensor | None = None) -> Tensor:
    upper, offset = at.get("upper", 1), whole(k)
    mask = nd.ones(x.shape[-2:], dtype=nd.bool)
    limit = sum(x.shape[-2:])
    offset = max(-limit, min(limit, offset))
    mask = (nd.triu if upper else nd.tril)(mask, k=offset)
    return F.where(constant(mask), x, constant(nd.zeros((), dtype=x.dtype)))


def _random(draw: Op) -> Op:
    def op(at: Any, *like: Tensor) -> Tensor:
        shape = like[0].shape if like else tuple(at.attributes["shape"])
        dtype = dtype_of(at.attributes["dtype"]) if "dtype" in at.attributes else like[0].dtype if like else nd.float32
        return cast(constant(draw(at, shape)), dtype)

    return op


_normal = _random(lambda at, shape: nd.random.normal(shape=shape) * at.get("scale", 1.0) + at.get("mean", 0.0))
_uniform = _random(
    lambda at, shape: nd.random.uniform(shape=shape) * (at.get("high", 1.0) - at.get("low", 0.0)) + at.get("low", 0.0)
)

SHAPES: dict[str, Op] = {
    "Constant": _constant, "ConstantOfShape": _filled, "Shape": _shape, "Range": _range, "EyeLike": _eye,
    "Size": lambda at, x: constant(nd.asarray(x.size, dtype="int64")), "Reshape": _reshape, "Flatten": _flatten,
    "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Transpose": _transpose, "Expand": _expand, "Tile": _tile,
    "Concat": _concat, "Split": _split, "Slice": _slice, "Pad": _pad, "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth, "Trilu": _triangle, "RandomNormal": _normal, "RandomNormalLike": _normal,
    "RandomUniform": _uniform, "RandomUniformLike": _uniform,
}  # fmt: skip
"""By name."""
