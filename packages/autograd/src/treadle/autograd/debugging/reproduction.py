"""A failing op as a self-contained test."""

from typing import Any

from treadle.autograd._tensor import Op, Tensor
from treadle.ndarray import DType, NDArray

__all__ = ["reproduction"]

_TEMPLATE = '''"""Reproduces: {op} made the first NaN or infinity.{place}"""

import treadle.autograd as ag
import treadle.ndarray as nd


def test_result_is_finite() -> None:
{inputs}
    result = {call}
    assert bool(nd.all(nd.isfinite(result.data))), result
'''


def reproduction(op: Op, inputs: tuple[Tensor, ...]) -> str:
    """The text of a pytest file that builds the operands, calls the op and asserts that the result is finite.

    Values are written exactly (floats as hexadecimal would be unreadable; ``repr`` is exact as well). Raises ValueError
    for an op whose configuration has no literal form, or that is not one of ``treadle.autograd.ops``.
    """
    lines = []
    for number, each in enumerate(inputs):
        values = each.data.tolist()
        lines.append(
            f"    x{number} = ag.Tensor(nd.asarray({_literal(values)}, dtype=nd.{each.dtype.name})"
            f".reshape({each.shape}), requires_grad={each.requires_grad})"
        )
    arguments = ", ".join(f"x{number}" for number in range(len(inputs)))
    return _TEMPLATE.format(op=op, place="", inputs="\n".join(lines), call=f"{_constructor(op)}({arguments})")


def _constructor(op: Op) -> str:
    import treadle.autograd.ops as ops

    kind = type(op)
    if getattr(ops, kind.__name__, None) is not kind:
        raise ValueError(
            f"{kind.__module__}.{kind.__qualname__} is not in treadle.autograd.ops: a test cannot import it"
        )
    text = repr(op)
    start = text.index("(")
    for name, value in vars(op).items() if hasattr(op, "__dict__") else ():
        if isinstance(value, NDArray):
            raise ValueError(f"{text}: {name} is an array, which a test cannot spell out")
    return f"ag.ops.{text[:start]}{text[start:]}"


def _literal(value: Any) -> str:
    """Nested lists as Python source, with NaN and infinities as calls of float."""
    if isinstance(value, list):
        return "[" + ", ".join(_literal(each) for each in value) + "]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return f"nd.{value.name}" if isinstance(value, DType) else repr(value)
