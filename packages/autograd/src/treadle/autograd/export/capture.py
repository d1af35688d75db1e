"""What both ways out of a callable share: its examples, its parameters, and a check that the program is all of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import ExportError
from treadle.autograd.export.folding import fold
from treadle.autograd.export.program import Program
from treadle.autograd.export.recorder import Recorder
from treadle.autograd.export.tracing import Replay, trace
from treadle.autograd.export.updates import Update
from treadle.autograd.gradients import grad
from treadle.autograd.mode import enable_grad, lazy, no_grad
from treadle.ndarray import NDArray

__all__ = ["capture", "tensors"]

Examples = Tensor | Sequence[Any] | Any


def capture(
    function: Callable[..., Any],
    examples: Examples,
    *,
    train: Update | None = None,
    parameters: Mapping[str, Tensor] | None = None,
    verify: bool = True,
    recorder: Recorder | None = None,
) -> Program:
    """The program of ``function`` on inputs of the examples' shapes and dtypes.

    ``examples`` is a tensor, or a tuple or list of them for several inputs. With ``train`` the first result is
    the loss, and the program holds its gradients and the update of ``parameters``: all leaves that require grad unless
    given by name. ``verify`` compares the program with the callable on other inputs than the examples. With a
    ``recorder`` of one's own, nothing is folded.

    Raises ExportError where the callable cannot be exported, naming the node and its line.
    """
    with _Kept() as kept:
        try:
            return _capture(function, examples, train, parameters, verify, recorder)
        finally:
            kept.restore()


def _capture(
    function: Callable[..., Any],
    examples: Examples,
    train: Update | None,
    parameters: Mapping[str, Tensor] | None,
    verify: bool,
    recorder: Recorder | None,
) -> Program:
    if not callable(function):
        raise ExportError(f"export: {type(function).__qualname__} is no callable over tensors")
    inputs = tensors(examples)
    if train is not None and not callable(getattr(train, "slots", None)):
        raise ExportError(
            f"export: train is a {type(train).__module__}.{type(train).__qualname__}; give SGD or Adam of "
            "treadle.autograd.export, or an object with slots(parameter) and a call (parameter, gradient, *slots)"
        )
    if callable(getattr(function, "eval", None)) and getattr(function, "training", False) and train is None:
        raise ExportError("export: the module is in training mode; call eval() first, or export a training step")
    named = dict(parameters) if parameters is not None else _parameters(function, inputs)
    first = {id(each): name for name, each in reversed(named.items())}
    named = {name: each for name, each in named.items() if first[id(each)] == name}  # tied weights are one
    if train is None:
        program = trace(function, inputs, known=named, recorder=recorder)
    else:
        frozen = [name for name, each in named.items() if not each.requires_grad]
        if frozen:
            raise ExportError(f"export: {', '.join(frozen)}: to be trained, and does not require grad")
        named = _reached(function, inputs, named) if named else named
        if not named:
            raise ExportError("export: nothing to train: no leaf that the loss depends on requires grad")
        slots = [train.slots(each) for each in named.values()]
        found = getattr(function, "named_buffers", None)
        buffers = dict(found()) if found is not None else {}
        with _Kept() as kept:
            program = trace(
                function, inputs, parameters=list(named.values()), names=list(named), update=train, slots=slots,
                buffers=buffers,
            )  # fmt: skip
            kept.restore()
    if verify:
        before = nd.random.default_generator.state()
        try:
            _verify(function, inputs, program, train, named)
        except ExportError:
            if nd.random.default_generator.state() == before:
                raise
            raise ExportError(
                "export: the callable draws random numbers, as dropout does in training; exported, they would be the "
                "same in every run. Call eval(), set p to 0, or draw outside and pass what was drawn as an input"
            ) from None
    return fold(program) if train is None and recorder is None else program


def tensors(examples: Examples) -> list[Tensor]:
    """The examples as tensors of their own."""
    given = list(examples) if isinstance(examples, tuple | list) else [examples]
    if not given:
        raise ExportError("export: an example of at least one input is needed")
    return [Tensor((each.data if isinstance(each, Tensor) else nd.asarray(each)).copy()) for each in given]


class _Kept(Watcher):
    """Notes what layers keep from batch to batch before they write it, so that an export leaves it as it was."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[int, tuple[Tensor, NDArray]] = {}

    def on_write(self, target: Tensor, compute: Any, operands: tuple[Tensor, ...]) -> None:
        self._before.setdefault(id(target), (target, target.data.copy()))

    def restore(self) -> list[Tensor]:
        """Write back what was; returns what it had become."""
        after = [Tensor(target.data.copy()) for target, _ in self._before.values()]
        for target, before in self._before.values():
            target.data[...] = before
        return after


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
    with lazy(False), _Kept() as kept, _Leaves() as leaves:
        function(*inputs)
        kept.restore()
    return {each.name or f"parameter{at}": each for at, each in enumerate(leaves.found.values())}


def _reached(function: Callable[..., Any], inputs: Sequence[Tensor], named: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parameters that the loss depends on: an optimizer leaves the others as they are, decay and all."""
    with lazy(False), enable_grad(), _Kept() as kept:
        loss = _several(function(*inputs))[0]
        kept.restore()
    if not isinstance(loss, Tensor) or loss.size != 1 or not loss.requires_grad:
        return named  # the trace says what is wrong with it
    found = grad(loss, list(named.values()), allow_unused=True)
    return {name: each for (name, each), gradient in zip(named.items(), found, strict=True) if gradient is not None}


def _verify(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    program: Program,
    train: Update | None,
    named: Mapping[str, Tensor],
) -> None:
    """Compare program and callable on other inputs than the examples: these in reverse, of other sign and size, and
    shifted, so that what was computed outside of the graph, or decided by the examples' values, does not go unseen."""
    turned = [nd.flip(each.data.reshape(-1), axis=0).copy().reshape(each.shape) for each in inputs]
    changes: list[Callable[[NDArray], NDArray]] = [lambda x: x, lambda x: x * -0.75 if x.dtype.kind == "f" else x]
    for change in (*changes, _shifted):
        others = [change(each) for each in turned]
        got = Replay(program, others)
        if train is None:
            with no_grad():
                found = function(*[Tensor(each) for each in others])
            _compare(_several(found), got.outputs())
        else:
            with enable_grad(), _Kept() as kept:
                found = _several(function(*[Tensor(each) for each in others]))
                written = kept.restore()
            _compare(found, got.outputs())
            _compare_updates(found[0], program, got, train, list(named.values()))
            _compare(written, [got.array(new) for _, new in program.updates[len(program.updates) - len(written) :]])


def _shifted(x: NDArray) -> NDArray:
    """Some other numbers of the same size; of whole numbers, which may be indices, the largest alone."""
    if x.dtype.kind == "c":
        return x * 0.5
    if x.dtype.kind != "f":
        most = bool(nd.any(x)) if x.dtype.kind == "b" else nd.max(x).item() if x.size else 0
        return nd.full(x.shape, most, dtype=x.dtype)
    size = float(nd.max(nd.abs(x))) if x.size else 0.0
    waves = nd.sin(nd.arange(x.size, dtype="float64") * 1.7 + 0.3).reshape(x.shape)
    return (x.astype("float64") * 0.5 + waves * (size or 1.0)).astype(x.dtype)


def _several(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]


def _compare_updates(loss: Tensor, program: Program, got: Replay, train: Update, parameters: Sequence[Tensor]) -> None:
    """Compare the gradient of every parameter with the engine's, and what a step makes of the program's own gradient.

    Not of the engine's: a step like Adam's divides a gradient by its size, and so makes whole steps of roundings where
    the gradient is 0 but for them, as that of a bias of attention's keys is.
    """
    gradients = grad(loss, list(parameters), allow_unused=True)
    updates = iter(program.updates)
    computed = {id(each) for each in program.calls}
    for parameter, gradient, own in zip(parameters, gradients, program.gradients, strict=True):
        slots = train.slots(parameter)
        given = got.array(own)
        used = own.base.call is None or id(own.base.call) in computed  # a step of one's own may not need it
        if gradient is not None and used:
            _compare([gradient], [given])
        with no_grad():
            results = train(parameter.detach(), Tensor(given), *slots)
        _compare(results, [got.array(next(updates)[1]) for _ in results])


def _compare(wanted: Sequence[Tensor], got: Sequence[NDArray]) -> None:
    for at, (one, other) in enumerate(zip(got, wanted, strict=True)):
        close = one.shape == other.shape and one.dtype == other.dtype
        if close and one.dtype.kind == "f":
            scale = float(nd.max(nd.abs(other.data))) if other.size else 0.0
            scale = scale if math.isfinite(scale) else 0.0
            close = nd.allclose(one, other.data, rtol=1e-4, atol=1e-5 + 1e-5 * scale, equal_nan=True)
        elif close:
            close = bool(nd.all(one == other.data))
        if not close:
            raise ExportError(
                f"export: result {at} of the callable depends on the inputs in a way that its graph does not hold, "
                "such as a random draw, NumPy on .numpy(), or a branch on a value; compute it with tensor functions"
            )
