"""Losses between tensors of one shape."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["check_reduction", "mse_loss", "reduced"]

_REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> str:
    """``reduction`` itself; ValueError unless it is "mean", "sum" or "none"."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
    return reduction


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of ``losses``, or themselves."""
    if reduction == "none":
        return losses
    return autograd.mean(losses) if reduction == "mean" else autograd.sum(losses)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squared differences, their mean or their sum.

    The shapes must be equal: broadcasting a target is nearly always a mistake, and is a ShapeError.

    >>> mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """
    check_reduction(reduction)
    if input.shape != target.shape:
        raise nd.ShapeError(f"mse_loss: input {input.shape} and target {target.shape} must have the same shape")
    return reduced(autograd.square(input - target), reduction)
