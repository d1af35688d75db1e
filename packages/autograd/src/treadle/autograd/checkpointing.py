"""Recomputation instead of memory: a part of the graph that backward builds again.

Chen, Xu, Zhang and Guestrin, Training deep nets with sublinear memory cost, arXiv:1604.06174.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor, recorded
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import OpContractError
from treadle.autograd.gradients import grad as _grad
from treadle.autograd.mode import enable_grad, is_grad_enabled
from treadle.ndarray import DType

__all__ = ["Checkpoint", "checkpoint"]


class _Made(Watcher):
    """Notes what is made while a function runs, and which tensors from outside it used."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: dict[int, Tensor] = {}
        self.outside: dict[int, Tensor] = {}

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """Note it."""
        for each in inputs:
            if each.requires_grad and id(each) not in self.inside:
                self.outside[id(each)] = each
        self.inside[id(tensor)] = tensor


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

    def __init__(self, function: Callable[..., Tensor], count: int, state: Any = None) -> None:
        self.function = function
        self.count = count
        self.state = state

    def __repr__(self) -> str:
        return f"Checkpoint({getattr(self.function, '__qualname__', self.function)})"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        tensors = [Tensor(each) for each in arrays[: self.count]]
        return self.function(*tensors).data, tuple(arrays)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        node.saved  # noqa: B018 - the operands must be what they were
        again = xp is not nd
        inputs = node.inputs
        arguments = [each if again else _leaf(each) for each in inputs[: self.count]]
        with enable_grad(), _random_state(self.state):
            output = self.function(*arguments).realize()
        targets = [*arguments, *inputs[self.count :]]
        wanted = [each for each in targets if each.requires_grad]
        seed = grad if again else Tensor(grad)
        found = iter(_grad(output, wanted, seed, create_graph=again, allow_unused=True))
        gradients: list[Any] = []
        for each in targets:
            gradient = next(found) if each.requires_grad else None
            if gradient is None and each.requires_grad:
                gradient = Tensor(nd.zeros_like(each.data))
            gradients.append(gradient if again or gradient is None else gradient.data)
        return tuple(gradients)

    def infer(self, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[DType, ...]) -> tuple[tuple[int, ...], DType]:
        raise OpContractError(f"{self}: the shape is known only once the function has run")


def _leaf(tensor: Tensor) -> Tensor:
    return Tensor(tensor.data, requires_grad=tensor.requires_grad)


def checkpoint(function: Callable[..., Tensor], *arguments: Any, preserve_random_state: bool = True) -> Tensor:
    """``function(*arguments)`` whose inner values are not kept: backward computes them once more.

    Memory for a second forward pass of this part. Tensors that the function uses beside its arguments, such as the
    parameters of a module, get their gradients too. The function must do the same each time; random numbers (dropout)
    repeat, since the default generator's state is put back for the second run, unless ``preserve_random_state`` is
    False.

    Raises OpContractError when the function returns anything but one tensor.

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

    given = [arguments[index] for index in tensors]
    with _Made() as notes:
        output = with_tensors(*given).realize()
    if not output.requires_grad:
        return output
    used = {id(each) for each in given}
    others = [each for key, each in notes.outside.items() if key not in used]
    inputs = (*given, *others)
    saved = tuple(each.data for each in inputs)
    return recorded(Checkpoint(with_tensors, len(given), state), inputs, output.data, saved)


def _checked(output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise OpContractError(f"checkpoint: the function must return one Tensor, not {type(output).__name__}")
    return output
