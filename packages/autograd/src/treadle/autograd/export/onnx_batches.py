"""A model in ONNX whose batch may have any length, from two of one callable with batches of different lengths.

Both have the same nodes; where their integer constants differ (the shapes of reshape and the like), the constant is
c + k * length for two known vectors, computed from the input's shape when the model runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import ExportError
from treadle.autograd.export.onnx_files import array_of, require_onnx, tensor_proto
from treadle.autograd.export.onnx_import import OnnxModel
from treadle.autograd.mode import no_grad
from treadle.ndarray import NDArray

__all__ = ["check_length", "longer", "open_batch"]


def longer(examples: Sequence[Tensor], axis: int) -> tuple[list[Tensor], int]:
    """The examples with one more row along the axis, and how many they had. Raises ExportError where that differs."""
    lengths = {each.shape[axis] if -each.ndim <= axis < each.ndim else 0 for each in examples}
    if len(lengths) != 1 or 0 in lengths:
        raise ExportError(f"to_onnx: batch_axis={axis}: the examples' shapes {[each.shape for each in examples]}")
    found = []
    for each in examples:
        lead = (slice(None),) * (axis % each.ndim)
        found.append(Tensor(nd.concat([each.data, each.data[(*lead, slice(0, 1))]], axis=axis)))
    return found, lengths.pop()


def open_batch(first: Any, second: Any, axis: int, length: int) -> Any:
    """The first model, made for batches of ``length``, for any length; the second is for one row more."""
    _check_nodes(first, second)
    graph = first.graph
    opened = _Opened(graph.input[0], axis, length)
    for one, other in zip(graph.initializer, second.graph.initializer, strict=True):
        opened.add(one, other)
    nodes = [*opened.nodes, *graph.node]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(opened.kept)
    for one, other in zip((*graph.input, *graph.output), (*second.graph.input, *second.graph.output), strict=True):
        dims = zip(one.type.tensor_type.shape.dim, other.type.tensor_type.shape.dim, strict=True)
        for at, (here, there) in enumerate(dims):
            if here.dim_value != there.dim_value:
                simple = there.dim_value - here.dim_value == 1 and here.dim_value == length
                here.dim_param = "batch" if simple else f"{one.name}_{at}"
    return first


def check_length(model: Any, function: Callable[..., Any], examples: Sequence[Tensor]) -> None:
    """Raise ExportError unless the model does the same as the callable to a batch of a third length."""
    with no_grad():
        wanted, got = function(*examples), OnnxModel(model)(*examples)
    for one, other in zip(
        *(each if isinstance(each, tuple | list) else (each,) for each in (wanted, got)), strict=True
    ):
        if one.shape != other.shape or not nd.allclose(
            one.data.astype("float64"), other.data.astype("float64"), rtol=1e-3, atol=1e-4, equal_nan=True
        ):
            raise ExportError("to_onnx: batch_axis: what is done depends on the batch's length in an unforeseen way")


def _check_nodes(first: Any, second: Any) -> None:
    """Raise unless both models do the same to arrays of other lengths."""
    pairs = list(zip(first.graph.node, second.graph.node, strict=False))
    for one, other in pairs:
        if _bare(one) != _bare(other):
            raise ExportError(f"to_onnx: batch_axis: what is done depends on the batch's length: {one.doc_string}")
    if not len(pairs) == len(first.graph.node) == len(second.graph.node):
        raise ExportError("to_onnx: batch_axis: how much is done depends on the batch's length")


def _bare(node: Any) -> bytes:
    """A node without its text, which shows shapes."""
    found = type(node)()
    found.CopyFrom(node)
    found.ClearField("doc_string")
    return bytes(found.SerializeToString())


class _Opened:
    """The constants of a model, those computed that depend on the batch's length."""

    def __init__(self, source: Any, axis: int, length: int) -> None:
        self.length = length
        self.kept: list[Any] = []
        self.nodes: list[Any] = []
        at = axis % len(source.type.tensor_type.shape.dim)
        self._node("Shape", [source.name], "batch_length", start=at, end=at + 1)

    def _node(self, op: str, inputs: list[str], name: str, **attributes: Any) -> None:
        self.nodes.append(require_onnx().helper.make_node(op, inputs, [name], name=name, **attributes))

    def add(self, one: Any, other: Any) -> None:
        """A constant in both models."""
        if one.SerializeToString() == other.SerializeToString():
            self.kept.append(one)
            return
        here, there = array_of(one), array_of(other)
        if here.dtype is nd.int64 and here.shape == there.shape and here.ndim == 1:
            self._vector(one.name, here, there)
            return
        row = _row(here, there)
        if row is None:
            raise ExportError(
                f"to_onnx: batch_axis: a constant of shape {here.shape} depends on the batch's length, such as a mean "
                "over the batch, or an index made for it"
            )
        self.kept.append(tensor_proto(row, f"{one.name}_row"))
        self._vector(f"{one.name}_shape", *(nd.asarray(each.shape, dtype="int64") for each in (here, there)))
        self._node("Expand", [f"{one.name}_row", f"{one.name}_shape"], one.name)

    def _vector(self, name: str, here: NDArray, there: NDArray) -> None:
        """slope * length + rest."""
        slope = there - here
        for part, vector in (("slope", slope), ("rest", here - slope * self.length)):
            self.kept.append(tensor_proto(vector, f"{name}_{part}"))
        self._node("Mul", ["batch_length", f"{name}_slope"], f"{name}_scaled")
        self._node("Add", [f"{name}_scaled", f"{name}_rest"], name)


def _row(here: NDArray, there: NDArray) -> NDArray | None:
    """What a constant repeats for every row of the batch; None where it does not."""
    if here.ndim != there.ndim or here.dtype is not there.dtype:
        return None
    differing = [at for at, (a, b) in enumerate(zip(here.shape, there.shape, strict=True)) if a != b]
    if len(differing) != 1:
        return None
    row = there[(*(slice(None),) * differing[0], slice(0, 1))]
    return row.copy() if bool(nd.all(here == row)) and bool(nd.all(there == row)) else None
