"""The parts of complex numbers, as the array API standard defines them for real dtypes too."""

from treadle.ndarray._array import NDArray
from treadle.ndarray.creation import as_array, zeros_like
from treadle.ndarray.elementwise import positive

__all__ = ["conj", "imag", "real"]


def conj(x: NDArray, /) -> NDArray:
    """The complex conjugate: a copy of x, for real dtypes.

    >>> import treadle.ndarray as nd
    >>> nd.conj(nd.asarray([1.0, -2.0]))
    array([ 1., -2.])
    """
    return positive(as_array(x))


def real(x: NDArray, /) -> NDArray:
    """The real part: a copy of x, for real dtypes.

    >>> import treadle.ndarray as nd
    >>> nd.real(nd.asarray([1.0, -2.0]))
    array([ 1., -2.])
    """
    return positive(as_array(x))


def imag(x: NDArray, /) -> NDArray:
    """The imaginary part: zeros, for real dtypes.

    >>> import treadle.ndarray as nd
    >>> nd.imag(nd.asarray([1.0, -2.0]))
    array([0., 0.])
    """
    return zeros_like(as_array(x))
