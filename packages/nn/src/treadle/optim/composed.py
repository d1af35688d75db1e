"""The base of optimizers whose update is composed of array operations, in place."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.optimizer import Optimizer

__all__ = ["ComposedOptimizer", "average", "descent", "moment"]


class ComposedOptimizer(Optimizer):
    """Counts the steps of a parameter and prepares its gradient; a subclass says how the parameter moves."""

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        if not state:
            self.begin(parameter.data, state, options)
        state["step"] += 1
        self.move(parameter.data, descent(parameter.data, gradient, options), state, options)

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        """Fill the state of a parameter that has none; arrays of zeros come by themselves with :func:`moment`."""
        state["step"] = 0

    @abstractmethod
    def move(self, parameter: nd.NDArray, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        """Change ``parameter`` in place; ``gradient`` is what to descend along, and must not be written into."""


def descent(parameter: nd.NDArray, gradient: nd.NDArray, options: Mapping[str, Any]) -> nd.NDArray:
    """The gradient to descend along: negated to maximize, with the weight decay added.

    Where the options decouple the decay, it shrinks the parameter at once instead.
    """
    if options["maximize"]:
        gradient = -gradient
    decay = options.get("weight_decay", 0.0)
    if decay == 0.0:
        return gradient
    if options.get("decoupled_weight_decay", False):
        parameter *= 1.0 - options["lr"] * decay
        return gradient
    joined: nd.NDArray = parameter * decay
    joined += gradient
    return joined


def moment(parameter: nd.NDArray, state: dict[str, Any], name: str) -> nd.NDArray:
    """The array ``name`` of the state, zeros at first."""
    value: nd.NDArray | None = state.get(name)
    if value is None:
        value = state[name] = nd.zeros_like(parameter)
    return value


def average(moving: nd.NDArray, value: nd.NDArray, decay: float) -> None:
    """moving = decay * moving + (1 - decay) * value, in place."""
    moving *= decay
    moving += value * (1.0 - decay)
