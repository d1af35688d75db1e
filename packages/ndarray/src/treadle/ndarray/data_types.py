"""What dtypes are, hold and meet in: the array API standard's data type functions."""

from typing import NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, dtype_named, result_dtype
from treadle.ndarray.creation import DTypeLike, type_of
from treadle.ndarray.errors import DTypeError

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
"""The standard's names of kinds, and the ``DType.kind`` letters they stand for."""

_DIGITS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}
"""Bits of the fraction and the largest exponent (IEEE 754-2019, table 3.5; bfloat16: float32's exponent)."""


class FloatLimits(NamedTuple):
    """The limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype(value: DTypeLike | NDArray) -> DType:
    return value.dtype if isinstance(value, NDArray) else dtype_named(value)


def finfo(type: DTypeLike | NDArray, /) -> FloatLimits:
    """The limits of a floating dtype, or of an array's: bits, eps, max, min, smallest_normal, dtype.

    Raises DTypeError for a dtype that is not floating.

    >>> import treadle.ndarray as nd
    >>> nd.finfo(nd.float32).eps == 2.0**-23
    True
    """
    dtype = _dtype(type)
    component = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    if component not in _DIGITS:
        raise DTypeError(f"finfo: {dtype.name} is no floating dtype; see iinfo")
    fraction, exponent = _DIGITS[component]
    eps = 2.0**-fraction
    largest = (2.0 - eps) * 2.0**exponent
    real = type_of[component]
    return FloatLimits(8 * real.itemsize, eps, largest, -largest, 2.0 ** (1 - exponent), real)


def iinfo(type: DTypeLike | NDArray, /) -> IntegerLimits:
    """The limits of an integer dtype, or of an array's: bits, max, min, dtype.

    Raises DTypeError for a dtype that is no integer one.

    >>> import treadle.ndarray as nd
    >>> nd.iinfo(nd.int8).min
    -128
    """
    dtype = _dtype(type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: {dtype.name} is no integer dtype; see finfo")
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return IntegerLimits(bits, (1 << bits) - 1, 0, dtype)
    return IntegerLimits(bits, (1 << (bits - 1)) - 1, -(1 << (bits - 1)), dtype)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is the one named, of the kind named, or one of several such.

    Kinds: bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric. Raises DTypeError
    for a name that is neither kind nor dtype.

    >>> import treadle.ndarray as nd
    >>> nd.isdtype(nd.int8, "integral"), nd.isdtype(nd.int8, (nd.int16, "bool"))
    (True, False)
    """
    found = dtype_named(dtype)
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str) and each in KINDS:
            if found.kind in KINDS[each]:
                return True
        elif dtype_named(each) is found:
            return True
    return False


def can_cast(from_: DTypeLike | NDArray, to: DTypeLike, /) -> bool:
    """Whether promotion can lead from a dtype, or an array's, to another: the two meet in the second.

    Integers never promote to floats by themselves, nor booleans to numbers.

    >>> import treadle.ndarray as nd
    >>> nd.can_cast(nd.int8, nd.int32), nd.can_cast(nd.int32, nd.int8), nd.can_cast(nd.int8, nd.float32)
    (True, False, False)
    """
    source, target = _dtype(from_), dtype_named(to)
    groups = ("b", "iu", "fc")
    together = any(source.kind in group and target.kind in group for group in groups)
    return together and result_dtype(source, target) is target


def result_type(*arrays_and_dtypes: DTypeLike | NDArray | bool | int | float | complex) -> DType:
    """The dtype that arrays, dtypes and Python scalars meet in. Scalars never widen: they count by their kind only.

    An integer dtype and a Python float meet in float32, a real one and a Python complex in complex64 (float64 in
    complex128). Raises DTypeError when there is neither array nor dtype.

    >>> import treadle.ndarray as nd
    >>> nd.result_type(nd.int8, nd.uint8), nd.result_type(nd.int8, 1), nd.result_type(nd.int8, 1.0)
    (treadle.int16, treadle.int8, treadle.float32)
    """
    scalars = [each for each in arrays_and_dtypes if isinstance(each, bool | int | float | complex)]
    dtypes = [_dtype(each) for each in arrays_and_dtypes if not isinstance(each, bool | int | float | complex)]
    if not dtypes:
        raise DTypeError("result_type: at least one argument must be an array or a dtype")
    result = dtypes[0]
    for each in dtypes[1:]:
        result = result_dtype(result, each)
    if any(isinstance(each, complex) for each in scalars):
        return result_dtype(result, type_of["complex64"])
    if any(isinstance(each, float) for each in scalars):
        return result if result.kind in "fc" else type_of["float32"]
    if result.kind == "b" and any(not isinstance(each, bool) for each in scalars):
        return type_of["int64"]
    return result
