"""Pooling over any number of axes, with windows of a fixed size or as many as are wanted."""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd._watching import computed
from treadle.ndarray.ranges import check_none
from treadle.nn.functional._fused import is_host
from treadle.nn.functional._spatial import Ints, batched, tuple_of
from treadle.nn.functional.resampling import averaging_matrix, check_sizes, resample

__all__ = [
    "Pooled",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "lp_pool",
    "max_pool",
    "max_unpool",
]

Pooled = Tensor | tuple[Tensor, Tensor]


def _at(input: Tensor, indices: Tensor) -> Tensor:
    """The elements of each channel that ``indices`` number, in their shape."""
    batch, channels = input.shape[:2]
    flat = autograd.reshape(input, (batch, channels, math.prod(input.shape[2:])))
    places = autograd.reshape(indices, (batch, channels, math.prod(indices.shape[2:])))
    return autograd.reshape(autograd.take_along_axis(flat, places, axis=2), indices.shape)


def max_pool(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    return_indices: bool,
    count: int,
) -> Pooled:
    """The largest elements over ``count`` axes."""
    name = f"max_pool{count}d"
    kernel = tuple_of(kernel_size, count, f"{name}: kernel_size")
    step = tuple_of(kernel if stride is None else stride, count, f"{name}: stride")
    around = tuple_of(padding, count, f"{name}: padding")
    spread = tuple_of(dilation, count, f"{name}: dilation")

    def call(x: Tensor) -> Pooled:
        if not return_indices:
            return autograd.max_pool(x, kernel, stride=step, padding=around, dilation=spread, ceil_mode=ceil_mode)

        def places(xp: Any, x: Any) -> Any:
            return xp.max_pool(x, kernel, stride=step, padding=around, dilation=spread, ceil_mode=ceil_mode)[1]

        chosen = computed(Tensor(places(nd, x.data)), places, x)
        values = _at(x, chosen)
        if any(around) and x.size and not (is_host(x.device) and bool(nd.all(chosen.data >= 0))):
            # a window over padding alone
            values = autograd.where(autograd.less(chosen, 0), -math.inf, values)
        return values, chosen

    result: Pooled = batched(input, count, name, call)
    return result


def avg_pool(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    count: int,
) -> Tensor:
    """The means over windows of ``count`` axes."""
    name = f"avg_pool{count}d"
    kernel = tuple_of(kernel_size, count, f"{name}: kernel_size")
    step = tuple_of(kernel if stride is None else stride, count, f"{name}: stride")
    around = tuple_of(padding, count, f"{name}: padding")

    def call(x: Tensor) -> Tensor:
        return autograd.avg_pool(
            x, kernel, stride=step, padding=around, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )  # fmt: skip

    result: Tensor = batched(input, count, name, call)
    return result


def lp_pool(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None, ceil_mode: bool, count: int
) -> Tensor:
    """The ``norm_type`` norms of windows over ``count`` axes."""
    kernel = tuple_of(kernel_size, count, f"lp_pool{count}d: kernel_size")
    if norm_type == 0.0:
        raise ValueError(f"lp_pool{count}d: norm_type must not be 0")
    means = avg_pool(input**norm_type, kernel, stride, 0, ceil_mode, True, None, count)
    sums = means * float(math.prod(kernel))
    blank = sums.detach() == 0.0  # where the root has no finite slope; 0 is taken
    return autograd.where(blank, 0.0, autograd.where(blank, 1.0, sums) ** (1.0 / norm_type))


def _wanted(output_size: Ints | Sequence[int | None] | None, lengths: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The output's lengths; None keeps the input's."""
    count = len(lengths)
    given = tuple(output_size) if isinstance(output_size, Iterable) else (output_size,) * count
    if len(given) != count:
        raise nd.ShapeError(f"{name}: output_size must be an int or {count} of them, not {output_size!r}")
    sizes = tuple(length if size is None else operator.index(size) for size, length in zip(given, lengths, strict=True))
    if any(size < 0 or (size and not length) for size, length in zip(sizes, lengths, strict=True)):
        raise nd.ShapeError(f"{name}: output_size {output_size!r} cannot be made of lengths {lengths}")
    return check_sizes(name, sizes)


def adaptive_avg_pool(input: Tensor, output_size: Ints | Sequence[int | None], count: int) -> Tensor:
    """The means over as many windows as are wanted, which overlap where the lengths are no multiples."""
    name = f"adaptive_avg_pool{count}d"

    def call(x: Tensor) -> Tensor:
        lengths = x.shape[2:]
        sizes = _wanted(output_size, lengths, name)
        if all(size and length and length % size == 0 for size, length in zip(sizes, lengths, strict=True)):
            kernel = tuple(length // size for size, length in zip(sizes, lengths, strict=True))
            return autograd.avg_pool(x, kernel)
        return resample(x, [averaging_matrix(a, b) if a != b else None for a, b in zip(lengths, sizes, strict=True)])

    result: Tensor = batched(input, count, name, call)
    return result


def _window_indices(length: int, size: int) -> list[list[int]]:
    """The positions in each of ``size`` windows over ``length``, the last repeated until all are equally many."""
    windows = [list(range(at * length // size, -(-(at + 1) * length // size))) for at in range(size)]
    most = max(map(len, windows), default=0)
    return [window + window[-1:] * (most - len(window)) for window in windows]


def adaptive_max_pool(
    input: Tensor, output_size: Ints | Sequence[int | None], return_indices: bool, count: int
) -> Pooled:
    """The largest elements of as many windows as are wanted."""
    name = f"adaptive_max_pool{count}d"

    def call(x: Tensor) -> Pooled:
        batch, channels, *lengths = x.shape
        sizes = _wanted(output_size, tuple(lengths), name)
        if 0 in sizes:
            nothing = autograd.reshape(autograd.reshape(x, (batch, channels, -1))[:, :, :0], (batch, channels, *sizes))
            return (nothing, Tensor(nd.zeros(nothing.shape, dtype="int64"))) if return_indices else nothing
        places = nd.zeros((1,) * (2 * count), dtype="int64", device=x.device)
        for axis, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
            window = nd.asarray(_window_indices(length, size), dtype="int64", device=x.device)
            shape = [1] * (2 * count)
            shape[axis], shape[count + axis] = window.shape
            places = places * length + window.reshape(shape)
        cells = nd.broadcast_to(places, places.shape).reshape(math.prod(sizes), -1)
        values = autograd.take(
            autograd.reshape(x.detach(), (batch, channels, math.prod(lengths))), Tensor(cells), axis=2
        )
        best = autograd.argmax(values, axis=-1, keepdims=True)
        spread = Tensor(nd.broadcast_to(cells, values.shape))
        indices = autograd.reshape(autograd.take_along_axis(spread, best, axis=-1), (batch, channels, *sizes))
        return (_at(x, indices), indices) if return_indices else _at(x, indices)

    result: Pooled = batched(input, count, name, call)
    return result


def _last_uses(indices: Tensor) -> Tensor:
    """Where an index is used for the last time in its channel: one element counts where windows chose the same."""
    batch, channels, *places = indices.shape
    flat = autograd.reshape(indices, (batch, channels, math.prod(places)))
    order = autograd.argsort(flat, axis=2)
    ordered = autograd.take_along_axis(flat, order, axis=2)
    changes = autograd.not_equal(ordered[:, :, 1:], ordered[:, :, :-1])
    ends = autograd.concat([changes, autograd.equal(ordered[:, :, :1], ordered[:, :, :1])], axis=2)
    return autograd.reshape(autograd.take_along_axis(ends, autograd.argsort(order, axis=2), axis=2), indices.shape)


def max_unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    output_size: Sequence[int] | None,
    count: int,
) -> Tensor:
    """Elements put back where :func:`max_pool` took them from, and zeros elsewhere."""
    name = f"max_unpool{count}d"
    kernel = tuple_of(kernel_size, count, f"{name}: kernel_size")
    step = tuple_of(kernel if stride is None else stride, count, f"{name}: stride")
    around = tuple_of(padding, count, f"{name}: padding")
    if input.shape != indices.shape or input.ndim not in (count + 1, count + 2):
        raise nd.ShapeError(f"{name}: values {input.shape} and indices {indices.shape} must have one shape")
    places = input.shape[input.ndim - count :]
    lengths = tuple(
        (place - 1) * a - 2 * b + size for place, a, b, size in zip(places, step, around, kernel, strict=True)
    )
    if output_size is not None:
        lengths = tuple(output_size)[-count:]
    found = indices.data
    wrong = nd.ShapeError(f"{name}: an index lies outside of {lengths}; pass the pooled input's output_size")
    check_none((found < 0) | (found >= math.prod(lengths)), wrong)
    numbers = indices if indices.ndim == count + 2 else autograd.expand_dims(indices, axis=0)

    def call(x: Tensor) -> Tensor:
        kept = autograd.where(_last_uses(numbers), x, 0.0)
        return autograd.max_pool_gradient(kept, numbers, (*x.shape[:2], *lengths))

    result: Tensor = batched(input, count, name, call)
    return result
