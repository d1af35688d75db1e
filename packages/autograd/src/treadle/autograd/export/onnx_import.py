"""``from_onnx``: a model in ONNX as a callable over tensors, differentiable in its inputs and weights.

A graph becomes a list of steps when it is read; a call walks the list. An op is a function of tensors, found by its
name in the tables of the modules beside this one; where the tables have none and the standard defines the op by others,
that definition is run.

Source: the ONNX specification, IR and operators, https://onnx.ai/onnx/ (operator sets 1 to 28).
"""

import os
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_files import NUMBERS, array_of, dtype_of, read_model, require_onnx
from treadle.autograd.export.onnx_import_tables import OPS
from treadle.autograd.export.onnx_narrow import held_in
from treadle.ndarray import DType, NDArray, TreadleError

__all__ = ["OnnxModel", "OnnxValue", "from_onnx"]

DEPTH = 50
"""Functions that call functions, and graphs in graphs, deeper than this are taken for a circle."""

_FAULTS = TreadleError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, MemoryError
"""What an op's function raises for a model that asks for what is not there."""

Scope = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class OnnxValue:
    """An input or output: its name, dtype, and shape, in which a name or None stands for a length that is open.

    The dtype and the shape are None where the model does not say.
    """

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None


@dataclass(slots=True)
class Graph:
    """Steps in order, and the names that they start from and end with."""

    inputs: list[str]
    outputs: list[str]
    constants: dict[str, Tensor] = field(default_factory=dict)
    narrow: dict[str, int] = field(default_factory=dict)  # the type of constants that are held in a wider one
    weights: dict[str, str] = field(default_factory=dict)  # the name in the model's weights by the name here
    steps: "list[Step]" = field(default_factory=list)
    results: list[Any] = field(default_factory=list)  # what the model says of the outputs

    def read(self) -> Iterator[str]:
        """The names that the steps and the graphs in them read, and the outputs."""
        for step in self.steps:
            yield from step.read()
        yield from self.outputs


@dataclass(slots=True)
class Step:
    """A node of the model, as an op's function sees it."""

    op: str
    domain: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    versions: dict[str, int]
    model: "OnnxModel"
    proto: Any
    done_with: list[str] = field(default_factory=list)
    expansions: dict[Any, Graph] = field(default_factory=dict)
    prepared: Any = None  # what the op's function makes of the attributes, once

    @property
    def version(self) -> int:
        """The version of the op set that the op is of."""
        return self.versions.get(self.domain, 1)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def run(self, graph: Graph, *arguments: Any) -> list[Any]:
        """A graph that is an attribute, which sees the names around the node."""
        return self.model.run(graph, arguments, self.model.running.scope)

    def read(self) -> Iterator[str]:
        """The names that the node and the graphs in it read."""
        yield from self.inputs
        for each in self.attributes.values():
            if isinstance(each, Graph):
                yield from each.read()

    def narrow(self, place: int) -> int:
        """The number of an input's type if it is held in a wider one, else 0."""
        name = self.inputs[place] if place < len(self.inputs) else ""
        found: int = self.model.running.scope.get(_type_of(name), 0)
        return found

    def gives(self, number: int) -> None:
        """Note that the result is of a narrow type."""
        self.model.running.result = number

    @property
    def label(self) -> str:
        """What an error calls it."""
        named = f" {self.name!r}" if self.name else ""
        return f"{self.op}{named} -> {', '.join(self.outputs)}"


class _Running(threading.local):
    """Where a thread is in a model: the names that the node at work sees, and how deep in graphs it is."""

    def __init__(self) -> None:
        self.scope: Scope = {}
        self.depth = 0
        self.result = 0  # the narrow type of what the node at work gives


def from_onnx(source: str | os.PathLike[str] | bytes | Any, *, requires_grad: bool = False) -> "OnnxModel":
    """A model in ONNX as a callable over tensors.

    ``source`` is a path, the bytes of a file, or a ``ModelProto``. With ``requires_grad`` the weights are leaves that
    require grad. Nothing is executed by reading. Needs the extra ``treadle-autograd[onnx]``.

    Raises FileFormatError for a file that is damaged or no valid model, OnnxError naming the node for an op, dtype or
    other thing that treadle lacks, OSError for a file that cannot be read, ImportError without the package onnx.

    >>> import tempfile, pathlib
    >>> import treadle.autograd as ag
    >>> from treadle.autograd.export import from_onnx, to_onnx
    >>> w = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], name="w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = to_onnx(lambda x: ag.relu(x @ w), ag.Tensor([[1.0, 1.0]]), pathlib.Path(folder, "model.onnx"))
    ...     model = from_onnx(path)
    >>> model.inputs[0].shape, list(model.weights), model(ag.Tensor([[1.0, -1.0]])).tolist()
    ((1, 2), ['w'], [[0.0, 0.0]])
    """
    return OnnxModel(read_model(source), requires_grad=requires_grad)


class OnnxModel:
    """What :func:`from_onnx` gives: ``model(*inputs)`` is the output, or a tuple of several.

    ``inputs`` and ``outputs`` are :class:`OnnxValue` rows; ``weights`` are the model's own floating tensors by name,
    which may be exchanged for others of their shape.
    """

    def __init__(self, proto: Any, *, requires_grad: bool = False) -> None:
        versions = {_domain(each.domain): each.version for each in proto.opset_import}
        self._functions = {(_domain(each.domain), each.name): each for each in proto.functions}
        self.running = _Running()
        self._requires_grad = requires_grad
        self.weights: dict[str, Tensor] = {}
        self._graph = self._read(proto.graph, versions)
        known = {each.name for each in proto.graph.initializer}
        self.inputs = tuple(_value(each) for each in proto.graph.input if each.name not in known)
        self.outputs = tuple(_value(each) for each in proto.graph.output)

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The weights by name, as a module gives its parameters."""
        return iter(self.weights.items())

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        given = list(arguments)
        names = [each.name for each in self.inputs[len(given) :]]
        if len(given) > len(self.inputs) or set(named) != set(names):
            wanted = ", ".join(each.name for each in self.inputs)
            raise OnnxError(f"the model takes the inputs {wanted}; {len(given)} and {sorted(named)} were given")
        given += [named[each] for each in names]
        given = [_checked(value, each) for value, each in zip(given, self.inputs, strict=True)]
        found = self.run(self._graph, given, {}, [each.name for each in self.inputs])
        return found[0] if len(found) == 1 else tuple(found)

    def __repr__(self) -> str:
        names = [", ".join(each.name for each in group) for group in (self.inputs, self.outputs)]
        return f"OnnxModel({names[0]} -> {names[1]}; {len(self.weights)} weights, {len(self._graph.steps)} nodes)"

    # --- reading ----------------------------------------------------------------------------------------------------
    def _read(self, proto: Any, versions: dict[str, int], given: Mapping[str, Any] | None = None) -> Graph:
        if proto.sparse_initializer:
            raise OnnxError(f"graph {proto.name!r}: sparse weights; treadle has dense arrays only")
        graph = Graph([each.name for each in proto.input], [each.name for each in proto.output])
        graph.results = list(proto.output)
        for each in proto.input:
            self._note(graph, each.name, each.type.tensor_type.elem_type)
        for each in proto.initializer:
            self._note(graph, each.name, each.data_type)
            self._keep(graph, each.name, array_of(each))
        for node in proto.node:
            step = self._step(node, versions, given or {})
            value = step.get("value") if step.op == "Constant" and not step.domain else None
            if value is None:
                graph.steps.append(step)
            else:
                held = next(each for each in node.attribute if each.name == "value")
                self._note(graph, step.outputs[0], held.t.data_type)
                self._keep(graph, step.outputs[0], value)
        _note_last_uses(graph)
        return graph

    def _note(self, graph: Graph, name: str, number: int) -> None:
        if held_in(number) is not None:
            graph.narrow[name] = number

    def _keep(self, graph: Graph, name: str, array: NDArray) -> None:
        """A constant of a graph; a floating array is a weight of the model."""
        if array.dtype.kind != "f" or array.ndim == 0:
            graph.constants[name] = Tensor(array)
            return
        key, count = name, 1
        while key in self.weights:
            key, count = f"{name}_{count}", count + 1
        graph.weights[name] = key
        self.weights[key] = Tensor(array, requires_grad=self._requires_grad, name=key)

    def _step(self, node: Any, versions: dict[str, int], given: Mapping[str, Any]) -> Step:
        """The step of a node; in the body of a function, with the attributes that were given to it."""
        node = _resolved(node, given) if any(each.ref_attr_name for each in node.attribute) else node
        attributes = {each.name: self._attribute(each, versions, given, node.op_type) for each in node.attribute}
        step = Step(node.op_type, _domain(node.domain), node.name, list(node.input), list(node.output), attributes,
                    versions, self, node)  # fmt: skip
        known = (step.domain, step.op) in self._functions or _key(step) in OPS
        if not known and not _is_defined(step):
            where = f" of {step.domain}" if step.domain else ""
            raise OnnxError(f"from_onnx: {step.label}: treadle has no op {step.op}{where}, version {step.version}")
        return step

    def _attribute(self, proto: Any, versions: dict[str, int], given: Mapping[str, Any], op: str) -> Any:
        value = require_onnx().helper.get_attribute_value(proto)
        kind = proto.type
        if kind == proto.TENSOR:
            return _array(value, op, proto.name)
        if kind == proto.GRAPH:
            return self._read(value, versions, given)
        if kind == proto.STRING:
            return value.decode(errors="replace")
        if kind == proto.STRINGS:
            return [each.decode(errors="replace") for each in value]
        if kind in (proto.SPARSE_TENSOR, proto.SPARSE_TENSORS):
            raise OnnxError(f"from_onnx: {op}: attribute {proto.name} is sparse; treadle has dense arrays only")
        return list(value) if kind in (proto.INTS, proto.FLOATS) else value

    # --- running ----------------------------------------------------------------------------------------------------
    def run(self, graph: Graph, arguments: Sequence[Any], around: Scope, names: Sequence[str] = ()) -> list[Any]:
        """The outputs of a graph, which sees the names ``around`` it."""
        own: dict[str, Any] = dict(graph.constants)
        own.update((name, self.weights[key]) for name, key in graph.weights.items())
        own.update((_type_of(name), number) for name, number in graph.narrow.items())
        own.update(zip(names or graph.inputs, arguments, strict=False))
        scope: Scope = ChainMap(own, *getattr(around, "maps", [around]))
        self.running.depth += 1
        try:
            if self.running.depth > DEPTH:
                raise OnnxError(f"graphs and functions in one another, {DEPTH} deep")
            for step in graph.steps:
                self._take(step, scope)
                for name in step.done_with:
                    own.pop(name, None)
        finally:
            self.running.depth -= 1
        return [_named(scope, name) if name else None for name in graph.outputs]

    def _take(self, step: Step, scope: Scope) -> None:
        operands = [_named(scope, name) if name else None for name in step.inputs]
        before, self.running.scope = self.running.scope, scope
        self.running.result = 0
        try:
            found = self._function(step)(step, *operands)
        except OnnxError as error:
            raise error if str(error).startswith("node ") else OnnxError(f"node {step.label}: {error}") from error
        except _FAULTS as error:
            shown = ", ".join(_shown(each) for each in operands)
            raise OnnxError(f"node {step.label} of ({shown}): {type(error).__name__}: {error}") from error
        finally:
            self.running.scope = before
        if self.running.result:
            scope.update((_type_of(name), self.running.result) for name in step.outputs)
            self.running.result = 0
        results = found if isinstance(found, tuple) else (found,)
        scope.update((name, each) for name, each in zip(step.outputs, results, strict=False) if name)

    def _function(self, step: Step) -> Callable[..., Any]:
        if (step.domain, step.op) in self._functions:
            return self._expanded
        return OPS.get(_key(step), self._expanded)

    def _expanded(self, step: Step, *operands: Any) -> Any:
        """The body of a function of the model, or of the standard's definition of an op."""
        key = tuple((each.dtype.name, each.shape) if isinstance(each, Tensor) else type(each) for each in operands)
        if key not in step.expansions:
            proto = self._functions.get((step.domain, step.op))
            body = _definition(step, operands) if proto is None else proto
            versions = step.versions | {_domain(each.domain): each.version for each in body.opset_import}
            given = {each.name: each for each in (*_defaults(step, body), *step.proto.attribute)}
            graph = Graph(list(body.input), list(body.output))
            graph.steps = [self._step(node, versions, given) for node in body.node]
            made = {name for each in graph.steps for name in each.outputs} | set(graph.inputs)
            graph.outputs = [each if each in made else "" for each in graph.outputs]  # those that nobody asked for
            step.expansions[key] = graph
        graph = step.expansions[key]
        padded = [*operands, *[None] * (len(graph.inputs) - len(operands))]
        return tuple(self.run(graph, padded, {}))


def _resolved(node: Any, given: Mapping[str, Any]) -> Any:
    """A node of a function's body with the attributes that were given to the function."""
    found = type(node)()
    found.CopyFrom(node)
    del found.attribute[:]
    for each in node.attribute:
        if each.ref_attr_name:
            if each.ref_attr_name not in given:
                continue
            each, name = given[each.ref_attr_name], each.name
            found.attribute.add().CopyFrom(each)
            found.attribute[-1].name = name
        else:
            found.attribute.add().CopyFrom(each)
    return found


def _note_last_uses(graph: Graph) -> None:
    """Let every step drop what no later one reads."""
    seen = {*graph.outputs, *graph.constants, *graph.weights}
    for step in reversed(graph.steps):
        step.done_with = [each for each in dict.fromkeys([*step.read(), *step.outputs]) if each not in seen]
        seen.update(step.done_with)


def _type_of(name: str) -> str:
    """What the narrow type of a name is called in a scope; no name of a graph has a line's end."""
    return f"{name}\n"


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _key(step: Step) -> str:
    return f"{step.domain}:{step.op}" if step.domain else step.op


def _schema(step: Step) -> Any:
    try:
        return require_onnx().defs.get_schema(step.op, step.version, step.domain)
    except Exception:  # its class is private to the package
        return None


def _is_defined(step: Step) -> bool:
    """Whether the standard defines the op by others."""
    schema = _schema(step)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def _definition(step: Step, operands: Sequence[Any]) -> Any:
    """The standard's definition of an op by others, for operands of these dtypes and shapes."""
    onnx, schema = require_onnx(), _schema(step)
    if schema.has_function:
        return schema.function_body
    types = []
    for each in operands:
        if isinstance(each, Tensor):
            types.append(onnx.helper.make_tensor_type_proto(NUMBERS[each.dtype.name], each.shape))
        elif isinstance(each, list):
            number = NUMBERS[each[0].dtype.name] if each else 1
            types.append(onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(number, None)))
        else:
            types.append(onnx.TypeProto())
    number = max(each for each in schema.context_dependent_function_opset_versions if each <= step.version)
    serialized = [each.SerializeToString() for each in types]
    body = schema.get_context_dependent_function_with_opset_version(number, step.proto.SerializeToString(), serialized)
    found = onnx.FunctionProto()
    found.ParseFromString(body)
    if not found.node:
        raise OnnxError(f"treadle has no op {step.op}, and its definition does not cover these operands")
    return found


def _defaults(step: Step, body: Any) -> list[Any]:
    """The attributes that stand in for those that the node leaves out."""
    schema = _schema(step)
    from_schema = (
        [each.default_value for each in schema.attributes.values() if each.default_value.name] if schema else []
    )
    return [*from_schema, *body.attribute_proto]


def _array(proto: Any, op: str, name: str) -> NDArray:
    try:
        return array_of(proto)
    except OnnxError as error:
        raise OnnxError(f"from_onnx: {op}: attribute {name}: {error}") from None


def _named(scope: Scope, name: str) -> Any:
    if name not in scope:
        raise OnnxError(f"nothing is named {name!r} here")
    return scope[name]


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype.name} {value.shape}"
    return "nothing" if value is None else type(value).__name__


def _value(proto: Any) -> OnnxValue:
    kind = proto.type.tensor_type
    if not proto.type.HasField("tensor_type"):
        return OnnxValue(proto.name, None, None)
    shape = None
    if kind.HasField("shape"):
        sides = [each.WhichOneof("value") for each in kind.shape.dim]
        shape = tuple(
            None if side is None else getattr(each, side) for side, each in zip(sides, kind.shape.dim, strict=True)
        )
    try:
        return OnnxValue(proto.name, dtype_of(kind.elem_type), shape)
    except OnnxError as error:
        raise OnnxError(f"from_onnx: {proto.name}: {error}") from None


def _checked(given: Any, wanted: OnnxValue) -> Any:
    """An argument as a tensor of the dtype and shape that the model asks for."""
    if wanted.dtype is None:
        return given
    tensor = given if isinstance(given, Tensor) else Tensor(given)
    lengths = wanted.shape
    fits = lengths is None or (
        len(lengths) == tensor.ndim
        and all(not isinstance(a, int) or a == b for a, b in zip(lengths, tensor.shape, strict=True))
    )
    if tensor.dtype is not wanted.dtype or not fits:
        raise OnnxError(
            f"input {wanted.name!r} is {wanted.dtype.name} of shape {wanted.shape}; "
            f"{tensor.dtype.name} of shape {tensor.shape} was given"
        )
    return tensor
