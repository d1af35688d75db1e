"""A failing op as a self-contained test."""

import cmath
from types import EllipsisType
from typing import Any

from treadle.autograd._op import configuration
from treadle.autograd._tensor import Op, Tensor
from treadle.ndarray import DType, NDArray

__all__ = ["reproduction"]

_TEMPLATE = '''"""Reproduces: {op} gave a NaN or an infinity."""

import treadle.autograd as ag
import treadle.ndarray as nd


def test_result_is_finite() -> None:
{inputs}
    results = {call}
    for each in results if isinstance(results, tuple) else (results,):
        assert bool(nd.all(nd.isfinite(each.data))), each
'''


def reproduction(op: Op, inputs: tuple[Tensor, ...]) -> str:
    """The text of a pytest file that builds the operands, calls the op and asserts that the result is finite.

    Values are written exactly (``repr`` of a float is exact). Raises ValueError for an op that is not one of
    ``treadle.autograd.ops``, or whose configuration has no literal form.
    """
    lines = []
    for number, each in enumerate(inputs):
        flag = ", requires_grad=True" if each.requires_grad else ""
        lines.append(f"    x{number} = ag.Tensor({_literal(each.data, op)}{flag})")
    arguments = ", ".join(f"x{number}" for number in range(len(inputs)))
    return _TEMPLATE.format(op=type(op).__name__, inputs="\n".join(lines), call=f"{_constructor(op)}({arguments})")


def _constructor(op: Op) -> str:
    import treadle.autograd.ops as ops

    kind = type(op)
    if getattr(ops, kind.__name__, None) is not kind:
        raise ValueError(
            f"{kind.__module__}.{kind.__qualname__} is not in treadle.autograd.ops: a test cannot import it"
        )
    arguments = [f"{name}={_literal(value, op)}" for name, value in configuration(op).items()]
    return f"ag.ops.{kind.__name__}({', '.join(arguments)})"


def _literal(value: Any, op: Op) -> str:
    """A value as Python source."""
    if isinstance(value, list | tuple):
        parts = ", ".join(_literal(each, op) for each in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' if len(value) == 1 else ''})"
    if isinstance(value, NDArray):
        device = "" if str(value.device) == "cpu" else f", device={str(value.device)!r}"
        values = _literal(value.tolist(), op)
        return f"nd.reshape(nd.asarray({values}, dtype=nd.{value.dtype.name}{device}), {value.shape})"
    if isinstance(value, slice):
        return f"slice({', '.join(_literal(each, op) for each in (value.start, value.stop, value.step))})"
    if isinstance(value, complex):
        return f"complex({_literal(value.real, op)}, {_literal(value.imag, op)})"
    if isinstance(value, float) and not cmath.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, DType):
        return f"nd.{value.name}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, EllipsisType):
        return "..."
    raise ValueError(f"{op}: a {type(value).__name__} in its configuration cannot be written into a test")
