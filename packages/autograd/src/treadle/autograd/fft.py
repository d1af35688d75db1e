"""Fourier transforms of tensors: the functions of ``treadle.ndarray.fft``, with gradients.

Every transform is linear, and its gradient is the transform's adjoint: that of :func:`fft` is the inverse transform
without its division, and the other way round. Norms and lengths mean what they mean there.
"""

from collections.abc import Sequence
from operator import index

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.ops._common import axes_of
from treadle.autograd.ops.complex_parts import conj
from treadle.autograd.ops.fourier import OTHER_NORM, FourierTransform
from treadle.autograd.ops.manipulation import astype
from treadle.autograd.ops.rearranging import roll
from treadle.ndarray import ShapeError
from treadle.ndarray._edge import guard_all

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


def fft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """The discrete Fourier transform along an axis: sum over j of x[j] * exp(-2j * pi * j * k / n), for each k < n.

    >>> import treadle.autograd as ag
    >>> ag.fft.fft(ag.Tensor([1.0, 2.0, 1.0, 2.0])).tolist()
    [(6+0j), 0j, (-2+0j), 0j]
    """
    return FourierTransform("fft", n, axis, norm)(x)


def ifft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """The inverse of :func:`fft`: the sign of the exponent is turned, and the sum divided by n.

    >>> import treadle.autograd as ag
    >>> ag.fft.ifft(ag.Tensor([6.0, 0.0, -2.0, 0.0])).tolist()
    [(1+0j), (2+0j), (1+0j), (2+0j)]
    """
    return FourierTransform("ifft", n, axis, norm)(x)


def rfft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """The first n // 2 + 1 numbers of :func:`fft` of real x. Raises DTypeError for complex x.

    >>> import treadle.autograd as ag
    >>> ag.fft.rfft(ag.Tensor([1.0, 2.0, 1.0, 2.0])).tolist()
    [(6+0j), 0j, (-2+0j)]
    """
    return FourierTransform("rfft", n, axis, norm)(x)


def irfft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """The inverse of :func:`rfft`: n real numbers, by default 2 * (m - 1) from m; an odd n must be asked for.

    >>> import treadle.autograd as ag
    >>> ag.fft.irfft(ag.Tensor([6.0, 0.0, -2.0])).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    return FourierTransform("irfft", n, axis, norm)(x)


def hfft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """:func:`fft` of numbers with x[n - j] == conj(x[j]), of which x is the first half: n real numbers, as irfft's.

    >>> import treadle.autograd as ag
    >>> ag.fft.hfft(ag.Tensor([1.0, 2.0, 1.0])).tolist()
    [6.0, 0.0, -2.0, 0.0]
    """
    return irfft(conj(x), n=n, axis=axis, norm=_other("hfft", norm))


def ihfft(x: Tensor, /, n: int | None = None, axis: int = -1, *, norm: str = "backward") -> Tensor:
    """The inverse of :func:`hfft`, n // 2 + 1 numbers from real x. Raises DTypeError for complex x.

    >>> import treadle.autograd as ag
    >>> ag.real(ag.fft.ihfft(ag.Tensor([6.0, 0.0, -2.0, 0.0]))).tolist()
    [1.0, 2.0, 1.0]
    """
    return conj(rfft(x, n=n, axis=axis, norm=_other("ihfft", norm)))


def _other(op: str, norm: str) -> str:
    if norm not in OTHER_NORM:
        raise ValueError(f"{op}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return OTHER_NORM[norm]


def fftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Tensor:
    """:func:`fft` along several axes, by default all of them, with the lengths s; -1 leaves a length as it is.

    >>> import treadle.autograd as ag
    >>> ag.fft.fftn(ag.ones((2, 2))).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return _along("fftn", "fft", "fft", x, s, axes, norm)


def ifftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Tensor:
    """The inverse of :func:`fftn`, with its arguments.

    >>> import treadle.autograd as ag
    >>> ag.fft.ifftn(ag.ones((2, 2))).tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
    return _along("ifftn", "ifft", "ifft", x, s, axes, norm)


def rfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Tensor:
    """:func:`rfft` along the last axis of axes, then :func:`fft` along the others. At least one axis is needed.

    >>> import treadle.autograd as ag
    >>> ag.fft.rfftn(ag.ones((2, 4))).tolist()
    [[(8+0j), 0j, 0j], [0j, 0j, 0j]]
    """
    return _along("rfftn", "rfft", "fft", x, s, axes, norm)


def irfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Tensor:
    """The inverse of :func:`rfftn`; the last of s is the length of the result, as :func:`irfft` has it.

    >>> import treadle.autograd as ag
    >>> ag.fft.irfftn(ag.ones((1, 3))).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    return _along("irfftn", "irfft", "ifft", x, s, axes, norm)


def _along(
    op: str, last: str, others: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> Tensor:
    """The transform ``last`` along the last of the axes and ``others`` along the rest; real results come last."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    along = [axes_of(each, x.ndim, op)[0] for each in axes]
    wanted = [-1] * len(along) if s is None else [index(each) for each in s]
    if len(set(along)) != len(along) or len(wanted) != len(along):
        raise ShapeError(f"{op}: shape {x.shape}: axes {tuple(axes)} and s {s}: as many of each, and no axis twice")
    _other(op, norm)
    if not along:
        if last in ("rfft", "irfft"):
            raise ShapeError(f"{op}: shape {x.shape}: at least one axis is needed")
        return astype(x, nd.result_type(x.dtype, 1j))
    steps = [(last, along[-1], wanted[-1]), *[(others, a, n) for a, n in zip(along[:-1], wanted[:-1], strict=True)]]
    for kind, axis, length in reversed(steps) if last == "irfft" else steps:
        x = FourierTransform(kind, None if length == -1 else length, axis, norm)(x)
    return x


def fftshift(x: Tensor, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """The axes, by default all, rolled so that the frequency 0 lies in the middle, at n // 2.

    >>> import treadle.autograd as ag
    >>> ag.fft.fftshift(ag.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Tensor, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of :func:`fftshift`.

    >>> import treadle.autograd as ag
    >>> ag.fft.ifftshift(ag.Tensor([-1, 0, 1])).tolist()
    [0, 1, -1]
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(op: str, x: Tensor, axes: int | Sequence[int] | None, sign: int) -> Tensor:
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    along = [axes_of(each, x.ndim, op)[0] for each in given]
    return roll(x, [sign * (x.shape[axis] // 2) for axis in along], axis=along)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: object = None, device: object = None) -> Tensor:
    """The frequencies that :func:`fft` of n samples at distance d belongs to: :func:`treadle.ndarray.fft.fftfreq`.

    >>> import treadle.autograd as ag
    >>> ag.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return constant(nd.fft.fftfreq(n, d=d, dtype=dtype, device=device))  # type: ignore[arg-type]


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: object = None, device: object = None) -> Tensor:
    """The n // 2 + 1 frequencies of :func:`rfft`: :func:`treadle.ndarray.fft.rfftfreq`.

    >>> import treadle.autograd as ag
    >>> ag.fft.rfftfreq(4, d=0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return constant(nd.fft.rfftfreq(n, d=d, dtype=dtype, device=device))  # type: ignore[arg-type]


guard_all(globals(), __all__, "treadle.autograd.fft")
