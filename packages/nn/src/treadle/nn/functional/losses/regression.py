"""Losses of numbers against numbers."""

from math import log, pi
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Op, Tensor
from treadle.ndarray.ranges import check_none
from treadle.nn.functional._fused import is_half
from treadle.nn.functional.losses.reduction import check_reduction, check_same_shape, matched, reduced

__all__ = ["gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The squared differences, their mean or their sum.

    The shapes must be equal: broadcasting a target is nearly always a mistake, and is a ShapeError. With a ``weight``
    of that shape too, the mean is divided by the sum of the weights.

    >>> mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """
    check_reduction(reduction)
    input, target = matched("mse_loss", input, target)
    difference = input - target
    if reduction == "none" or not is_half(difference):
        return reduced(autograd.square(difference), reduction, weight)
    wide = None if weight is None else weight.astype(nd.float32)  # squares of float16 overflow from 256 on
    return reduced(autograd.square(difference.astype(nd.float32)), reduction, wide).astype(difference.dtype)


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The absolute differences of two tensors of one shape, with gradient 0 at 0; ``weight`` as in :func:`mse_loss`.

    >>> l1_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    1.0
    """
    check_reduction(reduction)
    input, target = matched("l1_loss", input, target)
    return reduced(autograd.abs(input - target), reduction, weight)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, *, weight: Tensor | None = None
) -> Tensor:
    """d**2 / 2 for differences d up to ``delta``, and delta * (abs(d) - delta / 2) for larger ones.

    Two tensors of one shape. With a ``weight`` of that shape too, the mean is still divided by the number of elements.
    Huber 1964, "Robust estimation of a location parameter".

    >>> huber_loss(Tensor([0.0, 0.0]), Tensor([1.0, 3.0]), reduction="none").numpy().tolist()
    [0.5, 2.5]
    """
    check_reduction(reduction)
    input, target = matched("huber_loss", input, target)
    if not delta > 0.0:
        raise ValueError(f"huber_loss: delta must be above 0, not {delta}")
    losses = Huber(delta)(input, target)
    if weight is not None:
        check_same_shape("huber_loss", input, weight, "weight")
        losses = losses * weight
    return reduced(losses, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d**2 / (2 * beta) for differences d up to ``beta``, and abs(d) - beta / 2 for larger ones.

    Two tensors of one shape; with ``beta`` 0 it is :func:`l1_loss`. Girshick 2015, "Fast R-CNN", equation 3.

    >>> smooth_l1_loss(Tensor([0.0, 0.0]), Tensor([1.0, 3.0]), reduction="none").numpy().tolist()
    [0.5, 2.5]
    """
    check_reduction(reduction)
    input, target = matched("smooth_l1_loss", input, target)
    if not beta >= 0.0:
        raise ValueError(f"smooth_l1_loss: beta must be 0 or more, not {beta}")
    if beta == 0.0:
        return l1_loss(input, target, reduction=reduction)
    return reduced(Huber(beta)(input, target) / beta, reduction)


class Huber(Op):
    """c * (d - c / 2), where c is the difference d cut to +-``delta``: half the square inside, a line outside.

    Its derivative is c.

    >>> Huber(1.0)(Tensor([0.5, 3.0]), Tensor([0.0, 0.0])).numpy().tolist()
    [0.125, 2.5]
    """

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        """The losses of two arrays of one shape."""
        difference = arrays[0] - arrays[1]
        cut = xp.clip(difference, -self.delta, self.delta)
        return cut * (difference - cut * 0.5), arrays

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        """The gradients by both."""
        x, y = node.saved
        by_input = grad * xp.clip(x - y, -self.delta, self.delta)
        return by_input, -by_input if node.needs_grad(1) else None

    def infer(self, shapes: Any, dtypes: Any) -> Any:
        """Shape and dtype of the result."""
        return shapes[0], dtypes[0]


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the Poisson probability of the counts ``target``, without the term log(target!).

    ``input`` is the logarithm of the rate, or the rate itself without ``log_input``, where ``eps`` keeps its logarithm
    finite. ``full`` adds Stirling's approximation of log(target!) for targets above 1.

    >>> poisson_nll_loss(Tensor([0.0]), Tensor([3.0])).item()
    1.0
    """
    check_reduction(reduction)
    check_same_shape("poisson_nll_loss", input, target)
    losses = autograd.exp(input) - target * input if log_input else input - target * autograd.log(input + eps)
    if full:
        large = Tensor(target.data > 1.0)
        count = autograd.where(large, target, 1.0)
        stirling = count * autograd.log(count) - count + 0.5 * autograd.log(count * (2.0 * pi))
        losses = losses + autograd.where(large, stirling, 0.0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the normal density of ``target``, with mean ``input`` and variance ``var``.

    ``var`` is a number, or of ``input``'s shape, or of that with one dimension 1 or the last absent. It is raised to
    ``eps``, through which its gradient passes unchanged. ``full`` adds the constant log(2 pi) / 2. A negative variance
    is a ValueError. Nix and Weigend 1994, "Estimating the mean and variance of the target probability distribution".

    >>> gaussian_nll_loss(Tensor([0.0]), Tensor([2.0]), 1.0).item()
    2.0
    """
    check_reduction(reduction)
    if input.ndim != target.ndim:
        check_same_shape("gaussian_nll_loss", input, target)
    variance = _variance(input, var)
    check_none(variance.data < 0.0, ValueError("gaussian_nll_loss: a variance is negative"))
    variance = variance + Tensor(nd.clip(eps - variance.data, 0.0, None))
    losses = 0.5 * (autograd.log(variance) + autograd.square(input - target) / variance)
    return reduced(losses + 0.5 * log(2.0 * pi) if full else losses, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    if not isinstance(var, Tensor):
        return Tensor(nd.full_like(input.data, var))
    if var.shape == input.shape[:-1] and var.shape != input.shape:
        return autograd.expand_dims(var, axis=-1)
    stretched = [length for length, wanted in zip(var.shape, input.shape, strict=False) if length != wanted]
    if var.ndim != input.ndim or stretched not in ([], [1]):
        raise nd.ShapeError(f"gaussian_nll_loss: a variance of shape {var.shape} does not fit input {input.shape}")
    return var
