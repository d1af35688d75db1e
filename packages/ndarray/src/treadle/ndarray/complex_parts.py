"""The parts of complex numbers, as the array API standard defines them for real dtypes too."""

from treadle.ndarray import _parts
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import dtype_named
from treadle.ndarray.creation import DeviceLike, DTypeLike, as_array, empty, linspace, zeros_like
from treadle.ndarray.elementwise import negative, positive
from treadle.ndarray.errors import DTypeError

__all__ = ["conj", "imag", "real"]


def conj(x: NDArray, /) -> NDArray:
    """The complex conjugate, a copy: x with the imaginary parts negated; of real dtypes x itself.

    >>> import treadle.ndarray as nd
    >>> nd.conj(nd.asarray([1.0 + 2.0j]))
    array([1.-2.j])
    """
    result = positive(as_array(x))
    if result.dtype.kind == "c":
        parts = _parts.part(result, 1)
        negative(parts, out=parts)
    return result


def real(x: NDArray, /) -> NDArray:
    """The real parts: a view of a complex array, so that writing into it writes into x; a copy of a real one.

    >>> import treadle.ndarray as nd
    >>> nd.real(nd.asarray([1.0 + 2.0j]))
    array([1.])
    """
    array = as_array(x)
    return _parts.part(array, 0) if array.dtype.kind == "c" else positive(array)


def imag(x: NDArray, /) -> NDArray:
    """The imaginary parts: a view of a complex array, as :func:`real`; zeros for real dtypes.

    >>> import treadle.ndarray as nd
    >>> nd.imag(nd.asarray([1.0 + 2.0j]))
    array([2.])
    """
    array = as_array(x)
    return _parts.part(array, 1) if array.dtype.kind == "c" else zeros_like(array)


def complex_linspace(
    start: complex, stop: complex, num: int, dtype: DTypeLike | None, device: DeviceLike | None, endpoint: bool
) -> NDArray:
    """:func:`treadle.ndarray.linspace` between complex ends: the real and the imaginary parts, each evenly spaced."""
    wanted = dtype_named("complex64" if dtype is None else dtype)
    if wanted.kind != "c":
        raise DTypeError(f"linspace: {wanted.name} has no room for complex ends; ask for complex64 or complex128")
    out = empty((num,), dtype=wanted, device=device)
    for which, (low, high) in enumerate(((start.real, stop.real), (start.imag, stop.imag))):
        parts = _parts.part(out, which)
        parts[...] = linspace(low, high, num, dtype=parts.dtype, device=out.device, endpoint=endpoint)
    return out
