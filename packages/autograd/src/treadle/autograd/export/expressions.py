"""What a kernel computes for one element: a tree of accesses to memory, constants and elementwise functions.

Elementwise calls whose result only one other call reads are not kept in memory: they become part of that call's tree.
So a chain of them is one loop, and one that follows a matrix product is done where its sum is complete.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.errors import ExportError
from treadle.autograd.export.program import Call, Origin, Program, Role, Value
from treadle.ndarray import DType, broadcast_shapes
from treadle.ndarray.opset import OPS, Family

__all__ = ["Access", "Apply", "Expression", "Literal", "Plan", "Sum", "accesses", "is_elementwise", "plan"]

Strides = tuple[int, ...]
_ELEMENTWISE = {name for name, row in OPS.items() if row.family in (Family.UNARY, Family.BINARY, Family.TERNARY)}
_REDUCTIONS = {name for name, row in OPS.items() if row.family in (Family.REDUCE, Family.ARG_REDUCE)}
_LONGEST = 40  # calls in one expression: compilers bound how deeply parentheses nest
_HEAVY = _REDUCTIONS | {"matmul", "einsum", "conv", "conv_input_gradient", "conv_weight_gradient"}


@dataclass(slots=True)
class Access:
    """An element of a value's base, by its strides over the axes that the kernel walks."""

    value: Value
    offset: int
    strides: Strides

    @property
    def dtype(self) -> DType:
        """The type of the element."""
        return self.value.dtype


@dataclass(slots=True)
class Literal:
    """A constant number."""

    number: Any
    dtype: DType


@dataclass(slots=True)
class Sum:
    """What the kernel's inner loops have accumulated."""

    dtype: DType


@dataclass(slots=True)
class Apply:
    """A function of the op table, or ``astype``, of operands of type ``operand``."""

    function: str
    operands: list["Expression"]
    operand: DType
    dtype: DType


Expression = Access | Literal | Sum | Apply


@dataclass(slots=True)
class Plan:
    """Which calls make a kernel of their own, in order, and which are part of another's."""

    kernels: list[Call]
    root: dict[int, Call]  # by id of a call that is part of another's kernel
    heavy: dict[int, Call] = field(default_factory=dict)  # by id of an elementwise kernel: the sum that it completes
    sizes: dict[int, int] = field(default_factory=dict)  # by id of a kernel: how many calls are part of it
    used: set[int] = field(default_factory=set)  # ids of the values that are read, and of the results

    def is_inlined(self, value: Value) -> bool:
        """Whether the value never lies in memory."""
        return value.call is not None and not value.is_view and id(value.call) in self.root


def is_elementwise(call: Call) -> bool:
    """Whether every element of the result depends on one element of each operand."""
    return call.function in _ELEMENTWISE or call.function == "astype"


def plan(program: Program) -> Plan:
    """Decide which calls are computed inside of others."""
    users = users_of(program)
    kept = {id(each.base) for each in (*program.outputs, *(new for _, new in program.updates))}
    kept |= {id(each.base) for call in program.calls for each in call.operands if each.is_view}
    found = Plan([], {}, used={*users, *kept})
    for call in reversed(program.calls):
        root = None
        if len(call.results) == 1 and id(call.results[0]) not in kept:
            consumers = users.get(id(call.results[0]), [])
            if len(consumers) == 1:
                root = _fused_into(call, consumers[0], found)
        if root is None:
            found.kernels.append(call)
        else:
            found.root[id(call)] = root
            found.sizes[id(root)] = found.sizes.get(id(root), 1) + 1
    found.kernels.reverse()
    return found


def users_of(program: Program) -> dict[int, list[Call]]:
    """The calls that read a value or a view of it, by id of its base; results of the program count one more."""
    users: dict[int, list[Call]] = {}
    for call in program.calls:
        for operand in call.operands:
            users.setdefault(id(operand.base), []).append(call)
    last = Call("", (), {}, [], Origin(""))
    for each in (*program.outputs, *(new for _, new in program.updates)):
        users.setdefault(id(each.base), []).append(last)
    return users


def _fused_into(call: Call, consumer: Call, found: Plan) -> Call | None:
    """The kernel that a call with one consumer becomes a part of; None for its own."""
    root = found.root.get(id(consumer), consumer)
    result = call.results[0]
    if found.sizes.get(id(root), 1) >= _LONGEST:
        return None
    if is_elementwise(call):
        if is_elementwise(consumer) and result.size == consumer.results[0].size:
            return root
        if consumer.function in _REDUCTIONS and consumer.arguments[0] is result and consumer is root:
            return root
        return None
    shapes = {each.results[0].shape for each in (call, consumer, root)}
    simple = is_elementwise(consumer) and is_elementwise(root) and len(shapes) == 1
    if call.function in _HEAVY and simple and id(root) not in found.heavy:
        found.heavy[id(root)] = call
        return root
    return None


def build(value: Value, shape: tuple[int, ...], planned: Plan) -> Expression:
    """The tree of a value's element, over the axes of ``shape``, to which the value broadcasts."""
    if planned.is_inlined(value):
        assert value.call is not None
        return tree(value.call, shape, planned) if is_elementwise(value.call) else Sum(value.dtype)
    return access(value, shape)


def access(value: Value, shape: tuple[int, ...]) -> "Access | Literal":
    """The memory of a value, stretched over ``shape``; the number itself for a constant of equal elements."""
    base = value.base
    if base.role is Role.CONSTANT and base.size:
        first = base.example.reshape(-1)[0].item()
        if base.size == 1 or (first == first and bool(nd.all(base.example == first)) and not _signed_zero(base, first)):
            return Literal(first, value.dtype)
    missing = len(shape) - len(value.shape)
    if missing < 0 or broadcast_shapes(value.shape, shape) != shape:
        raise ExportError(f"export to C: a value of shape {value.shape} does not stretch over {shape}")
    strides = (0,) * missing + tuple(
        0 if length == 1 else step for length, step in zip(value.shape, value.strides, strict=True)
    )
    return Access(base, value.offset, strides)


def _signed_zero(base: Value, first: Any) -> bool:
    return first == 0 and base.dtype.kind == "f" and bool(nd.any(nd.signbit(base.example)))


def tree(call: Call, shape: tuple[int, ...], planned: Plan) -> Expression:
    """The tree of an elementwise call over the axes of ``shape``."""
    result = call.results[0]
    if call.function == "astype":
        inner = _operand(call.arguments[0], shape, planned, result.dtype)
        return Apply("astype", [inner], inner.dtype, result.dtype)
    arrays = [each.dtype for each in call.arguments if isinstance(each, Value)]
    if call.function == "where":
        arrays = arrays[1:] if isinstance(call.arguments[0], Value) else arrays
        common = result.dtype
        condition = _operand(call.arguments[0], shape, planned, nd.bool)
        rest = [_operand(each, shape, planned, common) for each in call.arguments[1:]]
        return Apply("where", [condition, *[_converted(each, common) for each in rest]], common, result.dtype)
    scalars = [each for each in call.arguments if not isinstance(each, Value)]
    common = nd.result_type(*arrays, *scalars)
    row = OPS[call.function]
    if row.accepts == "floating" and common.kind != "f":
        common = nd.float32 if result.dtype.kind != "f" else result.dtype
    operands = [_converted(_operand(each, shape, planned, common), common) for each in call.arguments]
    return Apply(call.function, operands, common, result.dtype)


def _operand(item: Any, shape: tuple[int, ...], planned: Plan, common: DType) -> Expression:
    if isinstance(item, Value):
        return build(item, shape, planned)
    return Literal(item, common)


def _converted(expression: Expression, dtype: DType) -> Expression:
    if expression.dtype is dtype:
        return expression
    if isinstance(expression, Literal):
        return Literal(nd.asarray(expression.number).astype(dtype).item(), dtype)
    return Apply("astype", [expression], expression.dtype, dtype)


def accesses(expression: Expression) -> Iterator[Access]:
    """The accesses of a tree."""
    if isinstance(expression, Access):
        yield expression
    elif isinstance(expression, Apply):
        for each in expression.operands:
            yield from accesses(each)
