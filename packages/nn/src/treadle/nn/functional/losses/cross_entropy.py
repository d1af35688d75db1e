"""Cross-entropy of logits against class indices or class probabilities."""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional.losses.reduction import check_reduction, reduced

__all__ = ["cross_entropy"]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``-log(softmax(input)[target])``, computed from logits without overflow.

    ``input`` is ``(classes,)``, ``(batch, classes)`` or ``(batch, classes, d1, ...)``. ``target`` holds either class
    indices, of an integer dtype and ``input``'s shape without the class dimension, or class probabilities, of a
    floating dtype and ``input``'s shape, which get a gradient too. ``weight`` is ``(classes,)``.

    With class indices the mean divides by the weights of the rows that count, so it is NaN where all targets are
    ``ignore_index``; with probabilities it divides by the number of rows. ``label_smoothing`` mixes the target with the
    uniform distribution (Szegedy et al. 2016, "Rethinking the Inception architecture", section 7).

    >>> loss = cross_entropy(Tensor([[0.0, 0.0]]), Tensor([1], dtype=nd.int64))
    >>> round(loss.item(), 6)  # log(2)
    0.693147
    """
    if target.dtype.kind == "f":
        if ignore_index >= 0:
            raise ValueError("cross_entropy: targets that are probabilities have no ignore_index")
        return _against_probabilities(input, target, weight, check_reduction(reduction), label_smoothing)
    return autograd.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def _against_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    """Minus the sum of target * log_softmax; a class of no mass adds nothing, even at a logit of -inf."""
    axis = _check(input, target, weight, label_smoothing)
    classes = input.shape[axis]
    distribution = target.astype(input.dtype)
    if label_smoothing:
        distribution = distribution * (1.0 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        by_class = weight.astype(input.dtype)
        distribution = distribution * by_class.reshape((classes, *(1,) * (input.ndim - 1 - axis)))
    log_p = autograd.log_softmax(input, axis=axis)
    never = nd.equal(distribution.data, 0.0) & nd.isinf(log_p.data)
    finite = autograd.where(Tensor(nd.logical_not(never)), log_p, 0.0)
    return reduced(-autograd.sum(finite * distribution, axis=axis), reduction)


def _check(input: Tensor, target: Tensor, weight: Tensor | None, label_smoothing: float) -> int:
    """The class axis."""
    if input.ndim == 0 or target.shape != input.shape:
        hint = "; indices of classes have an integer dtype" if target.ndim < input.ndim else ""
        raise nd.ShapeError(
            f"cross_entropy: class probabilities of shape {target.shape} do not fit logits of shape {input.shape}{hint}"
        )
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"cross_entropy: label_smoothing must lie between 0 and 1, not {label_smoothing}")
    axis = min(1, input.ndim - 1)
    if weight is not None and weight.shape != input.shape[axis : axis + 1]:
        raise nd.ShapeError(f"cross_entropy: a weight of shape {weight.shape} does not fit {input.shape[axis]} classes")
    return axis
