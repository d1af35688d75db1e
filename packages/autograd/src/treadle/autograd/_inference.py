"""The dtype of an op's result, and its errors, before anything is computed.

What an op refuses does not depend on how long an axis is, as long as there is something along it. So an op is tried on
operands that have one element along each axis that has any: it gives the dtype of the real result, and raises what the
real call would raise. Where lengths matter, an op's ``infer`` compares them; an op that makes a view is tried on the
real shape, of which a single element in memory will do.
"""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._op import as_scalar
from treadle.ndarray import DType, TreadleError

__all__ = ["Shape", "attempt", "floating", "promote", "tried", "tried_as_view"]

Shape = tuple[int, ...]


def promote(*operands: Any) -> DType:
    """The dtype in which dtypes and weak Python scalars meet."""
    given = [each if isinstance(each, DType) else as_scalar(each) for each in operands]
    return nd.result_type(*[each for each in given if each is not None])


def floating(*dtypes: DType) -> DType:
    """The dtype that an op computes in which turns integers into the default float."""
    dtype = promote(*dtypes)
    return dtype if dtype.kind in "fc" else nd.float32


def tried(op: Any, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> DType:
    """The dtype of an op's result, found by a call with one element along each axis; raises what the call raises."""
    small = [tuple([min(length, 1) for length in shape]) for shape in shapes]
    operands = [nd.zeros(shape, dtype=dtype, device="cpu") for shape, dtype in zip(small, dtypes, strict=True)]
    result: DType = attempt(op, shapes, operands).dtype
    return result


def attempt(op: Any, shapes: tuple[Shape, ...], operands: list[Any]) -> Any:
    """The result of a trial call; its errors name the real operands' shapes as well."""
    try:
        return op.forward(nd, *operands)[0]
    except TreadleError as error:
        raise type(error)(f"{op}: operands of shapes {list(shapes)}: {error}") from None


def tried_as_view(op: Any, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
    """The shape and dtype of a view that an op makes; raises what the call raises."""
    operands = [
        nd.broadcast_to(nd.zeros((), dtype=dtype, device="cpu"), shape)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    result = op.forward(nd, *operands)[0]
    return result.shape, result.dtype
