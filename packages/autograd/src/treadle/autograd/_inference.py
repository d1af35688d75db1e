"""Which dtype the result of an op of the table has."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._op import as_scalar
from treadle.ndarray import DType
from treadle.ndarray.opset import OPS, Accepts, Result

__all__ = ["Shape", "promote", "result_of_row"]

Shape = tuple[int, ...]


def promote(*operands: Any) -> DType:
    """The dtype in which dtypes and weak Python scalars meet."""
    strong = [each for each in operands if isinstance(each, DType)]
    result = strong[0]
    for each in strong[1:]:
        result = nd.result_dtype(result, each)
    for each in operands:
        scalar = None if isinstance(each, DType) else as_scalar(each)
        if isinstance(scalar, float) and result.kind != "f":
            result = nd.float32
        elif isinstance(scalar, int) and not isinstance(scalar, bool) and result.kind == "b":
            result = nd.int64
    return result


def result_of_row(name: str, dtype: DType) -> DType:
    """The result dtype of an op of the table for operands of one dtype."""
    row = OPS[name]
    if row.result is Result.BOOL:
        return nd.bool
    if row.result is Result.INDEX:
        return nd.int64
    if row.accepts is Accepts.FLOATING and dtype.kind != "f":
        return nd.float32
    if row.result is Result.SUM and dtype.kind in "biu":
        return nd.uint64 if dtype.kind == "u" else nd.int64
    return dtype
