"""Losses of class indices other than the cross-entropy, and of distributions."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.ndarray.ranges import check_range
from treadle.nn.functional._fused import is_half
from treadle.nn.functional.losses.reduction import check_reduction, check_same_shape, reduced

__all__ = ["dice_loss", "kl_div", "multi_margin_loss", "multilabel_margin_loss", "nll_loss"]


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """``-input[target]`` of log-probabilities ``input``.

    ``input`` is ``(classes,)``, ``(batch, classes)`` or ``(batch, classes, d1, ...)``, ``target`` holds class indices
    of that shape without the class dimension, ``weight`` is ``(classes,)``. The mean divides by the weights of the rows
    that count, so it is NaN where all targets are ``ignore_index``. A target out of range is an IndexingError.

    >>> nll_loss(Tensor([[-1.0, -2.0]]), Tensor([1], dtype=nd.int64)).item()
    2.0
    """
    check_reduction(reduction)
    if is_half(input):  # a sum over many rows overflows, and so does their number
        wide = nll_loss(input.astype(nd.float32), target, weight, ignore_index=ignore_index, reduction=reduction)
        return wide.astype(input.dtype)
    axis = min(1, input.ndim - 1)
    if input.ndim == 0 or target.shape != input.shape[:axis] + input.shape[axis + 1 :]:
        raise nd.ShapeError(f"nll_loss: target {target.shape} does not fit log-probabilities of shape {input.shape}")
    _check_weight("nll_loss", weight, input.shape[axis])
    counted = nd.not_equal(target.data, ignore_index)
    classes = _classes("nll_loss", nd.where(counted, target.data, 0), input.shape[axis])
    chosen = _chosen(classes, input.shape[axis], axis) & nd.expand_dims(counted, axis=axis)
    losses = 0.0 - autograd.sum(autograd.where(Tensor(chosen), input, 0.0), axis=axis)
    share = nd.astype(counted, input.dtype)
    if weight is not None:
        share = share * _of_classes(weight, classes)
        losses = losses * Tensor(share)
    if reduction == "mean":
        return autograd.sum(losses) / Tensor(nd.sum(share))
    return reduced(losses, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """The hinge loss of several classes: the mean over the other classes j of max(0, margin - x[y] + x[j]) ** p.

    ``input`` is ``(batch, classes)`` or ``(classes,)``, ``target`` its class indices; ``p`` is 1 or 2; ``weight``, of
    shape ``(classes,)``, multiplies by the target's class. The sum is divided by the number of all classes. Crammer and
    Singer 2001, "On the algorithmic implementation of multiclass kernel-based vector machines".

    >>> multi_margin_loss(Tensor([[0.0, 0.5]]), Tensor([1], dtype=nd.int64)).item()
    0.25
    """
    check_reduction(reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, not {p}")
    if input.ndim not in (1, 2) or target.shape != input.shape[:-1]:
        raise nd.ShapeError(f"multi_margin_loss: target {target.shape} does not fit input {input.shape}")
    number = input.shape[-1]
    _check_weight("multi_margin_loss", weight, number)
    classes = _classes("multi_margin_loss", target.data, number)
    chosen = Tensor(_chosen(classes, number, input.ndim - 1))
    own = autograd.sum(autograd.where(chosen, input, 0.0), axis=-1, keepdims=True)
    hinges = autograd.relu(input - own + margin)
    if p == 2:
        hinges = autograd.square(hinges)
    if weight is not None:
        hinges = hinges * Tensor(nd.expand_dims(_of_classes(weight, classes), axis=-1))
    return reduced(autograd.mean(autograd.where(chosen, 0.0, hinges), axis=-1), reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The hinge loss of several labels: the sum of max(0, 1 - x[label] + x[other]), over the number of classes.

    ``input`` is ``(batch, classes)`` or ``(classes,)``; a row of ``target``, of the same shape, holds labels up to the
    first -1.

    >>> multilabel_margin_loss(Tensor([[0.5, 0.0]]), Tensor([[0, -1]], dtype=nd.int64)).item()
    0.25
    """
    check_reduction(reduction)
    check_same_shape("multilabel_margin_loss", input, target)
    if input.ndim not in (1, 2):
        raise nd.ShapeError(f"multilabel_margin_loss: input {input.shape} must have 1 or 2 dimensions")
    number = input.shape[-1]
    given = nd.cumprod(nd.astype(nd.greater_equal(target.data, 0), nd.int64), axis=-1)
    classes = _classes("multilabel_margin_loss", nd.where(given == 1, target.data, 0), number)
    chosen = _chosen(classes, number, classes.ndim) & nd.expand_dims(given == 1, axis=-1)
    others = nd.logical_not(nd.any(chosen, axis=-2))
    pairs = nd.expand_dims(given == 1, axis=-1) & nd.expand_dims(others, axis=-2)
    own = autograd.take_along_axis(input, Tensor(classes), axis=-1)
    hinges = autograd.relu(autograd.expand_dims(input, axis=-2) - autograd.expand_dims(own, axis=-1) + 1.0)
    losses = autograd.sum(autograd.where(Tensor(pairs), hinges, 0.0), axis=(-2, -1)) / number
    return reduced(losses, reduction)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence, elementwise: target * (log(target) - input) of log-probabilities ``input``.

    ``target`` holds probabilities, or their logarithms with ``log_target``; where it has no mass the divergence is 0,
    even at an input of -inf. "batchmean" divides the sum by the first dimension, which is the divergence itself;
    "mean" divides by the number of elements. Kullback and Leibler 1951, "On information and sufficiency".

    >>> round(kl_div(Tensor([[-1.0, -1.0]]), Tensor([[0.0, 1.0]]), reduction="batchmean").item(), 6)
    1.0
    """
    check_reduction(reduction, ("batchmean",))
    if log_target:
        losses = autograd.exp(target) * (target - input)
    else:
        mass = Tensor(nd.not_equal(target.data, 0.0))
        losses = autograd.where(mass, target * (autograd.log(autograd.where(mass, target, 1.0)) - input), 0.0)
    if reduction == "batchmean":
        return autograd.sum(losses) / (losses.shape[0] if losses.ndim else 1)
    return reduced(losses, reduction)


def dice_loss(
    input: Tensor,
    target: Tensor,
    *,
    dim: int | tuple[int, ...] | None = None,
    smooth: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """1 - (2 sum(p g) + smooth) / (sum(p**2) + sum(g**2) + smooth) of probabilities p and a mask g of one shape.

    The sums go over ``dim``, by default all but the first, so that every sample has one loss. ``smooth`` makes it 0
    where both are empty. Milletari, Navab and Ahmadi 2016, "V-Net: fully convolutional neural networks for volumetric
    medical image segmentation", section 3.

    >>> round(dice_loss(Tensor([[1.0, 1.0]]), Tensor([[1.0, 0.0]])).item(), 6)
    0.333333
    """
    check_reduction(reduction)
    check_same_shape("dice_loss", input, target)
    axis = tuple(range(1, input.ndim)) if dim is None else dim
    overlap = autograd.sum(input * target, axis=axis)
    squares = autograd.sum(autograd.square(input) + autograd.square(target), axis=axis)
    return reduced(1.0 - (2.0 * overlap + smooth) / (squares + smooth), reduction)


def _classes(loss: str, classes: nd.NDArray, number: int) -> nd.NDArray:
    """Class indices as int64; IndexingError for one that there is not."""
    if classes.dtype.kind not in "iu":
        raise nd.DTypeError(f"{loss}: targets must be integer class indices, not {classes.dtype.name}")
    classes = nd.astype(classes, nd.int64, copy=False)
    check_range(classes, number, f"{loss}: target {{}} is outside of the {number} classes")
    return classes


def _chosen(classes: nd.NDArray, number: int, axis: int) -> nd.NDArray:
    """True at each row's class, along a new ``axis``: quicker than a gather, and the gradient than a scatter."""
    every = nd.reshape(nd.arange(number, dtype=nd.int64, device=classes.device), (-1,) + (1,) * (classes.ndim - axis))
    return nd.equal(nd.expand_dims(classes, axis=axis), every)


def _check_weight(loss: str, weight: Tensor | None, number: int) -> None:
    if weight is not None and weight.shape != (number,):
        raise nd.ShapeError(f"{loss}: a weight of shape {weight.shape} does not fit {number} classes")


def _of_classes(weight: Tensor, classes: nd.NDArray) -> nd.NDArray:
    """The weight of each class of ``classes``."""
    return nd.reshape(nd.take(weight.data, nd.reshape(classes, (-1,)), axis=0), classes.shape)
