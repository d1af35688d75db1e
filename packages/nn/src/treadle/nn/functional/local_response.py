"""Normalisation by the squares of neighbouring channels."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["local_response_norm"]


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * m) ** beta`` with m the mean of the squares of ``size`` channels around each one.

    ``input`` is ``(batch, channels, ...)``, and beyond its channels lie zeros. Krizhevsky, Sutskever and Hinton 2012,
    "ImageNet classification with deep convolutional neural networks", section 3.3, where ``alpha`` stands for
    ``alpha / size`` here.

    >>> local_response_norm(Tensor([[[2.0], [2.0]]]), 1, alpha=1.0, beta=0.5, k=0.0).tolist()
    [[[1.0], [1.0]]]
    """
    if input.ndim < 3 or size < 1:
        raise nd.ShapeError(
            f"local_response_norm: size {size} and an input of shape {input.shape}; it is (batch, channels, ...)"
        )
    if input.size == 0:
        return input
    batch, channels = input.shape[:2]
    squares = autograd.reshape(autograd.square(input), (batch, 1, channels, input.size // max(1, batch * channels)))
    padded = autograd.pad(squares, [(0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    means = autograd.reshape(autograd.avg_pool(padded, (size, 1), stride=1), input.shape)
    return input / (means * alpha + k) ** beta
