"""Pooling layers."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional._pooling import Pooled
from treadle.nn.functional._spatial import Ints, tuple_of
from treadle.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d",
    "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _Pool(Module):
    """Base: the settings and the function."""

    function: ClassVar[Callable[..., Pooled]]

    def _shown(self, *names: str) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Pooled:
        """The largest elements of ``input``, and their numbers with ``return_indices``."""
        return self.function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return self._shown("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class _AvgPool1d(_Pool):
    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = self._one(kernel_size)
        self.stride = self._one(kernel_size if stride is None else stride)
        self.padding = self._one(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Pooled:
        """The means of ``input``'s windows."""
        return self.function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, *self._divisor()
        )

    def _one(self, value: Ints) -> Ints:
        """A setting as it is kept; PyTorch's own is shown as a tuple for one axis alone."""
        return value if isinstance(value, Iterable) else (value,)

    def _divisor(self) -> tuple[int | None, ...]:
        return ()

    def extra_repr(self) -> str:
        return self._shown("kernel_size", "stride", "padding")


class _AvgPool(_AvgPool1d):
    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def _one(self, value: Ints) -> Ints:
        return value

    def _divisor(self) -> tuple[int | None, ...]:
        return (self.divisor_override,)


class _AdaptiveAvgPool(_Pool):
    def __init__(self, output_size: Ints | Sequence[int | None]) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Pooled:
        """The means of ``input``'s windows."""
        return self.function(input, self.output_size)

    def extra_repr(self) -> str:
        return self._shown("output_size")


class _AdaptiveMaxPool(_Pool):
    def __init__(self, output_size: Ints | Sequence[int | None], return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Pooled:
        """The largest elements of ``input``'s windows, and their numbers with ``return_indices``."""
        return self.function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return self._shown("output_size")


class _MaxUnpool(_Pool):
    count: ClassVar[int]

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = tuple_of(kernel_size, self.count, f"{name}: kernel_size")
        self.stride = tuple_of(kernel_size if stride is None else stride, self.count, f"{name}: stride")
        self.padding = tuple_of(padding, self.count, f"{name}: padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Pooled:
        """``input`` where ``indices`` say, and zeros elsewhere."""
        return self.function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return self._shown("kernel_size", "stride", "padding")


class MaxPool1d(_MaxPool):
    """The largest element of every window of ``(batch, channels, length)``, or without batch.

    The gradient goes to the first of equal ones; padding is never chosen. ``stride`` is ``kernel_size`` by default.
    ``ceil_mode`` adds a last window that reaches beyond the end. With ``return_indices`` the numbers of the chosen
    elements, counted in each channel, come too. Riesenhuber and Poggio 1999.

    >>> import treadle.nn as nn
    >>> nn.MaxPool1d(2)(Tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[3.0, 5.0]]]
    """

    function = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """:class:`MaxPool1d` over 2 axes: ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.MaxPool2d((1, 2))(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]])).tolist()
    [[[[3.0, 5.0]]]]
    """

    function = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """:class:`MaxPool1d` over 3 axes: ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.MaxPool3d((1, 1, 2))(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]])).tolist()
    [[[[[3.0, 5.0]]]]]
    """

    function = staticmethod(functional.max_pool3d)


class AvgPool1d(_AvgPool1d):
    """The mean of every window of ``(batch, channels, length)``, or without batch.

    ``stride`` is ``kernel_size`` by default. Cells of the padding count as zeros with ``count_include_pad``, else not;
    what a last window of ``ceil_mode`` has beyond the padding never counts. LeCun et al. 1989.

    >>> import treadle.nn as nn
    >>> nn.AvgPool1d(2)(Tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[2.0, 3.5]]]
    """

    function = staticmethod(functional.avg_pool1d)


class AvgPool2d(_AvgPool):
    """:class:`AvgPool1d` over 2 axes: ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AvgPool2d((1, 2))(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]])).tolist()
    [[[[2.0, 3.5]]]]
    """

    function = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPool):
    """:class:`AvgPool1d` over 3 axes: ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AvgPool3d((1, 1, 2))(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]])).tolist()
    [[[[[2.0, 3.5]]]]]
    """

    function = staticmethod(functional.avg_pool3d)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means of ``output_size`` windows of ``(batch, channels, length)``, as even as the length allows.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveAvgPool1d(2)(Tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[2.0, 3.5]]]
    """

    function = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """:class:`AdaptiveAvgPool1d` over 2 axes: ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveAvgPool2d((1, 2))(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]])).tolist()
    [[[[2.0, 3.5]]]]
    """

    function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """:class:`AdaptiveAvgPool1d` over 3 axes: ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveAvgPool3d((1, 1, 2))(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]])).tolist()
    [[[[[2.0, 3.5]]]]]
    """

    function = staticmethod(functional.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of ``output_size`` windows of ``(batch, channels, length)``, as even as the length allows.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveMaxPool1d(2)(Tensor([[[1.0, 3.0, 2.0, 5.0]]])).tolist()
    [[[3.0, 5.0]]]
    """

    function = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """:class:`AdaptiveMaxPool1d` over 2 axes: ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveMaxPool2d((1, 2))(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]])).tolist()
    [[[[3.0, 5.0]]]]
    """

    function = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """:class:`AdaptiveMaxPool1d` over 3 axes: ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.AdaptiveMaxPool3d((1, 1, 2))(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]])).tolist()
    [[[[[3.0, 5.0]]]]]
    """

    function = staticmethod(functional.adaptive_max_pool3d)


class MaxUnpool1d(_MaxUnpool):
    """Puts elements back where :class:`MaxPool1d` took them from, with zeros elsewhere. Zeiler and Fergus 2014.

    >>> import treadle.nn as nn
    >>> values, indices = nn.MaxPool1d(2, return_indices=True)(Tensor([[[1.0, 3.0, 2.0, 5.0]]]))
    >>> nn.MaxUnpool1d(2)(values, indices).tolist()
    [[[0.0, 3.0, 0.0, 5.0]]]
    """

    function, count = staticmethod(functional.max_unpool1d), 1


class MaxUnpool2d(_MaxUnpool):
    """:class:`MaxUnpool1d` over 2 axes: ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> values, indices = nn.MaxPool2d((1, 2), return_indices=True)(Tensor([[[[1.0, 3.0, 2.0, 5.0]]]]))
    >>> nn.MaxUnpool2d((1, 2))(values, indices).tolist()
    [[[[0.0, 3.0, 0.0, 5.0]]]]
    """

    function, count = staticmethod(functional.max_unpool2d), 2


class MaxUnpool3d(_MaxUnpool):
    """:class:`MaxUnpool1d` over 3 axes: ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> values, indices = nn.MaxPool3d((1, 1, 2), return_indices=True)(Tensor([[[[[1.0, 3.0, 2.0, 5.0]]]]]))
    >>> nn.MaxUnpool3d((1, 1, 2))(values, indices).tolist()
    [[[[[0.0, 3.0, 0.0, 5.0]]]]]
    """

    function, count = staticmethod(functional.max_unpool3d), 3
