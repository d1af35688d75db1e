"""A hinge for triples, with a distance of one's own."""

from collections.abc import Callable

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.losses.loss import Loss

__all__ = ["TripletMarginWithDistanceLoss"]


class TripletMarginWithDistanceLoss(Loss):
    """The triplet loss of ``distance_function(x, y)``, by default the Euclidean distance.

    >>> loss = TripletMarginWithDistanceLoss(distance_function=lambda x, y: abs(x - y).sum(axis=-1), margin=2.5)
    >>> loss(Tensor([[0.0]]), Tensor([[1.0]]), Tensor([[3.0]])).item()
    0.5
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.triplet_margin_with_distance_loss`."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
