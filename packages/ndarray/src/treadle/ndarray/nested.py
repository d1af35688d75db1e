"""Arrays of nested Python sequences: their shape, the dtype that their numbers meet in."""

from collections.abc import Sequence
from typing import Any

from treadle.ndarray import _array
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, dtype_named, result_dtype
from treadle.ndarray.devices import _cpu
from treadle.ndarray.errors import DTypeError, ShapeError

PLAIN = (bool, int, float, complex)
SEQUENCES = (list, tuple, range)

_float32, _int64, _bool = dtype_named("float32"), dtype_named("int64"), dtype_named("bool")
_complex64 = dtype_named("complex64")


def from_nested(obj: Sequence[Any], dtype: DType | None) -> NDArray:
    """The array of nested sequences; ShapeError where they are ragged."""
    shape: list[int] = []
    level: Any = obj
    while isinstance(level, SEQUENCES):
        if len(shape) == 32:
            raise ShapeError("asarray: sequences nested more than 32 deep")
        shape.append(len(level))
        if not len(level):
            break
        level = level[0]
    if hasattr(level, "shape") and level.shape != ():
        return _stacked(obj, dtype)
    scalars: list[Any] = []
    _collect(obj, tuple(shape), 0, scalars)
    return from_scalars(scalars, tuple(shape), dtype)


def _stacked(obj: Any, dtype: DType | None) -> NDArray:
    """Sequences whose leaves are arrays: joined on the cpu."""
    from treadle.ndarray.creation import asarray
    from treadle.ndarray.manipulation import stack

    if isinstance(obj, list | tuple):
        parts = [_stacked(each, dtype) for each in obj]
        if any(each.shape != parts[0].shape for each in parts):
            raise ShapeError(f"asarray: ragged sequence: parts of shapes {[each.shape for each in parts]}")
        return stack(parts)
    return asarray(obj, dtype=dtype, device=_cpu)


def _collect(obj: Any, shape: tuple[int, ...], depth: int, scalars: list[Any]) -> None:
    if depth == len(shape):
        if isinstance(obj, SEQUENCES):
            raise ShapeError(
                f"asarray: ragged sequence: {type(obj).__name__} where a number is expected at depth {depth}"
            )
        scalars.append(obj)
        return
    if not isinstance(obj, SEQUENCES):
        raise ShapeError(
            f"asarray: ragged sequence: {type(obj).__name__} where a sequence of length {shape[depth]} is expected at "
            f"depth {depth}"
        )
    if len(obj) != shape[depth]:
        raise ShapeError(f"asarray: ragged sequence: lengths {shape[depth]} and {len(obj)} at depth {depth}")
    if depth + 1 == len(shape) and not any(isinstance(each, SEQUENCES) for each in obj):
        scalars.extend(obj)
        return
    for each in obj:
        _collect(each, shape, depth + 1, scalars)


def from_scalars(scalars: list[Any], shape: tuple[int, ...], dtype: DType | None) -> NDArray:
    """The array of Python's and NumPy's scalars in C order; DTypeError where something else is among them."""
    values = [as_number(each) for each in scalars]
    out = _array.empty(shape, _common_dtype(scalars, values) if dtype is None else dtype, _cpu)
    _array.store_scalars(out, values)
    return out


def _common_dtype(scalars: list[Any], values: list[bool | int | float | complex]) -> DType:
    """NumPy's scalars keep their dtypes and meet in one; Python's only raise its kind."""
    kinds = {type(value) for scalar, value in zip(scalars, values, strict=True) if scalar is value}
    weak = _complex64 if complex in kinds else _float32 if float in kinds else _int64 if int in kinds else _bool
    strong = None
    for scalar, value in zip(scalars, values, strict=True):
        if scalar is not value:
            found = dtype_named(scalar.dtype)
            strong = found if strong is None else result_dtype(strong, found)
    if strong is None:
        return weak if kinds else _float32
    return strong if "biufc".index(weak.kind) <= "biufc".index(strong.kind) else result_dtype(strong, weak)


def refuse_masked(obj: Any, op: str) -> None:
    """Raise DTypeError for NumPy's masked arrays and scalars, whose mask nothing here would keep."""
    if hasattr(obj, "mask") and hasattr(obj, "filled"):
        raise DTypeError(
            f"{op}: the mask of {type(obj).__name__} would be lost; give its filled(value), or its data to take masked "
            "elements as they are"
        )


def as_number(value: Any) -> bool | int | float | complex:
    """A plain bool, int, float or complex; NumPy's scalars, some of which are subclasses, become such."""
    if type(value) in PLAIN:
        return value  # type: ignore[no-any-return]
    refuse_masked(value, "asarray")
    if getattr(value, "requires_grad", False):
        name = type(value).__name__
        raise DTypeError(f"asarray: a {name} that requires a gradient would lose it; stack() such, or take detach()")
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    for kind in PLAIN:
        if isinstance(value, kind):
            return kind(value)  # type: ignore[arg-type]
    raise DTypeError(f"asarray: {value!r} of type {type(value).__name__} is no number")
