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
        "x is an array or what asarray takes"
        if row.family is Family.UNARY
        else "x and y broadcast and meet in one dtype; one of them may be a Python scalar, which never widens the other"
    )
    result = "bool" if row.result is Result.BOOL else "the operands' dtype"
    return (
        f"{row.summary}\n\n{operands[0].upper()}{operands[1:]}; {_ACCEPTS[row.accepts]}. The result has {result}. "
        "With ``out`` it is written there\n(same shape and device) and returned.\n\n"
        "Raises ShapeError, DTypeError, DeviceError, BufferReadOnlyError.\n\n"
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
