"""Stochastic gradient descent."""

from collections.abc import Iterable, Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.composed import fresh_state
from treadle.optim.optimizer import Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent with momentum.

    With gradient g (plus weight_decay * p; negated to ``maximize``) and momentum m: b = m * b + (1 - dampening) * g,
    where the first b is g itself; then p -= lr * b, or p -= lr * (g + m * b) with ``nesterov``. Sutskever et al. 2013,
    "On the importance of initialization and momentum in deep learning".

    ``damped`` is another form in use: b = m * b + (1 - m) * g from b = 0, the moving average of the gradients, so
    that the first step is short by 1 - m. It excludes ``dampening`` and ``nesterov``.

    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SGD([w], lr=0.25).step()
    >>> w.item()
    0.5
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        damped: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "damped": damped,
        }  # fmt: skip
        super().__init__(params, defaults)

    nonnegative = ("lr", "momentum", "weight_decay")
    optional_state = ("momentum_buffer",)

    def state_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ()

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if options["damped"] and (options["nesterov"] or options["dampening"] != 0.0):
            raise ValueError("damped momentum has a dampening of its own, and no nesterov form")
        if options["nesterov"] and (options["momentum"] == 0.0 or options["dampening"] != 0.0):
            raise ValueError("nesterov needs a momentum above 0 and a dampening of 0")

    def takes_halves(self, options: Mapping[str, Any]) -> bool:
        return True

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        momentum, damped = options["momentum"], options["damped"]
        buffer = state.get("momentum_buffer")
        first_step = buffer is None
        if momentum != 0.0 and first_step:
            buffer = state["momentum_buffer"] = fresh_state(parameter.data)
        nd.sgd_step(
            parameter.data,
            gradient,
            buffer if momentum != 0.0 else None,
            lr=options["lr"],
            momentum=momentum,
            dampening=momentum if damped else options["dampening"],
            weight_decay=options["weight_decay"],
            nesterov=options["nesterov"],
            first_step=first_step and not damped,
            maximize=options["maximize"],
        )
