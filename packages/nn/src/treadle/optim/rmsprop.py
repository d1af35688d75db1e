"""RMSprop."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options, average, average_square

__all__ = ["RMSprop"]


class RMSprop(ComposedOptimizer):
    """RMSprop: steps of lr * g / (sqrt(v) + eps), with an average v of the squared gradient.

    ``centered`` takes the square of the averaged gradient from v, which makes it a variance; ``momentum`` m steps along
    b = m * b + g / (sqrt(v) + eps). Hinton 2012, "Neural networks for machine learning", lecture 6e; Graves 2013,
    "Generating sequences with recurrent neural networks", equations 38 to 45 (centered).

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> RMSprop([w], lr=0.01, alpha=0.75).step()
    >>> round(w.item(), 6)
    0.98
    """

    nonnegative = (*ComposedOptimizer.nonnegative, "alpha", "momentum")
    optional_state = ("grad_avg", "momentum_buffer")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum,
            "centered": centered, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def moments(self, options: Options) -> tuple[str, ...]:
        names = ["square_avg"]
        if options["centered"]:
            names.append("grad_avg")
        if options["momentum"] > 0.0:
            names.append("momentum_buffer")
        return tuple(names)

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        alpha = options["alpha"]
        squares = arrays["square_avg"]
        average_square(squares, gradient, alpha)
        if options["centered"]:
            mean = arrays["grad_avg"]
            average(mean, gradient, alpha)
            root = nd.sqrt(nd.maximum(squares - nd.square(mean), 0.0))  # rounding takes a variance of 0 below it
        else:
            root = nd.sqrt(squares)
        root += options["eps"]
        step = gradient / root
        if options["momentum"] > 0.0:
            buffer = arrays["momentum_buffer"]
            buffer *= options["momentum"]
            buffer += step
            step = buffer
        parameter -= step * options["lr"]
