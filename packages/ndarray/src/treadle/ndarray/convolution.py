"""Convolution over 1 to 3 (or more) axes, and its two gradients, composed from windows, matmul and folding.

Layouts are channels first: x (batch, channels, *lengths), weight (outputs, channels / groups, *kernel), result (batch,
outputs, *places). As everywhere in deep learning this is cross-correlation: the kernel is not flipped. An input is laid
out as one column a place ("im2col") through a strided view, so that one matrix product does the work. On the cpu
floating arrays take the kernel of fused_convolution.py instead.

Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016).
"""

import math
from collections.abc import Sequence
from typing import Any

from treadle.ndarray import fused_convolution
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import result_dtype
from treadle.ndarray.creation import empty, zeros
from treadle.ndarray.errors import DeviceError, DTypeError, ShapeError
from treadle.ndarray.geometry import Geometry, Ints, Padding, fold, pairs, per_axis, unfold
from treadle.ndarray.products import matmul

__all__ = ["conv", "conv_input_gradient", "conv_weight_gradient"]


def conv(
    x: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> NDArray:
    """out[n, o, p] = bias[o] + the sum over c and k of x[n, c, p * stride - padding + k * dilation] * weight[o, c, k].

    x is (batch, channels, *lengths), weight (outputs, channels / groups, *kernel), bias (outputs,); the result is
    (batch, outputs, *places). ``stride``, ``dilation`` and ``padding`` are one int or one for each spatial axis;
    ``padding`` also one pair (before, after) for each, "valid" (none) or "same" (as many places as the input is long;
    stride 1).
    With ``groups`` the channels and outputs are cut into as many parts that do not see each other.

    Raises ShapeError, DTypeError (bool), DeviceError.

    >>> import treadle.ndarray as nd
    >>> x = nd.asarray([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
    >>> nd.conv(x, nd.asarray([[[1.0, 10.0]]]), stride=2, padding=1, dilation=2).tolist()
    [[[20.0, 42.0, 4.0]]]
    """
    x, weight = _promoted("conv", x, weight)
    geometry = _geometry("conv", weight.shape, stride, padding, dilation)
    _check("conv", x.shape, weight.shape, groups)
    places = geometry.places(x.shape[2:], "conv")
    outputs = weight.shape[0]
    if bias is not None and bias.shape != (outputs,):
        raise ShapeError(f"conv: a bias of shape {bias.shape} for {outputs} outputs")
    if fused_convolution.serves(x, weight.shape):
        if bias is not None and fused_convolution.takes(bias, x):
            return fused_convolution.convolve(x, weight, geometry, places, groups, bias=bias)
        out = fused_convolution.convolve(x, weight, geometry, places, groups)
    else:
        shape = (x.shape[0], outputs, *places)
        found = _by_backend("conv", x, shape, x, weight, geometry, groups)
        out = _composed(x, weight, geometry, places, groups) if found is None else found
    return out if bias is None else out + bias.reshape(outputs, *(1,) * len(places))


def _composed(x: NDArray, weight: NDArray, geometry: Geometry, places: tuple[int, ...], groups: int) -> NDArray:
    """Any device and dtype: the columns are laid out in memory."""
    batch, outputs = x.shape[0], weight.shape[0]
    rows = weight.reshape(groups, outputs // groups, math.prod(weight.shape[1:]))
    products = empty((batch, groups, outputs // groups, math.prod(places)), dtype=x.dtype, device=x.device)
    for part in _parts(batch, x.shape[1] * math.prod(geometry.kernel) * math.prod(places) * x.itemsize):
        columns = _columns(x[part], geometry, groups)
        matmul(rows.view_broadcast((columns.shape[0], *rows.shape)), columns, out=products[part])
    return products.reshape(batch, outputs, *places)


def conv_input_gradient(
    gradient: NDArray,
    weight: NDArray,
    input_shape: Sequence[int],
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> NDArray:
    """The gradient of :func:`conv` with respect to x, of shape ``input_shape``, from that of its result.

    The other arguments are those of the forward call. It is also the transposed convolution of ``gradient``.

    >>> import treadle.ndarray as nd
    >>> w = nd.asarray([[[1.0, 10.0]]])
    >>> nd.conv_input_gradient(nd.ones((1, 1, 3)), w, (1, 1, 5), stride=2, padding=1, dilation=2).tolist()
    [[[0.0, 11.0, 0.0, 11.0, 0.0]]]
    """
    op = "conv_input_gradient"
    gradient, weight = _promoted(op, gradient, weight)
    if weight.itemsize == 2 and weight.dtype.kind == "f":  # halves: in float32, rounded once
        wide = gradient.astype("float32"), weight.astype("float32")
        return conv_input_gradient(
            *wide, input_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
        ).astype(weight.dtype)
    geometry = _geometry(op, weight.shape, stride, padding, dilation)
    shape = tuple(input_shape)
    places = _check_gradient(op, gradient.shape, shape, weight.shape, groups, geometry)
    if fused_convolution.serves(gradient, weight.shape) and 0 not in shape:
        return fused_convolution.differentiate_input(gradient, weight, shape, geometry, groups)
    found = _by_backend(op, gradient, shape, gradient, weight, geometry, groups)
    return _composed_input_gradient(gradient, weight, shape, geometry, places, groups) if found is None else found


def _composed_input_gradient(
    gradient: NDArray,
    weight: NDArray,
    shape: tuple[int, ...],
    geometry: Geometry,
    places: tuple[int, ...],
    groups: int,
) -> NDArray:
    batch, outputs, kernel = shape[0], weight.shape[0], geometry.kernel
    rows = weight.reshape(groups, outputs // groups, math.prod(weight.shape[1:])).mT
    upstream = gradient.reshape(batch, groups, outputs // groups, math.prod(places))
    taps_first = (*range(2, 2 + len(kernel)), 0, 1, *range(2 + len(kernel), 2 + 2 * len(kernel)))
    out = empty(shape, dtype=gradient.dtype, device=gradient.device)
    for part in _parts(batch, shape[1] * math.prod(kernel) * math.prod(places) * gradient.itemsize):
        columns = matmul(rows, upstream[part])
        columns = columns.reshape(columns.shape[0], shape[1], *kernel, *places)
        out[part] = fold(columns.transpose(*taps_first), shape[2:], geometry)
    return out


def conv_weight_gradient(
    gradient: NDArray,
    x: NDArray,
    weight_shape: Sequence[int],
    /,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> NDArray:
    """The gradient of :func:`conv` with respect to its weight, of shape ``weight_shape``, from that of its result.

    The other arguments are those of the forward call. That of the bias is the sum of ``gradient`` over all axes but 1.

    >>> import treadle.ndarray as nd
    >>> x = nd.asarray([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
    >>> nd.conv_weight_gradient(nd.ones((1, 1, 3)), x, (1, 1, 2), stride=2, padding=1, dilation=2).tolist()
    [[[6.0, 6.0]]]
    """
    op = "conv_weight_gradient"
    gradient, x = _promoted(op, gradient, x)
    if x.itemsize == 2 and x.dtype.kind == "f":  # halves: in float32, rounded once
        wide = gradient.astype("float32"), x.astype("float32")
        return conv_weight_gradient(
            *wide, weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups
        ).astype(x.dtype)
    shape = tuple(weight_shape)
    geometry = _geometry(op, shape, stride, padding, dilation)
    places = _check_gradient(op, gradient.shape, x.shape, shape, groups, geometry)
    if fused_convolution.serves(x, shape):
        return fused_convolution.differentiate_weight(gradient, x, shape, geometry, places, groups)
    found = _by_backend(op, x, shape, gradient, x, geometry, groups)
    return _composed_weight_gradient(gradient, x, shape, geometry, places, groups) if found is None else found


def _by_backend(op: str, like: NDArray, shape: tuple[int, ...], *arguments: Any) -> NDArray | None:
    """What the optional method of the device's backend gives; None where there is none."""
    method = getattr(like.device.backend, op, None)
    if method is None:
        return None
    out = empty(shape, dtype=like.dtype, device=like.device)
    method(*arguments, out)
    return out


def _composed_weight_gradient(
    gradient: NDArray,
    x: NDArray,
    shape: tuple[int, ...],
    geometry: Geometry,
    places: tuple[int, ...],
    groups: int,
) -> NDArray:
    outputs, rows, taps = shape[0], shape[0] // groups, math.prod(shape[1:])
    out = zeros((groups, rows, taps), dtype=x.dtype, device=x.device)
    for part in _parts(x.shape[0], x.shape[1] * math.prod(geometry.kernel) * math.prod(places) * x.itemsize):
        upstream = gradient[part]
        upstream = upstream.reshape(upstream.shape[0], groups, rows, math.prod(places)).transpose(1, 2, 0, 3)
        columns = _columns_together(x[part], geometry, groups)
        out += matmul(upstream.reshape(groups, rows, columns.shape[2]), columns.mT)
    return out.reshape(outputs, *shape[1:])


def _columns_together(x: NDArray, geometry: Geometry, groups: int) -> NDArray:
    """(groups, channels / groups * taps, batch * places): the columns of the whole batch side by side."""
    count = len(geometry.kernel)
    parts = unfold(x, geometry)
    places = parts.shape[2 : 2 + count]
    channels = x.shape[1] // groups
    parts = parts.reshape(x.shape[0], groups, channels, *places, *geometry.kernel)
    parts = parts.transpose(1, 2, *range(3 + count, 3 + 2 * count), 0, *range(3, 3 + count))
    return parts.reshape(groups, channels * math.prod(geometry.kernel), x.shape[0] * math.prod(places))


_MOST_COLUMNS = 1 << 25
"""Bytes of columns that are laid out at once."""


def _parts(batch: int, nbytes: int) -> list[slice]:
    """The batch in parts whose columns, ``nbytes`` for each element, stay within the limit."""
    step = max(1, _MOST_COLUMNS // max(1, nbytes))
    return [slice(start, min(start + step, batch)) for start in range(0, batch, step)]


def _columns(x: NDArray, geometry: Geometry, groups: int) -> NDArray:
    """(batch, groups, channels / groups * taps, places): what each place sees, one below the other."""
    count = len(geometry.kernel)
    parts = unfold(x, geometry)
    places = parts.shape[2 : 2 + count]
    parts = parts.transpose(0, 1, *range(2 + count, 2 + 2 * count), *range(2, 2 + count))
    taps = x.shape[1] // groups * math.prod(geometry.kernel)
    return parts.reshape(x.shape[0], groups, taps, math.prod(places))


def _promoted(op: str, x: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    if x.device is not y.device:
        raise DeviceError(f"{op}: operands on {x.device} and {y.device}; move one with to_device")
    dtype = result_dtype(x.dtype, y.dtype)
    if dtype.kind == "b":
        raise DTypeError(f"{op}: not defined on bool; convert with astype")
    return x.astype(dtype, copy=False), y.astype(dtype, copy=False)


def _geometry(op: str, weight_shape: Sequence[int], stride: Ints, padding: Padding, dilation: Ints) -> Geometry:
    kernel = tuple(weight_shape[2:])
    count = len(kernel)
    if count < 1 or any(each < 1 for each in kernel):
        raise ShapeError(f"{op}: a weight of shape {tuple(weight_shape)}; it is (outputs, channels / groups, *kernel)")
    steps, spread = per_axis(stride, count, "stride", op), per_axis(dilation, count, "dilation", op)
    return Geometry(kernel, steps, pairs(padding, kernel, steps, spread, op), spread)


def _check(op: str, x_shape: Sequence[int], weight_shape: Sequence[int], groups: int) -> None:
    x_shape, weight_shape = tuple(x_shape), tuple(weight_shape)
    if len(x_shape) != len(weight_shape):
        raise ShapeError(f"{op}: an input of shape {x_shape} and a weight of shape {weight_shape} differ in dimensions")
    if groups < 1 or weight_shape[0] % groups or x_shape[1] != weight_shape[1] * groups:
        raise ShapeError(
            f"{op}: an input of shape {x_shape} does not fit a weight of shape {weight_shape} in {groups} groups"
        )


def _check_gradient(
    op: str,
    gradient_shape: Sequence[int],
    x_shape: Sequence[int],
    weight_shape: Sequence[int],
    groups: int,
    geometry: Geometry,
) -> tuple[int, ...]:
    """How many windows there are along each axis, which the gradient must agree with."""
    _check(op, x_shape, weight_shape, groups)
    places = geometry.places(x_shape[2:], op)
    if tuple(gradient_shape) != (x_shape[0], weight_shape[0], *places):
        raise ShapeError(
            f"{op}: a gradient of shape {tuple(gradient_shape)}; the convolution of {tuple(x_shape)} with "
            f"{tuple(weight_shape)} has shape {(x_shape[0], weight_shape[0], *places)}"
        )
    return places
