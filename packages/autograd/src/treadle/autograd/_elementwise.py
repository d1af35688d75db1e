"""The elementwise ops' share of the op call: operands and scalars in, what the rules read saved, gradients summed back.

Compiled by Cython with the types of ``_elementwise.pxd``. The rules themselves are plain Python, in ``ops/``.
"""

from typing import Any, Never

import treadle.ndarray as _nd
from treadle.autograd._arrays import alike, binary, unary, untrack
from treadle.autograd._inference import Shape, tried
from treadle.autograd._op import as_scalar, refuse, without_configuration
from treadle.autograd._tensor import Op, Tensor, apply
from treadle.autograd.errors import OpContractError
from treadle.ndarray import DType, DTypeError, NDArray, broadcast_shapes
from treadle.ndarray._native import binary_number, unary_number

__all__ = ["BinaryOp", "UnaryOp"]

Scalar = bool | int | float
X, Y, Z = 1, 2, 4  # bits of what is saved: left operand, right operand, result


def fit(xp: Any, grad: Any, shape: Shape, dtype: DType) -> Any:
    """A gradient summed over the axes that broadcasting stretched or added, and of the operand's dtype.

    Of a complex gradient a real operand gets the real part.
    """
    given = grad.shape
    if given != shape:
        added = len(given) - len(shape)
        stretched = [axis + added for axis, length in enumerate(shape) if length == 1 != given[axis + added]]
        if stretched:
            grad = xp.sum(grad, axis=(*range(added), *stretched), keepdims=True)
            grad = xp.reshape(grad, shape)
        else:
            grad = xp.sum(grad, axis=tuple(range(added)))
    if grad.dtype is dtype:
        return grad
    if grad.dtype.kind == "c" and dtype.kind != "c":  # a real operand has no imaginary part to move
        grad = xp.real(grad)
    return xp.astype(grad, dtype)


def _fitted(gradient: Any, operand: Tensor) -> Any:
    if alike(gradient, operand._data):
        return gradient
    return fit(_nd, gradient, operand._data.shape, operand._data.dtype)


def _takes_short_cut(kind: Any, base: Any, number: int) -> bool:
    """Whether a subclass left to its base what its compiled methods stand for."""
    own = (kind.forward, kind.backward, getattr(kind, "compute", None))
    return number >= 0 and own == (base.forward, base.backward, getattr(base, "compute", None))


class UnaryOp(Op):
    """Base of the elementwise ops of one operand.

    A subclass has the row's ``name`` in the op table, ``saves`` ("x" for the operand, "y" for the result, "" for
    nothing) and the rule ``derive``.
    """

    name = ""
    holomorphic = True
    saves = "x"
    configuration = ()

    def __init__(self, *operands: Never) -> None:
        if operands:
            without_configuration(self, operands)
        self._function = getattr(_nd, self.name)
        self._saving = {"x": X, "y": Y, "": 0}[self.saves]
        self._number = unary_number(self.name)
        self._is_direct = _takes_short_cut(type(self), UnaryOp, self._number)

    def _compute(self, inputs: tuple[Tensor, ...]) -> Any:
        if len(inputs) != 1:
            raise _miscounted(self, 1, len(inputs))
        first = inputs[0]
        return unary(self._number, first._data)

    def _kept(self, inputs: tuple[Tensor, ...], data: NDArray) -> tuple[Any, ...]:
        if self._saving == 0:
            return ()
        first = inputs[0]
        kept = (first._data if self._saving == X else data,)
        untrack(kept)
        return kept

    def _gradients(self, grad: NDArray, node: Tensor) -> Any:
        saved: Any = None
        if self._saving:
            node._check_saved()
            kept: Any = node._saved
            saved = kept[0]
        return self.derive(_nd, grad, saved)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = self._function(x) if xp is _nd else getattr(xp, self.name)(x)
        if self._saving == 0:
            return y, ()
        return y, (x if self._saving == X else y,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return self.derive(xp, grad, node.saved[0] if self._saving else None)

    def derive(self, xp: Any, grad: Any, saved: Any) -> Any:
        """The gradient of the operand, given that of the result and what ``saves`` names."""
        raise TypeError(f"{type(self).__name__} defines no derive")

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        if len(shapes) != 1:
            raise _miscounted(self, 1, len(shapes))
        return shapes[0], tried(self, shapes, dtypes)


class BinaryOp(Op):
    """Base of the elementwise ops of two operands, which broadcast and meet in one dtype.

    One operand may be a Python scalar, which is then configuration of the op and no input of the node:
    ``x * 2`` is ``Multiply(right=2)(x)``, ``2 / x`` is ``Divide(left=2)(x)``.

    A subclass has the row's ``name`` and the rules ``left_gradient`` and ``right_gradient``. ``left_needs`` and
    ``right_needs`` say which of the operands x, y and the result z the rules read; what neither needs is not saved and
    comes as None. Scalars come as scalars. The results are summed to the operands' shapes here.
    """

    name = ""
    holomorphic = True
    left_needs = ""
    right_needs = ""
    configuration = ("left", "right")

    def __init__(self, *operands: Never, left: Scalar | None = None, right: Scalar | None = None) -> None:
        if operands:
            without_configuration(self, operands)
        if left is not None and right is not None:
            raise DTypeError(f"{type(self).__name__}: one operand must be a tensor, not both scalars")
        if any(isinstance(each, complex) for each in (left, right)):
            raise DTypeError(f"{type(self).__name__}: a complex scalar is no configuration; call the op with it")
        self.left = left
        self.right = right
        self._left_saving = _bits(self.left_needs)
        self._right_saving = _bits(self.right_needs)
        self._saving = (0 if left is not None else self._left_saving) | (0 if right is not None else self._right_saving)
        self._function = getattr(_nd, self.name)
        self._number = binary_number(self.name)
        self._is_direct = _takes_short_cut(type(self), BinaryOp, self._number)
        self._is_bare = not hasattr(self, "__dict__")

    def _compute(self, inputs: tuple[Tensor, ...]) -> Any:
        scalars = (self.left is not None) + (self.right is not None)
        if len(inputs) + scalars != 2:
            raise _miscounted(self, 2 - scalars, len(inputs))
        first = inputs[0]
        if scalars == 0:
            second = inputs[1]
            return binary(self._number, first._data, second._data)
        if self.left is None:
            return binary(self._number, first._data, self.right)
        return binary(self._number, self.left, first._data)

    def _kept(self, inputs: tuple[Tensor, ...], data: NDArray) -> tuple[Any, ...]:
        saving = self._saving
        if saving == 0:
            return ()
        x, y = self.left, self.right
        if x is None:
            first = inputs[0]
            x = first._data
        if y is None:
            second = inputs[len(inputs) - 1]
            y = second._data
        kept = (x if saving & X else None, y if saving & Y else None, data if saving & Z else None)
        untrack(kept)
        return kept

    def _gradients(self, grad: NDArray, node: Tensor) -> Any:
        x = y = z = None
        if self._saving:
            node._check_saved()
            x, y, z = node._saved  # type: ignore[misc]
        inputs: Any = node._inputs
        first = inputs[0]
        if len(inputs) == 1:
            rule = self.left_gradient if self.left is None else self.right_gradient
            return _fitted(rule(_nd, grad, x, y, z), first)
        second = inputs[1]
        left = right = None
        if first._requires_grad:
            left = _fitted(self.left_gradient(_nd, grad, x, y, z), first)
        if second._requires_grad:
            right = _fitted(self.right_gradient(_nd, grad, x, y, z), second)
        return left, right

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return _binary_forward(self, xp, arrays)

    def compute(self, xp: Any, x: Any, y: Any) -> Any:
        """The result."""
        return self._function(x, y) if xp is _nd else getattr(xp, self.name)(x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return _binary_backward(self, xp, grad, node)

    def left_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        """grad times the derivative by x."""
        raise TypeError(f"{type(self).__name__} defines no left_gradient")

    def right_gradient(self, xp: Any, grad: Any, x: Any, y: Any, z: Any) -> Any:
        """grad times the derivative by y."""
        raise TypeError(f"{type(self).__name__} defines no right_gradient")

    def coerce(self, inputs: tuple[Any, ...]) -> Tensor:
        if len(inputs) != 2:
            return Op.coerce(self, inputs)
        index = 1 if isinstance(inputs[0], Tensor) else 0
        scalar = inputs[index]
        if type(scalar) is not float and type(scalar) is not int:
            scalar = as_scalar(scalar)
        other = inputs[1 - index]
        if scalar is None or not isinstance(other, Tensor):
            raise refuse(self, index, inputs[index])
        if isinstance(scalar, complex):  # an operand like any other, of the precision of the other one
            dtype = _nd.result_type(other.dtype, scalar)
            wide = Tensor(_nd.asarray(scalar, dtype=dtype, device=other.device))
            return apply(self, (other, wide) if index else (wide, other))
        return apply(_with_scalar(self, scalar, index), (other,))

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        count = 2 - (self.left is not None) - (self.right is not None)
        if len(shapes) != count:
            raise _miscounted(self, count, len(shapes))
        dtype = tried(self, shapes, dtypes)
        return broadcast_shapes(*shapes), dtype


def _miscounted(op: Op, wanted: int, given: int) -> OpContractError:
    return OpContractError(f"{op} takes {wanted} tensor{'s' * (wanted > 1)}, not {given}")


def _bits(needs: str) -> int:
    return ("x" in needs) * X + ("y" in needs) * Y + ("z" in needs) * Z


def _with_scalar(op: BinaryOp, scalar: bool | int | float, index: int) -> BinaryOp:
    """The op with a scalar for operand ``index``, made without the detour through the constructor."""
    twin = type(op).__new__(type(op))
    twin.left = None if index else scalar
    twin.right = scalar if index else None
    twin._left_saving = op._left_saving
    twin._right_saving = op._right_saving
    twin._saving = op._left_saving if index else op._right_saving
    twin._function = op._function
    twin._number = op._number
    twin._is_direct = op._is_direct
    twin._is_bare = op._is_bare
    if op._is_bare:
        untrack(twin)  # scalars and a function: nothing of it leads back to it
    return twin


def _binary_forward(op: BinaryOp, xp: Any, arrays: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    count = 2 - (op.left is not None) - (op.right is not None)
    if len(arrays) != count:
        raise _miscounted(op, count, len(arrays))
    if count == 2:
        x, y = arrays
    elif op.right is not None:
        x, y = arrays[0], op.right
    else:
        x, y = op.left, arrays[0]
    z = op.compute(xp, x, y)
    saving = op._saving
    if saving == 0:
        return z, ()
    return z, (x if saving & X else None, y if saving & Y else None, z if saving & Z else None)


def _binary_backward(op: BinaryOp, xp: Any, grad: Any, node: Any) -> Any:
    if xp is _nd:
        return op._gradients(grad, node)
    x = y = z = None
    if op._saving:
        x, y, z = node.saved
    inputs = node.inputs
    left = inputs[0]
    if len(inputs) == 1:
        rule = op.left_gradient if op.right is not None else op.right_gradient
        return fit(xp, rule(xp, grad, x, y, z), left._data.shape, left._data.dtype)
    right = inputs[1]
    first = second = None
    if left._requires_grad:
        first = fit(xp, op.left_gradient(xp, grad, x, y, z), left._data.shape, left._data.dtype)
    if right._requires_grad:
        second = fit(xp, op.right_gradient(xp, grad, x, y, z), right._data.shape, right._data.dtype)
    return first, second
