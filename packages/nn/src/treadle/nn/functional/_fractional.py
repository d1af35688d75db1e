"""Pooling by windows of one size whose places are drawn, so that the reduction need not be a whole number."""

import math
from collections.abc import Iterable, Sequence

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._pooling import Pooled, _at
from treadle.nn.functional._spatial import Ints, batched, tuple_of

__all__ = ["fractional_max_pool"]

Floats = float | Sequence[float]


def fractional_max_pool(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None,
    output_ratio: Floats | None,
    return_indices: bool,
    samples: Tensor | None,
    count: int,
) -> Pooled:
    """The largest elements of windows that are drawn for each channel."""
    name = f"fractional_max_pool{count}d"
    kernel = tuple_of(kernel_size, count, f"{name}: kernel_size")

    def call(x: Tensor) -> Pooled:
        batch, channels, *lengths = x.shape
        sizes = _sizes(name, lengths, kernel, output_size, output_ratio)
        drawn = _drawn(name, samples, (batch, channels, count), x)
        places = nd.zeros((batch, channels, *(1,) * (2 * count)), dtype="int64", device=x.device)
        for axis, (length, size, reach) in enumerate(zip(lengths, sizes, kernel, strict=True)):
            number = 1 - axis if count == 2 else axis  # PyTorch's order: width and height, but depth, height, width
            begins = _begins(drawn[:, :, number], length, size, reach)
            shape = [batch, channels, *(1,) * (2 * count)]
            shape[2 + axis], shape[2 + count + axis] = size, reach
            window = nd.expand_dims(begins, axis=3) + nd.arange(reach, device=x.device)
            places = places * length + window.reshape(shape)
        cells = places.reshape(batch, channels, math.prod(sizes), math.prod(kernel))
        flat = nd.reshape(x.data, (batch, channels, math.prod(lengths)))
        index = cells.reshape(batch, channels, math.prod(sizes) * math.prod(kernel))
        values = nd.take_along_axis(flat, index, axis=2).reshape(cells.shape)
        best = nd.argmax(values, axis=-1, keepdims=True)
        indices = Tensor(nd.take_along_axis(cells, best, axis=-1).reshape(batch, channels, *sizes))
        return (_at(x, indices), indices) if return_indices else _at(x, indices)

    result: Pooled = batched(input, count, name, call)
    return result


def _sizes(
    name: str, lengths: Sequence[int], kernel: tuple[int, ...], size: Ints | None, ratio: Floats | None
) -> tuple[int, ...]:
    count = len(lengths)
    if (size is None) == (ratio is None):
        raise ValueError(f"{name}: give either output_size or output_ratio")
    if size is not None:
        sizes = tuple_of(size, count, f"{name}: output_size")
    else:
        ratios = tuple(map(float, ratio if isinstance(ratio, Iterable) else (ratio or 0.0,) * count))
        if len(ratios) != count or not all(0.0 < each < 1.0 for each in ratios):
            raise ValueError(f"{name}: output_ratio must be a number between 0 and 1, or {count}, not {ratio!r}")
        sizes = tuple(int(length * each) for length, each in zip(lengths, ratios, strict=True))
    for length, each, reach in zip(lengths, sizes, kernel, strict=True):
        if each < 1 or reach < 1 or each + reach - 1 > length:
            raise nd.ShapeError(f"{name}: {sizes} windows of {kernel} do not fit into {tuple(lengths)}")
    return sizes


def _drawn(name: str, samples: Tensor | None, shape: tuple[int, ...], x: Tensor) -> nd.NDArray:
    if samples is None:
        return nd.random.uniform(0.0, 1.0, shape, dtype=nd.float64, device=x.device)
    if samples.shape != shape:
        raise nd.ShapeError(f"{name}: samples of shape {samples.shape}; they are {shape}")
    return samples.data


def _begins(sample: nd.NDArray, length: int, size: int, reach: int) -> nd.NDArray:
    """Where the windows of each channel begin, ``(batch, channels, size)``; the last one ends with the axis."""
    last = nd.full((*sample.shape, 1), length - reach, dtype="int64", device=sample.device)
    if size == 1:
        return last
    step = (length - reach) / (size - 1)
    each = nd.expand_dims(sample, axis=2)
    at = nd.arange(size - 1, device=sample.device).astype(sample.dtype)
    first = nd.floor((at + each) * step).astype("int64") - nd.floor(each * step).astype("int64")
    return nd.concat([first, last], axis=2)
