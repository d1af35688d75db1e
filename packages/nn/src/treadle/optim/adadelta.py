"""Adadelta."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average_square
from treadle.optim.optimizer import require

__all__ = ["Adadelta"]


class Adadelta(ComposedOptimizer):
    """Steps of lr * g * sqrt(d + eps) / sqrt(v + eps), with averages v of g squared and d of the squared steps.

    Zeiler 2012, "ADADELTA: an adaptive learning rate method", algorithm 1.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adadelta([w]).step()
    >>> round(w.item(), 6)
    0.996838
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, defaults)

    def check(self, options: Options) -> None:
        super().check(options)
        require(0.0 <= options["rho"] <= 1.0, "rho", options["rho"], "between 0 and 1")

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        squares, steps = arrays["square_avg"], arrays["acc_delta"]
        rho, eps = options["rho"], options["eps"]
        average_square(squares, gradient, rho)
        delta = nd.sqrt((steps + eps) / (squares + eps))
        delta *= gradient
        average_square(steps, delta, rho)
        parameter -= delta * options["lr"]
