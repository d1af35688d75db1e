"""Ops of ONNX that run graphs, and those on sequences, which are lists of tensors, and on optional values."""

from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_files import DTYPES
from treadle.autograd.export.onnx_import_arithmetic import axis_of, numbers, whole
from treadle.autograd.export.onnx_import_shapes import ints

__all__ = ["CONTROL"]


def _if(at: Any, condition: Tensor) -> Any:
    chosen = "then_branch" if numbers(condition)[0] else "else_branch"
    return tuple(at.run(at.attributes[chosen]))


def _loop(at: Any, limit: Tensor | None, condition: Tensor | None, *state: Any) -> Any:
    body, count = at.attributes["body"], len(state)
    most = None if limit is None else whole(limit)
    going = condition is None or bool(numbers(condition)[0])
    kept: list[list[Tensor]] = [[] for _ in body.outputs[1 + count :]]
    told = body.results[1 + count :]
    turn = 0
    while going and (most is None or turn < most):
        again, *found = at.run(body, constant(nd.asarray(turn)), constant(nd.asarray(True)), *state)
        state, going = tuple(found[:count]), bool(numbers(again)[0])
        for each, value in zip(kept, found[count:], strict=True):
            each.append(value)
        turn += 1
    return (*state, *[F.stack(each) if each else _none_of(said) for said, each in zip(told, kept, strict=True)])


def _none_of(said: Any) -> Tensor:
    """No rows of what a model says an output is."""
    kind = said.type.tensor_type
    lengths = [each.dim_value for each in kind.shape.dim]
    return constant(nd.zeros((0, *lengths), dtype=DTYPES.get(kind.elem_type, nd.float32)))


def _scan(at: Any, *operands: Any) -> Any:
    if at.version == 8:
        return _scan_of_batches(at, *operands)
    body, count = at.attributes["body"], at.attributes["num_scan_inputs"]
    state, given = operands[: len(operands) - count], operands[len(operands) - count :]
    axes = at.get("scan_input_axes") or [0] * count
    reversed_inputs = at.get("scan_input_directions") or [0] * count
    rows = [
        (F.flip(each, axis=axis) if back else each, axis)
        for each, axis, back in zip(given, axes, reversed_inputs, strict=True)
    ]
    lengths = {each.shape[axis] for each, axis in rows}
    if len(lengths) != 1:
        raise OnnxError(f"scan inputs of different lengths {sorted(lengths)}")
    outputs = len(body.outputs) - len(state)
    kept: list[list[Tensor]] = [[] for _ in range(outputs)]
    for turn in range(lengths.pop()):
        pieces = [each[(*(slice(None),) * (axis_of(axis, each.ndim)), turn)] for each, axis in rows]
        found = at.run(body, *state, *pieces)
        state = tuple(found[: len(state)])
        for each, value in zip(kept, found[len(state) :], strict=True):
            each.append(value)
    out_axes = at.get("scan_output_axes") or [0] * outputs
    backwards = at.get("scan_output_directions") or [0] * outputs
    whole_outputs = [
        F.stack(each[::-1] if back else each, axis=axis)
        for each, axis, back in zip(kept, out_axes, backwards, strict=True)
    ]
    return (*state, *whole_outputs)


def _scan_of_batches(at: Any, lengths: Tensor | None, *operands: Any) -> Any:
    """Version 8: every operand has a batch axis in front, and each row of it is scanned by itself."""
    if lengths is not None:
        raise OnnxError("a scan of version 8 with lengths of its sequences")
    batch = operands[-1].shape[0]
    at = _OfRow(at)
    rows = [_scan(at, *[each[row] for each in operands]) for row in range(batch)]
    return tuple(F.stack(list(each)) for each in zip(*rows, strict=True))


class _OfRow:
    """The node of a scan of version 8, as one of the next version for a row of the batch."""

    version = 9

    def __init__(self, at: Any) -> None:
        self.run, self.attributes, self.get = at.run, at.attributes, at.get


# --- sequences --------------------------------------------------------------------------------------------------------
def _place(given: Tensor | None, default: int, sequence: list[Any], last: int) -> int:
    """A place in a sequence, from its end if negative."""
    place = whole(given, default)
    if not -len(sequence) <= place <= last:
        raise OnnxError(f"place {place} in a sequence of {len(sequence)}")
    return place + len(sequence) if place < 0 else place


def _insert(at: Any, sequence: list[Any], value: Any, given: Tensor | None = None) -> list[Any]:
    place = _place(given, len(sequence), sequence, len(sequence))
    return [*sequence[:place], value, *sequence[place:]]


def _erase(at: Any, sequence: list[Any], given: Tensor | None = None) -> list[Any]:
    gone = _place(given, -1, sequence, len(sequence) - 1)
    return [*sequence[:gone], *sequence[gone + 1 :]]


def _join(at: Any, sequence: list[Any]) -> Tensor:
    axis = at.attributes["axis"]
    return F.stack(sequence, axis=axis) if at.get("new_axis", 0) else F.concat(sequence, axis=axis)


def _cut(at: Any, x: Tensor, sizes: Tensor | None = None) -> list[Tensor]:
    axis = axis_of(at.get("axis", 0), x.ndim)
    length = x.shape[axis]
    if sizes is None or sizes.ndim == 0:
        size = 1 if sizes is None else whole(sizes)
        parts = [min(size, length - start) for start in range(0, length, size)]
    else:
        parts = numbers(sizes)
    found, start, lead = [], 0, (slice(None),) * axis
    for each in parts:
        found.append(x[(*lead, slice(start, start + each))])
        start += each
    if sizes is None and not at.get("keepdims", 1):
        return [F.squeeze(each, axis) for each in found]
    return found


def _truth(value: bool) -> Tensor:
    return constant(nd.asarray(value))


def _element(at: Any, value: Any = None) -> Any:
    if value is None:
        raise OnnxError("the optional value is empty")
    return value


CONTROL: dict[str, Callable[..., Any]] = {
    "If": _if, "Loop": _loop, "Scan": _scan, "SequenceConstruct": lambda at, *parts: list(parts),
    "SequenceEmpty": lambda at: [], "SequenceLength": lambda at, parts: ints([len(parts)])[0],
    "SequenceAt": lambda at, parts, place: parts[whole(place)], "SequenceInsert": _insert,
    "SequenceErase": _erase, "ConcatFromSequence": _join, "SplitToSequence": _cut,
    "Optional": lambda at, value=None: value, "OptionalHasElement": lambda at, value=None: _truth(value is not None),
    "OptionalGetElement": _element,
}  # fmt: skip
"""By name."""
