"""Convolution and transposed convolution over 1, 2 and 3 axes."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._spatial import Ints, batched, layout, tuple_of

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def check_channels(input: Tensor, channels: int, count: int, name: str) -> None:
    """ShapeError unless ``input`` has ``channels`` in the right place; one with channels last is told what to do.

    >>> check_channels(Tensor([[[1.0]]]), 1, 1, "conv1d")
    """
    if input.ndim not in (count + 1, count + 2):
        return  # its own error tells of the dimensions
    at = input.ndim - count - 1
    found = input.shape[at]
    if found == channels:
        return
    hint = ""
    if input.shape[-1] == channels:
        hint = f"; the channels seem to come last: pass treadle.autograd.moveaxis(input, -1, {at})"
    raise nd.ShapeError(
        f"{name}: expected {channels} channels in dimension {at} of {layout(count)}, got {found} in {input.shape}{hint}"
    )


def convolve(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: str | Ints,
    dilation: Ints,
    groups: int,
    count: int,
    name: str,
) -> Tensor:
    """The convolution over ``count`` axes, whose errors call it ``name``."""
    if weight.ndim != count + 2:
        raise nd.ShapeError(f"{name}: a weight of shape {weight.shape}; it is (outputs, inputs / groups, *kernel)")
    check_channels(input, weight.shape[1] * groups, count, name)
    around = padding if isinstance(padding, str) else tuple_of(padding, count, f"{name}: padding")
    steps, spread = tuple_of(stride, count, f"{name}: stride"), tuple_of(dilation, count, f"{name}: dilation")

    def call(x: Tensor) -> Tensor:
        return autograd.conv(x, weight, bias, stride=steps, padding=around, dilation=spread, groups=groups)  # type: ignore[arg-type]

    result: Tensor = batched(input, count, name, call)
    return result


def convolve_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
    count: int,
    name: str,
) -> Tensor:
    """The transposed convolution over ``count`` axes, whose errors call it ``name``."""
    if weight.ndim != count + 2:
        raise nd.ShapeError(f"{name}: a weight of shape {weight.shape}; it is (inputs, outputs / groups, *kernel)")
    check_channels(input, weight.shape[0], count, name)
    options = {
        key: tuple_of(value, count, f"{name}: {key}")
        for key, value in {
            "stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation,
        }.items()
    }  # fmt: skip

    def call(x: Tensor) -> Tensor:
        return autograd.conv_transpose(x, weight, bias, groups=groups, **options)

    result: Tensor = batched(input, count, name, call)
    return result


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of ``(batch, channels, length)``, or without batch, with ``weight`` ``(outputs, channels /
    groups, kernel)``, plus ``bias`` ``(outputs,)``.

    ``padding`` are zeros on both sides, or "same" (for a stride of 1; an odd one goes behind) or "valid" (none).

    >>> conv1d(Tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), Tensor([[[1.0, 10.0]]]), None, 2, 1, 2).tolist()
    [[[20.0, 42.0, 4.0]]]
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """:func:`conv1d` over ``(batch, channels, height, width)``; each setting is one int or one for each axis.

    >>> conv2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), Tensor([[[[1.0, 10.0]]]])).tolist()
    [[[[21.0], [43.0]]]]
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """:func:`conv1d` over ``(batch, channels, depth, height, width)``; each setting is one int or one for each axis.

    >>> conv3d(Tensor([[[[[1.0, 2.0]]]]]), Tensor([[[[[1.0, 10.0]]]]])).tolist()
    [[[[[21.0]]]]]
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """What :func:`conv1d` with these settings does to gradients: ``(batch, channels, length)``, or without batch, and
    ``weight`` ``(channels, outputs / groups, kernel)`` give a length of (length - 1) * stride - 2 * padding + dilation
    * (kernel - 1) + output_padding + 1.

    >>> conv_transpose1d(Tensor([[[1.0, 2.0]]]), Tensor([[[1.0, 10.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    return convolve_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 1, "conv_transpose1d"
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """:func:`conv_transpose1d` over ``(batch, channels, height, width)``.

    >>> conv_transpose2d(Tensor([[[[1.0, 2.0]]]]), Tensor([[[[1.0], [10.0]]]])).tolist()
    [[[[1.0, 2.0], [10.0, 20.0]]]]
    """
    return convolve_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 2, "conv_transpose2d"
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """:func:`conv_transpose1d` over ``(batch, channels, depth, height, width)``.

    >>> conv_transpose3d(Tensor([[[[[1.0, 2.0]]]]]), Tensor([[[[[3.0]]]]])).tolist()
    [[[[[3.0, 6.0]]]]]
    """
    return convolve_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 3, "conv_transpose3d"
    )
