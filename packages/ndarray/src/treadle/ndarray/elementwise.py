"""The public elementwise functions, one for each unary and binary row of the op table, and ``where`` and ``clip``."""

from typing import Any

from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction, clip, where
from treadle.ndarray.opset import Accepts, Family, Op, Result, family

__all__ = ["clip", "where"]

_ACCEPTS = {
    Accepts.ALL: "any dtype",
    Accepts.NUMERIC: "integer and floating dtypes",
    Accepts.FLOATING: "floating dtypes (integers and booleans become float32 first)",
    Accepts.INTEGER: "integer dtypes",
    Accepts.BITWISE: "integer dtypes and bool",
}


def _docstring(row: Op) -> str:
    call, _, value = row.example.partition(" -> ")
    operands = (
        "``x`` is an array or what asarray takes"
        if row.family is Family.UNARY
        else "``x`` and ``y`` are arrays or what asarray takes; they broadcast and meet in one dtype. "
        "One of them may be a Python\nscalar, which never widens the other"
    )
    shape = "the shape of x" if row.family is Family.UNARY else "the broadcast shape"
    result = "bool" if row.result is Result.BOOL else "the operands' dtype"
    return (
        f"{row.summary}\n\n{operands}.\nDefined on {_ACCEPTS[row.accepts]}.\n"
        f"The result has {shape} and {'dtype ' * (result == 'bool')}{result}. "
        "With ``out``, an array of that shape on the same device,\nit is written there and returned.\n\n"
        "Raises ShapeError, DTypeError, DeviceError, BufferReadOnlyError; OverflowError for a scalar out of range.\n\n"
        f">>> import treadle.ndarray as nd\n>>> nd.{call}.tolist()\n{value}\n"
    )


def _make() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for rows, kind, signature in (
        (family(Family.UNARY), UnaryFunction, "(x, /, *, out=None)"),
        (family(Family.BINARY), BinaryFunction, "(x, y, /, *, out=None)"),
    ):
        for row in rows:
            function = kind(row.name)
            function.__name__ = function.__qualname__ = row.name
            function.__module__ = "treadle.ndarray"
            function.__doc__ = _docstring(row)
            function.__text_signature__ = signature
            made[row.name] = function
    return made


functions = _make()
globals().update(functions)
__all__ += list(functions)
