"""Resizing by linear maps along each axis: interpolation and uneven averages."""

import math
import operator
from collections.abc import Callable, Iterable, Sequence

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd.vectorizing import Batched
from treadle.nn.functional._fused import is_host
from treadle.nn.functional._spatial import AXES

__all__ = ["averaging_matrix", "check_sizes", "interpolate", "resample"]

Rows = list[list[tuple[int, float]]]
"""For each output the inputs it is made of, with their weights."""

_MODES = {
    "nearest": None,
    "nearest-exact": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
    "area": None,
}
_BICUBIC = -0.75
"""The slope parameter a of Keys 1981 that PyTorch takes."""
_BICUBIC_WIDE = -0.5
"""The one with ``antialias``, where PyTorch and Pillow take that of Keys."""
_DENSE = 8192
"""Up to so many elements, times the inputs of an output, a matrix is quicker than a sum over the inputs."""
_LONGEST = 1 << 24
"""Outputs along an axis; their tables are made in Python."""


def resample(input: Tensor, rows: Sequence[Rows | None]) -> Tensor:
    """``input`` with each spatial axis mapped by ``rows``; None leaves an axis alone.

    >>> resample(Tensor([[[1.0, 3.0]]]), [[[(0, 0.5), (1, 0.5)]]]).tolist()
    [[[2.0]]]
    """
    for axis, table in enumerate(rows, start=2):
        if table is not None:
            taps = max(map(len, table), default=0)
            small = len(table) * input.shape[axis] <= _DENSE * taps or not table
            input = (_by_matrix if small and _is_finite(input) else _by_taps)(input, axis, table)
    return input


def _is_finite(input: Tensor) -> bool:
    """Whether a product with zeros is 0: an infinite element would make all outputs on its axis NaN.

    False too where nobody can look: inside vmap, at what lazy mode has put off, while a GPU works or captures a graph.
    """
    if isinstance(input, Batched) or input.waiting is not None or not is_host(input.device):
        return False
    return bool(nd.all(nd.isfinite(input.data)))


def _by_matrix(input: Tensor, axis: int, table: Rows) -> Tensor:
    matrix = [[0.0] * input.shape[axis] for _ in table]
    for row, entries in zip(matrix, table, strict=True):
        for place, weight in entries:
            row[place] += weight
    shape = (len(table), input.shape[axis])
    by = Tensor(nd.asarray(matrix, dtype=input.dtype, device=input.device).reshape(shape))
    if axis == input.ndim - 1:
        return autograd.ops.MatMul(transpose_b=True)(input, by)
    if axis == input.ndim - 2:
        return autograd.matmul(by, input)
    moved = autograd.moveaxis(input, axis, -1)
    return autograd.moveaxis(autograd.ops.MatMul(transpose_b=True)(moved, by), -1, axis)


def _by_taps(input: Tensor, axis: int, table: Rows) -> Tensor:
    """The first inputs of all outputs, the second ones, and so on, each times their weights and added up."""
    rows = [[entry for entry in row if entry[1] != 0.0] or row[:1] for row in table]
    taps = max(map(len, rows))
    for row in rows:
        while len(row) < taps:  # the last one in two halves, which is exact
            place, weight = row.pop()
            row += [(place, 0.5 * weight)] * 2
    total = None
    for tap in range(taps):
        places = nd.asarray([row[tap][0] for row in rows], dtype="int64", device=input.device)
        weights = nd.asarray([row[tap][1] for row in rows], dtype=input.dtype, device=input.device)
        column = Tensor(weights.reshape(len(rows), *(1,) * (input.ndim - 1 - axis)))
        part = autograd.take(input, Tensor(places), axis=axis) * column
        total = part if total is None else total + part
    assert total is not None, "there is a row"
    return total


def check_sizes(name: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of an output; ShapeError for more than tables can be made for.

    >>> check_sizes("pool", (2, 3))
    (2, 3)
    """
    if any(size > _LONGEST for size in sizes):
        raise nd.ShapeError(f"{name}: output lengths {sizes}; an axis can have up to {_LONGEST}")
    return sizes


def averaging_matrix(length: int, size: int) -> Rows:
    """The means of ``size`` windows over ``length`` elements: from floor(i * length / size) to ceil((i + 1) * ...).

    >>> averaging_matrix(3, 2)
    [[(0, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)]]
    """
    rows = []
    for at in range(size):
        first, last = at * length // size, -(-(at + 1) * length // size)
        rows.append([(place, 1.0 / (last - first)) for place in range(first, last)])
    return rows


def _positions(length: int, size: int, scale: float | None, align_corners: bool) -> list[float]:
    """Where each output lies on the input's axis."""
    if align_corners:
        step = (length - 1) / (size - 1) if size > 1 else 0.0
        return [at * step for at in range(size)]
    step = 1.0 / scale if scale else length / size
    return [(at + 0.5) * step - 0.5 for at in range(size)]


def _antialiased(cubic: bool) -> Callable[..., Rows]:
    """Tables of the kernel, widened by the factor where outputs are fewer than inputs, with shares that sum to 1."""

    def make(length: int, size: int, scale: float | None, align_corners: bool) -> Rows:
        if align_corners:
            step = (length - 1) / (size - 1) if size > 1 else 0.0
        else:
            step = 1.0 / scale if scale else length / size
        wide = max(step, 1.0)
        reach = (2.0 if cubic else 1.0) * wide
        rows: Rows = []
        for at in range(size):
            center = (at + 0.5) * step
            places = range(max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), length))
            offsets = [abs(place - center + 0.5) / wide for place in places]
            shares = [_cubic_weight(each, _BICUBIC_WIDE) if cubic else max(0.0, 1.0 - each) for each in offsets]
            total = sum(shares) or 1.0
            rows.append([(place, share / total) for place, share in zip(places, shares, strict=True)])
        return rows

    return make


def _linear(length: int, size: int, scale: float | None, align_corners: bool) -> Rows:
    rows: Rows = []
    for position in _positions(length, size, scale, align_corners):
        position = max(position, 0.0)
        first = min(int(position), length - 1)
        part = position - first
        rows.append([(first, 1.0 - part), (min(first + 1, length - 1), part)])
    return rows


def _cubic(length: int, size: int, scale: float | None, align_corners: bool) -> Rows:
    rows: Rows = []
    for position in _positions(length, size, scale, align_corners):
        first = math.floor(position)
        part = position - first
        near = [_cubic_weight(abs(part - offset)) for offset in (-1, 0, 1, 2)]
        places = [min(max(first + offset, 0), length - 1) for offset in (-1, 0, 1, 2)]
        rows.append(list(zip(places, near, strict=True)))
    return rows


def _cubic_weight(distance: float, a: float = _BICUBIC) -> float:
    if distance <= 1.0:
        return ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    if distance < 2.0:
        return ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return 0.0


def _nearest(length: int, size: int, scale: float | None, exact: bool) -> list[int]:
    step = 1.0 / scale if scale else length / size
    shift = 0.5 if exact else 0.0
    return [min(math.floor((at + shift) * step), length - 1) for at in range(size)]


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """``(batch, channels, *lengths)`` resized to ``size``, or by ``scale_factor``, an int or float or one an axis.

    ``mode`` is "nearest", "nearest-exact", "linear" (3 dimensions), "bilinear" or "bicubic" (4), "trilinear" (5) or
    "area". With ``align_corners`` the first and last elements keep their values, else the outer edges are aligned.
    ``scale_factor`` itself decides where outputs lie, unless ``recompute_scale_factor``, which takes the lengths'.
    With ``antialias`` (bilinear and bicubic) an output that stands for several inputs is a mean of all of them, as
    Pillow's resize computes it.

    >>> interpolate(Tensor([[[1.0, 2.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    >>> interpolate(Tensor([[[1.0, 2.0]]]), 3, mode="linear", align_corners=True).tolist()
    [[[1.0, 1.5, 2.0]]]
    """
    count = input.ndim - 2
    if mode not in _MODES or count not in AXES or _MODES[mode] not in (None, count):
        raise nd.ShapeError(f"interpolate: mode {mode!r} does not fit an input of shape {input.shape}")
    linear = _MODES[mode] is not None
    if align_corners is not None and not linear:
        raise ValueError(f"interpolate: align_corners has no meaning for mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias is for bilinear and bicubic, not for mode {mode!r}")
    lengths = input.shape[2:]
    sizes, scales = _sizes(lengths, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return resample(input, [averaging_matrix(a, b) for a, b in zip(lengths, sizes, strict=True)])
    if linear:
        cubic = mode == "bicubic"
        make: Callable[..., Rows] = _antialiased(cubic) if antialias else _cubic if cubic else _linear
        tables = [make(*each, bool(align_corners)) for each in zip(lengths, sizes, scales, strict=True)]
        return resample(input, tables)
    for axis, each in enumerate(zip(lengths, sizes, scales, strict=True), start=2):
        places = _nearest(*each, mode == "nearest-exact")
        input = autograd.take(input, Tensor(places, dtype=nd.int64, device=input.device), axis=axis)
    return input


def _sizes(
    lengths: tuple[int, ...], size: int | Sequence[int] | None, factor: float | Sequence[float] | None, recompute: bool
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The output's lengths, and the factors that decide where outputs lie, None for the lengths' quotient."""
    count = len(lengths)
    if (size is None) == (factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is not None:
        sizes = tuple(map(operator.index, size if isinstance(size, Iterable) else (size,) * count))
        if len(sizes) != count or any(each < 1 for each in sizes):
            raise nd.ShapeError(f"interpolate: size {size} for spatial lengths {lengths}")
        return check_sizes("interpolate", sizes), (None,) * count
    factors = tuple(map(float, factor if isinstance(factor, Iterable) else (factor or 0.0,) * count))
    if len(factors) != count or any(each <= 0 for each in factors):
        raise nd.ShapeError(f"interpolate: scale_factor {factor} for spatial lengths {lengths}")
    sizes = tuple(math.floor(length * each) for length, each in zip(lengths, factors, strict=True))
    if any(each < 1 for each in sizes):
        raise nd.ShapeError(f"interpolate: scale_factor {factor} leaves nothing of spatial lengths {lengths}")
    return check_sizes("interpolate", sizes), ((None,) * count if recompute else factors)
