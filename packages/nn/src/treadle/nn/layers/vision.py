"""Channels turned into pixels and back."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """``(..., channels * r * r, height, width)`` to ``(..., channels, height * r, width * r)``. Shi et al. 2016.

    >>> import treadle.nn as nn
    >>> nn.PixelShuffle(2)(Tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]]])).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The rearranged ``input``."""
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of :class:`PixelShuffle`.

    >>> import treadle.nn as nn
    >>> nn.PixelUnshuffle(2)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[1.0]], [[2.0]], [[3.0]], [[4.0]]]
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The rearranged ``input``."""
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of ``(batch, channels, ...)`` dealt out of ``groups`` in turn. Zhang et al. 2018, "ShuffleNet".

    >>> import treadle.nn as nn
    >>> nn.ChannelShuffle(2)(Tensor([[[1.0], [2.0], [3.0], [4.0]]])).tolist()
    [[[1.0], [3.0], [2.0], [4.0]]]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The rearranged ``input``."""
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
