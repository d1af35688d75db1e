"""Evolved sign momentum."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average

__all__ = ["Lion"]


class Lion(ComposedOptimizer):
    """Lion: steps of lr along the sign of beta1 * m + (1 - beta1) * g, with m an average of the gradient by beta2.

    ``weight_decay`` shrinks the parameter by lr * weight_decay. Chen et al. 2023, "Symbolic discovery of optimization
    algorithms", program 1 (Lion). Rates want to be 3 to 10 times smaller than Adam's.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Lion([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize,
            "decoupled_weight_decay": True,
        }  # fmt: skip
        super().__init__(params, defaults)

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("exp_avg",)

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        beta1, beta2 = options["betas"]
        first = arrays["exp_avg"]
        direction = first * beta1
        direction += gradient * (1.0 - beta1)
        parameter -= nd.sign(direction) * options["lr"]
        average(first, gradient, beta2)
