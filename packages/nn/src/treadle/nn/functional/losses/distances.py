"""Losses of pairs and triples: distances, similarities and margins."""

from collections.abc import Callable

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_half
from treadle.nn.functional.distance import pairwise_distance
from treadle.nn.functional.losses.reduction import check_reduction, check_same_shape, reduced

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

_COSINE_EPS = 1e-12


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """A distance ``input`` where ``target`` is 1, and max(0, margin - input) where it is -1; of one shape.

    >>> hinge_embedding_loss(Tensor([0.25, 0.25]), Tensor([1.0, -1.0]), reduction="none").numpy().tolist()
    [0.25, 0.75]
    """
    check_reduction(reduction)
    check_same_shape("hinge_embedding_loss", input, target)
    apart = autograd.where(Tensor(target.data != 1.0), autograd.clip(margin - input, 0.0, None), 0.0)
    together = autograd.where(Tensor(target.data != -1.0), input, 0.0)
    return reduced(apart + together, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin): ``target`` 1 says that the first should be larger, -1 smaller.

    >>> margin_ranking_loss(Tensor([1.0]), Tensor([3.0]), Tensor([1.0])).item()
    2.0
    """
    check_reduction(reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        shapes = (input1.shape, input2.shape, target.shape)
        raise nd.ShapeError(f"margin_ranking_loss: inputs and target of shapes {shapes} differ in dimensions")
    return reduced(autograd.clip(-target * (input1 - input2) + margin, 0.0, None), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where ``target`` is 1, and max(0, cosine - margin) where it is -1.

    The inputs are ``(batch, size)`` with a target ``(batch,)``, or ``(size,)`` with a 0-d one.

    >>> cosine_embedding_loss(Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]]), Tensor([1.0])).item()
    1.0
    """
    check_reduction(reduction)
    check_same_shape("cosine_embedding_loss", input1, input2, "input2")
    if input1.ndim not in (1, 2) or target.shape != input1.shape[:-1]:
        raise nd.ShapeError(f"cosine_embedding_loss: target {target.shape} does not fit inputs of {input1.shape}")
    if is_half(input1) and is_half(input2):  # which have no such eps
        first, second = (each.astype(nd.float32) for each in (input1, input2))
        loss = cosine_embedding_loss(first, second, target, margin, reduction=reduction)
        return loss.astype(nd.result_type(input1.dtype, input2.dtype))
    product = autograd.sum(input1 * input2, axis=-1)
    lengths = [autograd.sqrt(autograd.sum(autograd.square(each), axis=-1) + _COSINE_EPS) for each in (input1, input2)]
    cosine = product / (lengths[0] * lengths[1])
    together = autograd.where(Tensor(target.data == 1.0), 1.0 - cosine, 0.0)
    apart = autograd.where(Tensor(target.data == -1.0), autograd.clip(cosine - margin, 0.0, None), 0.0)
    return reduced(together + apart, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) of ``p``-norm distances over the last dimension.

    With ``swap`` the negative is as far as it is from the nearer of anchor and positive. Balntas et al. 2016, "Learning
    local feature descriptors with triplets and shallow convolutional neural networks"; Schroff, Kalenichenko and
    Philbin 2015, "FaceNet".

    >>> triplet_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0]]), Tensor([[0.0, 5.5]]), eps=0.0).item()
    0.5
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda x1, x2: pairwise_distance(x1, x2, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with a distance of one's own, by default :func:`pairwise_distance`.

    >>> loss = triplet_margin_with_distance_loss(
    ...     Tensor([[0.0]]),
    ...     Tensor([[1.0]]),
    ...     Tensor([[3.0]]),
    ...     distance_function=lambda x, y: abs(x - y).sum(axis=-1),
    ...     margin=2.5,
    ... )
    >>> loss.item()
    0.5
    """
    check_reduction(reduction)
    if not margin > 0.0:
        raise ValueError(f"a triplet loss needs a margin above 0, not {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = autograd.minimum(far, distance(positive, negative))
    return reduced(autograd.clip(near - far + margin, 0.0, None), reduction)
