"""The base of optimizers whose update is composed of array operations, in place.

A large parameter is updated block by block: a block and the arrays beside it stay in the processor's cache over all
the operations, where whole arrays would come from memory for each.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.optimizer import Optimizer

__all__ = ["ComposedOptimizer", "average", "average_square", "blocks", "descent", "fresh_state", "moment"]

_BLOCK = 1 << 16
"""Bytes of each array in a block."""

Arrays = Mapping[str, nd.NDArray]
Numbers = Mapping[str, float]
Options = Mapping[str, Any]


class ComposedOptimizer(Optimizer):
    """Counts a parameter's steps, keeps its arrays, prepares its gradient; a subclass says how the parameter moves."""

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        data = parameter.data
        if not state:
            self.begin(data, state, options)
        state["step"] += 1
        names = self.moments(options)
        numbers = self.numbers(state, options)
        for part, slope, *rest in blocks([data, gradient, *(moment(data, state, name) for name in names)]):
            arrays = dict(zip(names, rest, strict=True))
            self.move(part, descent(part, slope, options), arrays, numbers, options)

    def begin(self, parameter: nd.NDArray, state: dict[str, Any], options: Options) -> None:
        """Fill the state of a parameter that has none; arrays that begin with zeros need no mention."""
        state["step"] = 0

    def state_names(self, options: Options) -> tuple[str, ...]:
        return (*self.scalar_state, *(name for name in self.moments(options) if name not in self.optional_state))

    @abstractmethod
    def moments(self, options: Options) -> tuple[str, ...]:
        """The names of the arrays in the state, of the parameter's shape."""

    def numbers(self, state: dict[str, Any], options: Options) -> Numbers:
        """What the step depends on beside arrays and options; ``state`` has counted the step."""
        return {}

    @abstractmethod
    def move(
        self, parameter: nd.NDArray, gradient: nd.NDArray, arrays: Arrays, numbers: Numbers, options: Options
    ) -> None:
        """Change ``parameter`` and ``arrays``, which may be a block of the whole, in place, element by element.

        ``gradient`` is what to descend along, and must not be written into.
        """


def blocks(arrays: Sequence[nd.NDArray]) -> Iterator[Sequence[nd.NDArray]]:
    """The same parts of all arrays, one after another; the whole where there is nothing to gain.

    The second array, the gradient, is only read, and may have any layout.
    """
    first = arrays[0]
    length = _BLOCK // first.dtype.itemsize
    written = (each.is_contiguous for place, each in enumerate(arrays) if place != 1)
    if first.size <= length or first.device.type != "cpu" or not all(written):
        yield arrays
        return
    flat = [each.reshape((-1,)) for each in arrays]
    for start in range(0, first.size, length):
        yield [each[start : start + length] for each in flat]


def descent(parameter: nd.NDArray, gradient: nd.NDArray, options: Options) -> nd.NDArray:
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


def fresh_state(parameter: nd.NDArray) -> nd.NDArray:
    """Zeros of the parameter's shape, and of its dtype, or float32 beside halves."""
    return nd.zeros_like(parameter, dtype=nd.float32 if parameter.itemsize == 2 else parameter.dtype)


def moment(parameter: nd.NDArray, state: dict[str, Any], name: str) -> nd.NDArray:
    """The array ``name`` of the state, zeros at first."""
    value: nd.NDArray | None = state.get(name)
    if value is None:
        value = state[name] = fresh_state(parameter)
    return value


def average(moving: nd.NDArray, value: nd.NDArray, decay: float) -> None:
    """moving = decay * moving + (1 - decay) * value, in place."""
    moving *= decay
    moving += value * (1.0 - decay)


def average_square(moving: nd.NDArray, value: nd.NDArray, decay: float) -> None:
    """moving = decay * moving + (1 - decay) * value**2, in place; a square that overflows by itself may fit so."""
    moving *= decay
    moving += (value * (1.0 - decay)) * value
