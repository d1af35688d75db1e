"""The discrete Fourier transform along one axis. It is linear, so its gradient is its adjoint: the other direction."""

from operator import index
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, constant
from treadle.autograd.ops._common import Shape, axes_of, fit, on_arrays
from treadle.ndarray import DType, DTypeError, ShapeError

__all__ = ["FourierTransform"]

OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of the transform back that makes it the adjoint."""


class FourierTransform(Op):
    """``kind`` is one of "fft", "ifft", "rfft", "irfft"; the arguments are those of ``treadle.ndarray.fft``.

    A longer operand was cut to n and a shorter one filled with zeros, so its gradient is filled or cut. rfft leaves the
    second half of the spectrum out, which therefore has no gradient; irfft counts all but the first number, and the
    last of an even n, twice, and so does its gradient.
    """

    def __init__(self, kind: str = "fft", n: int | None = None, axis: int = -1, norm: str = "backward") -> None:
        if kind not in ("fft", "ifft", "rfft", "irfft"):
            raise ValueError(f"FourierTransform: kind is 'fft', 'ifft', 'rfft' or 'irfft', not {kind!r}")
        if norm not in OTHER_NORM:
            raise ValueError(f"{kind}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
        self.kind = kind
        self.n = None if n is None else index(n)
        self.axis = index(axis)
        self.norm = norm

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return getattr(xp.fft, self.kind)(x, n=self.n, axis=self.axis, norm=self.norm), ()

    def length(self, shape: Shape) -> int:
        """The number of elements that are transformed."""
        (axis,) = axes_of(self.axis, len(shape), self)
        known = 2 * (shape[axis] - 1) if self.kind == "irfft" else shape[axis]
        length = known if self.n is None else self.n
        if length < 1:
            raise ShapeError(f"{self}: shape {shape}: there must be 1 element or more to transform, not {length}")
        return length

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        operand = node.inputs[0]
        shape = operand.shape
        (axis,) = axes_of(self.axis, len(shape), self)
        n, norm = self.length(shape), OTHER_NORM[self.norm]
        if self.kind == "irfft":
            back = xp.fft.rfft(grad, n=n, axis=axis, norm=norm)
            places = nd.reshape(nd.arange(back.shape[axis], device=grad.device), (-1,) + (1,) * (len(shape) - 1 - axis))
            once = (places == 0) | (places * 2 == n)
            back = xp.where(once if on_arrays(xp) else constant(once), back, back * 2.0)
        else:
            other = xp.fft.fft if self.kind == "ifft" else xp.fft.ifft
            back = other(grad, n=n, axis=axis, norm=norm)
        return fit(xp, _resized(xp, back, axis, shape[axis]), shape, operand.dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,), (dtype,) = shapes, dtypes
        if self.kind == "rfft" and dtype.kind == "c":
            raise DTypeError(f"{self}: {dtype.name} is not real; take real(x) or imag(x), or fft or fftn")
        n = self.length(shape)
        (axis,) = axes_of(self.axis, len(shape), self)
        double = dtype.name in ("float64", "complex128")
        real, wide = (nd.float64, nd.complex128) if double else (nd.float32, nd.complex64)
        count = n // 2 + 1 if self.kind == "rfft" else n
        return (*shape[:axis], count, *shape[axis + 1 :]), real if self.kind == "irfft" else wide


def _resized(xp: Any, x: Any, axis: int, length: int) -> Any:
    """x cut, or filled with zeros, to a length along an axis."""
    given = x.shape[axis]
    if given > length:
        return x[(slice(None),) * axis + (slice(0, length),)]
    if given == length:
        return x
    return xp.pad(x, [(0, length - given) if at == axis else (0, 0) for at in range(len(x.shape))])
