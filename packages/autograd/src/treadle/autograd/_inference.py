"""Which dtype the result of an op of the table has."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._op import as_scalar
from treadle.ndarray import DType, DTypeError
from treadle.ndarray.opset import COMPLEX, OPS, Accepts, Result

__all__ = ["Shape", "promote", "result_of_row"]

Shape = tuple[int, ...]


def promote(*operands: Any) -> DType:
    """The dtype in which dtypes and weak Python scalars meet."""
    given = [each if isinstance(each, DType) else as_scalar(each) for each in operands]
    return nd.result_type(*[each for each in given if each is not None])


def result_of_row(name: str, dtype: DType) -> DType:
    """The result dtype of an op of the table for operands of one dtype."""
    row = OPS[name]
    if row.result is Result.BOOL:
        return nd.bool
    if row.result is Result.INDEX:
        return nd.int64
    _check_accepted(name, dtype, row.accepts)
    if dtype.kind == "c" and name == "abs":
        return nd.float32 if dtype is nd.complex64 else nd.float64
    if row.accepts is Accepts.FLOATING and dtype.kind not in "fc":
        return nd.float32
    if row.result is Result.SUM and dtype.kind in "biu":
        return nd.uint64 if dtype.kind == "u" else nd.int64
    return dtype


_REFUSED = {Accepts.NUMERIC: "b", Accepts.INTEGER: "bfc", Accepts.BITWISE: "fc"}


def _check_accepted(name: str, dtype: DType, accepts: Accepts) -> None:
    if dtype.kind in _REFUSED.get(accepts, "") or (dtype.kind == "c" and name not in COMPLEX):
        raise DTypeError(f"{name} is not defined for {dtype.name}")
