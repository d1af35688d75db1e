"""The array API standard's extension for Fourier transforms: ``treadle.ndarray.fft``.

The transforms are pocketfft's, through NumPy: arrays of the devices cpu and numpy are read where they lie, in whatever
layout, and what NumPy made is taken over; arrays of other devices travel through the host. float32 and complex64 stay
single, float64 and complex128 double. Real operands are taken where the standard asks for complex ones. Integers,
booleans and halves are transformed as float32.

``norm`` says which direction divides by the number of elements n: ``backward`` the inverse transform, ``forward`` the
other, ``ortho`` both, by sqrt(n). ``n`` (``s`` for several axes) cuts the axis or fills it with zeros first. Every
function raises AxisError for an axis that is not there, ShapeError where no element is left, and ValueError for
another ``norm``.
"""

from collections.abc import Sequence
from operator import index
from typing import Any

from treadle.ndarray._array import NDArray
from treadle.ndarray._edge import guard_all
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray._types import dtype_named, result_dtype
from treadle.ndarray.creation import DeviceLike, DTypeLike, arange, as_array, asarray
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.manipulation import roll

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

_FROM_REAL = ("rfft", "ihfft")
"""Those of real numbers, which leave out the half of the result that is the conjugate of the other."""
_TO_REAL = ("irfft", "hfft")
"""Those whose operand is such a half."""

_OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of the inverse, by that of the transform."""


def fft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """The discrete Fourier transform along an axis: sum over j of x[j] * exp(-2j * pi * j * k / n), for each k < n.

    >>> import treadle.ndarray as nd
    >>> nd.fft.fft(nd.asarray([1.0, 2.0, 1.0, 2.0]))
    array([ 6.+0.j,  0.+0.j, -2.+0.j,  0.+0.j])
    """
    return _transform("fft", x, n, axis, norm)


def ifft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """The inverse of :func:`fft`: the sign of the exponent is turned, and the sum divided by n.

    >>> import treadle.ndarray as nd
    >>> nd.fft.ifft(nd.asarray([6.0, 0.0, -2.0, 0.0]))
    array([1.+0.j, 2.+0.j, 1.+0.j, 2.+0.j])
    """
    return _transform("ifft", x, n, axis, norm)


def rfft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """The first n // 2 + 1 numbers of :func:`fft` of real x; the others are their conjugates in reverse order.

    Raises DTypeError for complex x.

    >>> import treadle.ndarray as nd
    >>> nd.fft.rfft(nd.asarray([1.0, 2.0, 1.0, 2.0]))
    array([ 6.+0.j,  0.+0.j, -2.+0.j])
    """
    return _transform("rfft", x, n, axis, norm)


def irfft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """The inverse of :func:`rfft`: n real numbers, by default 2 * (m - 1) from m; an odd n must be asked for.

    >>> import treadle.ndarray as nd
    >>> nd.fft.irfft(nd.asarray([6.0, 0.0, -2.0]))
    array([1., 2., 1., 2.])
    """
    return _transform("irfft", x, n, axis, norm)


def hfft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """:func:`fft` of numbers with x[n - j] == conj(x[j]), of which x is the first half: n real numbers, as irfft's.

    >>> import treadle.ndarray as nd
    >>> nd.fft.hfft(nd.asarray([1.0, 2.0, 1.0]))
    array([ 6.,  0., -2.,  0.])
    """
    return _transform("hfft", x, n, axis, norm)


def ihfft(x: NDArray, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> NDArray:
    """The inverse of :func:`hfft`, n // 2 + 1 numbers from real x. Raises DTypeError for complex x.

    >>> import treadle.ndarray as nd
    >>> nd.real(nd.fft.ihfft(nd.asarray([6.0, 0.0, -2.0, 0.0])))
    array([1., 2., 1.])
    """
    return _transform("ihfft", x, n, axis, norm)


def fftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> NDArray:
    """:func:`fft` along several axes, by default all of them, with the lengths s; -1 leaves a length as it is.

    s without axes belongs to the last ones. Raises ShapeError for an axis named twice, and where s and axes differ in
    length.

    >>> import treadle.ndarray as nd
    >>> nd.fft.fftn(nd.ones((2, 2))).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return _transform_axes("fftn", "fft", x, s, axes, norm)


def ifftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> NDArray:
    """The inverse of :func:`fftn`, with its arguments.

    >>> import treadle.ndarray as nd
    >>> nd.fft.ifftn(nd.ones((2, 2))).tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
    return _transform_axes("ifftn", "ifft", x, s, axes, norm)


def rfftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> NDArray:
    """:func:`rfft` along the last axis of axes, then :func:`fft` along the others. At least one axis is needed.

    >>> import treadle.ndarray as nd
    >>> nd.fft.rfftn(nd.ones((2, 4))).tolist()
    [[(8+0j), 0j, 0j], [0j, 0j, 0j]]
    """
    return _transform_axes("rfftn", "rfft", x, s, axes, norm)


def irfftn(
    x: NDArray, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> NDArray:
    """The inverse of :func:`rfftn`; the last of s is the length of the result, as :func:`irfft` has it.

    >>> import treadle.ndarray as nd
    >>> nd.fft.irfftn(nd.ones((1, 3))).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    return _transform_axes("irfftn", "irfft", x, s, axes, norm)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """The frequencies that :func:`fft` of n samples at distance d belongs to, in cycles per unit of d.

    0, 1, ... (n - 1) // 2, -(n // 2), ... -1, each divided by n * d. dtype is real and floating, float32 where it
    is None. Raises ShapeError for n < 1, DTypeError for another dtype.

    >>> import treadle.ndarray as nd
    >>> nd.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    n = _length("fftfreq", n)
    return _frequencies("fftfreq", roll(arange(-(n // 2), n - n // 2, device=device), -(n // 2)), n * d, dtype)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> NDArray:
    """The n // 2 + 1 frequencies of :func:`rfft`: 0, 1, ... n // 2, each divided by n * d; see :func:`fftfreq`.

    >>> import treadle.ndarray as nd
    >>> nd.fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ])
    """
    n = _length("rfftfreq", n)
    return _frequencies("rfftfreq", arange(n // 2 + 1, device=device), n * d, dtype)


def fftshift(x: NDArray, /, axes: int | Sequence[int] | None = None) -> NDArray:
    """The axes, by default all, rolled so that the frequency 0 lies in the middle, at n // 2.

    >>> import treadle.ndarray as nd
    >>> nd.fft.fftshift(nd.fft.fftfreq(4))
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: NDArray, /, axes: int | Sequence[int] | None = None) -> NDArray:
    """The inverse of :func:`fftshift`.

    >>> import treadle.ndarray as nd
    >>> nd.fft.ifftshift(nd.asarray([-1, 0, 1]))
    array([ 0,  1, -1])
    """
    return _shifted("ifftshift", x, axes, -1)


def _operand(op: str, x: NDArray, norm: str) -> NDArray:
    """x with a dtype that NumPy transforms as it is."""
    array = as_array(x)
    if norm not in _OTHER_NORM:
        raise ValueError(f"{op}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if array.dtype.kind == "c" and op.removesuffix("n") in _FROM_REAL:
        raise DTypeError(f"{op}: {array.dtype.name} is not real; take real(x) or imag(x), or fft or fftn")
    return array if array.dtype.kind in "fc" and array.itemsize > 2 else array.astype("float32")


def _length(op: str, n: int, shape: tuple[int, ...] | None = None) -> int:
    """n as the number of elements of a transform."""
    length = index(n)
    if length < 1:
        where = "" if shape is None else f"shape {shape}: "
        raise ShapeError(f"{op}: {where}there must be 1 element or more to transform, not {length}")
    return length


def _one_axis(function: str, values: Any, n: int, axis: int, norm: str) -> Any:
    """NumPy's transform of a NumPy array along one axis, in fresh memory in C order."""
    import numpy

    shape = list(values.shape)
    shape[axis] = n // 2 + 1 if function in _FROM_REAL else n
    double = values.real.dtype == numpy.float64
    real, wide = ("float64", "complex128") if double else ("float32", "complex64")
    out = numpy.empty(shape, real if function in _TO_REAL else wide)
    if values.shape[axis] == 0:  # zeros alone; NumPy's irfft would leave out as it is
        out[...] = 0
        return out
    if function == "hfft":  # NumPy's own leaves out alone
        function, values, norm = "irfft", numpy.conjugate(values), _OTHER_NORM[norm]
    with numpy.errstate(all="ignore"):
        return getattr(numpy.fft, function)(values, n=n, axis=axis, norm=norm, out=out)


def _transform(op: str, x: NDArray, n: int | None, axis: int, norm: str) -> NDArray:
    array = _operand(op, x, norm)
    axis = normalize_axis(axis, array.ndim, op)
    if n is None:
        n = 2 * (array.shape[axis] - 1) if op in _TO_REAL else array.shape[axis]
    n = _length(op, n, array.shape)
    return asarray(_one_axis(op, array.numpy(), n, axis, norm), device=array.device)


def _transform_axes(
    op: str, last: str, x: NDArray, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> NDArray:
    """The transform ``last`` along the last of the axes, and the complex one along the others."""
    array = _operand(op, x, norm)
    if axes is None:
        axes = range(array.ndim) if s is None else range(-len(s), 0)
    along = [normalize_axis(each, array.ndim, op) for each in axes]
    wanted = [-1] * len(along) if s is None else [index(each) for each in s]
    if len(set(along)) != len(along) or len(wanted) != len(along):
        raise ShapeError(f"{op}: shape {array.shape}: axes {tuple(axes)} and s {s}: as many of each, and no axis twice")
    if not along:
        if last in ("rfft", "irfft"):
            raise ShapeError(f"{op}: shape {array.shape}: at least one axis is needed")
        return array.astype(result_dtype(array.dtype, dtype_named("complex64")))
    lengths = []
    for axis, length in zip(along, wanted, strict=True):
        if length == -1:
            length = array.shape[axis]
            length = 2 * (length - 1) if last == "irfft" and axis == along[-1] else length
        lengths.append(_length(op, length, array.shape))
    others = "ifft" if op.startswith("i") else "fft"
    steps = [(last, lengths.pop(), along.pop())]
    steps += [(others, length, axis) for length, axis in zip(lengths, along, strict=True)]
    values = array.numpy()
    for function, n, axis in reversed(steps) if last == "irfft" else steps:
        values = _one_axis(function, values, n, axis, norm)
    return asarray(values, device=array.device)


def _frequencies(op: str, numbers: NDArray, span: float, dtype: DTypeLike | None) -> NDArray:
    wanted = dtype_named("float32" if dtype is None else dtype)
    if wanted.kind != "f":
        raise DTypeError(f"{op}: {wanted.name} is not real and floating")
    return (numbers.astype("float64") / span).astype(wanted, copy=False)


def _shifted(op: str, x: NDArray, axes: int | Sequence[int] | None, sign: int) -> NDArray:
    array = as_array(x)
    if axes is None:
        axes = range(array.ndim)
    along = [normalize_axis(each, array.ndim, op) for each in ((axes,) if isinstance(axes, int) else axes)]
    return roll(array, [sign * (array.shape[axis] // 2) for axis in along], axis=along)


guard_all(globals(), __all__, __name__)
