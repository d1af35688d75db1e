"""Losses of yes-or-no targets."""

from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Op, Tensor
from treadle.ndarray.ranges import check_none
from treadle.nn.functional.losses.reduction import check_reduction, check_same_shape, matched, reduced

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
]

_LEAST_LOG = -100.0
_LEAST_PRODUCT = 1e-12


class BinaryCrossEntropy(Op):
    """-(y log p + (1 - y) log(1 - p)), elementwise, with logarithms of at least -100.

    The gradient by p is (p - y) / max(p (1 - p), 1e-12), which stays finite at 0 and 1.

    >>> BinaryCrossEntropy()(Tensor([0.0]), Tensor([1.0])).item()
    100.0
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        """The losses of probabilities and targets; ValueError where one is no probability."""
        p, y = arrays
        _check_shares(xp, p, f"{self}: probabilities must lie between 0 and 1; logits go to the loss with logits")
        _check_shares(xp, y, f"{self}: targets must lie between 0 and 1")
        return (y - 1.0) * _log(xp, xp.log1p(-p)) - y * _log(xp, xp.log(p)), (p, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        """The gradients by the probabilities and by the targets."""
        p, y = node.saved
        by_input = by_target = None
        if node.needs_grad(0):
            by_input = grad * (p - y) / xp.clip(p * (1.0 - p), _LEAST_PRODUCT, None)
        if node.needs_grad(1):
            by_target = grad * (_log(xp, xp.log1p(-p)) - _log(xp, xp.log(p)))
        return by_input, by_target

    def infer(self, shapes: Any, dtypes: Any) -> Any:
        """Shape and dtype of the result."""
        return shapes[0], dtypes[0]


def _check_shares(xp: Any, x: Any, text: str) -> None:
    within = (x >= 0.0) & (x <= 1.0)
    if xp is nd:
        check_none(nd.logical_not(within), ValueError(text))
    elif not bool(xp.all(within)):
        raise ValueError(text)


def _log(xp: Any, logarithm: Any) -> Any:
    return xp.clip(logarithm, _LEAST_LOG, None)


class LogitCrossEntropy(Op):
    """max(x, 0) - x y + log(1 + exp(-|x|)), the binary cross-entropy of sigmoid(x), elementwise.

    The first two are |x| times 1 - y or y, which has no difference of infinities.

    Its derivative sigmoid(x) - y is computed from t = sigmoid(-|x|), which keeps its digits where the other is near 1.

    >>> LogitCrossEntropy()(Tensor([0.0, 200.0]), Tensor([1.0, 0.0])).numpy().round(4).tolist()
    [0.6930999755859375, 200.0]
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        """The losses of logits and targets."""
        x, y = arrays
        size = xp.abs(x)
        return xp.where(x >= 0.0, 1.0 - y, y) * size + xp.softplus(-size), arrays

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        """The gradients by the logits and by the targets."""
        x, y = node.saved
        small = xp.sigmoid(-xp.abs(x))
        by_input = grad * xp.where(x >= 0.0, (1.0 - y) - small, small - y)
        return by_input, -grad * x if node.needs_grad(1) else None

    def infer(self, shapes: Any, dtypes: Any) -> Any:
        """Shape and dtype of the result."""
        return shapes[0], dtypes[0]


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)) of probabilities ``input``, with logarithms >= -100.

    Shapes must be equal; ``weight`` broadcasts to them. A probability outside of [0, 1] is a ValueError.

    >>> round(binary_cross_entropy(Tensor([0.5]), Tensor([1.0])).item(), 6)  # log(2)
    0.693147
    """
    check_reduction(reduction)
    losses = BinaryCrossEntropy()(*matched("binary_cross_entropy", input, target))
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross-entropy of sigmoid(input), exact for logits of any size.

    Shapes must be equal; ``weight`` broadcasts to them, and so does ``pos_weight``, which multiplies the part of the
    positive target: (1 - y) softplus(x) + pos_weight y softplus(-x), with the derivative sigmoid(x) - y at pos_weight
    1, also where x is 0.

    >>> losses = binary_cross_entropy_with_logits(Tensor([-100.0, 0.0]), Tensor([0.0, 1.0]), reduction="none")
    >>> [round(loss, 6) for loss in losses.numpy().tolist()]
    [0.0, 0.693147]
    """
    check_reduction(reduction)
    input, target = matched("binary_cross_entropy_with_logits", input, target)
    losses = _from_logits(input, target, pos_weight)
    return reduced(losses if weight is None else losses * weight, reduction)


def _from_logits(input: Tensor, target: Tensor, pos_weight: Tensor | None = None) -> Tensor:
    if pos_weight is None:
        return LogitCrossEntropy()(input, target)
    positive = target * autograd.softplus(-input) * pos_weight
    return (1.0 - target) * autograd.softplus(input) + positive


def soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, of ``input``'s shape; exact for inputs of any size.

    >>> round(soft_margin_loss(Tensor([0.0]), Tensor([-1.0])).item(), 6)  # log(2)
    0.693147
    """
    check_reduction(reduction)
    check_same_shape("soft_margin_loss", input, target)
    return reduced(autograd.softplus(-target * input), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """The binary cross-entropy of the logits of each class, averaged over the classes, which are the last dimension.

    ``target`` holds 0 or 1 for each of them; ``weight`` broadcasts.

    >>> round(multilabel_soft_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])).item(), 6)  # log(2)
    0.693147
    """
    check_reduction(reduction)
    input, target = matched("multilabel_soft_margin_loss", input, target)
    if input.ndim == 0:
        raise nd.ShapeError("multilabel_soft_margin_loss: the input has no dimension of classes")
    losses = _from_logits(input, target)
    return reduced(autograd.mean(losses if weight is None else losses * weight, axis=-1), reduction)
