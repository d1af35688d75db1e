"""What both ways out of a callable share: its examples, its parameters, and a check that the program is all of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import ExportError
from treadle.autograd.export.folding import fold
from treadle.autograd.export.program import Program
from treadle.autograd.export.tracing import replay, trace
from treadle.autograd.export.updates import Update
from treadle.autograd.mode import no_grad

__all__ = ["capture"]

Examples = Tensor | Sequence[Any] | Any


def capture(
    function: Callable[..., Any],
    examples: Examples,
    *,
    train: Update | None = None,
    parameters: Mapping[str, Tensor] | None = None,
    verify: bool = True,
) -> Program:
    """The program of ``function`` on inputs of the examples' shapes and dtypes.

    ``examples`` is a tensor, or a tuple or list of them for several inputs. With ``train`` the first result is
    the loss, and the program holds its gradients and the update of ``parameters``: all leaves that require grad unless
    given by name. ``verify`` compares the program with the callable on other inputs than the examples.

    Raises ExportError where the callable cannot be exported, naming the node and its line.
    """
    inputs = _tensors(examples)
    if callable(getattr(function, "eval", None)) and getattr(function, "training", False) and train is None:
        raise ExportError("export: the module is in training mode; call eval() first, or export a training step")
    named = dict(parameters) if parameters is not None else _parameters(function, inputs)
    first = {id(each): name for name, each in reversed(named.items())}
    named = {name: each for name, each in named.items() if first[id(each)] == name}  # tied weights are one
    if train is None:
        program = trace(function, inputs, known=named)
    else:
        if not named:
            raise ExportError("export: nothing to train: no leaf that the loss depends on requires grad")
        slots = [train.slots(each) for each in named.values()]
        program = trace(function, inputs, parameters=list(named.values()), names=list(named), update=train, slots=slots)
    if verify:
        _verify(function, inputs, program)
    return fold(program) if train is None else program


def _tensors(examples: Examples) -> list[Tensor]:
    given = list(examples) if isinstance(examples, tuple | list) else [examples]
    if not given:
        raise ExportError("export: an example of at least one input is needed")
    return [Tensor((each.data if isinstance(each, Tensor) else nd.asarray(each)).copy()) for each in given]


class _Leaves(Watcher):
    """Notes the leaves that require grad, in the order of their use."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, Tensor] = {}

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        for each in inputs:
            if each.is_leaf and each.requires_grad:
                self.found.setdefault(id(each), each)


def _parameters(function: Callable[..., Any], inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """The trainable leaves by name: the module's own names where the callable is one."""
    named: Any = getattr(function, "named_parameters", None)
    if named is not None:
        return dict(named())
    with _Leaves() as leaves:
        function(*inputs)
    return {each.name or f"parameter{at}": each for at, each in enumerate(leaves.found.values())}


def _verify(function: Callable[..., Any], inputs: Sequence[Tensor], program: Program) -> None:
    """Compare program and callable on the examples' elements in reverse, and of other sign, so that what was computed
    outside of the graph, or decided by the examples' values, does not go unseen."""
    turned = [nd.flip(each.data.reshape(-1), axis=0).copy().reshape(each.shape) for each in inputs]
    _compare(function, [Tensor(each) for each in turned], program)
    if any(each.dtype.kind == "f" for each in turned):
        _compare(function, [Tensor(each * -0.75 if each.dtype.kind == "f" else each) for each in turned], program)


def _compare(function: Callable[..., Any], others: Sequence[Tensor], program: Program) -> None:
    with no_grad():
        found = function(*others)
    wanted = list(found) if isinstance(found, tuple | list) else [found]
    got = replay(program, [each.data for each in others])
    for at, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if one.dtype.kind == "f":
            scale = float(nd.max(nd.abs(other.data))) if other.size else 0.0
            close = nd.allclose(one, other.data, rtol=1e-4, atol=1e-5 + 1e-5 * scale, equal_nan=True)
        else:
            close = bool(nd.all(one == other.data))
        if not close:
            raise ExportError(
                f"export: result {at} of the callable depends on the inputs in a way that its graph does not hold, "
                "such as a random draw, NumPy on .numpy(), or a branch on a value; compute it with tensor functions"
            )
