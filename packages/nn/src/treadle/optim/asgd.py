"""Averaged stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options

__all__ = ["ASGD"]


class ASGD(ComposedOptimizer):
    """Gradient descent whose state ``ax`` is the average of the parameter over the steps after ``t0``.

    The rate is lr / (1 + lambd * lr * step) ** alpha, and each step shrinks the parameter by 1 - lambd * rate. Polyak
    and Juditsky 1992, "Acceleration of stochastic approximation by averaging"; Bottou 2010, "Large-scale machine
    learning with stochastic gradient descent", section 5.

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> ASGD([w], lr=0.25, lambd=0.0).step()
    >>> round(w.item(), 6)
    0.5
    """

    scalar_state = ("step", "eta", "mu")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: Options) -> None:
        super().begin(parameter, state, options)
        state["eta"] = options["lr"]
        state["mu"] = 1.0

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("ax",)

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        lr, step, lambd = options["lr"], state["step"], options["lambd"]
        now = {"eta": state["eta"], "mu": state["mu"]}
        state["eta"] = lr / (1.0 + lambd * lr * step) ** options["alpha"]
        state["mu"] = 1.0 / max(1.0, step - options["t0"])
        return now

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        mean = arrays["ax"]
        parameter *= 1.0 - options["lambd"] * numbers["eta"]
        parameter -= gradient * numbers["eta"]
        if numbers["mu"] == 1.0:
            mean[...] = parameter
        else:
            mean += (parameter - mean) * numbers["mu"]
