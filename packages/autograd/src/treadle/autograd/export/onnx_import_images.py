"""Ops of ONNX that sample between elements: Resize, GridSample, RoiAlign, deformed convolution."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import axis_of, cast, numbers

__all__ = ["IMAGES"]

_ROUNDED: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5), "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip


# --- Resize -----------------------------------------------------------------------------------------------------------
def _origin(mode: str, place: int, scale: float, length: int, out: int, region: tuple[float, float]) -> float:
    """The coordinate in the input that an element of the output stands for."""
    if mode == "align_corners":  # by the length before it is rounded, as in the standard's cases
        return place * (length - 1) / (scale * length - 1) if out > 1 else 0.0
    if mode == "asymmetric":
        return place / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        if out > 1:
            return start * (length - 1) + place * (end - start) * (length - 1) / (out - 1)
        return 0.5 * (start + end) * (length - 1)
    if mode == "pytorch_half_pixel" and out <= 1:
        return 0.0
    at = (place + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return at + length / 2 * (1.0 - out / (scale * length))
    return at


def _triangle(x: float, a: float) -> float:
    return max(0.0, 1.0 - abs(x))


def _cubic(x: float, a: float) -> float:
    """Keys' kernel. Source: R. Keys, Cubic convolution interpolation (1981)."""
    x = abs(x)
    if x <= 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return a * (((x - 5.0) * x + 8.0) * x - 4.0) if x < 2.0 else 0.0


def _weights(at: Any, origins: Sequence[float], scale: float, length: int) -> list[list[float]]:
    """The share of every element of the input in every element of the output."""
    kernel, reach = (_cubic, 2.0) if at.get("mode") == "cubic" else (_triangle, 1.0)
    shrunk = min(1.0, scale) if at.get("antialias", 0) else 1.0
    a, outside = at.get("cubic_coeff_a", -0.75), bool(at.get("exclude_outside", 0))
    rows = []
    for origin in origins:
        row = [0.0] * length
        first, last = math.floor(origin - reach / shrunk) + 1, math.ceil(origin + reach / shrunk)
        for tap in range(first, last + 1):
            if not outside or 0 <= tap < length:
                row[min(max(tap, 0), length - 1)] += kernel((origin - tap) * shrunk, a)
        total = sum(row)
        rows.append([each / total for each in row] if outside or shrunk < 1.0 else row)
    return rows


def _resize(at: Any, x: Tensor, *given: Tensor | None) -> Tensor:
    roi, scales, sizes = (None, *given, None)[:3] if at.version < 11 else (*given, None, None, None)[:3]
    axes = [axis_of(each, x.ndim) for each in at.get("axes") or range(x.ndim)]
    lengths = [x.shape[each] for each in axes]
    if sizes is not None and sizes.size:
        outs = numbers(sizes)
        factors = [out / length for out, length in zip(outs, lengths, strict=True)]
        policy = at.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factors = [(min if policy == "not_larger" else max)(factors)] * len(factors)
            outs = [math.floor(factor * length + 0.5) for factor, length in zip(factors, lengths, strict=True)]
    else:
        factors = at.get("scales") or numbers(scales)
        outs = [math.floor(round(length * factor, 5)) for length, factor in zip(lengths, factors, strict=True)]
    if not all(0 < factor < math.inf for factor in factors) and x.size:
        raise OnnxError(f"scales {factors}; each must be above 0")
    nd.empty(_lengthened(x.shape, axes, outs), dtype=x.dtype)  # what no memory holds is refused before lists are made
    regions = numbers(roi) or [0.0] * len(axes) + [1.0] * len(axes)
    outside: list[Any] = []
    for place, (axis, factor, out) in enumerate(zip(axes, factors, outs, strict=True)):
        region = (regions[place], regions[len(axes) + place])
        x = _along(at, x, axis, factor, out, region, outside)
    for mask in outside:
        x = F.where(constant(mask), at.get("extrapolation_value", 0.0), x)
    return x


def _lengthened(shape: tuple[int, ...], axes: Sequence[int], lengths: Sequence[int]) -> tuple[int, ...]:
    found = dict(zip(axes, lengths, strict=True))
    return tuple(found.get(axis, length) for axis, length in enumerate(shape))


def _along(at: Any, x: Tensor, axis: int, scale: float, out: int, region: Any, outside: list[Any]) -> Tensor:
    """One axis resized; ``outside`` collects masks of what lies outside of the input."""
    length = x.shape[axis]
    mode = at.get("coordinate_transformation_mode", "half_pixel") if at.version >= 11 else "asymmetric"
    cropped = mode == "tf_crop_and_resize"
    if out == length and scale == 1.0 and not cropped:
        return x
    origins = [_origin(mode, each, scale, length, out, region) for each in range(out)]
    if cropped:
        mask = nd.asarray([not 0 <= each <= length - 1 for each in origins])
        outside.append(mask.reshape((-1,) + (1,) * (x.ndim - 1 - axis)))
    if at.get("mode", "nearest") == "nearest":
        rounded = _ROUNDED[at.get("nearest_mode", "round_prefer_floor") if at.version >= 11 else "floor"]
        tidy = [round(each, 5) for each in origins]  # as scales are float32: 1.5 / 0.6 - 0.5 is meant to be 2
        places = [min(max(rounded(each), 0), length - 1) for each in tidy]
        return F.take(x, constant(nd.asarray(places, dtype="int64")), axis=axis)
    weights = constant(
        nd.asarray(_weights(at, origins, scale, length), dtype=x.dtype if x.dtype.kind == "f" else "float32")
    )
    moved = F.matmul(cast(F.moveaxis(x, axis, -1), weights.dtype), F.matrix_transpose(weights))
    return cast(F.moveaxis(moved, -1, axis), x.dtype)


# --- GridSample -------------------------------------------------------------------------------------------------------
def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    """A coordinate thrown back by both borders."""
    span = high - low
    if span <= 0:
        return x * 0.0
    rest = F.remainder(x - low, 2.0 * span)
    return F.where(rest > span, 2.0 * span - rest, rest) + low


def _bounded(x: Tensor, length: int, padding: str, aligned: bool) -> Tensor:
    if padding == "border":
        return F.clip(x, 0.0, length - 1.0)
    if padding == "reflection":
        low, high = (0.0, length - 1.0) if aligned else (-0.5, length - 0.5)
        return F.clip(_reflected(x, low, high), 0.0, length - 1.0)
    return x


def _taps(x: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
    """The neighbours of a coordinate, whole numbers, and their weights."""
    if mode == "nearest":
        return [(F.round(x), F.ones_like(x))]
    floor = F.floor(x)
    part = x - floor
    if mode in ("linear", "bilinear"):
        return [(floor, 1.0 - part), (floor + 1.0, part)]
    a = -0.75
    inner, outer = part, 1.0 - part
    weights = []
    for near, far in ((inner, True), (inner, False), (outer, False), (outer, True)):
        if far:
            t = near + 1.0
            weights.append(a * (((t - 5.0) * t + 8.0) * t - 4.0))
        else:
            weights.append(((a + 2.0) * near - (a + 3.0)) * near * near + 1.0)
    return [(floor + float(shift), weight) for shift, weight in zip((-1, 0, 1, 2), weights, strict=True)]


def _grid_sample(at: Any, x: Tensor, grid: Tensor) -> Tensor:
    mode, padding = at.get("mode", "bilinear"), at.get("padding_mode", "zeros")
    aligned, count = bool(at.get("align_corners", 0)), x.ndim - 2
    cubic = "cubic" in mode
    axes: list[list[tuple[Tensor, Tensor]]] = []
    for axis in range(count):
        length, place = x.shape[2 + axis], grid[..., count - 1 - axis]
        place = (place + 1.0) * ((length - 1.0) / 2.0) if aligned else ((place + 1.0) * float(length) - 1.0) / 2.0
        place = place if cubic else _bounded(place, length, padding, aligned)
        taps = _taps(place, mode)
        axes.append([(_bounded(tap, length, padding, aligned) if cubic else tap, weight) for tap, weight in taps])
    return _sampled(x, axes)


def _sampled(x: Tensor, axes: list[list[tuple[Tensor, Tensor]]]) -> Tensor:
    """The weighted sum over the neighbours along every axis; what lies outside counts 0."""
    batch, channels, lengths = x.shape[0], x.shape[1], x.shape[2:]
    pixels = F.reshape(F.moveaxis(x, 1, -1), (batch * math.prod(lengths), channels))
    rows = constant(nd.arange(batch).reshape((-1,) + (1,) * (axes[0][0][0].ndim - 1)))
    total: Any = None
    for chosen in itertools.product(*axes):
        place, weight = rows, None
        inside: Any = None
        for length, (tap, share) in zip(lengths, chosen, strict=True):
            fits = F.logical_and(tap >= 0.0, tap <= length - 1.0)
            inside = fits if inside is None else F.logical_and(inside, fits)
            place = place * length + F.astype(F.clip(F.where(fits, tap, 0.0), 0.0, length - 1.0), nd.int64)
            weight = share if weight is None else weight * share
        assert weight is not None
        part = F.take(pixels, place, axis=0) * F.expand_dims(F.where(inside, weight, 0.0), -1)
        total = part if total is None else total + part
    return F.moveaxis(total, -1, 1)


def _deformed(at: Any, x: Tensor, weight: Tensor, offset: Tensor, *given: Tensor | None) -> Tensor:
    """A convolution in 2-D whose taps are moved by offsets, and weighted by a mask."""
    bias, mask = (*given, None, None)[:2]
    if x.ndim != 4:
        raise OnnxError(f"{x.ndim - 2} spatial axes; treadle has the deformed convolution of 2")
    (batch, channels), kernel, (height, width) = x.shape[:2], weight.shape[2:], offset.shape[2:]
    groups, parts, taps = at.get("group", 1), at.get("offset_group", 1), math.prod(kernel)
    pads, step = at.get("pads") or [0] * 4, at.get("strides") or [1, 1]
    apart = at.get("dilations") or [1, 1]
    moved = F.reshape(offset, (batch, parts, taps, 2, height, width))
    shares = None if mask is None else F.reshape(mask, (batch, parts, taps, height, width))
    columns = []
    for part in range(parts):
        axes = []
        for axis, places in enumerate((height, width)):
            tap = nd.arange(kernel[axis]).reshape((-1, 1) if axis == 0 else (1, -1)) * apart[axis]
            first = nd.broadcast_to(tap, kernel).reshape((taps, 1, 1)) - pads[axis]
            start = nd.arange(places).reshape((-1, 1) if axis == 0 else (1, -1)) * step[axis]
            axes.append(_taps(moved[:, part, :, axis] + constant((first + start).astype(x.dtype)), "linear"))
        share = channels // parts
        column = _sampled(x[:, part * share : (part + 1) * share], axes)
        columns.append(column if shares is None else column * F.expand_dims(shares[:, part], 1))
    rows = F.reshape(F.concat(columns, axis=1), (batch, groups, -1, taps, height * width))
    filters = F.reshape(weight, (groups, weight.shape[0] // groups, weight.shape[1], taps))
    out = F.reshape(F.einsum("ngctp,goct->ngop", rows, filters), (batch, weight.shape[0], height, width))
    return out if bias is None else out + F.reshape(bias, (-1, 1, 1))


# --- RoiAlign ---------------------------------------------------------------------------------------------------------
def _sampling(start: float, size: float, out: int, count: int, length: int) -> list[list[list[float]]]:
    """For every sample along an axis the shares of the element before it, and of the one behind."""
    lower, upper = ([[0.0] * length for _ in range(out * count)] for _ in range(2))
    for each in range(out * count):
        place = round(start + (each + 0.5) * size / (out * count), 5)
        if -1.0 <= place <= length:
            place = min(max(place, 0.0), length - 1.0)
            low = min(int(place), length - 1)
            lower[each][low], upper[each][min(low + 1, length - 1)] = 1.0 - (place - low), place - low
    return [lower, upper]


def _roi_align(at: Any, x: Tensor, rois: Tensor, batches: Tensor) -> Tensor:
    height, width = at.get("output_height", 1), at.get("output_width", 1)
    default = "half_pixel" if at.version >= 16 else "output_half_pixel"
    shifted = at.get("coordinate_transformation_mode", default) == "half_pixel"
    scale, ratio, found = at.get("spatial_scale", 1.0), at.get("sampling_ratio", 0), []
    nd.empty((rois.shape[0], x.shape[1], height, width))  # what no memory holds is refused before lists are made
    for box, batch in zip(rois.tolist(), numbers(batches), strict=True):
        left, top, right, bottom = (each * scale - (0.5 if shifted else 0.0) for each in box)
        sides = [(top, bottom - top, height, x.shape[2]), (left, right - left, width, x.shape[3])]
        shares, counts = [], []
        for start, size, out, length in sides:
            size = size if shifted else max(size, 1.0)
            counts.append(ratio if ratio > 0 else max(1, math.ceil(round(size / out, 5))))
            rows = _sampling(start, size, out, counts[-1], length)
            shares.append([constant(nd.asarray(each, dtype=x.dtype)) for each in rows])
        parts = [F.matmul(F.matmul(a, x[batch]), F.matrix_transpose(b)) for a, b in itertools.product(*shares)]
        cells = [F.reshape(each, (x.shape[1], height, counts[0], width, counts[1])) for each in parts]
        if at.get("mode", "avg") == "max":  # of the neighbours' shares, as in the standard's case
            found.append(F.max(functools.reduce(F.maximum, cells), axis=(2, 4)))
        else:
            found.append(F.mean(functools.reduce(F.add, cells), axis=(2, 4)))
    return F.stack(found)


IMAGES: dict[str, Callable[..., Any]] = {
    "Resize": _resize, "Upsample": _resize, "GridSample": _grid_sample, "DeformConv": _deformed, "RoiAlign": _roi_align,
}  # fmt: skip
"""By name."""
