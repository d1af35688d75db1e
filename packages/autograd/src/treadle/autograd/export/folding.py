"""Batch norm and its like, folded into the product before: what scales or shifts each output by constants.

A matrix product or convolution by a constant weight, followed by additions and multiplications of constants that vary
along the output axis only, is the same product by a scaled weight, and one addition.
"""

from dataclasses import dataclass
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.expressions import users_of
from treadle.autograd.export.program import Call, Program, Role, Value
from treadle.ndarray import NDArray

__all__ = ["fold"]

_STEPS = ("add", "subtract", "multiply", "divide", "negative")


@dataclass(slots=True)
class _Affine:
    """result * scale + shift, both of the shape of the output axis or numbers."""

    scale: Any = 1.0
    shift: Any = 0.0

    def then(self, function: str, factor: Any, constant_first: bool) -> None:
        """Append a step."""
        if function == "add":
            self.shift = self.shift + factor
        elif function == "subtract":
            sign = -1.0 if constant_first else 1.0
            self.scale, self.shift = self.scale * sign, sign * (self.shift - factor)
        elif function == "multiply":
            self.scale, self.shift = self.scale * factor, self.shift * factor
        elif function == "divide":
            self.scale, self.shift = self.scale / factor, self.shift / factor
        else:
            self.scale, self.shift = self.scale * -1.0, self.shift * -1.0


def fold(program: Program) -> Program:
    """The program with every such chain folded."""
    users = users_of(program)
    replaced: dict[int, list[Call]] = {}  # by id of the last call of a chain: what stands in its place
    gone: set[int] = set()
    for call in program.calls:
        axis, weight_axis = _axes(call)
        if axis is None or id(call) in gone or weight_axis is None:
            continue
        chain, affine = _chain(call, axis, users)
        scales = isinstance(affine.scale, NDArray) or affine.scale != 1.0
        if len(chain) < 2 or not scales:
            continue
        fresh = _scaled(call, chain[-1].results[0], axis, weight_axis, affine)
        gone |= {id(call), *(id(each) for each in chain)}
        replaced[id(chain[-1])] = fresh
    calls = []
    for call in program.calls:
        calls += replaced.get(id(call), [] if id(call) in gone else [call])
    return Program(program.inputs, program.outputs, calls, program.states, program.updates)


def _axes(call: Call) -> tuple[int | None, int | None]:
    """The output axis of a product by a constant weight, and that axis of the weight; (None, None) for other calls."""
    if call.function not in ("conv", "matmul"):
        return None, None
    weight = call.arguments[1]
    if weight.role is not Role.CONSTANT or weight.dtype.kind != "f" or call.arguments[0].role is Role.CONSTANT:
        return None, None
    if call.function == "conv":
        return 1, 0
    return (len(call.results[0].shape) - 1, 1) if len(weight.shape) == 2 else (None, None)


def _chain(call: Call, axis: int, users: dict[int, list[Call]]) -> tuple[list[Call], _Affine]:
    """The calls behind a product that scale or shift its outputs, each the only user of the one before."""
    chain: list[Call] = []
    affine = _Affine()
    value = call.results[0]
    while True:
        following = users.get(id(value), [])
        if len(following) != 1 or following[0].function not in _STEPS or following[0].results[0].shape != value.shape:
            return chain, affine
        step = following[0]
        factor: Any = None
        if step.function != "negative":
            first, second = step.arguments
            other = second if first is value else first
            factor = _along(other, axis, len(value.shape))
            if factor is None or (step.function == "divide" and first is not value):
                return chain, affine
            affine.then(step.function, factor, first is not value)
        else:
            affine.then("negative", None, False)
        chain.append(step)
        value = step.results[0]


def _along(item: Any, axis: int, ndim: int) -> Any:
    """A constant that varies along one axis only, as a 1-D float64 array or a number; None for anything else."""
    if isinstance(item, int | float):
        return float(item)
    if not isinstance(item, Value) or item.role is not Role.CONSTANT or item.dtype.kind != "f":
        return None
    shape = (1,) * (ndim - len(item.shape)) + item.shape
    if any(length != 1 for at, length in enumerate(shape) if at != axis):
        return None
    return item.example.reshape(-1).astype("float64")


def _scaled(call: Call, result: Value, axis: int, weight_axis: int, affine: _Affine) -> list[Call]:
    """The product by the scaled weight, and the addition; the last of them gives ``result``."""
    x, weight = call.arguments[:2]
    ndim = len(weight.shape)
    scale = _spread(affine.scale, weight_axis, ndim)
    array = (weight.example.astype("float64") * scale).astype(weight.dtype)
    number = weight.number
    scaled = Value(number, Role.CONSTANT, array, f"{weight.name}_scaled")
    shift = nd.asarray(affine.shift, dtype="float64") if not isinstance(affine.shift, NDArray) else affine.shift
    if not bool(nd.any(shift != 0.0)):
        product = Call(call.function, (x, scaled), call.options, [result], call.origin)
        result.call = product
        return [product]
    between = Value(call.results[0].number, Role.COMPUTED, call.results[0].example)
    product = Call(call.function, (x, scaled), call.options, [between], call.origin)
    between.call = product
    added = Value(result.number * 1000 + 1, Role.CONSTANT, _spread(shift, axis, len(result.shape)).astype(result.dtype))
    last = Call("add", (between, added), {}, [result], result.call.origin if result.call else call.origin)
    result.call = last
    return [product, last]


def _spread(values: Any, axis: int, ndim: int) -> Any:
    """Numbers along one axis of ``ndim``."""
    if not isinstance(values, NDArray) or values.ndim == 0:
        return values
    return values.reshape((1,) * axis + (-1,) + (1,) * (ndim - 1 - axis))
