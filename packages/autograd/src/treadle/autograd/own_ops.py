"""Ops made of two functions, for a single use."""

from collections.abc import Callable
from typing import Any

from treadle.autograd._tensor import Op
from treadle.ndarray import DType, NDArray

__all__ = ["function_op"]

Shape = tuple[int, ...]


class FunctionOp(Op):
    """An op whose forward and backward are given functions."""

    def __init__(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any] | None,
        name: str,
    ) -> None:
        self._forward = forward
        self._backward = backward
        self._name = name

    def __repr__(self) -> str:
        return f"{self._name}()"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        result: Any = self._forward(xp, *arrays)
        return (result, arrays) if isinstance(result, NDArray) else result

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        if self._backward is None:
            return super().backward(xp, grad, node)
        return self._backward(xp, grad, *node.saved)


class InferredOp(FunctionOp):
    """One that can tell its result beforehand."""

    def __init__(
        self, forward: Callable[..., Any], backward: Callable[..., Any] | None, name: str, infer: Callable[..., Any]
    ) -> None:
        super().__init__(forward, backward, name)
        self._infer = infer

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        found: tuple[Shape, DType] = self._infer(shapes, dtypes)
        return found


def function_op(
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    *,
    infer: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Op:
    """An op from two functions, for a rule that is needed once; an op with configuration is a subclass of :class:`Op`.

    ``forward(xp, *arrays)`` returns the result, and the operands are saved; or ``(result, saved)`` with a tuple of what
    backward needs. ``backward(xp, grad, *saved)`` returns one gradient for each operand. Both compute with ``xp``, so
    that gradients can be differentiated again. ``infer(shapes, dtypes)`` lets lazy mode put it off. ``name`` is shown
    in graphs, forward's own by default. The results are checked as every op's are.

    >>> import treadle.autograd as ag
    >>> cube = ag.function_op(lambda xp, x: x * x * x, lambda xp, grad, x: grad * 3.0 * x * x, name="Cube")
    >>> x = ag.Tensor([2.0], requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad.tolist(), ag.gradcheck(cube, x)
    ([12.0], True)
    """
    shown = name or str(getattr(forward, "__name__", "FunctionOp"))
    return FunctionOp(forward, backward, shown) if infer is None else InferredOp(forward, backward, shown, infer)
