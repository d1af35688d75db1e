"""Pooling by norms."""

from collections.abc import Callable
from typing import ClassVar

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional._spatial import Ints
from treadle.nn.module import Module

__all__ = ["LPPool1d", "LPPool2d", "LPPool3d"]


class _LPPool(Module):
    function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms of the windows."""
        return self.function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        names = ("norm_type", "kernel_size", "stride", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class LPPool1d(_LPPool):
    """The ``norm_type`` norm of every window of ``(batch, channels, length)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.LPPool1d(2, 2)(Tensor([[[3.0, 4.0, 0.0, 2.0]]])).tolist()
    [[[5.0, 2.0]]]
    """

    function = staticmethod(functional.lp_pool1d)


class LPPool2d(_LPPool):
    """The ``norm_type`` norm of every window of images.

    >>> import treadle.nn as nn
    >>> nn.LPPool2d(2, (1, 2))(Tensor([[[[3.0, 4.0]]]])).tolist()
    [[[[5.0]]]]
    """

    function = staticmethod(functional.lp_pool2d)


class LPPool3d(_LPPool):
    """The ``norm_type`` norm of every window of volumes.

    >>> import treadle.nn as nn
    >>> nn.LPPool3d(2, (1, 1, 2))(Tensor([[[[[3.0, 4.0]]]]])).tolist()
    [[[[[5.0]]]]]
    """

    function = staticmethod(functional.lp_pool3d)
