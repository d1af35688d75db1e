"""Pooling over 1, 2 and 3 axes, with windows of a fixed size or as many as are wanted.

Inputs are ``(batch, channels, *lengths)``, or without batch; each setting is one int or one for each axis.
"""

from collections.abc import Sequence

from treadle.autograd import Tensor
from treadle.nn.functional import _fractional, _pooling
from treadle.nn.functional._fractional import Floats
from treadle.nn.functional._pooling import Pooled
from treadle.nn.functional._spatial import Ints

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "fractional_max_pool2d", "fractional_max_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "max_unpool3d",
]  # fmt: skip


def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest element of every window; its gradient goes to the first of equal ones. Padding is never chosen.

    ``stride`` is ``kernel_size`` by default. ``ceil_mode`` adds a last window that reaches beyond the end. With
    ``return_indices`` the numbers of the chosen elements, counted in each channel, come too.

    >>> max_pool1d(Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[3.0, 5.0]]]
    """
    return _pooling.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 1)


def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """:func:`max_pool1d` over 2 axes.

    >>> max_pool2d(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]), (1, 2)).tolist()
    [[[[3.0, 5.0]]]]
    """
    return _pooling.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 2)


def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """:func:`max_pool1d` over 3 axes.

    >>> max_pool3d(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]), (1, 1, 2)).tolist()
    [[[[[3.0, 5.0]]]]]
    """
    return _pooling.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 3)


def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window.

    ``stride`` is ``kernel_size`` by default. Cells of the padding count as zeros with ``count_include_pad``, else not;
    what a last window of ``ceil_mode`` has beyond the padding never counts.

    >>> avg_pool1d(Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[2.0, 3.5]]]
    """
    return _pooling.avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """:func:`avg_pool1d` over 2 axes; ``divisor_override`` is divided by instead of a window's number of cells.

    >>> avg_pool2d(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]), (1, 2)).tolist()
    [[[[2.0, 3.5]]]]
    """
    return _pooling.avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """:func:`avg_pool1d` over 3 axes; ``divisor_override`` is divided by instead of a window's number of cells.

    >>> avg_pool3d(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]), (1, 1, 2)).tolist()
    [[[[[2.0, 3.5]]]]]
    """
    return _pooling.avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """The means of ``output_size`` windows, which are as even as the lengths allow.

    >>> adaptive_avg_pool1d(Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[2.0, 3.5]]]
    """
    return _pooling.adaptive_avg_pool(input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: Ints | Sequence[int | None]) -> Tensor:
    """:func:`adaptive_avg_pool1d` over 2 axes; None for a size keeps the length.

    >>> adaptive_avg_pool2d(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]), (1, 2)).tolist()
    [[[[2.0, 3.5]]]]
    """
    return _pooling.adaptive_avg_pool(input, output_size, 2)


def adaptive_avg_pool3d(input: Tensor, output_size: Ints | Sequence[int | None]) -> Tensor:
    """:func:`adaptive_avg_pool1d` over 3 axes; None for a size keeps the length.

    >>> adaptive_avg_pool3d(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]), (1, 1, 2)).tolist()
    [[[[[2.0, 3.5]]]]]
    """
    return _pooling.adaptive_avg_pool(input, output_size, 3)


def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Pooled:
    """The largest elements of ``output_size`` windows, which are as even as the lengths allow; with
    ``return_indices`` their numbers too.

    >>> adaptive_max_pool1d(Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2).tolist()
    [[[3.0, 5.0]]]
    """
    return _pooling.adaptive_max_pool(input, output_size, return_indices, 1)


def adaptive_max_pool2d(
    input: Tensor, output_size: Ints | Sequence[int | None], return_indices: bool = False
) -> Pooled:
    """:func:`adaptive_max_pool1d` over 2 axes; None for a size keeps the length.

    >>> adaptive_max_pool2d(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]), (1, 2)).tolist()
    [[[[3.0, 5.0]]]]
    """
    return _pooling.adaptive_max_pool(input, output_size, return_indices, 2)


def adaptive_max_pool3d(
    input: Tensor, output_size: Ints | Sequence[int | None], return_indices: bool = False
) -> Pooled:
    """:func:`adaptive_max_pool1d` over 3 axes; None for a size keeps the length.

    >>> adaptive_max_pool3d(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]), (1, 1, 2)).tolist()
    [[[[[3.0, 5.0]]]]]
    """
    return _pooling.adaptive_max_pool(input, output_size, return_indices, 3)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Elements put back where :func:`max_pool1d` took them from, and zeros elsewhere.

    ``output_size`` says which of the lengths that give this result is meant; the last one counts.

    >>> values, indices = max_pool1d(Tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2, return_indices=True)
    >>> max_unpool1d(values, indices, 2).tolist()
    [[[0.0, 3.0, 0.0, 5.0]]]
    """
    return _pooling.max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """:func:`max_unpool1d` over 2 axes.

    >>> values, indices = max_pool2d(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]), (1, 2), return_indices=True)
    >>> max_unpool2d(values, indices, (1, 2)).tolist()
    [[[[0.0, 3.0, 0.0, 5.0]]]]
    """
    return _pooling.max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """:func:`max_unpool1d` over 3 axes.

    >>> values, indices = max_pool3d(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]), (1, 1, 2), return_indices=True)
    >>> max_unpool3d(values, indices, (1, 1, 2)).tolist()
    [[[[[0.0, 3.0, 0.0, 5.0]]]]]
    """
    return _pooling.max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The ``norm_type`` norm of every window, (sum of x ** p) ** (1 / p), which is NaN for a sum below 0.

    >>> lp_pool1d(Tensor([[[3.0, 4.0, 0.0, 2.0]]]), 2.0, 2).tolist()
    [[[5.0, 2.0]]]
    """
    return _pooling.lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """:func:`lp_pool1d` over 2 axes.

    >>> lp_pool2d(Tensor([[[[3.0, 4.0]]]]), 2.0, (1, 2)).tolist()
    [[[[5.0]]]]
    """
    return _pooling.lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """:func:`lp_pool1d` over 3 axes.

    >>> lp_pool3d(Tensor([[[[[3.0, 4.0]]]]]), 2.0, (1, 1, 2)).tolist()
    [[[[[5.0]]]]]
    """
    return _pooling.lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Floats | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """The largest elements of ``output_size`` windows, or of ``output_ratio`` times the lengths, at drawn places.

    Each channel draws where its windows begin: they are about evenly spread, may overlap, and the last ends with the
    axis. B. Graham 2014, "Fractional max-pooling", pseudorandom and overlapping.

    >>> fractional_max_pool2d(Tensor([[[[1.0, 3.0, 2.0]]]]), (1, 2), (1, 2)).tolist()
    [[[[3.0, 3.0]]]]
    """
    return _fractional.fractional_max_pool(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Floats | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """:func:`fractional_max_pool2d` over 3 axes.

    >>> fractional_max_pool3d(Tensor([[[[[1.0, 3.0, 2.0]]]]]), (1, 1, 2), (1, 1, 2)).tolist()
    [[[[[3.0, 3.0]]]]]
    """
    return _fractional.fractional_max_pool(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3
    )
