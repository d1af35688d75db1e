"""Recomputation instead of memory: a part of the graph that backward builds again.

Chen, Xu, Zhang and Guestrin, Training deep nets with sublinear memory cost, arXiv:1604.06174.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import treadle.ndarray as nd
from treadle.autograd._engine import differentiate
from treadle.autograd._tensor import Op, Tensor, recorded
from treadle.autograd._tuples import TupleItem
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import OpContractError, SavedValueError
from treadle.autograd.mode import enable_grad, is_grad_enabled, lazy
from treadle.autograd.ops.unary import positive

__all__ = ["Checkpoint", "checkpoint"]


class _Made(Watcher):
    """Notes what is made while a function runs, from what, and which tensors from outside it used."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: dict[int, Tensor] = {}
        self.outside: dict[int, Tensor] = {}
        self.operands: dict[int, tuple[Tensor, ...]] = {}

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """Note it."""
        for each in inputs:
            if each.requires_grad and id(each) not in self.inside:
                self.outside[id(each)] = each
        self.inside[id(tensor)] = tensor
        self.operands[id(tensor)] = inputs
        for each in tensor.inputs if isinstance(tensor.op, TupleItem) else ():
            self.inside[id(each)] = each

    def on_realized(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """The function runs eagerly, so what is computed late was called outside of it."""

    def constants(self, output: Tensor) -> "list[_Constant]":
        """The tensors without gradient from outside that the output was computed from."""
        seen: set[int] = set()
        found: list[_Constant] = []
        stack = [output]
        while stack:
            tensor = stack.pop()
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            operands = tensor.inputs or self.operands.get(id(tensor), ())
            stack.extend(operands)
            if isinstance(tensor.op, Checkpoint):
                found.extend(tensor.op.constants)
            elif not operands and not tensor.requires_grad:
                found.append((ref(tensor), id(tensor.data), tensor.data.version))
        return found


_Constant = tuple[Any, int, int]  # a weak reference to a tensor, the identity of its array, the array's version


@contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """The default generator in a former state, and then again in the present one; None changes nothing."""
    generator = nd.random.default_generator
    before = generator.state()
    if state is not None:
        generator.set_state(state)
    try:
        yield
    finally:
        if state is not None:
            generator.set_state(before)


class Checkpoint(Op):
    """A function of tensors as one node that saves its operands only: backward runs the function again.

    The first operands are the function's arguments; behind them come the tensors that it uses beside these.
    """

    def __init__(
        self, function: Callable[..., Tensor], count: int, state: Any = None, constants: "Sequence[_Constant]" = ()
    ) -> None:
        self.function = function
        self.count = count
        self.state = state
        self.constants = constants

    def __repr__(self) -> str:
        return f"Checkpoint({getattr(self.function, '__qualname__', self.function)})"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        tensors = [Tensor(each) for each in arrays[: self.count]]
        return self.function(*tensors).data, tuple(arrays)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        self._check(node)
        again = xp is not nd
        inputs = node.inputs
        arguments = [_variable(each, again) for each in inputs[: self.count]]
        output = self.again(*arguments)
        targets = [*arguments, *inputs[self.count :]]
        wanted = tuple(each for each in targets if each.requires_grad)
        seed = grad if again else Tensor(grad)
        found = iter(differentiate((output,), (seed,), wanted, True, again, True) or [])
        gradients: list[Any] = []
        for each in targets:
            gradient = next(found) if each.requires_grad else None
            if gradient is None and each.requires_grad:
                gradient = Tensor(nd.zeros_like(each.data))
            gradients.append(gradient if again or gradient is None else gradient.data)
        return tuple(gradients)

    def again(self, *arguments: Tensor) -> Tensor:
        """The function's value once more, with the graph behind it."""
        with enable_grad(), _random_state(self.state), lazy(False):
            return self.function(*arguments)

    def _check(self, node: Any) -> None:
        """Raise SavedValueError where what the function computes with is not what it was."""
        same = all(
            each.data is (kept.data if isinstance(kept, Tensor) else kept)
            for each, kept in zip(node.inputs, node.saved, strict=True)
        )
        for reference, identity, version in self.constants:
            tensor = reference()
            same = same and (tensor is None or (id(tensor.data) == identity and tensor.data.version == version))
        if not same:
            raise SavedValueError(
                f"{self}: a tensor that the function uses was overwritten after it ran, or its data exchanged, so "
                "backward would compute something else; write into a copy, or after backward()"
            )


def _variable(tensor: Tensor, recorded_too: bool = False) -> Tensor:
    """What the function is given for an argument: a tensor that is no other, so that uses of it are told apart."""
    if recorded_too and tensor.requires_grad:
        return positive(tensor)
    return Tensor(tensor.data, requires_grad=tensor.requires_grad)


def checkpoint(function: Callable[..., Tensor], *arguments: Any, preserve_random_state: bool = True) -> Tensor:
    """``function(*arguments)`` whose inner values are not kept: backward computes them once more.

    Memory for a second forward pass of this part. Tensors that the function uses beside its arguments, such as the
    parameters of a module, get their gradients too. The function must do the same each time; random numbers (dropout)
    repeat, since the default generator's state is put back for the second run, unless ``preserve_random_state`` is
    False.

    Raises OpContractError when the function returns anything but one tensor; backward raises SavedValueError when a
    tensor that the function used, constants too, was overwritten or got other data meanwhile.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([2.0], requires_grad=True)
    >>> x = ag.Tensor([3.0], requires_grad=True)
    >>> y = ag.checkpoint(lambda x: ag.exp(x * w), x)
    >>> y.op.count, len(y.inputs)
    (1, 2)
    >>> y.backward()
    >>> round(w.grad.item() / x.grad.item(), 4)
    1.5
    """
    if not is_grad_enabled():
        return _checked(function(*arguments))
    tensors = [index for index, each in enumerate(arguments) if isinstance(each, Tensor)]
    state = nd.random.default_generator.state() if preserve_random_state else None

    def with_tensors(*given: Tensor) -> Tensor:
        full = list(arguments)
        for index, each in zip(tensors, given, strict=True):
            full[index] = each
        return _checked(function(*full))

    with_tensors.__qualname__ = getattr(function, "__qualname__", repr(function))
    given = [arguments[index] for index in tensors]
    twins = [_variable(each) for each in given]
    with _Made() as notes, lazy(False):
        output = with_tensors(*twins)
    known = {id(each) for each in twins}
    others = [each for key, each in notes.outside.items() if key not in known]
    if not output.requires_grad:
        return output
    if id(output) not in notes.inside:  # nothing was computed: an argument came back, or a tensor from outside
        return next((each for each, twin in zip(given, twins, strict=True) if twin is output), output)
    inputs = (*given, *others)
    saved = tuple(each.data for each in inputs)
    constants = notes.constants(output)
    del notes, twins
    return recorded(Checkpoint(with_tensors, len(given), state, constants), inputs, output.data, saved)


def _checked(output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise OpContractError(f"checkpoint: the function must return one Tensor, not {type(output).__name__}")
    return output
