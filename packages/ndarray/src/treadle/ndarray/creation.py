"""Making arrays: from Python and foreign data, filled, counted."""

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from treadle.ndarray import _array, _families, _fresh
from treadle.ndarray._array import NDArray
from treadle.ndarray._memory import ForeignBuffer
from treadle.ndarray._types import Device, DType, all_dtypes, dtype_named
from treadle.ndarray.devices import _cpu, default_device
from treadle.ndarray.devices import device as find_device
from treadle.ndarray.errors import DTypeError, RangeError, ShapeError
from treadle.ndarray.nested import PLAIN, SEQUENCES, as_number, from_nested, from_scalars, refuse_masked

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "one_hot", "ones",
    "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

type_of = {each.name: each for each in all_dtypes()}
_FORMATS = {each.format: each for each in all_dtypes() if each.format}
_FORMATS |= {"l": type_of["int64"], "L": type_of["uint64"], "n": type_of["int64"], "N": type_of["uint64"]}
_float32, _int64, _bool = type_of["float32"], type_of["int64"], type_of["bool"]
_complex64 = type_of["complex64"]

Shape = SupportsIndex | Sequence[SupportsIndex]
DTypeLike = DType | str | type
DeviceLike = Device | str


def _place(device: DeviceLike | None) -> Device:
    return default_device() if device is None else find_device(device)


def asarray(
    obj: Any, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None
) -> NDArray:
    """An array of ``obj``: an array, a scalar, nested sequences, or anything with the buffer protocol (NumPy arrays) or
    with DLPack (PyTorch tensors).

    Foreign memory is shared without a copy where its dtype and alignment allow (read-only memory gives a read-only
    array); ``copy=True`` always copies, ``copy=False`` raises ValueError where a copy is needed. Python floats give
    float32, ints int64, bools bool, complex numbers complex64; NumPy data keeps its dtype.

    Raises DTypeError for data that is no number, ShapeError for ragged sequences.

    >>> import treadle.ndarray as nd
    >>> nd.asarray([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if type(obj) is list and dtype is None and not copy:
        plain = _fresh.from_plain_list(obj)
        if plain is not None and copy is None and _place(device) is _cpu:
            return plain
    wanted = None if dtype is None else dtype_named(dtype)
    shares = False
    if isinstance(obj, NDArray):
        array, shares = obj, True
        place = obj.device if device is None else find_device(device)
    else:
        place = _place(device)
        if type(obj) in PLAIN:
            array = from_scalars([obj], (), wanted)
        elif isinstance(obj, SEQUENCES):
            array = from_nested(obj, wanted)
        else:
            array, shares = _from_buffer(obj)
            if array.ndim == 0 and shares and not hasattr(obj, "__setitem__"):  # a NumPy scalar is a value, no memory
                array, shares = array.copy(), False
    needs_copy = (wanted is not None and wanted is not array.dtype) or place is not array.device
    if copy is False and (needs_copy or not shares):
        raise ValueError(
            f"asarray: a copy is needed to make {wanted or array.dtype} on {place} from {type(obj).__name__}"
        )
    result = array.to_device(place)
    if wanted is not None:
        result = result.astype(wanted, copy=False)
    return result.copy() if copy and result is array and shares else result


def as_array(x: Any) -> NDArray:
    """x itself if it is an array, else :func:`asarray` of it."""
    return x if isinstance(x, NDArray) else asarray(x)


def _from_buffer(obj: Any) -> tuple[NDArray, bool]:
    """The array and whether it shares the memory."""
    refuse_masked(obj, "asarray")
    try:
        memory = ForeignBuffer(obj)
    except (TypeError, ValueError, BufferError) as error:
        why = str(error)  # the error itself would keep this frame, and obj
        if hasattr(obj, "__dlpack__"):
            from treadle.ndarray.dlpack import from_dlpack

            try:
                return from_dlpack(obj), True
            except BufferError as refused:
                why = str(refused)
        elif hasattr(obj, "__cuda_array_interface__"):
            owner: Any = find_device("cuda").backend
            return owner.from_array_interface(obj), True
        if hasattr(obj, "requires_grad") and isinstance(obj.data, NDArray):
            raise DTypeError(
                f"asarray: pass the .data of a {type(obj).__name__}; of several in a list, stack() them"
            ) from None
        raise DTypeError(
            f"asarray: {type(obj).__name__} is no number, no sequence of numbers, and gives no buffer ({why})"
        ) from None
    format = memory.format
    if format[:1] in ("@", "=", "<"):
        format = format[1:]
    elif format[:1] in (">", "!") and format[1:] in _FORMATS and hasattr(obj, "dtype"):
        return _from_buffer(obj.astype(obj.dtype.newbyteorder("=")))[0], False
    times = getattr(getattr(obj, "dtype", None), "kind", "") in ("m", "M")  # a NumPy scalar of these gives bytes
    dtype = None if times else _FORMATS.get(format)
    if dtype is None or dtype.itemsize != memory.itemsize:
        named = getattr(obj, "dtype", f"buffer format {memory.format!r}")
        known = ", ".join(type_of)
        raise DTypeError(f"asarray: {named} has no counterpart here; convert it to one of {known}")
    size = math.prod(memory.shape)
    aligned = memory.pointer % dtype.itemsize == 0 and all(
        stride % dtype.itemsize == 0 for stride, length in zip(memory.strides, memory.shape, strict=True) if length > 1
    )
    if size and not aligned:
        from treadle.ndarray.buffers import over

        copied = over(memoryview(bytearray(memoryview(obj).tobytes())), dtype)
        assert copied is not None, "fresh memory is aligned"
        return copied.reshape(memory.shape), False
    array = _array.from_memory(memory, dtype)
    if dtype is _bool and size:  # foreign bytes other than 0 and 1 are true as well
        numbers = _array.from_memory(memory, type_of["uint8"])
        if _families.reduce("max", numbers, None, False).item() > 1:
            return numbers.astype(_bool), False
    return array, True


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """An array of the shape whose elements are whatever the memory held. Default dtype float32.

    >>> import treadle.ndarray as nd
    >>> nd.empty((2, 3)).shape
    (2, 3)
    """
    place = default_device() if device is None else find_device(device)
    return _array.empty(shape, _float32 if dtype is None else dtype_named(dtype), place)


def full(
    shape: Shape,
    fill_value: bool | int | float | complex,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> NDArray:
    """An array of the shape with every element ``fill_value``, whose kind decides the default dtype.

    >>> import treadle.ndarray as nd
    >>> nd.full((2,), 7)
    array([7, 7])
    """
    value = as_number(fill_value)
    if dtype is None:
        dtype = _bool if isinstance(value, bool) else {int: _int64, float: _float32}.get(type(value), _complex64)
    out = empty(shape, dtype=dtype, device=device)
    out[...] = value
    return out


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """An array of zeros. Default dtype float32.

    >>> import treadle.ndarray as nd
    >>> nd.zeros(2)
    array([0., 0.])
    """
    place = default_device() if device is None else find_device(device)
    return _fresh.filled(shape, 0, _float32 if dtype is None else dtype_named(dtype), place, "zeros")


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """An array of ones. Default dtype float32.

    >>> import treadle.ndarray as nd
    >>> nd.ones(2)
    array([1., 1.])
    """
    place = default_device() if device is None else find_device(device)
    return _fresh.filled(shape, 1, _float32 if dtype is None else dtype_named(dtype), place, "ones")


def empty_like(x: NDArray, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """:func:`empty` with the shape, and by default the dtype and device, of x.

    >>> import treadle.ndarray as nd
    >>> nd.empty_like(nd.zeros((2, 3), dtype=nd.int8)).shape
    (2, 3)
    """
    return empty(x.shape, dtype=x.dtype if dtype is None else dtype, device=x.device if device is None else device)


def full_like(
    x: NDArray,
    /,
    fill_value: bool | int | float | complex,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> NDArray:
    """:func:`full` with the shape, and by default the dtype and device, of x.

    >>> import treadle.ndarray as nd
    >>> nd.full_like(nd.zeros(2), 3)
    array([3., 3.])
    """
    out = empty_like(x, dtype=dtype, device=device)
    out[...] = fill_value
    return out


def zeros_like(x: NDArray, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """:func:`zeros` with the shape, and by default the dtype and device, of x.

    >>> import treadle.ndarray as nd
    >>> nd.zeros_like(nd.arange(3))
    array([0, 0, 0])
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: NDArray, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """:func:`ones` with the shape, and by default the dtype and device, of x.

    >>> import treadle.ndarray as nd
    >>> nd.ones_like(nd.arange(3), dtype=nd.float64).tolist()
    [1.0, 1.0, 1.0]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> NDArray:
    """start, start + step, ... below stop, 1-D; with one argument from 0. int64 for ints, else float32.

    Raises ShapeError when step is 0, DTypeError for a complex or boolean dtype, RangeError for numbers that an integer
    dtype does not hold.

    >>> import treadle.ndarray as nd
    >>> nd.arange(5)
    array([0, 1, 2, 3, 4])
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ShapeError("arange: step is 0")
    whole = all(isinstance(each, int) for each in (start, stop, step))
    if not whole and not all(map(math.isfinite, (start, stop, step))):
        raise RangeError(f"arange: start {start}, stop {stop} and step {step} must be finite")
    length = max(0, -((start - stop) // step) if whole else math.ceil((stop - start) / step))
    wanted = (_int64 if whole else _float32) if dtype is None else dtype_named(dtype)
    if wanted.kind in "bc":
        raise DTypeError(f"arange: dtype must be real and numeric, not {wanted.name}; convert with astype")
    out = empty((int(length),), dtype=wanted, device=device)
    if out.dtype.kind in "iu" and not whole:
        start, step = int(start), int(step)
    if out.dtype.kind in "iu" and out.size:
        _check_range("arange", int(start), int(start + (out.size - 1) * step), out.dtype)
    _families.arange(out, start, step)
    return out


def _check_range(op: str, first: int, last: int, dtype: DType) -> None:
    """Raise RangeError unless an integer dtype holds both numbers."""
    bits = 8 * dtype.itemsize
    least = -(1 << (bits - 1)) if dtype.kind == "i" else 0
    if min(first, last) < least or max(first, last) >= least + (1 << bits):
        raise RangeError(f"{op}: the numbers from {first} to {last} do not fit {dtype.name}")


def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: bool = True,
) -> NDArray:
    """``num`` numbers evenly spaced from start to stop, which is the last one unless ``endpoint`` is False.

    Complex numbers between complex ends, complex64 where no dtype is named, else float32; integers are rounded down.

    >>> import treadle.ndarray as nd
    >>> nd.linspace(0, 1, 3)
    array([0. , 0.5, 1. ])
    """
    if (
        isinstance(start, complex)
        or isinstance(stop, complex)
        or (dtype is not None and dtype_named(dtype).kind == "c")
    ):
        from treadle.ndarray.complex_parts import complex_linspace

        return complex_linspace(complex(start), complex(stop), num, dtype, device, endpoint)
    steps = num - 1 if endpoint else num
    step = (stop - start) / steps if steps > 0 else 0.0
    wanted = _float32 if dtype is None else dtype_named(dtype)
    out = empty((num,), dtype=wanted if wanted.name in ("float32", "float64") else "float64", device=device)
    _families.arange(out, float(start), step)
    if endpoint and num > 1:
        out[-1] = stop
    if wanted.kind in "iu":
        from treadle.ndarray.elementwise import floor

        out = floor(out)
        if num:
            _check_range("linspace", math.floor(out[0].item()), math.floor(out[-1].item()), wanted)
    return out.astype(wanted, copy=False)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> NDArray:
    """Ones on the k-th diagonal, zeros elsewhere. Shape (n_rows, n_cols or n_rows).

    >>> import treadle.ndarray as nd
    >>> nd.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    shape = (operator.index(n_rows), operator.index(n_rows if n_cols is None else n_cols))
    if min(shape) < 0:
        raise ShapeError(f"eye: shape {shape} has a negative length")
    rows, columns = (arange(each, device=device) for each in shape)
    k = max(-rows.size, min(operator.index(k), columns.size))  # beyond these nothing changes
    return ((rows[:, None] + k) == columns).astype(_float32 if dtype is None else dtype)


def _triangle(x: NDArray, k: int, lower: bool) -> NDArray:
    from treadle.ndarray.elementwise import where

    if x.ndim < 2:
        raise ShapeError(f"{'tril' if lower else 'triu'}: shape {x.shape} has no two axes")
    k = max(-x.shape[-2], min(operator.index(k), x.shape[-1]))  # beyond these nothing changes
    rows = arange(x.shape[-2], device=x.device)[:, None] + k
    columns = arange(x.shape[-1], device=x.device)
    return where(rows >= columns if lower else rows <= columns, x, zeros((), dtype=x.dtype, device=x.device))


def tril(x: NDArray, /, *, k: int = 0) -> NDArray:
    """x with zeros above the k-th diagonal of its last two axes.

    >>> import treadle.ndarray as nd
    >>> nd.tril(nd.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle(x, k, lower=True)


def triu(x: NDArray, /, *, k: int = 0) -> NDArray:
    """x with zeros below the k-th diagonal of its last two axes.

    >>> import treadle.ndarray as nd
    >>> nd.triu(nd.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _triangle(x, k, lower=False)


def one_hot(indices: NDArray, num_classes: int, *, dtype: DTypeLike = "float32") -> NDArray:
    """A new last axis with 1 at the index and 0 elsewhere; an index outside [0, num_classes) gives only zeros.

    >>> import treadle.ndarray as nd
    >>> nd.one_hot(nd.asarray([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: indices must be integers, not {indices.dtype.name}")
    if operator.index(num_classes) < 0:
        raise ShapeError(f"one_hot: {num_classes} classes")
    classes = arange(operator.index(num_classes), device=indices.device)
    return (indices[..., None] == classes).astype(dtype)


def meshgrid(*arrays: NDArray, indexing: str = "xy") -> tuple[NDArray, ...]:
    """One array for each 1-D (or 0-d) one, its elements along its own axis of a common grid: read-only views.

    ``ij``: the n-th array runs along axis n. ``xy``: the first two change places. Raises ShapeError, and ValueError for
    another indexing.

    >>> import treadle.ndarray as nd
    >>> [each.tolist() for each in nd.meshgrid(nd.asarray([1, 2]), nd.asarray([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    if any(each.ndim > 1 for each in arrays):
        raise ShapeError(f"meshgrid: shapes {[each.shape for each in arrays]} must be 1-D")
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = [arrays[each].size for each in order]
    grids = []
    for number, array in enumerate(arrays):
        alone = [1] * len(arrays)
        alone[order.index(number)] = array.size
        grids.append(array.reshape(alone).view_broadcast(shape))
    return tuple(grids)
