"""Adamax."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average

__all__ = ["Adamax"]


class Adamax(ComposedOptimizer):
    """Adam with the largest gradient, decayed by beta2, for the root of the averaged square.

    Kingma and Ba 2015, "Adam: a method for stochastic optimization", algorithm 2; ``eps`` joins the absolute gradient.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adamax([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, defaults)

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        return {"rate": options["lr"] / (1.0 - options["betas"][0] ** state["step"])}

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        beta1, beta2 = options["betas"]
        first, largest = arrays["exp_avg"], arrays["exp_inf"]
        average(first, gradient, beta1)
        largest *= beta2
        size = nd.abs(gradient)
        size += options["eps"]
        nd.maximum(largest, size, out=largest)
        parameter -= first / largest * numbers["rate"]
