"""Convolution layers over 1, 2 and 3 axes."""

from math import prod, sqrt
from typing import Any, ClassVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.functional._spatial import Ints, tuple_of
from treadle.nn.functional.convolution import check_channels, convolve
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class ConvolutionBase(Module):
    """What convolutions and their transposes share: settings, weight and bias, and how these start."""

    count: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _set(
        self, channels: tuple[int, int], kernel_size: Ints, stride: Ints, dilation: Ints, groups: int, bias: bool,
        device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        name, count = type(self).__name__, self.count
        self.in_channels, self.out_channels = channels
        if groups < 1 or min(channels) < 1 or any(each % groups for each in channels):
            raise nd.ShapeError(f"{name}: {channels} channels are no multiples of groups={groups}")
        self.kernel_size = tuple_of(kernel_size, count, f"{name}: kernel_size")
        self.stride = tuple_of(stride, count, f"{name}: stride")
        self.dilation = tuple_of(dilation, count, f"{name}: dilation")
        self.groups = groups
        first, second = channels if self.transposed else channels[::-1]
        dtype = nd.float32 if dtype is None else dtype
        self.weight = Parameter(nd.empty((first, second // groups, *self.kernel_size), dtype=dtype, device=device))
        self.bias = Parameter(nd.empty((self.out_channels,), dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in +-1/sqrt(weight.shape[1] * kernel elements)."""
        inputs = prod(self.weight.shape[1:])
        bound = 1.0 / sqrt(inputs) if inputs else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def _shown(self, settings: dict[str, Any]) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        defaults: dict[str, Any] = {
            "padding": (0,) * self.count,
            "output_padding": (0,) * self.count,
            "dilation": (1,) * self.count,
        }
        defaults |= {"groups": 1, "padding_mode": "zeros"}
        parts += [f"{name}={value}" for name, value in settings.items() if value != defaults[name]]
        return ", ".join([*parts, *([] if self.bias is not None else ["bias=False"])])


class _Conv(ConvolutionBase):
    """A convolution; the subclasses differ in the number of axes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: str | Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"{name}: padding_mode must be one of {_PADDING_MODES}, not {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding must be 'same', 'valid' or ints, not {padding!r}")
        self._set((in_channels, out_channels), kernel_size, stride, dilation, groups, bias, device, dtype)
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f"{name}: padding='same' needs a stride of 1, not {self.stride}")
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, self.count, f"{name}: padding")
        self.padding_mode = padding_mode

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of ``input``; ShapeError for other channels, or a kernel larger than the padded input."""
        padding = self.padding
        if self.padding_mode != "zeros":
            check_channels(input, self.in_channels, self.count, type(self).__name__)
            input = functional.pad(input, self._around(), self.padding_mode)
            padding = (0,) * self.count
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups, self.count,
            type(self).__name__,
        )  # fmt: skip

    def _around(self) -> list[int]:
        """Padding before and after each axis, the last first, as :func:`functional.pad` takes it."""
        around: list[int] = []
        for axis in reversed(range(self.count)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                around += [total // 2, total - total // 2]
            else:
                around += [0, 0] if isinstance(self.padding, str) else [self.padding[axis]] * 2
        return around

    def extra_repr(self) -> str:
        names = ("padding", "dilation", "groups", "padding_mode")
        return self._shown({name: getattr(self, name) for name in names})


class Conv1d(_Conv):
    """The cross-correlation of ``(batch, in_channels, length)``, or without batch, with ``weight``, ``(out_channels,
    in_channels / groups, kernel)``, plus ``bias``, ``(out_channels,)``.

    The result's length is floor((length + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1. ``padding`` is an
    int, "same" (for a stride of 1) or "valid"; ``padding_mode`` is "zeros", "reflect", "replicate" or "circular".
    LeCun et al. 1989; dilation: Yu and Koltun 2016.

    >>> import treadle.nn as nn
    >>> nn.Conv1d(3, 8, 3, padding=1)(Tensor([[[0.0] * 5] * 3])).shape
    (1, 8, 5)
    """

    count = 1


class Conv2d(_Conv):
    """:class:`Conv1d` over ``(batch, in_channels, height, width)``, or without batch; settings are an int or one for
    each axis. Channels come second: an input that has them last is refused, and the error says what to do.

    >>> import treadle.nn as nn
    >>> nn.Conv2d(1, 8, 3, stride=2)(Tensor([[[[0.0] * 5] * 5]])).shape
    (1, 8, 2, 2)
    """

    count = 2


class Conv3d(_Conv):
    """:class:`Conv1d` over ``(batch, in_channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.Conv3d(1, 2, (1, 2, 2))(Tensor([[[[[0.0] * 3] * 3] * 3]])).shape
    (1, 2, 3, 2, 2)
    """

    count = 3
