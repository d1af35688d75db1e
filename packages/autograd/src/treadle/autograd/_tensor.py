"""Tensor, Op, and the op call that joins them. Compiled by Cython with the types of ``_tensor.pxd``.

The call unwraps the operands, runs ``forward`` on their arrays, wraps the result, and records a node when an operand
requires grad. An op object keeps no state of a call, so one object serves any number of calls.

Two families say the same once more in compiled code, for arrays alone: the elementwise ops (``_elementwise.py``) and
the affine one (``_affine.py``). Such an op is direct: this call asks ``_compute`` and ``_kept`` instead of ``forward``,
the engine ``_gradients`` instead of ``backward``. Everybody else (``create_graph``, lazy mode, checks, export) goes by
the rules in ``ops/``, and so does a subclass that has rules of its own.
"""

import operator
from typing import Any

import treadle.ndarray as _nd
from treadle.autograd import _op
from treadle.autograd._arrays import differentiable
from treadle.autograd._methods import Methods
from treadle.autograd._node import STATE, broken
from treadle.autograd._recording import recording, serving
from treadle.autograd._watching import without_gradient
from treadle.autograd.errors import GradientError, OpContractError
from treadle.ndarray import DeviceError, DType, DTypeError, NDArray, ShapeError

__all__ = ["Op", "Tensor", "apply", "bind"]

_array_type = NDArray
_differentiate: Any = None
_defer: Any = None
_ADD: Any = None
_SUBTRACT: Any = None
_MULTIPLY: Any = None
_DIVIDE: Any = None
_POW: Any = None
_MATMUL: Any = None
_NEGATIVE: Any = None


def bind(functions: Any, differentiate: Any, defer: Any) -> None:
    """Take the functions that operators of tensors stand for, the engine, and what lazy mode does with a call."""
    global _differentiate, _defer, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _POW, _MATMUL, _NEGATIVE
    _differentiate, _defer = differentiate, defer
    _ADD, _SUBTRACT = functions.add, functions.subtract
    _MULTIPLY, _DIVIDE = functions.multiply, functions.divide
    _POW = functions.pow
    _MATMUL = functions.matmul
    _NEGATIVE = functions.negative


class Op:
    """An operator of the graph: an object with its configuration, called on tensors.

    A subclass defines ``forward(self, xp, *arrays)``, which returns the resulting array and a tuple of what backward
    needs (arrays, None, plain values; at best operands or the output), and ``backward(self, xp, grad, node)``, which
    returns one gradient for each input, in order (a bare one for a single input; None where ``node.needs_grad(i)`` is
    false). ``node.saved`` and ``node.inputs`` are at hand. ``xp`` is the namespace to compute with:
    ``treadle.ndarray``, or, for gradients that can be differentiated again, the tensor functions of the same names.
    ``infer(self, shapes, dtypes)`` gives the result's shape and dtype without computing. An op keeps no per-call state,
    and neither method writes into its arguments. ``holomorphic``: see docs/own-op.md.

    >>> import treadle.autograd as ag
    >>> class Cube(ag.Op):
    ...     def forward(self, xp, x):
    ...         return x * x * x, (x,)
    ...
    ...     def backward(self, xp, grad, node):
    ...         return grad * 3 * node.saved[0] ** 2
    >>> x = ag.Tensor([2.0], requires_grad=True)
    >>> Cube()(x).backward()
    >>> x.grad.tolist()
    [12.0]
    """

    holomorphic = False
    selects_part = False  # and has ``add_into(total, grad)``: in place, the gradient of the operand onto others
    _is_direct: bool

    def __cinit__(self, *arguments: Any, **named: Any) -> None:
        for value in arguments:
            if isinstance(value, Tensor):
                _op.without_operands(self, arguments)

    def __init__(self, *operands: Any) -> None:
        _op.without_configuration(self, operands)

    def __call__(self, *inputs: Any) -> "Tensor":
        return apply(self, inputs)

    def _compute(self, inputs: "tuple[Tensor, ...]") -> Any:
        """Compiled families of ops, which set ``_is_direct``: the result's array, without the call of ``forward``."""
        raise NotImplementedError

    def _kept(self, inputs: "tuple[Tensor, ...]", data: NDArray) -> tuple[Any, ...]:
        """The same families: what ``forward`` would have saved."""
        raise NotImplementedError

    def _gradients(self, grad: NDArray, node: "Tensor") -> Any:
        """The same families: what ``backward`` gives for arrays."""
        raise NotImplementedError

    def forward(self, xp: Any, *arrays: Any) -> tuple[NDArray, tuple[Any, ...]]:
        """The result and what backward needs."""
        raise OpContractError(f"{type(self).__name__} defines no forward")

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        """The gradients of the inputs, from that of the output."""
        raise OpContractError(f"{type(self).__name__} defines no backward")

    def infer(self, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[DType, ...]) -> tuple[tuple[int, ...], DType]:
        """The shape and dtype of the result."""
        raise OpContractError(f"{type(self).__name__} defines no infer")

    def coerce(self, inputs: tuple[Any, ...]) -> "Tensor":
        """The call with an operand that is no tensor: an error, unless the op knows what to do with scalars."""
        for index, value in enumerate(inputs):
            if not isinstance(value, Tensor):
                raise _op.refuse(self, index, value)
        return apply(self, inputs)

    def __repr__(self) -> str:
        return _op.describe(self)


def apply(op: Op, inputs: tuple[Any, ...]) -> "Tensor":
    """``op(*inputs)``."""
    requires_grad = False
    pending = False
    for value in inputs:
        if not isinstance(value, Tensor):
            return op.coerce(inputs)
        node = value
        if node._requires_grad:
            requires_grad = True
        if node._data is None:
            pending = True
    if STATE.lazy_blocks != 0:
        caught: Tensor | None = _defer(op, inputs, requires_grad)
        if caught is not None:
            return caught
    if pending:
        for value in inputs:
            node = value
            node._value()
    data: Any
    saved: Any = None
    if op._is_direct:
        data = op._compute(inputs)
    else:
        data, saved = _forward(op, inputs)
    tensor = Tensor.__new__(Tensor)
    tensor._start(data)
    if requires_grad and recording() and differentiable(data):
        tensor._record(op, inputs, op._kept(inputs, data) if saved is None else saved)
    elif not requires_grad:
        for value in inputs:
            node = value
            if node._breaks is not None:
                tensor._inherit(node)
    elif not differentiable(data):
        tensor._break(f"the result of {op} is of dtype {data.dtype.name}, through which no gradient flows", inputs)
    elif not serving():
        tensor._break("computed under no_grad()", inputs)
    if STATE.watcher is not None:
        STATE.watcher.made(tensor, op, inputs)
    return tensor


def _forward(op: Op, inputs: tuple[Any, ...]) -> tuple[Any, Any]:
    """What ``forward`` gives for the operands' arrays, once it is known to be an array and a tuple."""
    count = len(inputs)
    result: Any
    try:
        if count == 2:
            first, second = inputs
            result = op.forward(_nd, first._data, second._data)
        elif count == 1:
            first = inputs[0]
            result = op.forward(_nd, first._data)
        else:
            result = op.forward(_nd, *[node._data for node in inputs])
    except (TypeError, ValueError) as error:
        raise _op.miscounted(op, count, error)  # noqa: B904
    if type(result) is not tuple or len(result) != 2 or type(result[0]) is not _array_type:
        raise OpContractError(f"{op}: forward must return (array, saved), not {_op.kind_of(result)}")
    if type(result[1]) is not tuple:
        raise OpContractError(f"{op}: what forward saves must be a tuple, not {type(result[1]).__name__}")
    return result


def deferred(op: Op, inputs: "tuple[Tensor, ...]", spec: tuple[Any, ...], requires_grad: bool) -> "Tensor":
    """The result of an op that is not computed yet, of a known (shape, dtype, device)."""
    tensor = Tensor.__new__(Tensor)
    tensor._start(None)
    tensor._defer(op, inputs, spec, requires_grad)
    return tensor


def recorded(op: Op, inputs: "tuple[Tensor, ...]", data: NDArray, saved: tuple[Any, ...], kind: Any = None) -> "Tensor":
    """The result of an op whose value has been computed already, of class Tensor or ``kind``."""
    tensor: Tensor = Tensor.__new__(Tensor if kind is None else kind)
    tensor._start(data)
    tensor._record(op, inputs, saved)
    return tensor


def constant(data: NDArray) -> "Tensor":
    """A tensor around an array, without a graph."""
    tensor = Tensor.__new__(Tensor)
    tensor._start(data)
    return tensor


def _binary(op: Op, x: Any, y: Any) -> "Tensor":
    """What ``x + y`` and its like do: scalars are weak operands, plain data is refused, the rest is left to Python."""
    if isinstance(x, Tensor):
        if isinstance(y, Tensor):
            return apply(op, (x, y))
        other, index = y, 1
    else:
        other, index = x, 0
    kind = type(other)
    if kind is not float and kind is not int and _op.as_scalar(other) is None:
        if _op.is_data(other):
            raise _op.refuse(op, index, other)
        return NotImplemented  # type: ignore[no-any-return]
    return op.coerce((x, y))


class Tensor(Methods):
    """An array in a computational graph, and the node of the op that made it.

    ``data`` is an array or what ``treadle.ndarray.asarray`` takes (whose memory is shared where it can be), or another
    tensor. ``requires_grad`` (floating and complex dtypes only) makes ops on it record a graph, and ``backward()`` fill
    ``.grad``. ``name`` is shown in pictures of the graph.

    Python and NumPy scalars are weak beside a tensor: ``x * 2.5`` keeps x's floating dtype.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (w * w).sum()
    >>> loss.backward()
    >>> w.grad.tolist()
    [2.0, 4.0]
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's operators then leave mixed expressions to ours

    def __init__(
        self,
        data: Any,
        *,
        requires_grad: bool = False,
        dtype: Any = None,
        device: Any = None,
        name: str | None = None,
    ) -> None:
        if isinstance(data, Tensor):
            data = data.data
        if type(data) is not _array_type or dtype is not None or device is not None:
            data = _nd.asarray(data, dtype=dtype, device=device)
        else:
            data = data[...]  # an array object of its own, over the same memory
        self._start(data)
        self._name = name
        if requires_grad:
            self.requires_grad = True

    # --- what it is -----------------------------------------------------------------------------------------------
    @property
    def data(self) -> NDArray:
        """The values. Only a leaf's array can be exchanged; writing into the array is seen by graphs that saved it."""
        return self._value()

    @data.setter
    def data(self, value: NDArray) -> None:
        if self._op is not None:
            raise AttributeError(f"the data of the result of {self._op} is read-only; only a leaf's can be exchanged")
        if type(value) is not _array_type:
            raise DTypeError(f"Tensor.data must be an NDArray, not {type(value).__name__}")
        if self._requires_grad and value.dtype.kind not in "fc":
            raise DTypeError(f"Tensor.data: this tensor requires grad, which {value.dtype.name} values cannot have")
        self._exchange(value)

    def _exchange(self, value: NDArray) -> None:
        """Exchange the array whatever the tensor is: gradient checks do, and put the former one back."""
        self._data = value
        self._exchanges += 1

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that backward() accumulated; None before, and on inner nodes without :meth:`retain_grad`."""
        return self._grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise DTypeError(f"Tensor.grad must be a Tensor or None, not {type(value).__name__}")
            if value.shape != self.shape:
                raise ShapeError(f"Tensor.grad: shape {value.shape} does not fit the tensor's {self.shape}")
            if value.dtype is not self.dtype:
                raise DTypeError(f"Tensor.grad: dtype {value.dtype} is not the tensor's {self.dtype}")
            if value.device is not self.device:
                raise DeviceError(f"Tensor.grad: it is on {value.device}, the tensor on {self.device}")
        self._grad = value

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. Can be set on leaves of a floating or complex dtype."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._op is not None:
            raise GradientError(f"requires_grad of the result of {self._op} cannot be set; use detach()")
        if value and self.dtype.kind not in "fc":
            name = self.dtype.name
            raise DTypeError(f"only floating and complex tensors can require grad, not {name}; convert with astype")
        self._requires_grad = value

    @property
    def name(self) -> str | None:
        """The name shown in pictures and tables of the graph."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        self._name = value

    # --- the graph ------------------------------------------------------------------------------------------------
    def backward(
        self,
        grad: "Tensor | None" = None,
        retain_graph: bool = False,
        create_graph: bool = False,
        *,
        accumulate: bool = True,
    ) -> None:
        """Add the gradients of this tensor to ``.grad`` of every leaf it depends on.

        ``grad`` is the gradient of this tensor, of its shape and dtype; ones by default, which for more than one
        element gives the gradient of the sum, and which complex tensors do not have. The graph is freed on the way
        unless ``retain_graph``; with ``create_graph`` the gradients have graphs of their own (and the graph is kept).
        With ``accumulate=False`` the gradients replace what stands in ``.grad``, so that no ``zero_grad`` is needed
        before; leaves that this tensor does not depend on keep theirs.

        Raises GradientError if nothing here requires grad, GraphFreedError if the graph was freed, SavedValueError if
        a saved value was overwritten, OpContractError if a rule's result is wrong.
        """
        _differentiate((self,), (grad,), None, retain_graph, create_graph, accumulate=accumulate)

    def detach(self) -> "Tensor":
        """A tensor with the same memory and no graph."""
        twin = constant(self._value()[...])  # an array object of its own: saved values are told apart by these
        if self._requires_grad or self._breaks is not None:
            broken(twin, "detach()", (self,))
        return twin

    def __repr__(self) -> str:
        shown = "not computed yet" if self._data is None else f"{self._data}"
        parts = [shown, f"dtype={self.dtype.name}"]
        if self._data is None or self.size:  # an empty array tells its shape itself
            parts.insert(1, f"shape={self.shape}")
        if self.device != "cpu":
            parts.append(f"device={self.device}")
        if self._name is not None:
            parts.append(f"name={self._name!r}")
        if self._op is not None:
            parts.append(f"op={self._op}")
        if self._requires_grad:
            parts.append("requires_grad=True")
        if self._grad is not None:
            parts.append(f"grad of shape {self._grad.shape}")
        return f"Tensor({', '.join(parts)})"

    # --- operators ------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> "Tensor":
        return _binary(_ADD, self, other)

    def __radd__(self, other: Any) -> "Tensor":
        return _binary(_ADD, other, self)

    def __sub__(self, other: Any) -> "Tensor":
        return _binary(_SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> "Tensor":
        return _binary(_SUBTRACT, other, self)

    def __mul__(self, other: Any) -> "Tensor":
        return _binary(_MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> "Tensor":
        return _binary(_MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> "Tensor":
        return _binary(_DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return _binary(_DIVIDE, other, self)

    def __pow__(self, other: Any) -> "Tensor":
        return _binary(_POW, self, other)

    def __rpow__(self, other: Any) -> "Tensor":
        return _binary(_POW, other, self)

    def __matmul__(self, other: Any) -> "Tensor":
        return _binary(_MATMUL, self, other)

    def __rmatmul__(self, other: Any) -> "Tensor":
        return _binary(_MATMUL, other, self)

    def __neg__(self) -> "Tensor":
        return apply(_NEGATIVE, (self,))

    def __hash__(self) -> int:
        return id(self)

    def _compared(self, name: str, compare: Any, other: Any) -> Any:
        """What the operator of that array function gives; what is neither tensor, number nor data is left to Python."""
        value = other.data if isinstance(other, Tensor) else _op.as_scalar(other)
        if value is None:
            if _op.is_data(other):
                raise _op.refuse(name, 1, other)
            return NotImplemented
        result = constant(compare(self._value(), value))
        return without_gradient(name, result, (self, other), {}, "a comparison has no gradient")

    def __eq__(self, other: Any) -> Any:
        return self._compared("equal", operator.eq, other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("not_equal", operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("less", operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compared("less_equal", operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("greater", operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("greater_equal", operator.ge, other)


if __file__.endswith(".py"):
    _op.as_compiled(Op)
