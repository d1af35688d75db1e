"""What the losses share: the reduction, and the check of two shapes."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["check_reduction", "check_same_shape", "reduced"]

_REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str, further: tuple[str, ...] = ()) -> str:
    """``reduction`` itself; ValueError unless it is "mean", "sum", "none" or one of ``further``."""
    if reduction not in _REDUCTIONS + further:
        raise ValueError(f"reduction must be one of {(*_REDUCTIONS, *further)}, not {reduction!r}")
    return reduction


def reduced(losses: Tensor, reduction: str, weight: Tensor | None = None) -> Tensor:
    """The mean or the sum of ``losses``, or themselves; with weights, of the weighted, the mean over their sum."""
    if weight is not None:
        check_same_shape("a weighted loss", losses, weight, "weight")
        losses = losses * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return autograd.sum(losses)
    return autograd.mean(losses) if weight is None else autograd.sum(losses) / autograd.sum(weight)


def check_same_shape(loss: str, input: Tensor, target: Tensor, name: str = "target") -> None:
    """ShapeError unless the shapes are equal: broadcasting a target is nearly always a mistake."""
    if input.shape != target.shape:
        raise nd.ShapeError(f"{loss}: input {input.shape} and {name} {target.shape} must have the same shape")
