"""``to_onnx``: a callable over tensors as a model in ONNX.

The callable's program is walked from its outputs; every array function on the way becomes nodes by its form in the
tables of :mod:`treadle.autograd.export.onnx_forms`. Parameters are initialisers of their own names and shapes.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import ExportError, OnnxError
from treadle.autograd.export.capture import capture, tensors
from treadle.autograd.export.files import write_whole
from treadle.autograd.export.onnx_batches import check_length, longer, open_batch
from treadle.autograd.export.onnx_definitions import ONNX_DEFINITIONS
from treadle.autograd.export.onnx_files import LARGEST, NUMBERS, require_onnx, tensor_proto
from treadle.autograd.export.onnx_forms import FORMS
from treadle.autograd.export.program import Call, Origin, Program, Role, Value
from treadle.autograd.export.recorder import Recorder
from treadle.ndarray import DType, NDArray

__all__ = ["LEAST_OPSET", "OPSET", "Emitter", "to_onnx"]

LEAST_OPSET, OPSET = 18, 20
"""The oldest set of ops that can be asked for, in which all reductions take their axes as an input; the default."""


def to_onnx(
    function: Callable[..., Any],
    example_input: Tensor | Sequence[Any],
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    opset: int = OPSET,
    parameters: Mapping[str, Tensor] | None = None,
    batch_axis: int | None = None,
    verify: bool = True,
) -> Path:
    """Write a callable over tensors as a model in ONNX, and give the file's path.

    ``example_input`` is a tensor, or a tuple of them: their shapes and dtypes are the model's, their values do not
    matter. Inputs are named ``input0``, ..., outputs ``output0``, ...; ``name`` is the graph's, by default the file's.
    ``parameters``, by default every leaf that requires grad, are initialisers of their names: a module's own names
    where the callable is one. Every node says in its ``doc_string`` which op and line of Python it comes from.

    With ``batch_axis`` that axis of every input may have any length, which the model calls ``batch``; an array that was
    made for the length of the example is refused.

    The model is checked by ``onnx.checker``; ``verify`` also compares what was recorded with the callable on other
    inputs. Needs the extra ``treadle-autograd[onnx]``. Nothing is left half-written.

    Raises ExportError where the callable cannot be exported, naming the node and the line; OSError for the file;
    ImportError without the package onnx.

    Source: the ONNX specification, operator sets 18 and up, https://onnx.ai/onnx/operators/.

    >>> import tempfile, pathlib
    >>> import treadle.autograd as ag
    >>> from treadle.autograd.export import to_onnx
    >>> w = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], name="w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = to_onnx(lambda x: ag.softmax(x @ w), ag.Tensor([[1.0, 1.0]]), pathlib.Path(folder, "model.onnx"))
    ...     path.name, b"Softmax" in path.read_bytes()
    ('model.onnx', True)
    """
    onnx = require_onnx()
    target = Path(path)
    newest = onnx.defs.onnx_opset_version()
    if not LEAST_OPSET <= opset <= newest:
        raise ExportError(f"to_onnx: opset {opset}; this version of onnx has {LEAST_OPSET} to {newest} here")

    def recorded(examples: Sequence[Any]) -> Any:
        recorder = Recorder(ONNX_DEFINITIONS, keeps_named=True)
        program = capture(function, examples, parameters=parameters, verify=verify, recorder=recorder)
        return Emitter(program, opset, shares=batch_axis is None).model(name or target.stem)

    examples = tensors(example_input)
    model = recorded(examples)
    if batch_axis is not None:
        others, length = longer(examples, batch_axis)
        model = open_batch(model, recorded(others), batch_axis, length)
        if verify:
            check_length(model, function, longer(others, batch_axis)[0])
    if model.ByteSize() > LARGEST:
        raise ExportError(f"to_onnx: the model has {model.ByteSize()} bytes; one file can have {LARGEST}")
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"to_onnx: the model does not pass onnx.checker: {error}") from error
    write_whole({target: model.SerializeToString()})
    return target


class Emitter:
    """Turns a program into the nodes of a graph; forms call its methods.

    Unless ``shares``, equal constants are not one: of two programs of one shape, the names are then the same.
    """

    def __init__(self, program: Program, opset: int, shares: bool = True) -> None:
        self.program = program
        self.opset = opset
        self._shares = shares
        self.call = Call("", (), {}, [], Origin(""))  # whose form is at work
        self.wanted: Value | None = None  # the result that it is asked for
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._names: dict[int, str] = {}  # by id of values
        self._constants: dict[tuple[Any, ...], str] = {}
        self._taken: set[str] = {f"output{at}" for at in range(len(program.outputs))}
        for value in program.inputs:
            self._names[id(value)] = self._free(value.name)

    # --- the whole --------------------------------------------------------------------------------------------------
    def model(self, name: str) -> Any:
        """The ``ModelProto``."""
        from treadle.autograd import __version__

        onnx = require_onnx()
        results = []
        for at, value in enumerate(self.program.outputs):
            self._reach(value)
            self._nodes.append(onnx.helper.make_node("Identity", [self.of(value)], [f"output{at}"], name=f"output{at}"))
            results.append(self._info(f"output{at}", value))
        inputs = [self._info(self._names[id(each)], each) for each in self.program.inputs]
        graph = onnx.helper.make_graph(self._nodes, name, inputs, results, list(self._initializers.values()))
        opsets = [onnx.helper.make_opsetid("", self.opset)]
        return onnx.helper.make_model(
            graph, opset_imports=opsets, producer_name="treadle", producer_version=__version__,
            ir_version=onnx.helper.find_min_ir_version_for(opsets),
        )  # fmt: skip

    def _info(self, name: str, value: Value) -> Any:
        return require_onnx().helper.make_tensor_value_info(name, self.number(value.dtype), value.shape)

    def _reach(self, value: Value) -> None:
        """Emit all that a value needs, then its own nodes; without recursion, since programs are long."""
        waiting = [value]
        while waiting:
            each = waiting[-1]
            if id(each) in self._names:
                waiting.pop()
                continue
            needed = each.call.operands if each.call is not None else [each.base] if each.is_view else []
            missing = [other for other in needed if id(other) not in self._names]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            self._emit(each)

    def _emit(self, value: Value) -> None:
        call = value.call
        if call is not None:
            self.call, self.wanted = call, value
            if call.function not in FORMS:
                raise self.refusal(f"{call.function} has no form in ONNX")
            made = FORMS[call.function](self, call)
            for result, name in zip(call.results, made if isinstance(made, list) else [made], strict=True):
                if name:
                    self._names[id(result)] = name
            if id(value) not in self._names:
                raise self.refusal(f"this result of {call.function} has no form in ONNX")
        elif value.is_view:  # a constant that is the same along an axis
            self._names[id(value)] = self.node("Expand", self._names[id(value.base)], self.ints(value.shape))
        elif value.role is Role.CONSTANT:
            self._names[id(value)] = self._initializer(value.example, value.name)
        else:
            raise ExportError(f"export to ONNX: a value of role {value.role} outside of the program")

    def refusal(self, reason: str) -> ExportError:
        """The error that names the op at work and its line."""
        origin = self.call.origin
        where = f", {origin.location}: {origin.location.text}" if origin.location is not None else ""
        return ExportError(f"export to ONNX of {origin.label}{where}: {reason}")

    # --- what forms are made of -------------------------------------------------------------------------------------
    def number(self, dtype: DType) -> int:
        """ONNX's number for a dtype."""
        if dtype.name not in NUMBERS:
            raise self.refusal(f"ONNX has no elements of {dtype.name}")
        return NUMBERS[dtype.name]

    def of(self, item: Any, dtype: DType | None = None) -> str:
        """The name of a value, or of a number as a constant; cast to a dtype."""
        if isinstance(item, Value):
            name = self._names[id(item)]
            return name if dtype is None or item.dtype is dtype else self.cast(name, dtype)
        return self.array(nd.asarray(item) if dtype is None else nd.asarray(item).astype(dtype))

    def cast(self, name: str, dtype: DType) -> str:
        """A name's elements in another dtype."""
        return self.node("Cast", name, to=self.number(dtype))

    def array(self, array: NDArray) -> str:
        """A constant; equal small ones are one."""
        if not self._shares:
            return self._initializer(array, "")
        key = (array.dtype.name, array.shape, str(array.tolist())) if array.size <= 16 else (id(array),)
        if key not in self._constants:
            self._constants[key] = self._initializer(array, "")
        return self._constants[key]

    def ints(self, values: Sequence[int]) -> str:
        """A vector of integers."""
        return self.array(nd.asarray([int(each) for each in values], dtype="int64"))

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output; its name."""
        return self.nodes(op, 1, *inputs, **attributes)[0]

    def nodes(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        outputs = [self._free(f"{op.lower()}{len(self._nodes)}") for _ in range(count)]
        given = {name: value for name, value in attributes.items() if value is not None}
        origin, place = self.call.origin, self.call.origin.location
        text = f"{origin.label}  {Path(place.file).name}:{place.line}  {place.text}" if place else origin.label
        made = require_onnx().helper.make_node(op, list(inputs), outputs, name=outputs[0], doc_string=text, **given)
        self._nodes.append(made)
        return outputs

    def _initializer(self, array: NDArray, name: str) -> str:
        free = self._free(name or f"constant{len(self._initializers)}")
        try:
            self._initializers[free] = tensor_proto(array if array.is_contiguous else array.copy(), free)
        except OnnxError as error:
            raise self.refusal(str(error)) from None
        return free

    def _free(self, name: str) -> str:
        """The name, or one like it that is not taken."""
        name = re.sub(r"\s", "_", name)
        found, count = name, 1
        while found in self._taken:
            found, count = f"{name}_{count}", count + 1
        self._taken.add(found)
        return found
