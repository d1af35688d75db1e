"""Pooling by windows at drawn places."""

from collections.abc import Callable
from typing import ClassVar

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional._fractional import Floats
from treadle.nn.functional._pooling import Pooled
from treadle.nn.functional._spatial import Ints
from treadle.nn.module import Module

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPool(Module):
    function: ClassVar[Callable[..., Pooled]]

    def __init__(
        self,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Floats | None = None,
        return_indices: bool = False,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__}: give either output_size or output_ratio")
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Pooled:
        """The largest elements of the windows, and their numbers with ``return_indices``."""
        return self.function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows of images at drawn places: :func:`functional.fractional_max_pool2d`.

    >>> import treadle.nn as nn
    >>> nn.FractionalMaxPool2d((1, 2), (1, 2))(Tensor([[[[1.0, 3.0, 2.0]]]])).tolist()
    [[[[3.0, 3.0]]]]
    """

    function = staticmethod(functional.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows of volumes at drawn places: :func:`functional.fractional_max_pool3d`.

    >>> import treadle.nn as nn
    >>> nn.FractionalMaxPool3d((1, 1, 2), (1, 1, 2))(Tensor([[[[[1.0, 3.0, 2.0]]]]])).tolist()
    [[[[[3.0, 3.0]]]]]
    """

    function = staticmethod(functional.fractional_max_pool3d)
