"""Images made larger."""

from collections.abc import Iterable, Sequence
from typing import Any

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """``(batch, channels, *lengths)`` resized to ``size``, or by ``scale_factor``: :func:`functional.interpolate`.

    ``mode`` is "nearest", "linear" (3 dimensions), "bilinear" or "bicubic" (4), or "trilinear" (5).

    >>> import treadle.nn as nn
    >>> nn.Upsample(scale_factor=2)(Tensor([[[1.0, 2.0]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor: Any = scale_factor
        if isinstance(scale_factor, Iterable):
            self.scale_factor = tuple(float(each) for each in scale_factor)
        elif scale_factor is not None:
            self.scale_factor = float(scale_factor)
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The resized ``input``."""
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode='{self.mode}'"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images, each new pixel the nearest old one.

    >>> import treadle.nn as nn
    >>> nn.UpsamplingNearest2d(scale_factor=2)(Tensor([[[[1.0]]]])).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images, linear in each direction, with corners that keep their values.

    >>> import treadle.nn as nn
    >>> nn.UpsamplingBilinear2d((1, 3))(Tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.5, 2.0]]]]
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
