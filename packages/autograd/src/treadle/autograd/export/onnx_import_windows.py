"""Convolutions and poolings of ONNX.

Padding that differs between the two sides, and the last window of ``ceil_mode``, are margins that are written out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.export.onnx_import_arithmetic import cast, numbers
from treadle.ndarray import NDArray

__all__ = ["WINDOWS", "convolve"]


@dataclass(slots=True)
class Windows:
    """Where the windows lie, by spatial axis."""

    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    before: list[int]
    after: list[int]
    extra: list[int]  # behind ``after``: what ceil_mode adds for its last window

    @classmethod
    def of(cls, at: Any, lengths: Sequence[int], kernel: Sequence[int]) -> "Windows":
        """The windows of a node over axes of these lengths."""
        count = len(lengths)
        stride, dilation = at.get("strides") or [1] * count, at.get("dilations") or [1] * count
        pads = at.get("pads") or [0] * (2 * count)
        before, after = list(pads[:count]), list(pads[count:])
        mode = at.get("auto_pad", "NOTSET")
        spans = [(size - 1) * apart + 1 for size, apart in zip(kernel, dilation, strict=True)]
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            for axis, (length, step, span) in enumerate(zip(lengths, stride, spans, strict=True)):
                total = max(0, (-(-length // step) - 1) * step + span - length)
                less, more = total // 2, total - total // 2
                before[axis], after[axis] = (less, more) if mode == "SAME_UPPER" else (more, less)
        elif mode == "VALID":
            before, after = [0] * count, [0] * count
        extra = [0] * count
        if at.get("ceil_mode", 0) and not mode.startswith("SAME"):
            for axis, (length, step, span) in enumerate(zip(lengths, stride, spans, strict=True)):
                room = length + before[axis] + after[axis] - span
                windows = -(-room // step) + 1
                if (windows - 1) * step >= length + before[axis]:  # it would start in the margin behind
                    windows -= 1
                extra[axis] = max(0, (windows - 1) * step - room)
        return cls(list(kernel), list(stride), list(dilation), before, after, extra)

    def margins(self) -> list[tuple[int, int]]:
        """All that stands around the array, for every axis of it."""
        behind = [a + b for a, b in zip(self.after, self.extra, strict=True)]
        return [(0, 0), (0, 0), *zip(self.before, behind, strict=True)]

    def over(self, x: Tensor, fill: float) -> Tensor:
        """The array with its margins."""
        return F.pad(x, self.margins(), constant_values=fill) if any(map(any, self.margins())) else x


def convolve(at: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The convolution of a node."""
    windows = Windows.of(at, x.shape[2:], weight.shape[2:])
    padding = tuple(zip(windows.before, windows.after, strict=True))
    return F.conv(
        x, weight, bias, stride=tuple(windows.stride), padding=padding, dilation=tuple(windows.dilation),
        groups=at.get("group", 1),
    )  # fmt: skip


def _transposed(at: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    count = x.ndim - 2
    stride, dilation = at.get("strides") or [1] * count, at.get("dilations") or [1] * count
    more, pads = at.get("output_padding") or [0] * count, at.get("pads") or [0] * (2 * count)
    whole = F.conv_transpose(x, weight, stride=tuple(stride), dilation=tuple(dilation), groups=at.get("group", 1))
    mode, wanted = at.get("auto_pad", "NOTSET"), at.get("output_shape")
    index, behind = [slice(None), slice(None)], [(0, 0), (0, 0)]
    for axis, full in enumerate(whole.shape[2:]):
        before, after = pads[axis], pads[count + axis]
        if wanted is not None or mode.startswith("SAME"):
            length = wanted[-count:][axis] if wanted is not None else x.shape[2 + axis] * stride[axis]
            total = max(0, full + more[axis] - length)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
        else:
            length = full + more[axis] - before - after
        index.append(slice(before, min(full, before + length)))
        behind.append((0, max(0, before + length - full)))
    out = whole[tuple(index)]
    out = F.pad(out, behind) if any(map(any, behind)) else out
    return out if bias is None else out + F.reshape(bias, (-1, *(1,) * count))


# --- pooling ----------------------------------------------------------------------------------------------------------
def _sums(x: Tensor, windows: Windows) -> Tensor:
    """The sum over every window of an array that has its margins."""
    ones = constant(nd.ones((x.shape[1], 1, *windows.kernel), dtype=x.dtype))
    return F.conv(x, ones, stride=tuple(windows.stride), dilation=tuple(windows.dilation), groups=x.shape[1])


def _average_pool(at: Any, x: Tensor) -> Tensor:
    windows = Windows.of(at, x.shape[2:], at.attributes["kernel_shape"])
    total = _sums(windows.over(x, 0.0), windows)
    counted = nd.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    if at.get("count_include_pad", 0):
        sides = [(0, 0), (0, 0), *zip(windows.before, windows.after, strict=True)]
        counted = nd.pad(counted, sides, constant_values=1.0)
        counted = nd.pad(counted, [(0, 0), (0, 0), *[(0, each) for each in windows.extra]])
    else:
        counted = nd.pad(counted, windows.margins())
    return total / _sums(constant(counted), windows)


def _lp_pool(at: Any, x: Tensor) -> Tensor:
    order = at.get("p", 2)
    windows = Windows.of(at, x.shape[2:], at.attributes["kernel_shape"])
    return F.pow(_sums(windows.over(F.pow(F.abs(x), float(order)), 0.0), windows), 1.0 / order)


def _max_pool(at: Any, x: Tensor) -> Any:
    windows = Windows.of(at, x.shape[2:], at.attributes["kernel_shape"])
    wide = x if x.dtype.kind == "f" else cast(x, nd.float32)
    margined = windows.over(wide, -math.inf)
    options: dict[str, Any] = {"stride": tuple(windows.stride), "dilation": tuple(windows.dilation)}
    values = cast(F.max_pool(margined, tuple(windows.kernel), **options), x.dtype)
    if len(at.outputs) < 2:
        return values
    places = nd.max_pool(margined.data, tuple(windows.kernel), **options)[1]
    return values, constant(_places(places, margined.shape[2:], x.shape, windows.before, at.get("storage_order", 0)))


def _places(places: NDArray, padded: Sequence[int], shape: Sequence[int], before: list[int], column: int) -> NDArray:
    """Places in the margined planes as places in the whole array, by rows or by columns."""
    found = []
    for length, first in zip(reversed(padded), reversed(before), strict=True):
        found.append(nd.remainder(places, length) - first)
        places = nd.floor_divide(places, length)
    lengths = list(shape[2:])
    axes = list(zip(found[::-1], lengths, strict=True))
    flat = nd.zeros_like(places)
    for place, length in axes[::-1] if column else axes:
        flat = flat * length + place
    planes = nd.arange(shape[0] * shape[1]).reshape((shape[0], shape[1], *(1,) * len(lengths)))
    return flat + planes * math.prod(lengths)


def _max_unpool(at: Any, x: Tensor, places: Tensor, shape: Tensor | None = None) -> Tensor:
    kernel, count = at.attributes["kernel_shape"], x.ndim - 2
    stride, pads = at.get("strides") or [1] * count, at.get("pads") or [0] * (2 * count)
    natural = [
        (length - 1) * step + size - pads[axis] - pads[count + axis]
        for axis, (length, step, size) in enumerate(zip(x.shape[2:], stride, kernel, strict=True))
    ]
    inner = (*x.shape[:2], *natural)
    flat = constant(nd.zeros((math.prod(inner),), dtype=x.dtype))
    out = F.set_item(flat, (places.data.reshape(-1),), F.reshape(x, (-1,)))
    if shape is None:
        return F.reshape(out, inner)
    wanted = numbers(shape)
    rows = F.reshape(out, inner)
    return F.pad(rows, [(0, more - length) for more, length in zip(wanted, inner, strict=True)])


def _col2im(at: Any, columns: Tensor, image: Tensor, block: Tensor) -> Tensor:
    lengths, kernel = numbers(image), numbers(block)
    count, size = len(kernel), math.prod(kernel)
    channels = columns.shape[1] // size
    pads, step = at.get("pads") or [0] * (2 * count), at.get("strides") or [1] * count
    apart = at.get("dilations") or [1] * count
    padded = [length + pads[axis] + pads[count + axis] for axis, length in enumerate(lengths)]
    places = [
        (length - (size - 1) * spread - 1) // by + 1
        for length, size, spread, by in zip(padded, kernel, apart, step, strict=True)
    ]
    one = nd.eye(size).astype(columns.dtype).reshape((size, 1, *kernel))
    weight = constant(nd.tile(one, (channels, *(1,) * (count + 1))))
    out = F.conv_input_gradient(
        F.reshape(columns, (columns.shape[0], channels * size, *places)), weight,
        (columns.shape[0], channels, *padded), stride=tuple(step), dilation=tuple(apart), groups=channels,
    )  # fmt: skip
    return out[(..., *[slice(pads[axis], pads[axis] + length) for axis, length in enumerate(lengths)])]


def _over_all(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda at, x: function(x, axis=tuple(range(2, x.ndim)), keepdims=True)


def _global_lp(at: Any, x: Tensor) -> Tensor:
    order = float(at.get("p", 2))
    return F.pow(F.sum(F.pow(F.abs(x), order), axis=tuple(range(2, x.ndim)), keepdims=True), 1.0 / order)


WINDOWS: dict[str, Callable[..., Any]] = {
    "Conv": convolve, "ConvTranspose": _transposed, "AveragePool": _average_pool, "MaxPool": _max_pool,
    "LpPool": _lp_pool, "MaxUnpool": _max_unpool, "GlobalAveragePool": _over_all(F.mean),
    "GlobalMaxPool": _over_all(F.max), "GlobalLpPool": _global_lp, "Col2Im": _col2im,
}  # fmt: skip
"""By name."""
