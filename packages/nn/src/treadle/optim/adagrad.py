"""Adagrad."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options

__all__ = ["Adagrad"]


class Adagrad(ComposedOptimizer):
    """Adagrad: steps of lr * g / (sqrt(s) + eps), where s is the sum of the squared gradients so far.

    ``lr_decay`` divides the rate by 1 + (step - 1) * lr_decay; s starts at ``initial_accumulator_value``. Duchi, Hazan
    and Singer 2011, "Adaptive subgradient methods for online learning and stochastic optimization", figure 1.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adagrad([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.75
    """

    nonnegative = (*ComposedOptimizer.nonnegative, "lr_decay", "initial_accumulator_value")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "eps": eps, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: Options) -> None:
        super().begin(parameter, state, options)
        state["sum"] = nd.full_like(parameter, options["initial_accumulator_value"])

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("sum",)

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        return {"rate": options["lr"] / (1.0 + (state["step"] - 1) * options["lr_decay"])}

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        total = arrays["sum"]
        total += nd.square(gradient)
        root = nd.sqrt(total)
        root += options["eps"]
        parameter -= gradient / root * numbers["rate"]
