"""The node of the graph: a value, the op that made it, and what the op's backward rule needs.

A tensor is its own node, so one op costs one object. Compiled by Cython with the types of ``_node.pxd``; the source
runs uncompiled too.

References point from results to operands only. A node that saved its own output saved the *array*, which knows of no
node, so there is no cycle and memory falls by reference counting alone. Long chains are released without recursion
by the interpreter's trashcan, which the extension type opts into.
"""

from typing import TYPE_CHECKING, Any

from treadle.autograd._arrays import total_version, untrack
from treadle.autograd._frames import place, position, weakly
from treadle.autograd._handle import Handle
from treadle.autograd._location import Location, Scope, locate
from treadle.autograd.errors import GradientError, GraphFreedError, OpContractError, SavedValueError
from treadle.ndarray import NDArray

if TYPE_CHECKING:
    from treadle.autograd._tensor import Op, Tensor

__all__ = ["STATE", "Node", "State", "broken", "live_tensor_count"]

_MOST_BREAKS = 8

_array_type = NDArray


class State:
    """What every op call reads: the count of living tensors, that of ``lazy`` blocks open in any thread, and who
    watches the calls (None, nobody)."""

    def __init__(self) -> None:
        self.live = 0
        self.lazy_blocks = 0
        self.watcher: Any = None


_realize: Any = None


def bind(realize: Any) -> None:
    """Take the function that computes what lazy mode has put off."""
    global _realize
    _realize = realize


STATE = State()
globals()["STATE"] = STATE  # compiled, the name alone is a C variable, which Python modules could not import


def live_tensor_count() -> int:
    """How many tensors exist in this process. What a training step leaves behind shows as growth between steps.

    >>> import treadle.autograd as ag
    >>> before = ag.live_tensor_count()
    >>> x = ag.Tensor([1.0])
    >>> ag.live_tensor_count() - before
    1
    """
    return STATE.live


class Node:
    """The part of :class:`Tensor` that makes it a node of the graph."""

    __slots__ = (
        "__weakref__",
        "_breaks",
        "_counted",
        "_data",
        "_exchanges",
        "_exchanges_seen",
        "_first_version",
        "_grad",
        "_hooks",
        "_inputs",
        "_name",
        "_op",
        "_op_hooks",
        "_position",
        "_requires_grad",
        "_retain_grad",
        "_saved",
        "_spec",
        "_versions",
        "_waiting",
    )

    def __dealloc__(self) -> None:
        if self._counted:
            STATE.live -= 1

    def _born(self) -> None:
        """Give every field its first value: what the compiled class does by itself."""
        self._data: Any = None  # an NDArray; None while lazy mode puts it off
        self._grad: Tensor | None = None
        self._hooks: Any = None
        self._op_hooks: Any = None
        self._breaks: tuple[Any, ...] | None = None
        self._op: Op | None = None
        self._inputs: tuple[Tensor, ...] | None = None
        self._saved: tuple[Any, ...] | None = None
        self._exchanges = 0
        self._exchanges_seen = 0
        self._versions = 0
        self._first_version = 0
        self._spec: Any = None
        self._waiting: tuple[Any, ...] | None = None
        self._position: Any = None
        self._name: str | None = None
        self._counted = False
        self._requires_grad = False
        self._retain_grad = False

    def _start(self, data: NDArray | None) -> None:
        """Begin as a constant without a graph; the other fields are None, 0 and False from birth."""
        STATE.live += 1
        self._counted = True
        self._data = data

    def _record(self, op: "Op", inputs: "tuple[Tensor, ...]", saved: tuple[Any, ...]) -> None:
        """Become the result of ``op``."""
        self._op = op
        self._inputs = inputs
        untrack(inputs)
        self._position = position()
        self._saved = saved
        self._requires_grad = True
        if saved:
            self._versions = total_version(saved)
            self._exchanges_seen = _total_exchanges(inputs)

    def _value(self) -> NDArray:
        """The array, computed now if it has not been."""
        if self._data is None:
            _realize(self)
        array: NDArray = self._data
        return array

    def _defer(self, op: "Op", inputs: "tuple[Tensor, ...]", spec: tuple[Any, ...], requires_grad: bool) -> None:
        """Become the result of ``op``, to be computed later."""
        self._spec = spec
        known = [each._data for each in inputs]
        versions = [0 if array is None else array.version for array in known]
        self._waiting = (op, inputs, known, versions)
        if requires_grad:
            self._op = op
            self._inputs = inputs
            self._saved = ()
            self._exchanges_seen = _total_exchanges(inputs)
            self._requires_grad = True
        self._position = position()

    def _arrive(self, data: NDArray, saved: tuple[Any, ...]) -> None:
        """Take the computed value."""
        self._data = data
        self._waiting = None
        self._first_version = data.version
        if self._requires_grad:
            self._saved = saved
            if saved:
                self._versions = total_version(saved)

    @property
    def waiting(self) -> tuple[Any, ...] | None:
        """(op, operands, their arrays and these' versions) of what lazy mode has not computed yet; else None."""
        return self._waiting

    @property
    def first_version(self) -> int:
        """The version of the array when lazy mode computed it."""
        return self._first_version

    @property
    def is_realized(self) -> bool:
        """Whether the value has been computed; false only for what lazy mode has put off."""
        return self._data is not None

    def _break(self, reason: str, sources: "tuple[Tensor, ...]") -> None:
        """Note that a gradient would have flowed to the sources, but for the reason. Keeps none of them alive."""
        noted = (reason, place(), weakly(sources))
        self._breaks = (noted,) if self._breaks is None else (*self._breaks, noted)

    def _inherit(self, operand: "Tensor") -> None:
        """Take over what was noted of an operand, a constant that was computed across a break."""
        if self._breaks is None:
            self._breaks = operand._breaks
        elif self._breaks is not operand._breaks and len(self._breaks) < _MOST_BREAKS:
            self._breaks = (*self._breaks, *(operand._breaks or ()))

    @property
    def breaks(self) -> tuple[Any, ...]:
        """Where gradients stop short of this constant: (reason, position, weak references to what lies behind)."""
        return self._breaks or ()

    def _owner(self, value: Any) -> Any:
        """The tensor, this one or an operand, whose value a saved array is; None for a constant."""
        if value is self._data:
            return self
        inputs = self._inputs
        if inputs is None:
            raise self._freed()
        if _total_exchanges(inputs) != self._exchanges_seen:
            raise SavedValueError(
                f"{self._op}: the data of an input was exchanged after the op ran{self._built_at()}, so its gradient "
                "cannot be differentiated again"
            )
        for node in inputs:
            if value is node._data:
                return node
        return None

    def _release(self) -> None:
        """Drop what backward needed. ``_op`` stays, so an inner node never turns into a leaf."""
        self._inputs = None
        self._saved = None

    def _check_saved(self) -> None:
        """Raise SavedValueError if a saved array was written to since."""
        saved = self._saved
        if saved is None:
            raise self._freed()
        if saved and total_version(saved) != self._versions:
            raise SavedValueError(
                f"{self._op}: a value saved for its backward rule was overwritten in place after the op ran"
                f"{self._built_at()}; write into a copy, or after backward()"
            )

    def _freed(self) -> GraphFreedError:
        return GraphFreedError(
            f"the graph behind the result of {self._op}{self._built_at()} was freed by an earlier backward, whether "
            "or not it reached its end; pass retain_graph=True to that backward to use the graph again"
        )

    def _built_at(self) -> str:
        place = self.location
        return "" if place is None else f", built at {place}" + (f": {place.text}" if place.text else "")

    def register_hook(self, hook: Any) -> Handle:
        """Call ``hook(grad)`` with this tensor's whole gradient in every backward run, before anything uses it.

        The hook looks at the gradient (and returns None) or returns another Tensor of its shape and dtype instead.
        Hooks run in the order they were registered, and outside of any graph unless ``create_graph``. Returns a handle
        whose ``remove()`` ends it. Raises GradientError if no gradient flows to this tensor.

        >>> import treadle.autograd as ag
        >>> x = ag.Tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * x).sum().backward()
        >>> x.grad.tolist()
        [20.0, 40.0]
        >>> handle.remove()
        """
        if not self._requires_grad:
            raise GradientError("register_hook: no gradient flows to this tensor: it does not require grad")
        if not callable(hook):
            raise OpContractError(f"register_hook: {type(hook).__name__} is not callable")
        if self._hooks is None:
            self._hooks = {}
        return Handle(self._hooks, hook)

    def register_op_hook(self, hook: Any) -> Handle:
        """Call ``hook(node, gradients, grad)`` after the backward rule of the op that made this tensor has run.

        ``node`` is this tensor, ``gradients`` the rule's results, one for each of ``node.inputs`` (None where none is
        wanted), and ``grad`` the gradient of this tensor. The gradient of an op's several results together is a tuple
        with None for those that nothing used. The hook returns None, or the gradients to take instead.
        Raises GradientError for a leaf and for a tensor that requires no grad.
        """
        if self._op is None or not self._requires_grad:
            raise GradientError("register_op_hook: no op with a backward rule made this tensor; use register_hook")
        if not callable(hook):
            raise OpContractError(f"register_op_hook: {type(hook).__name__} is not callable")
        if self._op_hooks is None:
            self._op_hooks = {}
        return Handle(self._op_hooks, hook)

    @property
    def hooks(self) -> tuple[Any, ...]:
        """What :meth:`register_hook` has registered, in order."""
        return () if self._hooks is None else tuple(self._hooks.values())

    @property
    def op_hooks(self) -> tuple[Any, ...]:
        """What :meth:`register_op_hook` has registered, in order."""
        return () if self._op_hooks is None else tuple(self._op_hooks.values())

    def retain_grad(self) -> Any:
        """Make backward() leave this inner tensor's gradient in ``.grad`` too. Returns self."""
        if not self._requires_grad:
            raise GradientError("retain_grad: this tensor does not require grad")
        self._retain_grad = True
        return self

    @property
    def op(self) -> "Op | None":
        """The op object that made this tensor; None for a leaf. Read-only: a graph is rebuilt, never patched."""
        return self._op

    @property
    def inputs(self) -> "tuple[Tensor, ...]":
        """The op's operands, in order and with repetition (``x * x`` has ``(x, x)``); empty for a leaf.

        Raises GraphFreedError when an earlier backward freed the graph.
        """
        if self._op is None:
            return ()
        if self._inputs is None:
            raise self._freed()
        return self._inputs

    @property
    def saved(self) -> tuple[Any, ...]:
        """What ``forward`` saved for ``backward``, unchanged since. Raises SavedValueError, GraphFreedError."""
        if self._op is None:
            return ()
        self._value()
        self._check_saved()
        return self._saved or ()

    def needs_grad(self, index: int) -> bool:
        """Whether a gradient for input ``index`` is of use; a rule may give None where it is not."""
        inputs = self._inputs
        if inputs is None:
            raise self._freed()
        node = inputs[index]
        return node._requires_grad

    @property
    def is_leaf(self) -> bool:
        """True if no op made this tensor."""
        return self._op is None

    @property
    def location(self) -> Location | None:
        """The user's line that built this node; None for a leaf."""
        return locate(self._position)

    @property
    def scope(self) -> Scope | None:
        """The call of a module that built this node; None outside of any, and for a leaf."""
        place = self._position
        return None if place is None else place.scope


def broken(tensor: "Tensor", reason: str, sources: "tuple[Tensor, ...]") -> None:
    """Note at a new constant what it was computed from though no gradient flows; see :func:`connection`."""
    for each in sources:
        if each._requires_grad:
            tensor._break(reason, (each,))
        elif each._breaks is not None:
            tensor._inherit(each)


def _total_exchanges(inputs: "tuple[Tensor, ...]") -> int:
    """How often the inputs' arrays have been exchanged, all together."""
    total = 0
    for node in inputs:
        total += node._exchanges
    return total


class GraphView:
    """A node as a rule sees it under ``create_graph=True``: its saved arrays are the graph's tensors again.

    Arrays that were no operand and not the output come as constants; they must not depend differentiably on an input.
    """

    def __init__(self, node: "Tensor", constant: Any) -> None:
        self._node = node
        self._constant = constant
        self.op = node.op
        self.inputs = node.inputs
        self.shape = node.shape
        self.dtype = node.dtype

    def needs_grad(self, index: int) -> bool:
        """Whether a gradient for input ``index`` is of use."""
        return self._node.needs_grad(index)

    @property
    def saved(self) -> tuple[Any, ...]:
        """What ``forward`` saved, as tensors."""
        return tuple([self._tensor(value) for value in self._node.saved])

    def _tensor(self, value: Any) -> Any:
        if type(value) is not _array_type:
            return value
        item: Any = getattr(self._node, "item_of", None)  # a tensor tuple's saved results are its items
        owner = None if item is None else item(value)
        if owner is None:
            owner = self._node._owner(value)
        return self._constant(value) if owner is None else owner


if __file__.endswith(".py"):  # uncompiled: fields have to be made, and __dealloc__ is a name like any other

    def _new(kind: Any, *arguments: Any, **keywords: Any) -> Any:
        self = object.__new__(kind)
        self._born()
        return self

    def _count_down(self: Node) -> None:
        if self._counted:
            STATE.live -= 1

    Node.__new__ = _new  # type: ignore[method-assign, assignment]
    Node.__del__ = _count_down  # type: ignore[attr-defined]
