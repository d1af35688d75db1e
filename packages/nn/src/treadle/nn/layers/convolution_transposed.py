"""Transposed convolution layers over 1, 2 and 3 axes."""

from collections.abc import Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._spatial import Ints, tuple_of
from treadle.nn.functional.convolution import convolve_transpose
from treadle.nn.layers.convolution import ConvolutionBase

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvTranspose(ConvolutionBase):
    """A transposed convolution; the subclasses differ in the number of axes."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if padding_mode != "zeros":
            raise ValueError(f"{name}: padding_mode can only be 'zeros', not {padding_mode!r}")
        self._set((in_channels, out_channels), kernel_size, stride, dilation, groups, bias, device, dtype)
        self.padding = tuple_of(padding, self.count, f"{name}: padding")
        self.output_padding = tuple_of(output_padding, self.count, f"{name}: output_padding")
        self.padding_mode = padding_mode

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The result, of spatial lengths ``output_size`` where the stride leaves a choice; ShapeError if it cannot."""
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return convolve_transpose(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation, self.count,
            type(self).__name__,
        )  # fmt: skip

    def _extra(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The output padding that gives ``output_size``."""
        wanted = tuple(output_size)[-self.count :]
        least = tuple(
            (length - 1) * step - 2 * pad + spread * (size - 1) + 1
            for length, step, pad, spread, size in zip(
                input.shape[-self.count :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        )
        extra = tuple(a - b for a, b in zip(wanted, least, strict=True))
        if any(not 0 <= more < step for more, step in zip(extra, self.stride, strict=True)):
            most = tuple(length + step - 1 for length, step in zip(least, self.stride, strict=True))
            raise nd.ShapeError(
                f"{type(self).__name__}: output_size {wanted} for an input of shape {input.shape}; it lies between "
                f"{least} and {most}"
            )
        return extra

    def extra_repr(self) -> str:
        names = ("padding", "output_padding", "dilation", "groups")
        return self._shown({name: getattr(self, name) for name in names})


class ConvTranspose1d(_ConvTranspose):
    """What :class:`Conv1d` with these settings does to gradients, as a layer: ``(batch, in_channels, length)``, or
    without batch, gives ``(batch, out_channels, length')``.

    length' is (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1. ``weight`` is
    ``(in_channels, out_channels / groups, kernel)``. Zeiler et al. 2010, "Deconvolutional networks".

    >>> import treadle.nn as nn
    >>> nn.ConvTranspose1d(1, 2, 2, stride=2)(Tensor([[[0.0] * 5]])).shape
    (1, 2, 10)
    """

    count = 1


class ConvTranspose2d(_ConvTranspose):
    """:class:`ConvTranspose1d` over ``(batch, in_channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.ConvTranspose2d(1, 2, 2, stride=2)(Tensor([[[[0.0] * 5] * 5]])).shape
    (1, 2, 10, 10)
    """

    count = 2


class ConvTranspose3d(_ConvTranspose):
    """:class:`ConvTranspose1d` over ``(batch, in_channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.ConvTranspose3d(1, 2, 2, stride=2)(Tensor([[[[[0.0] * 2] * 2] * 2]])).shape
    (1, 2, 4, 4, 4)
    """

    count = 3
