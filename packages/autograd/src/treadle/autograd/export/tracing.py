"""From a callable over tensors to a :class:`Program`.

The callable runs once, eagerly, on examples, while every op call is watched; then each op's own rules are run again
against a :class:`Recorder`, forward, and for training backward too, which gives the array functions in order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._location import locate, position
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd._tuples import TupleOp
from treadle.autograd._watching import Watcher
from treadle.autograd.errors import ExportError
from treadle.autograd.export.composed import DEFINITIONS
from treadle.autograd.export.program import Origin, Program, Role, Value
from treadle.autograd.export.recorder import Recorder, Traced, run
from treadle.autograd.mode import enable_grad, lazy, no_grad
from treadle.autograd.ops.unary import positive
from treadle.ndarray import NDArray

__all__ = ["Replay", "TracedRun", "replay", "trace"]


@dataclass(slots=True)
class Record:
    """One op call that was watched, and what it saved, as traced arrays."""

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: list[Tensor]
    saved: tuple[Any, ...]
    origin: Origin


class NodeView:
    """A node as a rule sees it: the operands are the tensors that were traced, what was saved is traced."""

    def __init__(self, record: Record) -> None:
        self.op = record.op
        self.inputs = record.inputs
        self.saved = record.saved
        self.shape = record.outputs[0].shape
        self.dtype = record.outputs[0].dtype

    def needs_grad(self, index: int) -> bool:
        """Whether a gradient for input ``index`` is of use."""
        return self.inputs[index].requires_grad


class TracedRun(Watcher):
    """Watches a run of the callable and records what its ops do."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.records: list[Record] = []
        self._known: dict[int, tuple[Traced, int]] = {}  # by id of a tensor; with the version of its elements
        self._places: dict[tuple[Any, ...], Traced] = {}
        self._alive: list[Any] = []
        self._items: tuple[Any, ...] = (None, (), [])
        self.buffers: dict[int, tuple[Traced, Traced]] = {}  # by id of a tensor that a layer writes: before and after
        self.names: dict[int, str] = {}

    # --- what stands for a tensor -----------------------------------------------------------------------------------
    def introduce(self, tensor: Tensor, traced: Traced) -> None:
        """Let a traced array stand for a tensor."""
        self._known[id(tensor)] = traced, tensor.data.version
        self._places[_place(tensor.data)] = traced
        self.recorder.arrays[id(tensor.data)] = traced
        self._alive += [tensor, tensor.data]

    def leaf(self, role: Role, tensor: Tensor, name: str) -> Traced:
        """A tensor that is an input or a state."""
        traced = Traced(self.recorder, self.recorder.value(role, tensor.data.copy(), name))  # in C order
        if role is Role.INPUT:
            tensor._break("it is computed from an input of the exported callable outside of the graph", (tensor,))
        self.introduce(tensor, traced)
        return traced

    def traced(self, tensor: Tensor) -> Traced:
        """What stands for a tensor; one that is not known is a constant. Raises ExportError for a disguised input."""
        found, version = self._known.get(id(tensor), (None, 0))
        if found is not None and version != tensor.data.version:
            raise ExportError(
                self.recorder.here(
                    f"an operand of shape {tensor.shape} was written in place; make a new tensor instead"
                )
            )
        if found is None and tensor.size:
            found = self._places.get(_place(tensor.data))
            if found is not None:  # detached: the same array, without the gradient
                self.introduce(tensor, found)
        if found is None:
            for reason, position, sources in tensor.breaks:
                if any(source() is not None and id(source()) in self._known for source in sources):
                    place = locate(position)
                    raise ExportError(self.recorder.here(f"an operand depends on an input, but {reason} ({place})"))
            found = self.recorder.constant(tensor.data, tensor.name or "")
            self.introduce(tensor, found)
        return found

    # --- watching ---------------------------------------------------------------------------------------------------
    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        place = position()
        origin = Origin(repr(op), locate(place), None if place is None else place.scope)
        self.recorder.origin = origin
        if isinstance(op, TupleOp):
            self._made_item(tensor, op, inputs, origin)
            return
        if hasattr(op, "composition"):
            self._stand_for(tensor, op.composition(*inputs), origin)
            return
        given: Any
        given, saved = op.forward(self.recorder, *[self.traced(each) for each in inputs])
        result: Any = self.recorder.constant(given) if isinstance(given, NDArray) else given
        self._check(op, result, tensor)
        self.introduce(tensor, result)
        self.records.append(Record(op, inputs, [tensor], saved, origin))

    def _made_item(self, tensor: Tensor, op: TupleOp, inputs: tuple[Tensor, ...], origin: Origin) -> None:
        """One result of an op that has several, which are shown one after another."""
        last, operands, left = self._items
        if last is not op or not left or any(a is not b for a, b in zip(operands, inputs, strict=True)):
            left = self._results(op, inputs, origin)
        result = left.pop(0)
        if isinstance(result, Tensor):
            self._items = (op, inputs, left)
            self._stand_for(tensor, result, origin)
            return
        self.records[-1].outputs.append(tensor)
        self._items = (op, inputs, left)
        self._check(op, result, tensor)
        self.introduce(tensor, result)

    def _results(self, op: TupleOp, inputs: tuple[Tensor, ...], origin: Origin) -> list[Any]:
        """What stands for the results of an op that has several."""
        if hasattr(op, "composition"):
            return list(op.composition(*inputs))
        results, saved = op.forward(self.recorder, *[self.traced(each) for each in inputs])
        self.records.append(Record(op, inputs, [], saved, origin))
        return list(results)

    def _stand_for(self, tensor: Tensor, composed: Tensor, origin: Origin) -> None:
        """Let what a fused op is composed of, which has been watched too, be its result, and take its gradient."""
        self.introduce(tensor, self.traced(composed))
        self.records.append(Record(positive, (composed,), [tensor], (), origin))

    def on_plain(self, tensor: Tensor, compute: Any, operands: tuple[Any, ...]) -> None:
        self.recorder.origin = Origin("a function without a gradient", locate(position()))
        values = [self.traced(each) if isinstance(each, Tensor) else each for each in operands]
        result = compute(self.recorder, *values)
        self.introduce(tensor, self.recorder.constant(result) if isinstance(result, NDArray) else result)

    def on_write(self, target: Tensor, compute: Any, operands: tuple[Tensor, ...]) -> None:
        self.recorder.origin = Origin("what a layer keeps", locate(position()))
        if compute is None:
            raise ExportError(
                self.recorder.here("what a layer keeps changes in a way that depends on a count of batches")
            )
        if id(target) not in self.buffers:
            name = self.names.get(id(target)) or target.name or f"buffer{len(self.buffers)}"
            first = self.leaf(Role.STATE, target, name)
            self.buffers[id(target)] = first, first
        first, before = self.buffers[id(target)]
        self.buffers[id(target)] = first, compute(self.recorder, before, *[self.traced(each) for each in operands])

    def _check(self, op: Op, result: Any, tensor: Tensor) -> None:
        if not isinstance(result, Traced) or result.shape != tensor.shape or result.dtype is not tensor.dtype:
            raise ExportError(self.recorder.here(f"{op} does not compute with the namespace that forward is given"))

    # --- gradients --------------------------------------------------------------------------------------------------
    def gradients(self, loss: Tensor, wanted: Sequence[Tensor]) -> list[Traced]:
        """Record the backward pass: the gradients of the loss by the wanted leaves."""
        found: dict[int, Any] = {id(loss): self.recorder.ones_like(self.traced(loss))}
        for record in reversed(self.records):
            grads = [found.pop(id(each), None) for each in record.outputs]
            flowing = any(each.requires_grad for each in record.inputs)
            if not flowing or all(each is None for each in grads):
                continue
            self.recorder.origin = Origin(f"gradient of {record.origin.label}", record.origin.location)
            self._contribute(found, record, grads)
        zeros = self.recorder.zeros_like
        return [found[id(each)] if id(each) in found else zeros(self.traced(each)) for each in wanted]

    def _contribute(self, found: dict[int, Any], record: Record, grads: list[Any]) -> None:
        view = NodeView(record)
        if isinstance(record.op, TupleOp):
            given = record.op.rule(self.recorder, tuple(grads), view)
        else:
            given = record.op.backward(self.recorder, grads[0], view)
        parts = given if isinstance(given, tuple) else (given,)
        for operand, part in zip(record.inputs, parts, strict=True):
            if part is None or not operand.requires_grad:
                continue
            before = found.get(id(operand))
            traced = part if isinstance(part, Traced) else self.recorder.constant(part)
            found[id(operand)] = traced if before is None else before + traced


def _place(array: NDArray) -> tuple[Any, ...]:
    """What arrays share that are the same elements of one buffer, as they are now."""
    return array.data_pointer, array.shape, array.strides, array.dtype.name, array.version


def trace(
    function: Callable[..., Any],
    examples: Sequence[Tensor],
    *,
    parameters: Sequence[Tensor] = (),
    names: Sequence[str] = (),
    known: Mapping[str, Tensor] | None = None,
    update: Callable[..., Sequence[Tensor]] | None = None,
    slots: Sequence[Sequence[Tensor]] = (),
    recorder: Recorder | None = None,
    buffers: Mapping[str, Tensor] | None = None,
) -> Program:
    """The program of ``function(*examples)``; with ``update`` of a training step too.

    ``known`` names constants, ``buffers`` what layers keep from batch to batch, which a training step updates too. The
    result of ``function`` is a tensor or a tuple of them; for training the first is the loss, and
    ``update(parameter, gradient, *slots)`` gives a parameter's and its slots' new values. A ``recorder`` of one's own
    has other definitions.

    Raises ExportError where the result depends on an input in a way that the graph does not hold.
    """
    watched = TracedRun(recorder or Recorder(DEFINITIONS))
    watched.names = {id(each): name for name, each in (buffers or {}).items()}
    inputs = [watched.leaf(Role.INPUT, each, f"input{at}").value for at, each in enumerate(examples)]
    for name, each in (known or {}).items():
        watched.introduce(each, watched.recorder.constant(each.data, name))
    states = [watched.leaf(Role.STATE, each, name).value for each, name in zip(parameters, names, strict=True)]
    with watched, lazy(False), enable_grad() if update is not None else no_grad():
        found = function(*examples)
        outputs = list(found) if isinstance(found, tuple | list) else [found]
    for each in outputs:
        if not isinstance(each, Tensor):
            raise ExportError(
                f"export: the callable gave a {type(each).__name__}{' in a tuple' * (found is not each)}; it must give "
                "a Tensor or a tuple of several, such as lambda x: (lambda y, state: (y, *state))(*lstm(x))"
            )
    if not outputs:
        raise ExportError("export: the callable gave nothing; it must give a Tensor or a tuple of several")
    values = [watched.traced(each).value for each in outputs]
    program = Program(inputs, values, watched.recorder.calls, states)
    if update is not None:
        _train(watched, program, outputs[0], parameters, update, slots)
        program.states += [first.value for first, _ in watched.buffers.values()]
        program.updates += [(first.value, new.value) for first, new in watched.buffers.values()]
    return program.without_dead_calls()


def _train(
    watched: TracedRun,
    program: Program,
    loss: Tensor,
    parameters: Sequence[Tensor],
    update: Callable[..., Sequence[Tensor]],
    slots: Sequence[Sequence[Tensor]],
) -> None:
    """Append the backward pass and the update of every parameter. Raises ExportError for a loss of several elements."""
    if loss.size != 1 or loss.dtype.kind != "f":
        raise ExportError(
            f"export: the first result is the loss that is trained on: one floating number, not {loss.dtype.name} of "
            f"shape {loss.shape}; reduce it with mean or sum"
        )
    gradients = watched.gradients(loss, parameters)
    for parameter, gradient, own in zip(parameters, gradients, slots, strict=True):
        name = watched.traced(parameter).value.name
        program.gradients.append(gradient.value)
        kept = [watched.leaf(Role.STATE, each, f"{name}_slot{at}").value for at, each in enumerate(own)]
        program.states += kept
        given = constant(gradient.value.example)
        watched.introduce(given, gradient)
        with watched, lazy(False), no_grad():
            results = update(parameter, given, *own)
        targets = (watched.traced(parameter).value, *kept)
        program.updates += [(target, watched.traced(each).value) for target, each in zip(targets, results, strict=True)]


def replay(program: Program, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a program, computed by the array functions themselves."""
    return Replay(program, inputs).outputs()


class Replay:
    """A run of a program by the array functions, whose every value can be looked at."""

    def __init__(self, program: Program, inputs: Sequence[NDArray]) -> None:
        self.program = program
        self._arrays: dict[int, NDArray] = {
            id(value): array if array.is_contiguous else array.copy()
            for value, array in zip(program.inputs, inputs, strict=True)
        }
        for call in program.calls:
            result = run(call.function, call.arguments, call.options, self.array)
            parts = result if isinstance(result, tuple | list) else (result,)
            for value, part in zip(call.results, parts, strict=True):
                if not value.is_view:
                    self._arrays[id(value)] = part if part.is_contiguous else part.copy()

    def array(self, value: Value) -> NDArray:
        """The array that a value stands for in this run."""
        found = self._arrays.get(id(value))
        if found is not None:
            return found
        if not value.is_view or value.base.role is Role.CONSTANT:
            return value.example
        size = value.dtype.itemsize
        steps = tuple(step * size for step in value.strides)
        flat = self.array(value.base).reshape(-1)
        return self._arrays.setdefault(id(value), nd.as_strided(flat, value.shape, steps, offset=value.offset * size))

    def outputs(self) -> list[NDArray]:
        """The arrays of the program's outputs."""
        return [self.array(each) for each in self.program.outputs]
