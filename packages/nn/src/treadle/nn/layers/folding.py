"""Windows of images as columns, and back."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional._spatial import Ints
from treadle.nn.module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Images ``(batch, channels, height, width)`` to ``(batch, channels * elements of a window, windows)``.

    >>> import treadle.nn as nn
    >>> nn.Unfold((1, 2))(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """

    def __init__(self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns; the errors are those of :func:`treadle.nn.functional.unfold`."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        names = ("kernel_size", "dilation", "padding", "stride")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Fold(Module):
    """The columns of :class:`Unfold` added up to images of ``output_size``.

    >>> import treadle.nn as nn
    >>> nn.Fold((1, 3), (1, 2))(Tensor([[[1.0, 2.0], [2.0, 3.0]]])).tolist()
    [[[[1.0, 4.0, 3.0]]]]
    """

    def __init__(
        self, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The images; the errors are those of :func:`treadle.nn.functional.fold`."""
        return functional.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )  # fmt: skip

    def extra_repr(self) -> str:
        names = ("output_size", "kernel_size", "dilation", "padding", "stride")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)
