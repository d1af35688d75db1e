"""Channels turned into pixels and back."""

import math

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(..., channels * r * r, height, width)`` to ``(..., channels, height * r, width * r)``.

    Shi et al. 2016, "Real-time single image and video super-resolution".

    >>> pixel_shuffle(Tensor([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]), 2).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    r, shape = upscale_factor, input.shape
    if input.ndim < 3 or r < 1 or shape[-3] % (r * r):
        raise nd.ShapeError(f"pixel_shuffle: an input of shape {shape} has no channels for a factor of {r}")
    *lead, channels, height, width = shape
    cut = autograd.reshape(input, (math.prod(lead), channels // (r * r), r, r, height, width))
    moved = autograd.permute_dims(cut, (0, 1, 4, 2, 5, 3))
    return autograd.reshape(moved, (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(..., channels, height * r, width * r)`` to ``(..., channels * r * r, height, width)``.

    >>> pixel_unshuffle(Tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2).tolist()
    [[[1.0]], [[2.0]], [[3.0]], [[4.0]]]
    """
    r, shape = downscale_factor, input.shape
    if input.ndim < 3 or r < 1 or shape[-1] % r or shape[-2] % r:
        raise nd.ShapeError(f"pixel_unshuffle: an input of shape {shape} cannot be cut by a factor of {r}")
    *lead, channels, height, width = shape
    cut = autograd.reshape(input, (math.prod(lead), channels, height // r, r, width // r, r))
    moved = autograd.permute_dims(cut, (0, 1, 3, 5, 2, 4))
    return autograd.reshape(moved, (*lead, channels * r * r, height // r, width // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of ``(batch, channels, ...)`` dealt out of ``groups`` in turn (Zhang et al. 2018, "ShuffleNet").

    >>> channel_shuffle(Tensor([[[1.0], [2.0], [3.0], [4.0]]]), 2).tolist()
    [[[1.0], [3.0], [2.0], [4.0]]]
    """
    shape = input.shape
    if input.ndim < 3 or groups < 1 or shape[1] % groups:
        raise nd.ShapeError(f"channel_shuffle: an input of shape {shape} has no {groups} equal groups of channels")
    cut = autograd.reshape(input, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return autograd.reshape(autograd.swapaxes(cut, 1, 2), shape)
