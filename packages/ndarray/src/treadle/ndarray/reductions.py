"""Reductions, index reductions and scans, and what is composed from them."""

from collections.abc import Sequence
from typing import Any

from treadle.ndarray import _families, _fused, _parts
from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import dtype_named
from treadle.ndarray.creation import DTypeLike, as_array, empty, empty_like
from treadle.ndarray.elementwise import exp, isfinite, log, sqrt, square, where
from treadle.ndarray.manipulation import reshape, squeeze

__all__ = [
    "all", "any", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logsumexp", "max", "mean", "min", "prod",
    "softmax", "std", "sum", "var",
]  # fmt: skip

Axis = int | Sequence[int] | None


def _reduced(op: str, x: NDArray, axis: Axis, keepdims: bool, dtype: DTypeLike | None = None) -> NDArray:
    array = as_array(x)
    if dtype is None:
        return _families.reduce(op, array, axis, keepdims)
    wanted = dtype_named(dtype)
    return _families.reduce(op, array.astype(wanted, copy=False), axis, keepdims).astype(wanted, copy=False)


def sum(x: NDArray, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> NDArray:
    """The sum over one axis, several, or all (None); ``axis=()`` reduces nothing. 0 of nothing.

    Small integers and booleans are summed as int64 (uint64 when unsigned), which wraps; floats are accumulated in
    float64 and keep their dtype. ``dtype`` converts first and names the result's. Raises ShapeError for a wrong axis.

    >>> import treadle.ndarray as nd
    >>> nd.sum(nd.ones((2, 3)), axis=1)
    array([3., 3.])
    """
    return _reduced("sum", x, axis, keepdims, dtype)


def prod(x: NDArray, /, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> NDArray:
    """The product over axis, 1 of nothing; dtypes as in :func:`sum`.

    >>> import treadle.ndarray as nd
    >>> nd.prod(nd.asarray([2, 3])).item()
    6
    """
    return _reduced("prod", x, axis, keepdims, dtype)


def max(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The largest element over axis; NaN where one is. Raises ShapeError where there is nothing to choose from.

    >>> import treadle.ndarray as nd
    >>> nd.max(nd.asarray([[1, 3], [2, 0]]), axis=0)
    array([2, 3])
    """
    return _reduced("max", x, axis, keepdims)


def min(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The smallest element over axis; NaN where one is. Raises ShapeError where there is nothing to choose from.

    >>> import treadle.ndarray as nd
    >>> nd.min(nd.asarray([[1, 3], [2, 0]]), axis=0)
    array([1, 0])
    """
    return _reduced("min", x, axis, keepdims)


def mean(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """The arithmetic mean over axis, NaN of nothing; float32 of integers, whose sums are carried in float64.

    >>> import treadle.ndarray as nd
    >>> nd.mean(nd.asarray([1.0, 2.0])).item()
    1.5
    """
    array = as_array(x)
    if array.dtype.kind in "biu" and array.itemsize > 2:
        return _reduced("mean", array.astype("float64"), axis, keepdims).astype("float32")
    return _reduced("mean", array, axis, keepdims)


def any(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """True where an element over axis is non-zero; False of nothing.

    >>> import treadle.ndarray as nd
    >>> nd.any(nd.asarray([False, True])).item()
    True
    """
    return _reduced("any", x, axis, keepdims)


def all(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """True where no element over axis is zero; True of nothing.

    >>> import treadle.ndarray as nd
    >>> nd.all(nd.asarray([False, True])).item()
    False
    """
    return _reduced("all", x, axis, keepdims)


def var(x: NDArray, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """The variance over axis: the mean of squared deviations from the mean (two passes), with n - correction below.

    NaN or inf where n <= correction. Integers become float32 first. Of complex numbers the squared magnitudes of the
    deviations: real.

    >>> import treadle.ndarray as nd
    >>> nd.var(nd.asarray([1.0, 3.0])).item()
    1.0
    """
    array = as_array(x)
    if array.itemsize == 2 and array.dtype.kind == "f":  # halves: in float32, rounded once
        wide = array.astype("float32")
        return var(wide, axis=axis, correction=correction, keepdims=keepdims).astype(array.dtype)
    if array.dtype.kind == "c":
        parts = (var(each, axis=axis, correction=correction, keepdims=keepdims) for each in _complex_parts(array))
        return next(parts) + next(parts)
    if array.dtype.kind in "biu" and array.itemsize > 2:
        wide = array.astype("float64")
        return var(wide, axis=axis, correction=correction, keepdims=keepdims).astype("float32")
    array = _floating(array)
    axes = _families.normal_axes("var", array, axis)
    found = _reduced_by_backend("variance", array, axes, axes, correction)
    if found is not None:
        return found if keepdims else squeeze(found, axis=axes)
    fused = _fused.variance(array, axes, correction, keepdims)
    return _composed_var(array, axes, correction, keepdims) if fused is None else fused


def _composed_var(array: NDArray, axes: tuple[int, ...], correction: float, keepdims: bool) -> NDArray:
    center = mean(array, axis=axes, keepdims=True)
    squares = _families.reduce("sum", square(array - center), axes, keepdims)
    count = array.size // center.size if center.size else 0
    return squares / (float(count - correction) if count > correction else 0.0)


def std(x: NDArray, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> NDArray:
    """The standard deviation over axis: the root of :func:`var`.

    >>> import treadle.ndarray as nd
    >>> nd.std(nd.asarray([1.0, 3.0])).item()
    1.0
    """
    array = as_array(x)
    wide = array.astype("float32") if array.itemsize == 2 and array.dtype.kind == "f" else array
    result = sqrt(var(wide, axis=axis, correction=correction, keepdims=keepdims))
    return result if wide is array else result.astype(array.dtype)


def argmax(x: NDArray, /, axis: int | None = None, *, keepdims: bool = False) -> NDArray:
    """The int64 index of the first largest element along axis, or in C order over all; the first NaN wins.

    >>> import treadle.ndarray as nd
    >>> nd.argmax(nd.asarray([1, 3, 3])).item()
    1
    """
    return _families.arg_reduce("argmax", as_array(x), axis, keepdims)


def argmin(x: NDArray, /, axis: int | None = None, *, keepdims: bool = False) -> NDArray:
    """The int64 index of the first smallest element along axis, or in C order over all; the first NaN wins.

    >>> import treadle.ndarray as nd
    >>> nd.argmin(nd.asarray([1, 0, 0])).item()
    1
    """
    return _families.arg_reduce("argmin", as_array(x), axis, keepdims)


def _scanned(op: str, x: NDArray, axis: int | None) -> NDArray:
    array = as_array(x)
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    return _families.scan(op, array, axis)


def cumsum(x: NDArray, /, axis: int | None = None) -> NDArray:
    """The running sum along axis, or over all elements in C order; dtypes as in :func:`sum`.

    >>> import treadle.ndarray as nd
    >>> nd.cumsum(nd.asarray([1, 2, 3]))
    array([1, 3, 6])
    """
    return _scanned("cumsum", x, axis)


def cumprod(x: NDArray, /, axis: int | None = None) -> NDArray:
    """The running product along axis, or over all elements in C order; dtypes as in :func:`sum`.

    >>> import treadle.ndarray as nd
    >>> nd.cumprod(nd.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    return _scanned("cumprod", x, axis)


def logsumexp(x: NDArray, /, axis: Axis = None, *, keepdims: bool = False) -> NDArray:
    """log(sum(exp(x))) over axis, shifted by the maximum so that nothing overflows; -inf of nothing.

    >>> import treadle.ndarray as nd
    >>> nd.logsumexp(nd.asarray([1000.0, 1000.0])).item() > 1000
    True
    """
    array = as_array(x)
    if array.itemsize == 2 and array.dtype.kind == "f":
        return logsumexp(array.astype("float32"), axis=axis, keepdims=keepdims).astype(array.dtype)
    axes, array = _families.normal_axes("logsumexp", array, axis), _floating(array)
    if len(axes) == 1:
        fused = _reduced_by_backend("logsumexp", array, axes, axes[0])
        if fused is None:
            fused = _fused.softmax("logsumexp", array, axes[0])
        if fused is not None:
            return fused if keepdims else squeeze(fused, axis=axes[0])
    return _composed_logsumexp(array, axes, keepdims)


def _composed_logsumexp(array: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    if array.size == 0:
        return log(_families.reduce("sum", exp(array), axes, keepdims))
    top = max(array, axis=axes, keepdims=True)
    shift = where(isfinite(top), top, 0.0)
    total = log(_families.reduce("sum", exp(array - shift), axes, True)) + shift
    return total if keepdims else _families.reduce("sum", total, axes, False)


def softmax(x: NDArray, /, axis: int = -1) -> NDArray:
    """exp(x) / sum(exp(x)) along axis, shifted by the maximum. Integers become float32 first.

    >>> import treadle.ndarray as nd
    >>> nd.softmax(nd.asarray([0.0, 0.0]))
    array([0.5, 0.5])
    """
    array = _floating(x)
    if array.itemsize == 2:
        return softmax(array.astype("float32"), axis=axis).astype(array.dtype)
    along = normalize_axis(axis, array.ndim, "softmax")
    fused = _kernel_of("softmax", array, along)
    return _composed_softmax(array, along) if fused is None else fused


def _composed_softmax(array: NDArray, along: int) -> NDArray:
    powers = exp(array - _families.reduce("max", array, along, True)) if array.size else array
    return powers / _families.reduce("sum", powers, along, True)


def log_softmax(x: NDArray, /, axis: int = -1) -> NDArray:
    """log(softmax(x)) along axis, as x - max - log(sum(exp(x - max))). Integers become float32 first.

    >>> import treadle.ndarray as nd
    >>> nd.log_softmax(nd.asarray([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    array = _floating(x)
    if array.itemsize == 2:
        return log_softmax(array.astype("float32"), axis=axis).astype(array.dtype)
    along = normalize_axis(axis, array.ndim, "log_softmax")
    fused = _kernel_of("log_softmax", array, along)
    return _composed_log_softmax(array, along) if fused is None else fused


def _composed_log_softmax(array: NDArray, along: int) -> NDArray:
    shifted = array - _families.reduce("max", array, along, True) if array.size else array
    return shifted - log(_families.reduce("sum", exp(shifted), along, True))


def _complex_parts(x: NDArray) -> tuple[NDArray, NDArray]:
    return _parts.part(x, 0), _parts.part(x, 1)


def _floating(x: NDArray) -> NDArray:
    array = as_array(x)
    return array if array.dtype.kind == "f" else array.astype("float32")


def _kernel_of(op: str, array: NDArray, axis: int) -> NDArray | None:
    """What the cpu's kernel or the backend's optional method gives; None where there is none."""
    method = getattr(array.device.backend, op, None)
    if method is None or array.size == 0:
        return _fused.softmax(op, array, axis)
    out = empty_like(array)
    method(array, axis, out)
    return out


def _reduced_by_backend(op: str, array: NDArray, axes: tuple[int, ...], *arguments: Any) -> NDArray | None:
    """What the optional method of the device's backend gives, the axes kept; None where there is none."""
    method = getattr(array.device.backend, op, None)
    if method is None or array.size == 0:
        return None
    shape = tuple(1 if at in axes else length for at, length in enumerate(array.shape))
    out = empty(shape, dtype=array.dtype, device=array.device)
    method(array, *arguments, out)
    return out
