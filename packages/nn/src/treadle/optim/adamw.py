"""Adam with decoupled weight decay."""

from collections.abc import Iterable
from typing import Any

from treadle.optim.adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter by lr * weight_decay and leaves the gradient alone.

    Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithm 2.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> w.grad = Tensor([0.0])
    >>> AdamW([w], lr=0.5, weight_decay=0.5).step()
    >>> w.item()
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)
