"""Post-training quantisation: a float program as one of int8 values, from what calibration data say of their ranges.

Weights are symmetric, with a scale for each output channel; values on the way have one scale and a zero point. Products
with constant weights, with the bias and the clamp behind them, sums and products of two values, functions of one value
(by a table), pooling and views are integers; everything else computes in float32 between a dequantize and a quantize.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import ExportError
from treadle.autograd.export.expressions import is_elementwise, users_of
from treadle.autograd.export.integers import LEAST, MOST, factor
from treadle.autograd.export.program import Call, Origin, Program, Role, Value, values_in
from treadle.autograd.export.recorder import run
from treadle.autograd.export.report import LayerError, QuantizationReport
from treadle.autograd.export.scales import Bounds, Scale, along, bounded, is_finite, weights_of
from treadle.autograd.export.tracing import Replay
from treadle.ndarray import NDArray

__all__ = ["QuantizationReport", "quantized"]

_MOVES = ("reshape", "copy", "get_item", "max_pool")


def quantized(program: Program, calibration: Iterable[Any]) -> tuple[Program, QuantizationReport]:
    """The int8 program, and how far it is from the float one.

    ``calibration`` gives inputs like the example, a tensor or a tuple of them each; some dozens that are typical are
    enough. Raises ExportError without any, for a training program, or where a value is not finite.
    """
    if program.updates:
        raise ExportError("quantize: a training step cannot be quantised; export the callable for inference")
    data = [_arrays(each) for each in calibration]
    if not data:
        raise ExportError("quantize: calibration data are needed: inputs like the example")
    wanted = [(each.shape, each.dtype.name) for each in program.inputs]
    for each in data:
        given = [(array.shape, array.dtype.name) for array in each]
        if given != wanted:
            raise ExportError(f"quantize: a calibration input is {given}; the example is {wanted}")
    runs = [Replay(program, each) for each in data]
    build = _Build(program, runs)
    result = build.program()
    return result, QuantizationReport(tuple(_errors(build, result, runs, data)))


def _arrays(item: Any) -> list[NDArray]:
    given = item if isinstance(item, tuple | list) else [item]
    return [each.data if isinstance(each, Tensor) else nd.asarray(each) for each in given]


class _Build:
    """Goes through the float program and writes the int8 one."""

    def __init__(self, source: Program, runs: Sequence[Replay]) -> None:
        self.source = source
        self.runs = runs
        self.calls: list[Call] = []
        self.codes: dict[int, tuple[Value, Scale]] = {}  # by id of a float value: the int8 one
        self.floats: dict[int, Value] = {}  # by id of a float value: where the new program has it in float
        self.tables: dict[int, tuple[Value, NDArray]] = {}  # by id: a value of int8, and what it becomes for each code
        self.origin = Origin("")
        self._users = users_of(source)
        self._count = 1_000_000
        self._done: set[int] = set()
        self._keys: dict[int, Any] = {}
        self._turns: dict[Any, list[Value]] = {}  # values that a loop makes in each of its turns
        self._find_turns()

    def program(self) -> Program:
        """The whole of it, without what nothing uses."""
        self.floats.update({id(each): each for each in self.source.inputs})
        for call in self.source.calls:
            if id(call) not in self._done:
                self.origin = call.origin
                self._convert(call)
        outputs = [self.in_float(each) for each in self.source.outputs]
        return Program(self.source.inputs, outputs, self.calls).without_dead_calls()

    def _find_turns(self) -> None:
        """Find what the same line makes by the same op from products with the same weights: the turns of a loop.

        They share a scale, so that the steps of a recurrent layer are one function with one set of tables.
        """
        weights: dict[int, frozenset[int]] = {}
        for call in self.source.calls:
            if call.function in ("conv", "matmul"):
                behind = frozenset(id(each) for each in call.operands if each.role is Role.CONSTANT)
            else:
                behind = frozenset().union(*(weights.get(id(each.base), frozenset()) for each in call.operands))
            for at, result in enumerate(call.results):
                weights[id(result)] = behind
                if behind and not result.is_view and result.dtype.kind == "f" and self._is_finite(result):
                    origin = call.origin
                    key = (call.function, at, origin.label, origin.location, result.shape, behind)
                    self._keys[id(result)] = key
                    self._turns.setdefault(key, []).append(result)

    def _is_finite(self, value: Value) -> bool:
        """Whether it was finite in all calibration runs."""
        return all(is_finite(each.array(value)) for each in self.runs)

    # --- values ---------------------------------------------------------------------------------------------------
    def range_of(self, value: Value) -> Scale:
        """The scale for what the value was in the calibration runs."""
        if not value.size:
            return Scale.of(0.0, 0.0)
        alike = self._turns.get(self._keys.get(id(value), 0), [value])
        low = min(nd.min(each.array(one)).item() for each in self.runs for one in alike)
        high = max(nd.max(each.array(one)).item() for each in self.runs for one in alike)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ExportError(f"quantize: {self.origin.label}: a calibration input makes a value that is not finite")
        return Scale.of(low, high)

    def emit(self, function: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Value:
        """A new call; its first result."""
        result = run(function, arguments, options)
        parts = result if isinstance(result, tuple) else (result,)
        call = Call(function, arguments, options, [], self.origin)
        for array in parts:
            self._count += 1
            value = Value(self._count, Role.COMPUTED, array if array.is_contiguous else array.copy())
            value.call = call
            call.results.append(value)
        self.calls.append(call)
        return call.results[0]

    def constant(self, array: NDArray, name: str) -> Value:
        """A new constant."""
        self._count += 1
        return Value(self._count, Role.CONSTANT, array, name)

    def in_float(self, value: Value) -> Value:
        """The float form of a value, dequantised if need be."""
        if value.role is Role.CONSTANT or (value.is_view and value.base.role is Role.CONSTANT):
            return value
        found = self.floats.get(id(value))
        if found is None and value.dtype.kind != "f":
            return value
        if found is None:
            code = self.in_code(value, make=False)
            if code is not None:
                self.floats[id(value)] = self.emit(
                    "int8.dequantize", (code[0],), {"scale": code[1].scale, "zero": code[1].zero}
                )
            else:
                self.floats[id(value)] = self._view(value, self.in_float(value.base))
        return self.floats[id(value)]

    def in_code(self, value: Value, make: bool = True) -> tuple[Value, Scale] | None:
        """The int8 form of a value; made from the float form, or None, if there is none yet."""
        if id(value) in self.codes:
            return self.codes[id(value)]
        if value.is_view and make and value.base.role is Role.INPUT:
            self.in_code(value.base)
        if value.is_view and id(value.base) in self.codes:
            base, scale = self.codes[id(value.base)]
            self.codes[id(value)] = self._view(value, base), scale
        elif make:
            scale = self.range_of(value)
            code = self.emit("int8.quantize", (self.in_float(value),), {"scale": scale.scale, "zero": scale.zero})
            self.codes[id(value)] = code, scale
        else:
            return None
        return self.codes[id(value)]

    def _constant_code(self, value: Value) -> tuple[Value, Scale] | None:
        """The int8 form of a constant; None for anything else."""
        if value.role is not Role.CONSTANT or value.is_view or not value.size or not is_finite(value.example):
            return None
        if id(value) not in self.codes:
            scale = Scale.of(nd.min(value.example).item(), nd.max(value.example).item())
            codes = run("int8.quantize", (value,), {"scale": scale.scale, "zero": scale.zero})
            self.codes[id(value)] = self.constant(codes, value.name), scale
        return self.codes[id(value)]

    def _view(self, like: Value, base: Value) -> Value:
        """The view of a new base that another value is of its own."""
        if base is like.base:
            return like
        size = base.dtype.itemsize
        steps = tuple(step * size for step in like.strides)
        array = nd.as_strided(base.example.reshape(-1), like.shape, steps, offset=like.offset * size)
        self._count += 1
        value = Value(self._count, Role.COMPUTED, array)
        value.views(base, like.offset, like.strides)
        return value

    # --- calls ----------------------------------------------------------------------------------------------------
    def _convert(self, call: Call) -> None:
        quantizable = all(each.dtype.name != "float64" for each in (*call.results, *call.operands))
        if (
            self._moved(call)
            or self._joined(call)
            or (quantizable and (self._product(call) or self._function(call) or self._pair(call)))
        ):
            return
        arguments = self._in_float(call.arguments)
        options = {name: self._in_float(each) for name, each in call.options.items()}
        self.emit(call.function, arguments, options)
        for old, new in zip(call.results, self.calls[-1].results, strict=True):
            self.floats[id(old)] = new

    def _in_float(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.in_float(item)
        if type(item) in (tuple, list):
            return type(item)(self._in_float(each) for each in item)
        return item

    def _product(self, call: Call) -> bool:
        """A product with a constant weight, its bias, and a clamp."""
        if call.function not in ("conv", "matmul"):
            return False
        x, weight = call.arguments
        plain = weight.role is Role.CONSTANT and weight.dtype.name == "float32"
        if not plain or x.role is Role.CONSTANT or (call.function == "matmul" and len(weight.shape) != 2):
            return False
        axis = 0 if call.function == "conv" else 1
        most = weight.size // max(1, weight.shape[axis]) * 255 * 127
        if most >= 2**30 or not weight.size or not is_finite(weight.example):
            return False  # sums that int32 does not hold
        before = set(self._done)
        last, bias, bounds = self._behind(call, 1 if call.function == "conv" else len(call.results[0].shape) - 1)
        code = self.in_code(x)
        assert code is not None
        values, scale = code
        target = self.range_of(last)
        shift = bias if isinstance(bias, NDArray) else nd.zeros(weight.shape[axis], dtype="float64") + bias
        least = nd.abs(shift) / (scale.scale * float(2**31 - 1 - most))
        integer, scales = weights_of(weight.example, axis, least.tolist())
        shifts = [b / (scale.scale * s) for b, s in zip(shift.tolist(), scales, strict=True)]
        if scale.scale * max(scales) >= 2.0**30 * target.scale:
            self._done = before
            return False  # a result so much smaller than its terms that int8 would not give it
        pairs = [factor(scale.scale * each / target.scale) for each in scales]
        codes = [round(each) for each in shifts]
        arrays = [codes, [each[0] for each in pairs], [each[1] for each in pairs]]
        constants = [
            self.constant(nd.asarray(array, dtype="int32"), name)
            for array, name in zip(arrays, ("bias", "multiplier", "shift"), strict=True)
        ]
        low = target.code(bounds[0]) if bounds[0] is not None else LEAST
        high = target.code(bounds[1]) if bounds[1] is not None else MOST
        options = {
            "of": call.function, "zero": scale.zero, "out_zero": target.zero, "low": low, "high": high, **call.options
        }  # fmt: skip
        named = self.constant(integer, weight.name)
        self.codes[id(last)] = self.emit("int8.product", (values, named, *constants), options), target
        return True

    def _behind(self, call: Call, axis: int) -> tuple[Value, Any, Bounds]:
        """What is done together with a product: the last value, the bias, and the bounds of a clamp."""
        value, bias = call.results[0], 0.0
        bounds: Bounds = (None, None)
        while True:
            following = self._users.get(id(value), [])
            if len(following) != 1 or not following[0].results or following[0].results[0].shape != value.shape:
                return value, bias, bounds
            step = following[0]
            others = [each for each in step.arguments if each is not value]
            if step.function == "add" and bounds == (None, None) and len(others) == 1:
                more = along(others[0], axis, len(value.shape))
                if more is None:
                    return value, bias, bounds
                bias = bias + more
            elif step.function == "relu":
                bounds = bounded(bounds, low=0.0)
            elif step.function in ("minimum", "maximum") and others and isinstance(others[0], int | float):
                bounds = bounded(bounds, **{"high" if step.function == "minimum" else "low": float(others[0])})
            else:
                return value, bias, bounds
            self._done.add(id(step))
            value = step.results[0]

    def _moved(self, call: Call) -> bool:
        """Elements that only move, or the largest of a window."""
        if call.function not in _MOVES:
            return False
        code = self.in_code(call.arguments[0], make=False)
        if code is None:
            return False
        self.emit(call.function, (code[0], *call.arguments[1:]), call.options)
        for old, new in zip(call.results, self.calls[-1].results, strict=True):
            if old.dtype.kind == "f":
                self.codes[id(old)] = new, code[1]
            else:
                self.floats[id(old)] = new
        return True

    def _joined(self, call: Call) -> bool:
        """Quantised values one after another, each brought to the scale of the whole by a table."""
        if call.function != "concat":
            return False
        codes = [self.in_code(each, make=False) for each in call.arguments[0]]
        if not codes or any(each is None for each in codes):
            return False
        target = self.range_of(call.results[0])
        parts = [self._rescaled(*each, target) for each in codes if each is not None]
        self.codes[id(call.results[0])] = self.emit("concat", (type(call.arguments[0])(parts),), call.options), target
        return True

    def _rescaled(self, value: Value, scale: Scale, target: Scale) -> Value:
        if scale == target:
            return value
        table = [target.code(scale.scale * (q - scale.zero)) for q in range(LEAST, MOST + 1)]
        return self.emit("int8.lookup", (value, self.constant(nd.asarray(table, dtype="int8"), "rescale")), {})

    def _function(self, call: Call) -> bool:
        """What depends on one quantised value, element by element, through any calls: a table of its codes."""
        result = call.results[0]
        operands = [each for each in call.operands if each.role is not Role.CONSTANT or each.size != 1]
        found = [self._table(each) for each in operands]
        known = {id(each[0]): each[0] for each in found if each is not None}
        values = next(iter(known.values()), None)
        if (
            None in found
            or len(known) != 1
            or values is None
            or values.shape != result.shape
            or not is_elementwise(call)
        ):
            return False
        of = {id(each): entry[1] for each, entry in zip(operands, found, strict=True) if entry is not None}
        every = run(call.function, call.arguments, call.options, lambda one: of.get(id(one), one.example.reshape(-1)))
        self.tables[id(result)] = values, every
        if result.dtype.kind != "f" or not self._is_finite(result):
            return False  # computed as it is, unless nothing but other tables needs it
        target = self.range_of(result)
        table = [LEAST if each != each else target.code(each) for each in every.tolist()]
        named = self.constant(nd.asarray(table, dtype="int8"), call.function)
        self.codes[id(result)] = self.emit("int8.lookup", (values, named), {}), target
        return True

    def _table(self, value: Value) -> tuple[Value, NDArray] | None:
        """The quantised value that a value depends on alone, and what it is for each code; None if there is none."""
        if id(value) not in self.tables:
            code = None if value.role is Role.CONSTANT else self.in_code(value, make=False)
            if code is None:
                return None
            values, scale = code
            numbers = [scale.scale * (q - scale.zero) for q in range(LEAST, MOST + 1)]
            self.tables[id(value)] = values, nd.asarray(numbers, dtype="float32")
        return self.tables[id(value)]

    def _pair(self, call: Call) -> bool:
        """A sum or product, element by element, of two quantised values."""
        if call.function not in ("add", "subtract", "multiply") or len(call.operands) != 2:
            return False
        if all(each.role is Role.CONSTANT or self.in_code(each, make=False) is None for each in call.operands):
            return False
        codes = [self._constant_code(each) or self.in_code(each, make=False) for each in call.operands]
        if codes[0] is None or codes[1] is None or len(call.arguments) != 2:
            return False
        (a, one), (b, other) = codes[0], codes[1]
        target = self.range_of(call.results[0])
        zeros = (one.zero, other.zero)
        ratios = (one.scale / target.scale, other.scale / target.scale)
        if max(*ratios, one.scale * other.scale / target.scale) >= 2.0**19:
            return False  # a result so much smaller than its operands that int8 operands would not give it
        if call.function == "multiply":
            multiplier, shift = factor(one.scale * other.scale / target.scale)
            options: dict[str, Any] = {"zeros": zeros, "multiplier": multiplier, "shift": shift}
        else:
            _, shift = factor(max(ratios), bits=21)
            shift = min(shift, 30)
            sign = -1 if call.function == "subtract" else 1
            multipliers = (round(ratios[0] * 2**shift), sign * round(ratios[1] * 2**shift))
            options = {"zeros": zeros, "multipliers": multipliers, "shift": shift}
        name = "int8.multiply" if call.function == "multiply" else "int8.add"
        self.codes[id(call.results[0])] = self.emit(name, (a, b), {**options, "out_zero": target.zero}), target
        return True


def _errors(
    build: _Build, result: Program, runs: Sequence[Replay], data: Sequence[list[NDArray]]
) -> Iterable[LayerError]:
    """A row for each quantised value that the float program has too."""
    kept = {id(each) for call in result.calls for each in (*call.results, *values_in(call.arguments))}
    quick = [Replay(result, each) for each in data]
    floats = {id(each): each for call in build.source.calls for each in call.results}
    floats.update({id(each): each for each in build.source.inputs})
    for number, (code, scale) in build.codes.items():
        original = floats.get(number)
        if original is None or id(code) not in kept or code.is_view:
            continue
        largest = signal = noise = 0.0
        for exact, rough in zip(runs, quick, strict=True):
            wanted = exact.array(original).astype("float64")
            off = (rough.array(code).astype("float64") - scale.zero) * scale.scale - wanted
            largest = max(largest, nd.max(nd.abs(off)).item()) if off.size else largest
            signal += nd.sum(wanted * wanted).item()
            noise += nd.sum(off * off).item()
        decibels = 10 * math.log10(signal / noise) if signal > 0 and noise > 0 else math.inf
        label = original.call.origin.label if original.call is not None else "input"
        yield LayerError(label, original.shape, scale.scale, scale.zero, largest, decibels)
