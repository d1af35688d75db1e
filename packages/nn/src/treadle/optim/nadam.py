"""Adam with Nesterov momentum."""

import math
from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average, average_square

__all__ = ["NAdam"]


class NAdam(ComposedOptimizer):
    """Adam whose step looks ahead along the next momentum, as Nesterov's does.

    The momentum of step t is beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay)). Dozat 2016, "Incorporating Nesterov
    momentum into Adam", algorithm 2.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> NAdam([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.735887
    """

    nonnegative = (*ComposedOptimizer.nonnegative, "momentum_decay")
    scalar_state = ("step", "mu_product")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: Options) -> None:
        super().begin(parameter, state, options)
        state["mu_product"] = 1.0

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        lr, step = options["lr"], state["step"]
        beta1, beta2 = options["betas"]
        now, later = (beta1 * (1.0 - 0.5 * 0.96 ** (t * options["momentum_decay"])) for t in (step, step + 1))
        product = state["mu_product"] = state["mu_product"] * now
        return {
            "gradient": lr * (1.0 - now) / (1.0 - product),
            "average": lr * later / (1.0 - product * later),
            "correction": 1.0 - beta2**step,
        }

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        beta1, beta2 = options["betas"]
        first, second = arrays["exp_avg"], arrays["exp_avg_sq"]
        average(first, gradient, beta1)
        average_square(second, gradient, beta2)
        root = nd.sqrt(second) / math.sqrt(numbers["correction"])
        root += options["eps"]
        ahead = gradient * numbers["gradient"]
        ahead += first * numbers["average"]
        parameter -= ahead / root
