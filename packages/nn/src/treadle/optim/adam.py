"""Adam."""

from collections.abc import Iterable, Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.composed import average, average_square, blocks, descent, fresh_state, moment
from treadle.optim.optimizer import Optimizer

__all__ = ["Adam"]


class Adam(Optimizer):
    """Adam: steps of lr * m / (sqrt(v) + eps), with bias-corrected averages m of the gradient and v of its square.

    ``weight_decay`` joins the gradient, or with ``decoupled_weight_decay`` shrinks the parameter itself. With
    ``amsgrad`` the largest v so far divides. Kingma and Ba 2015, "Adam: a method for stochastic optimization",
    algorithm 1; Reddi, Kale and Kumar 2018, "On the convergence of Adam and beyond", algorithm 2.

    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adam([w], lr=0.5).step()
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
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    optional_state = ("max_exp_avg_sq",)

    def state_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ("step", "exp_avg", "exp_avg_sq")

    def takes_halves(self, options: Mapping[str, Any]) -> bool:
        return not options["amsgrad"]

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = fresh_state(parameter.data)
            state["exp_avg_sq"] = fresh_state(parameter.data)
        step = state["step"] = state["step"] + 1
        if options["amsgrad"]:
            moments = [moment(parameter.data, state, name) for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")]
            for block in blocks([parameter.data, gradient, *moments]):
                _amsgrad_step(*block, step=step, options=options)
            return
        beta1, beta2 = options["betas"]
        nd.adam_step(
            parameter.data,
            gradient,
            state["exp_avg"],
            state["exp_avg_sq"],
            lr=options["lr"],
            beta1=beta1,
            beta2=beta2,
            eps=options["eps"],
            weight_decay=options["weight_decay"],
            decoupled=options["decoupled_weight_decay"],
            step=step,
            maximize=options["maximize"],
        )


def _amsgrad_step(
    parameter: nd.NDArray,
    gradient: nd.NDArray,
    first: nd.NDArray,
    second: nd.NDArray,
    largest: nd.NDArray,
    *,
    step: int,
    options: dict[str, Any],
) -> None:
    beta1, beta2 = options["betas"]
    gradient = descent(parameter, gradient, options)
    average(first, gradient, beta1)
    average_square(second, gradient, beta2)
    nd.maximum(largest, second, out=largest)
    root = nd.sqrt(largest) / (1.0 - beta2**step) ** 0.5
    root += options["eps"]
    parameter -= first / root * (options["lr"] / (1.0 - beta1**step))
