"""Resilient backpropagation."""

from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.optim.composed import Arrays, ComposedOptimizer, Numbers, Options
from treadle.optim.optimizer import require

__all__ = ["Rprop"]


class Rprop(ComposedOptimizer):
    """Steps of a size of its own for each element, along the sign of the gradient alone; for full batches.

    A size grows by ``etas[1]`` while the gradient keeps its sign, and shrinks by ``etas[0]`` when it turns, where the
    element then rests for one step; ``step_sizes`` bounds it. Riedmiller and Braun 1993, "A direct adaptive method for
    faster backpropagation learning: the RPROP algorithm", in the form without weight backtracking (Rprop-).

    >>> from treadle.autograd import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Rprop([w], lr=0.25).step()
    >>> round(w.item(), 6)
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, defaults)

    def check(self, options: Options) -> None:
        super().check(options)
        shrink, grow = options["etas"]
        require(0.0 < shrink < 1.0 < grow, "etas", options["etas"], "below 1 and above 1")

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: Options) -> None:
        super().begin(parameter, state, options)
        state["step_size"] = nd.full_like(parameter, options["lr"])

    def moments(self, options: Options) -> tuple[str, ...]:
        return ("prev", "step_size")

    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        shrink, grow = options["etas"]
        smallest, largest = options["step_sizes"]
        before, size = arrays["prev"], arrays["step_size"]
        turn = gradient * before
        turned = turn < 0.0
        factor = nd.where(turned, shrink, nd.where(turn > 0.0, grow, nd.ones_like(size)))
        size[...] = nd.clip(size * factor, smallest, largest)
        before[...] = nd.where(turned, 0.0, gradient)
        parameter -= nd.sign(before) * size
