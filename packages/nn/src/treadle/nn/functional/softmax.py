"""Softmax and its like."""

import warnings
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _axis(input: Tensor, dim: int | None, name: str) -> int:
    """``dim``; without one PyTorch's old choice, with its warning."""
    if dim is None:
        warnings.warn(f"{name}: the dimension is guessed; say dim=...", UserWarning, stacklevel=4)
        return 0 if input.ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along ``dim``, shifted so that nothing overflows; computed in ``dtype``.

    >>> softmax(Tensor([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    axis = _axis(input, dim, "softmax")
    return autograd.softmax(input if dtype is None else input.astype(dtype), axis=axis)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``log(softmax(input))`` along ``dim``, without overflow; computed in ``dtype``.

    >>> log_softmax(Tensor([1000.0, 0.0]), dim=0).tolist()
    [0.0, -1000.0]
    """
    axis = _axis(input, dim, "log_softmax")
    return autograd.log_softmax(input if dtype is None else input.astype(dtype), axis=axis)


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``softmax(-input)`` along ``dim``; computed in ``dtype``.

    >>> softmin(Tensor([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    axis = _axis(input, dim, "softmin")
    return autograd.softmax(-(input if dtype is None else input.astype(dtype)), axis=axis)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A relaxed sample from the categorical distribution of ``logits``: softmax of (logits + Gumbel noise) / tau.

    With ``hard`` the result is one-hot and the gradient that of the relaxed sample. Jang et al. 2017, "Categorical
    reparameterization with Gumbel-softmax".

    >>> gumbel_softmax(Tensor([0.0, 100.0]), hard=True).tolist()
    [0.0, 1.0]
    """
    if not tau > 0.0:
        raise ValueError(f"gumbel_softmax: tau must be above 0, not {tau}")
    noise = nd.random.gumbel(shape=logits.shape, dtype=logits.dtype, device=logits.device)
    soft = autograd.softmax((logits + Tensor(noise)) * (1.0 / tau), axis=dim)
    if not hard:
        return soft
    largest = nd.max(soft.data, axis=dim, keepdims=True)
    first = nd.cumsum((soft.data == largest).astype("int64"), axis=dim)
    chosen = nd.logical_and(soft.data == largest, first == 1).astype(soft.dtype)
    return soft + (Tensor(chosen) - soft.detach())
