"""Kernels of quantised programs: integer arithmetic alone, the same as integers.py."""

from typing import Any

from treadle.autograd.export.c_expressions import literal
from treadle.autograd.export.c_kernels import Kernel, Target, finished, output
from treadle.autograd.export.c_products import Nest
from treadle.autograd.export.c_text import Writer, element, merge, name_of, reads
from treadle.autograd.export.expressions import Access, Literal, Plan, access
from treadle.autograd.export.integers import LEAST, MOST
from treadle.autograd.export.products import Product, product_of, spread_channels
from treadle.autograd.export.program import Call, Value
from treadle.ndarray import float32

__all__ = ["KERNELS"]

_HELPERS = {
    "clamp_int8": "static inline int8_t clamp_int8(int64_t x, int low, int high)\n{\n"
    "    return (int8_t)(x < low ? low : x > high ? high : x);\n}\n",
    "scale_int64": "/* x * multiplier / 2^shift, rounded half up */\n"
    "static inline int64_t scale_int64(int32_t x, int32_t multiplier, int32_t shift)\n{\n"
    "    return ((int64_t)x * multiplier + ((int64_t)1 << (shift - 1))) >> shift;\n}\n",
    "quantize_int8": "static inline int8_t quantize_int8(float x, float factor, float zero)\n{\n"
    "    const float y = rintf(x * factor) + zero;\n"
    f"    return (int8_t)(y != y ? 0 : y < {LEAST}.0f ? {LEAST} : y > {MOST}.0f ? {MOST} : (int)y);\n}}\n",
}


def _needs(writer: Writer, *names: str) -> None:
    writer.helpers.update({name: _HELPERS[name] for name in names})


def _mapped(call: Call, operands: list[Value], text: Any) -> Kernel:
    """One loop over the result, whose text is made from those of the operands' elements."""
    result = call.results[0]
    found = [access(each, result.shape) for each in operands]
    written = output(result)
    lengths, _ = merge(result.shape, [written, *(each for each in found if isinstance(each, Access))])
    writer, names = Writer(), [f"i{at}" for at in range(len(lengths))]
    with writer.loops(names, lengths):
        parts = [writer.text(each, names) for each in found]
        writer.line(f"{element(written, names)} = {text(writer, parts)};")
    return finished(call, writer, [base for each in found for base in reads(each)])


def _quantize(call: Call, planned: Plan, target: Target) -> Kernel:
    scale, zero = literal(1.0 / call.options["scale"], float32), call.options["zero"]

    def text(writer: Writer, parts: list[str]) -> str:
        _needs(writer, "quantize_int8")
        return f"quantize_int8({parts[0]}, {scale}, {zero}.0f)"

    return _mapped(call, [call.arguments[0]], text)


def _dequantize(call: Call, planned: Plan, target: Target) -> Kernel:
    scale, zero = literal(call.options["scale"], float32), call.options["zero"]
    return _mapped(call, [call.arguments[0]], lambda writer, parts: f"(float)({parts[0]} - {_signed(zero)}) * {scale}")


def _signed(number: int) -> str:
    return f"({number})" if number < 0 else str(number)


def _lookup(call: Call, planned: Plan, target: Target) -> Kernel:
    table = call.arguments[1]
    kernel = _mapped(call, [call.arguments[0]], lambda writer, parts: f"{name_of(table)}[{parts[0]} + {-LEAST}]")
    kernel.reads.append(table)
    return kernel


def _add(call: Call, planned: Plan, target: Target) -> Kernel:
    options = call.options
    zeros, multipliers, shift = options["zeros"], options["multipliers"], options["shift"]

    def text(writer: Writer, parts: list[str]) -> str:
        _needs(writer, "clamp_int8")
        terms = [
            f"({part} - {_signed(zero)}) * {_signed(by)}"
            for part, zero, by in zip(parts, zeros, multipliers, strict=True)
        ]
        total = f"(({' + '.join(terms)} + {1 << (shift - 1)}) >> {shift}) + {_signed(options['out_zero'])}"
        return f"clamp_int8({total}, {LEAST}, {MOST})"

    return _mapped(call, list(call.arguments), text)


def _multiply(call: Call, planned: Plan, target: Target) -> Kernel:
    options = call.options
    zeros = options["zeros"]

    def text(writer: Writer, parts: list[str]) -> str:
        _needs(writer, "clamp_int8", "scale_int64")
        total = f"({parts[0]} - {_signed(zeros[0])}) * ({parts[1]} - {_signed(zeros[1])})"
        scaled = f"scale_int64({total}, {options['multiplier']}, {options['shift']})"
        return f"clamp_int8({scaled} + {_signed(options['out_zero'])}, {LEAST}, {MOST})"

    return _mapped(call, list(call.arguments), text)


class _IntegerNest(Nest):
    """A product of int8 values in int32, each output rescaled."""

    def prepare(self, call: Call, constants: list[Access | Literal]) -> None:
        """Take the zero points, bounds, and the constants along the outputs."""
        self.options = call.options
        self.constants = constants
        _needs(self.writer, "clamp_int8", "scale_int64")

    def factor(self, factor: Access | Literal, names: list[str]) -> str:
        text = super().factor(factor, names)
        zero = self.options["zero"]
        return f"({text} - {_signed(zero)})" if factor is self.factors[0] and zero else text

    def plus(self, target: str, left: str, right: str) -> str:
        return f"{target} += {left} * {right};"

    def stored_text(self, names: list[str], total: str) -> str:
        bias, multiplier, shift = (super(_IntegerNest, self).factor(each, names) for each in self.constants)
        scaled = f"scale_int64({total} + {bias}, {multiplier}, {shift}) + {_signed(self.options['out_zero'])}"
        return f"clamp_int8({scaled}, {self.options['low']}, {self.options['high']})"


def _product(call: Call, planned: Plan, target: Target) -> Kernel:
    x, weight = call.arguments[:2]
    windows = {name: each for name, each in call.options.items() if name in ("stride", "padding", "dilation", "groups")}
    plain = Call(call.options["of"], (x, weight), windows, call.results, call.origin)
    product: Product = product_of(plain)
    result = call.results[0]
    axis = 1 if plain.function == "conv" else len(result.shape) - 1
    written = output(result)
    along: list[Access | Literal] = []
    for each in call.arguments[2:]:
        found = access(each, each.shape)
        if isinstance(found, Access):
            found.strides = tuple(1 if at == axis else 0 for at in range(len(result.shape)))
        along.append(found)
    places = [written, *(each for each in along if isinstance(each, Access))]
    spread_channels(plain, product, places)
    nest = _IntegerNest(product, Literal(0, result.dtype), written, places[1:], target, "int32")
    nest.prepare(call, along)
    count = product.count
    nest.write()
    read = [each.value for each in (*nest.factors, *along) if isinstance(each, Access)]
    return finished(call, nest.writer, read, products=count)


KERNELS = {
    "int8.quantize": _quantize, "int8.dequantize": _dequantize, "int8.lookup": _lookup, "int8.add": _add,
    "int8.multiply": _multiply, "int8.product": _product,
}  # fmt: skip
