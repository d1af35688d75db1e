"""What the losses share: the reduction, and the check of two shapes."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_half

__all__ = ["check_reduction", "check_same_shape", "matched", "reduced"]

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
        if reduction != "none" and is_half(losses):
            return reduced(losses.astype(nd.float32), reduction, weight.astype(nd.float32)).astype(losses.dtype)
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


def matched(loss: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, in the dtype in which they meet, integers as float32; ShapeError unless the shapes are equal.

    An op of two arrays gives each the gradient in that dtype, so the conversion is a step of its own in the graph.
    """
    check_same_shape(loss, input, target)
    if input.dtype.kind in "iub" and target.dtype.kind in "iub":  # a difference of unsigned ones would wrap around
        return input.astype(nd.float32), target.astype(nd.float32)
    if input.dtype == target.dtype or target.dtype.kind != "f" or input.dtype.kind != "f":
        return input, target
    dtype = nd.result_type(input.dtype, target.dtype)
    return autograd.astype(input, dtype), autograd.astype(target, dtype)
