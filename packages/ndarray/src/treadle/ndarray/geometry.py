"""Where the windows of convolution and pooling lie: kernel, stride, padding, dilation, and the lengths that follow.

All functions work on the trailing ("spatial") axes and take one int for all of them or one for each. Padded axes,
sliding windows and the adding back of windows ("fold", col2im) are shared by both families.
"""

import operator
from collections.abc import Sequence
from typing import Literal, NamedTuple, SupportsIndex

from treadle.ndarray._array import NDArray
from treadle.ndarray._windows import windows
from treadle.ndarray.creation import empty, zeros
from treadle.ndarray.errors import ShapeError

__all__ = ["Geometry", "Ints", "Padding", "fold", "padded", "per_axis", "unfold"]

Ints = SupportsIndex | Sequence[SupportsIndex]
Padding = Literal["same", "valid"] | SupportsIndex | Sequence[SupportsIndex | Sequence[SupportsIndex]]
Pairs = tuple[tuple[int, int], ...]


def per_axis(value: Ints, count: int, name: str, op: str, least: int = 1) -> tuple[int, ...]:
    """An int for each of ``count`` axes. Raises ShapeError for another number of them, or one below ``least``."""
    try:
        numbers = (operator.index(value),) * count  # type: ignore[arg-type]
    except TypeError:
        try:
            numbers = tuple(operator.index(each) for each in value)  # type: ignore[union-attr]
        except TypeError:
            raise ShapeError(f"{op}: {name} is an int or one int for each spatial axis, not {value!r}") from None
    if len(numbers) != count or any(each < least for each in numbers):
        raise ShapeError(f"{op}: {name} {value!r}: {count} ints are needed, each at least {least}")
    return numbers


class Geometry(NamedTuple):
    """How windows lie over the spatial axes of an input."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]

    @property
    def spans(self) -> tuple[int, ...]:
        """From the first to the last tap of a window, both counted."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.kernel, self.dilation, strict=True))

    def places(self, lengths: Sequence[int], op: str) -> tuple[int, ...]:
        """How many windows there are along each axis of an input of these lengths."""
        found = []
        for length, span, stride, (before, after) in zip(lengths, self.spans, self.stride, self.padding, strict=True):
            if length + before + after < span:
                raise ShapeError(
                    f"{op}: a kernel {self.kernel} with dilation {self.dilation} spans {self.spans}, more than the "
                    f"input {tuple(lengths)} with padding {self.padding}"
                )
            found.append((length + before + after - span) // stride + 1)
        return tuple(found)


def pairs(
    padding: Padding, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], op: str
) -> Pairs:
    """Padding before and after, for each axis. ``"same"`` puts the odd cell behind and needs a stride of 1."""
    count = len(kernel)
    if isinstance(padding, str):
        if padding == "valid":
            return ((0, 0),) * count
        if padding != "same":
            raise ShapeError(f"{op}: padding {padding!r}: it is 'same', 'valid', ints or pairs of ints")
        if any(each != 1 for each in stride):
            raise ShapeError(f"{op}: padding 'same' needs a stride of 1, not {stride}")
        totals = [(size - 1) * step for size, step in zip(kernel, dilation, strict=True)]
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, Sequence) and any(isinstance(each, Sequence) for each in padding):
        if len(padding) != count or any(not isinstance(each, Sequence) or len(each) != 2 for each in padding):
            raise ShapeError(f"{op}: padding {padding!r}: one pair for each of the {count} spatial axes")
        found = [per_axis(each, 2, "padding", op, 0) for each in padding]  # type: ignore[arg-type]
        return tuple((before, after) for before, after in found)
    return tuple((each, each) for each in per_axis(padding, count, "padding", op, 0))  # type: ignore[arg-type]


def padded(x: NDArray, padding: Pairs, value: bool | int | float = 0) -> NDArray:
    """x with ``value`` around its trailing axes; x itself where there is no padding."""
    if not any(before or after for before, after in padding):
        return x
    lead = x.ndim - len(padding)
    lengths = [length + before + after for length, (before, after) in zip(x.shape[lead:], padding, strict=True)]
    out = empty((*x.shape[:lead], *lengths), dtype=x.dtype, device=x.device)
    out[...] = value
    out[inner(x.shape[lead:], padding)] = x
    return out


def inner(lengths: Sequence[int], padding: Pairs) -> tuple[object, ...]:
    """The key of what lies within the padding."""
    return (..., *(slice(before, before + length) for length, (before, _) in zip(lengths, padding, strict=True)))


def unfold(x: NDArray, geometry: Geometry, value: bool | int | float = 0) -> NDArray:
    """(..., *lengths) -> (..., *places, *kernel): a view of the padded x."""
    return windows(padded(x, geometry.padding, value), geometry.kernel, geometry.stride, geometry.dilation)


def fold(parts: NDArray, lengths: Sequence[int], geometry: Geometry) -> NDArray:
    """The transpose of :func:`unfold`: (*kernel, ..., *places) -> (..., *lengths), elements added where their taps lie.

    One strided addition for each tap, so that every device can do it and the order of summation is fixed.
    """
    if parts.itemsize == 2 and parts.dtype.kind == "f":  # halves: added in float32, rounded once
        return fold(parts.astype("float32"), lengths, geometry).astype(parts.dtype)
    count = len(geometry.kernel)
    whole = [length + before + after for length, (before, after) in zip(lengths, geometry.padding, strict=True)]
    places = parts.shape[parts.ndim - count :]
    out = zeros((*parts.shape[count : parts.ndim - count], *whole), dtype=parts.dtype, device=parts.device)
    for tap in _taps(geometry.kernel):
        target = out[(..., *(
            slice(at * step, at * step + (number - 1) * stride + 1 if number else 0, stride)
            for at, step, stride, number in zip(tap, geometry.dilation, geometry.stride, places, strict=True)
        ))]  # fmt: skip
        target += parts[tap]
    return out[inner(lengths, geometry.padding)]


def _taps(kernel: tuple[int, ...]) -> list[tuple[int, ...]]:
    taps: list[tuple[int, ...]] = [()]
    for size in kernel:
        taps = [(*tap, at) for tap in taps for at in range(size)]
    return taps
