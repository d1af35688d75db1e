"""Array functions that are written down while they run.

An op's rules are written against the namespace of array functions they are given. Here they get a :class:`Recorder`: it
runs every function on example values and notes it, so that what an op does, forward or backward, becomes calls of a
:class:`Program` without a second definition of the op. A :class:`Traced` array stands for a value on the way.

Which functions only look at memory in another way is not listed anywhere: a result that shares its operand's memory is
a view, and its strides say how. What no input reaches is computed at once and stays a constant.
"""

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import ExportError
from treadle.autograd.export.integers import INTEGER_FUNCTIONS
from treadle.autograd.export.program import Call, Origin, Role, Value, dense_strides
from treadle.ndarray import DType, NDArray

__all__ = ["Recorder", "Traced"]

_SHAPE_ONLY = frozenset(["zeros_like", "ones_like", "empty_like", "result_type", "can_cast", "isdtype"])
"""Functions that look at the shape and dtype of an array, not at its elements; ``full_like`` at its value alone."""

_NAMED = ("n", "axis")

Definition = Callable[..., Any]


class Traced:
    """An array of the program while it is recorded. It has the array's operators, and the methods that rules use."""

    __slots__ = ("recorder", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, recorder: "Recorder", value: Value) -> None:
        self.recorder = recorder
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.value.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.value.size

    @property
    def device(self) -> Any:
        """Where the example lies."""
        return self.value.example.device

    @property
    def data(self) -> "Traced":
        """Itself: a rule may take a tensor's array."""
        return self

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return self.recorder.matrix_transpose(self)

    T = mT

    def detach(self) -> "Traced":
        """Itself: a program has no gradients of its own."""
        return self

    def copy(self) -> "Traced":
        """An array that can be written without a trace in this one."""
        return Traced(self.recorder, self.value)

    def to_device(self, device: Any, /) -> "Traced":
        """Itself: a program runs in one place."""
        return self

    def reshape(self, *shape: Any) -> Any:
        """In another shape."""
        return self.recorder.reshape(self, tuple(shape[0]) if len(shape) == 1 and not _is_int(shape[0]) else shape)

    def transpose(self, *axes: Any) -> Any:
        """The axes in a new order."""
        return self.recorder.permute_dims(self, axes or tuple(range(self.ndim))[::-1])

    def __getitem__(self, index: Any) -> Any:
        return self.recorder.get_item(self, index)

    def __setitem__(self, index: Any, values: Any) -> None:
        self.value = self.recorder.set_item(self, index, values).value

    def __bool__(self) -> bool:
        raise ExportError(self.recorder.here("its course depends on the elements of an array"))

    __int__ = __float__ = __index__ = __bool__

    def item(self) -> Any:
        """Never a number: that would be the example's."""
        return bool(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(nd, name):
            raise AttributeError(name)
        return lambda *arguments, **options: getattr(self.recorder, name)(self, *arguments, **options)


def _key(item: Any) -> str:
    """A text that equal calls share."""
    if isinstance(item, tuple | list):
        return f"({','.join(_key(each) for each in item)})"
    return f"%{item.number}" if isinstance(item, Value) else f"{type(item).__name__}:{item!r}"


def _is_int(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _operator(name: str, reflected: bool = False) -> Any:
    if reflected:
        return lambda self, other: getattr(self.recorder, name)(other, self)
    return lambda self, *others: getattr(self.recorder, name)(self, *others)


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor",
}  # fmt: skip
for _short, _name in _OPERATORS.items():
    setattr(Traced, f"__{_short}__", _operator(_name))
    setattr(Traced, f"__r{_short}__", _operator(_name, True))
_COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
for _short, _name in {**_COMPARISONS, "ge": "greater_equal", "neg": "negative", "abs": "abs", "pos": "positive",
                      "invert": "bitwise_invert"}.items():  # fmt: skip
    setattr(Traced, f"__{_short}__", _operator(_name))


class Recorder:
    """The namespace of array functions, which notes what is called.

    ``definitions`` names functions that are recorded as what they are composed of: ``softmax`` as exp, sum and divide.
    With ``keeps_named``, what is computed from constants that have a name is recorded too: they stay as they are.
    """

    records_arrays = True

    def __init__(self, definitions: dict[str, Definition], keeps_named: bool = False) -> None:
        self.calls: list[Call] = []
        self.origin = Origin("")
        self.definitions = definitions
        self.keeps_named = keeps_named
        self._count = 0
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._held: list[NDArray] = []
        self.arrays: dict[int, Traced] = {}  # by id of arrays that are known, such as a tensor's that an index holds
        self._done: dict[str, Any] = {}  # results by what was called, so that nothing is computed twice

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.definitions:
            define = self.definitions[name]
            return lambda *arguments, **options: define(self, *arguments, **options)
        found = getattr(nd, name)
        if not callable(found) or isinstance(found, type | DType):
            return _Part(self, found, f"{name}.") if name in ("linalg", "fft") else found
        return lambda *arguments, **options: self.record(name, arguments, options)

    def here(self, reason: str) -> str:
        """An error's text, which names the op and the line."""
        place = self.origin.location
        where = f", {place}: {place.text}" if place is not None else ""
        return f"export of {self.origin.label}{where}: {reason}"

    # --- values ---------------------------------------------------------------------------------------------------
    def value(self, role: Role, example: NDArray, name: str = "") -> Value:
        """A new value."""
        self._count += 1
        return Value(self._count, role, example, name)

    def constant(self, array: NDArray, name: str = "") -> Traced:
        """A constant; the same elements in the same order are one constant."""
        key = (array.data_pointer, array.shape, array.strides, array.dtype.name, array.version)
        if key not in self._constants:
            self._held.append(array)  # so that its address is not another's
            value = self.value(Role.CONSTANT, array, name)
            stretched = [step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True)]
            if any(stretched):  # a broadcast array is kept once, not once for each repetition
                core = array[tuple(slice(0, 1) if each else slice(None) for each in stretched)]
                steps = dense_strides(core.shape)
                base = self.constant(core, name).value
                value.views(base, 0, tuple(0 if each else step for each, step in zip(stretched, steps, strict=True)))
            else:
                value.example = array.copy()  # as it is now, whatever is written later, and in C order
            self._constants[key] = value
        return Traced(self, self._constants[key])

    def known(self, array: NDArray) -> Any:
        """The traced array that an array of the callable's is, such as the index that a tensor holds; else itself."""
        return self.arrays.get(id(array), array)

    def symbol(self, item: Any) -> Any:
        """What stands for an argument of a call: values for arrays, the rest as it is."""
        if isinstance(item, Traced):
            return item.value
        if isinstance(item, NDArray):
            known = self.known(item)
            return known.value if isinstance(known, Traced) else self.constant(known).value
        if isinstance(item, Tensor):
            return self.constant(item.data).value
        if type(item) in (tuple, list):
            return type(item)(self.symbol(each) for each in item)
        if hasattr(item, "__array_interface__"):
            return self.constant(nd.asarray(item, copy=True)).value
        return item

    # --- calls ----------------------------------------------------------------------------------------------------
    def record(self, function: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a function on the examples and note it, unless all its operands are constants."""
        options = {name: self.symbol(each) for name, each in options.items() if name != "out"}
        arguments, named = _split(function, arguments)
        options |= {name: self.symbol(each) for name, each in named.items()}
        symbols = self.symbol(arguments)
        key = _key((function, symbols, tuple(sorted(options.items()))))
        if key in self._done:
            return _mapped(self._done[key], lambda value: Traced(self, value), Value)
        result = run(function, symbols, options)
        call = Call(function, symbols, options, [], self.origin)
        varies = function not in _SHAPE_ONLY and any(map(self._stays, call.operands))
        if not varies:
            return _mapped(result, self.constant)
        wrapped = _mapped(result, lambda array: self._result(call, array))
        if call.results and not all(each.is_view for each in call.results):
            self.calls.append(call)
        self._done[key] = _mapped(wrapped, lambda traced: traced.value, Traced)
        return wrapped

    def _stays(self, value: Value) -> bool:
        """Whether what is computed from a value is part of the program, not a constant."""
        return value.role is not Role.CONSTANT or (self.keeps_named and bool(value.name))

    def _result(self, call: Call, array: NDArray) -> Traced:
        value = self.value(Role.COMPUTED, array)
        value.call = call
        call.results.append(value)
        for operand in call.operands:
            base = operand.base
            if base.role is not Role.CONSTANT and array.buffer is base.example.buffer:
                offset = (array.data_pointer - base.example.data_pointer) // array.itemsize
                value.views(base, offset, tuple(step // array.itemsize for step in array.strides))
                value.name = operand.name
                break
        else:
            if not array.is_contiguous:
                value.example = array.copy()
        return Traced(self, value)


class _Part:
    """A part of the namespace: ``xp.linalg``."""

    def __init__(self, recorder: Recorder, functions: Any, prefix: str) -> None:
        self._recorder = recorder
        self._functions = functions
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        whole = self._prefix + name
        if whole in self._recorder.definitions:
            return lambda *arguments, **options: self._recorder.definitions[whole](
                self._recorder, *arguments, **options
            )
        getattr(self._functions, name)
        return lambda *arguments, **options: self._recorder.record(whole, arguments, options)


@functools.cache
def _named_from(function: str) -> tuple[int, tuple[str, ...]]:
    """From which place on a function's positional arguments are options (an axis, a length), and their names."""
    found: Any = nd
    for part in function.split("."):
        found = getattr(found, part, None)
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return 0, ()
    for place, each in enumerate(parameters):
        if each.name in _NAMED and each.kind is each.POSITIONAL_OR_KEYWORD and each.default is not each.empty:
            return place, tuple(option.name for option in parameters[place:])
    return 0, ()


def _split(function: str, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands of a call, and under its name the axis that was given after them: readers find it in one place."""
    place, names = _named_from(function)
    return (arguments[:place], dict(zip(names, arguments[place:], strict=False))) if names else (arguments, {})


def _mapped(result: Any, wrap: Callable[[Any], Any], kind: type = NDArray) -> Any:
    """The result with everything of a kind in it, arrays at first, replaced."""
    if isinstance(result, kind):
        return wrap(result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_mapped(each, wrap, kind) for each in result])
    if isinstance(result, tuple | list):
        return type(result)(_mapped(each, wrap, kind) for each in result)
    return result


def run(function: str, arguments: Any, options: dict[str, Any], of: Callable[[Value], NDArray] | None = None) -> Any:
    """An array function on the arrays that values stand for: their examples, unless ``of`` says otherwise."""
    arrays = _arrays(arguments, of)
    named = {name: _arrays(each, of) for name, each in options.items()}
    if function == "get_item":
        return arrays[0][arrays[1]]
    if function == "set_item":
        written = arrays[0].copy()
        written[arrays[1]] = arrays[2]
        return written
    if function in INTEGER_FUNCTIONS:
        return INTEGER_FUNCTIONS[function](*arrays, **named)
    found: Any = nd
    for part in function.split("."):
        found = getattr(found, part)
    return found(*arrays, **named)


def _arrays(item: Any, of: Callable[[Value], NDArray] | None) -> Any:
    if isinstance(item, Value):
        return item.example if of is None else of(item)
    if type(item) in (tuple, list):
        return type(item)(_arrays(each, of) for each in item)
    return item
