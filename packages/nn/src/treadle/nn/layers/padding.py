"""Padding of images."""

from collections.abc import Sequence
from typing import ClassVar

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional._spatial import tuple_of
from treadle.nn.module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Base: how many axes are padded, and how."""

    count: ClassVar[int]
    mode: ClassVar[str] = "constant"
    value: float | None = None

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self.count, f"{type(self).__name__}: padding")

    def forward(self, input: Tensor) -> Tensor:
        """The padded ``input``: ``(batch, channels, *lengths)``, or without batch."""
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ZeroPad1d(_Pad):
    """Adds zeros around ``(batch, channels, length)``, or without batch.

    ``padding`` is an int or (left, right).

    >>> import treadle.nn as nn
    >>> nn.ZeroPad1d((1, 1))(Tensor([[[1.0, 2.0, 3.0]]])).tolist()
    [[[0.0, 1.0, 2.0, 3.0, 0.0]]]
    """

    count = 1


class ZeroPad2d(_Pad):
    """Adds zeros around ``(batch, channels, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom).

    >>> import treadle.nn as nn
    >>> nn.ZeroPad2d((1, 1, 0, 0))(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[0.0, 1.0, 2.0, 3.0, 0.0]]]]
    """

    count = 2


class ZeroPad3d(_Pad):
    """Adds zeros around ``(batch, channels, depth, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom, front, back).

    >>> import treadle.nn as nn
    >>> nn.ZeroPad3d((1, 1, 0, 0, 0, 0))(Tensor([[[[[1.0, 2.0, 3.0]]]]])).tolist()
    [[[[[0.0, 1.0, 2.0, 3.0, 0.0]]]]]
    """

    count = 3


class ConstantPad1d(_ConstantPad):
    """Adds ``value`` around ``(batch, channels, length)``, or without batch.

    ``padding`` is an int or (left, right).

    >>> import treadle.nn as nn
    >>> nn.ConstantPad1d((1, 1), 7.0)(Tensor([[[1.0, 2.0, 3.0]]])).tolist()
    [[[7.0, 1.0, 2.0, 3.0, 7.0]]]
    """

    count = 1


class ConstantPad2d(_ConstantPad):
    """Adds ``value`` around ``(batch, channels, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom).

    >>> import treadle.nn as nn
    >>> nn.ConstantPad2d((1, 1, 0, 0), 7.0)(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[7.0, 1.0, 2.0, 3.0, 7.0]]]]
    """

    count = 2


class ConstantPad3d(_ConstantPad):
    """Adds ``value`` around ``(batch, channels, depth, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom, front, back).

    >>> import treadle.nn as nn
    >>> nn.ConstantPad3d((1, 1, 0, 0, 0, 0), 7.0)(Tensor([[[[[1.0, 2.0, 3.0]]]]])).tolist()
    [[[[[7.0, 1.0, 2.0, 3.0, 7.0]]]]]
    """

    count = 3


class ReflectionPad1d(_Pad):
    """Adds what lies inside, mirrored at the edge around ``(batch, channels, length)``, or without batch.

    ``padding`` is an int or (left, right).

    >>> import treadle.nn as nn
    >>> nn.ReflectionPad1d((1, 1))(Tensor([[[1.0, 2.0, 3.0]]])).tolist()
    [[[2.0, 1.0, 2.0, 3.0, 2.0]]]
    """

    count = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Adds what lies inside, mirrored at the edge around ``(batch, channels, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom).

    >>> import treadle.nn as nn
    >>> nn.ReflectionPad2d((1, 1, 0, 0))(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[2.0, 1.0, 2.0, 3.0, 2.0]]]]
    """

    count = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """Adds what lies inside, mirrored at the edge around ``(batch, channels, depth, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom, front, back).

    >>> import treadle.nn as nn
    >>> nn.ReflectionPad3d((1, 1, 0, 0, 0, 0))(Tensor([[[[[1.0, 2.0, 3.0]]]]])).tolist()
    [[[[[2.0, 1.0, 2.0, 3.0, 2.0]]]]]
    """

    count = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """Adds the edge, repeated around ``(batch, channels, length)``, or without batch.

    ``padding`` is an int or (left, right).

    >>> import treadle.nn as nn
    >>> nn.ReplicationPad1d((1, 1))(Tensor([[[1.0, 2.0, 3.0]]])).tolist()
    [[[1.0, 1.0, 2.0, 3.0, 3.0]]]
    """

    count = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Adds the edge, repeated around ``(batch, channels, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom).

    >>> import treadle.nn as nn
    >>> nn.ReplicationPad2d((1, 1, 0, 0))(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[1.0, 1.0, 2.0, 3.0, 3.0]]]]
    """

    count = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """Adds the edge, repeated around ``(batch, channels, depth, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom, front, back).

    >>> import treadle.nn as nn
    >>> nn.ReplicationPad3d((1, 1, 0, 0, 0, 0))(Tensor([[[[[1.0, 2.0, 3.0]]]]])).tolist()
    [[[[[1.0, 1.0, 2.0, 3.0, 3.0]]]]]
    """

    count = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """Adds what lies at the other end around ``(batch, channels, length)``, or without batch.

    ``padding`` is an int or (left, right).

    >>> import treadle.nn as nn
    >>> nn.CircularPad1d((1, 1))(Tensor([[[1.0, 2.0, 3.0]]])).tolist()
    [[[3.0, 1.0, 2.0, 3.0, 1.0]]]
    """

    count = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Adds what lies at the other end around ``(batch, channels, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom).

    >>> import treadle.nn as nn
    >>> nn.CircularPad2d((1, 1, 0, 0))(Tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[3.0, 1.0, 2.0, 3.0, 1.0]]]]
    """

    count = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Adds what lies at the other end around ``(batch, channels, depth, height, width)``, or without batch.

    ``padding`` is an int or (left, right, top, bottom, front, back).

    >>> import treadle.nn as nn
    >>> nn.CircularPad3d((1, 1, 0, 0, 0, 0))(Tensor([[[[[1.0, 2.0, 3.0]]]]])).tolist()
    [[[[[3.0, 1.0, 2.0, 3.0, 1.0]]]]]
    """

    count = 3
    mode = "circular"
