"""The parts of complex numbers.

Gradients follow PyTorch (its note "Autograd mechanics", section "Autograd for Complex Numbers"): the gradient of a real
value L by z = x + iy is dL/dx + i dL/dy, twice the conjugate Wirtinger derivative, so that ``z -= lr * grad`` descends.
For a holomorphic f, a gradient g of f(z) gives g conj(f'(z)). A real operand of a complex result gets the real part.
"""

from typing import Any

from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Shape, fit, tried
from treadle.autograd.ops.trigonometric import atan2
from treadle.ndarray import DType

__all__ = ["Conj", "Imag", "Real"]


class Real(Op):
    """The real parts; of a real tensor a copy."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.real(x), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return fit(xp, grad, grad.shape, node.inputs[0].dtype)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


class Imag(Real):
    """The imaginary parts; of a real tensor zeros."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.imag(x), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        dtype = node.inputs[0].dtype
        return xp.astype(grad, dtype) * 1j if dtype.kind == "c" else xp.zeros_like(grad)


class Conj(Op):
    """The complex conjugate; of a real tensor a copy."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        return xp.conj(x), ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return xp.conj(grad)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        return shapes[0], tried(self, shapes, dtypes)


conj = Conj()
imag = Imag()
real = Real()


def angle(x: Tensor, /) -> Tensor:
    """The angle of each number in the complex plane, in radians from -pi to pi: atan2(imag(x), real(x)).

    >>> import treadle.autograd as ag
    >>> ag.angle(ag.Tensor([1j, -1.0 + 0j])).tolist() == [3.1415927410125732 / 2, 3.1415927410125732]
    True
    """
    return atan2(imag(x), real(x))
