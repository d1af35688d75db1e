"""Dropout: of elements, of whole channels, and the kinds that keep mean and variance of SELU networks."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_SATURATION = -1.7580993408473766
"""What SELU tends to on the left: minus its scale times its alpha."""


def check_probability(p: float) -> float:
    """``p`` itself; ValueError unless it lies in [0, 1].

    >>> check_probability(0.25)
    0.25
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"the dropout probability must lie between 0 and 1, not {p}")
    return p


def _dropped(input: Tensor, p: float, training: bool, shape: tuple[int, ...]) -> Tensor:
    """``input`` times a mask of ``shape``, which broadcasts."""
    check_probability(p)
    if not training or p == 0.0:
        return input
    kept = nd.random.bernoulli(1.0 - p, shape, device=input.device)
    if p == 1.0:
        return _nothing_of(input)
    return input * Tensor(kept.astype(input.dtype) * (1.0 / (1.0 - p)))


def _nothing_of(input: Tensor) -> Tensor:
    """Zeros, also where the input is infinite or NaN, with a zero gradient."""
    return autograd.where(Tensor(nd.zeros(input.shape, dtype="bool", device=input.device)), input, 0.0)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability ``p`` and scale the others by 1 / (1 - p); ``input`` itself if not training.

    ``p=1`` gives zeros and a zero gradient. The mask comes from the default random generator, so
    ``treadle.ndarray.random.manual_seed`` repeats it.

    >>> dropout(Tensor([1.0, 2.0]), p=1.0).numpy().tolist()
    [0.0, 0.0]
    """
    return _dropped(input, p, training, input.shape)


def _channels(input: Tensor, p: float, training: bool, spatial: int, name: str) -> Tensor:
    if input.ndim not in (spatial + 1, spatial + 2):
        raise nd.ShapeError(
            f"{name}: an input of shape {input.shape}; it is (batch, channels{', length' * spatial}), or without batch"
        )
    return _dropped(input, p, training, (*input.shape[: input.ndim - spatial], *(1,) * spatial))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, length)``, or without batch.

    >>> dropout1d(Tensor([[[1.0, 2.0]]]), p=1.0).tolist()
    [[[0.0, 0.0]]]
    """
    return _channels(input, p, training, 1, "dropout1d")


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, height, width)``, or without batch.

    >>> dropout2d(Tensor([[[[1.0, 2.0]]]]), p=1.0).tolist()
    [[[[0.0, 0.0]]]]
    """
    return _channels(input, p, training, 2, "dropout2d")


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, depth, height, width)``, or without batch.

    >>> dropout3d(Tensor([[[[[1.0, 2.0]]]]]), p=1.0).tolist()
    [[[[[0.0, 0.0]]]]]
    """
    return _channels(input, p, training, 3, "dropout3d")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Set elements to SELU's negative limit with probability ``p``, then scale and shift so that mean 0 and variance 1
    are kept. Klambauer et al. 2017, "Self-normalizing neural networks", section "New dropout technique".

    >>> alpha_dropout(Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return _alpha_dropped(input, p, training, input.shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole channels of ``(batch, channels, ...)``.

    >>> feature_alpha_dropout(Tensor([[1.0, 2.0]])).tolist()
    [[1.0, 2.0]]
    """
    if input.ndim < 2:
        raise nd.ShapeError(f"feature_alpha_dropout: an input of shape {input.shape}; it is (batch, channels, ...)")
    return _alpha_dropped(input, p, training, (*input.shape[:2], *(1,) * (input.ndim - 2)))


def _alpha_dropped(input: Tensor, p: float, training: bool, shape: tuple[int, ...]) -> Tensor:
    check_probability(p)
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return _nothing_of(input)
    kept = nd.random.bernoulli(1.0 - p, shape, device=input.device).astype(input.dtype)
    scale = ((1.0 - p) * (1.0 + p * _SATURATION**2)) ** -0.5
    shift = -scale * p * _SATURATION
    return input * Tensor(kept * scale) + Tensor((1.0 - kept) * (scale * _SATURATION) + shift)
