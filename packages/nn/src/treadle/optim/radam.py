"""Rectified Adam."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average, average_square

__all__ = ["RAdam"]


class RAdam(ComposedOptimizer):
    """Adam that steps along the averaged gradient alone until the average of its square can be trusted.

    The adaptive step is scaled by the square root of the variance that this average has in the limit over what it has
    after these steps. Liu et al. 2020, "On the variance of the adaptive learning rate and beyond", algorithm 2.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> RAdam([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.5
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        (beta1, beta2), step = options["betas"], state["step"]
        rate = options["lr"] / (1.0 - beta1**step)
        correction = 1.0 - beta2**step
        limit = 2.0 / (1.0 - beta2) - 1.0
        length = limit - 2.0 * step * beta2**step / correction
        if length <= 5.0:
            return {"rate": rate}
        variance = (length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length)
        return {"adaptive": rate * (variance * correction) ** 0.5}

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        beta1, beta2 = options["betas"]
        first, second = arrays["exp_avg"], arrays["exp_avg_sq"]
        average(first, gradient, beta1)
        average_square(second, gradient, beta2)
        if "rate" in numbers:
            parameter -= first * numbers["rate"]
            return
        root = nd.sqrt(second)
        root += options["eps"]
        parameter -= first / root * numbers["adaptive"]
