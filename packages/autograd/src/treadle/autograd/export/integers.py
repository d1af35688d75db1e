"""Integer-only arithmetic of quantised values, as array functions: what the C does, bit for bit.

A quantised array holds q for the real number scale * (q - zero). Sums are exact in int32. A real factor between scales
is an int32 multiplier m and a shift s for m * 2^-s, applied in int64 and rounded half up.

Source: B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
(2018), section 2; the rounding is simpler than there.
"""

import math
from typing import Any

import treadle.ndarray as nd
from treadle.ndarray import NDArray

__all__ = ["INTEGER_FUNCTIONS", "LEAST", "MOST", "factor"]

LEAST, MOST = -128, 127


def factor(number: float, bits: int = 31) -> tuple[int, int]:
    """The multiplier, below 2^bits, and the shift for a positive real factor. A factor below 2^-31 counts as 0.

    Raises ValueError for a factor that is too large for any.

    >>> factor(0.75, bits=4)
    (12, 4)
    """
    mantissa, exponent = math.frexp(number) if math.isfinite(number) else (1.0, 2**10)
    multiplier = round(mantissa * 2**bits)
    if multiplier == 2**bits:
        multiplier, exponent = multiplier // 2, exponent + 1
    shift = bits - exponent
    if shift > 62:
        return 0, bits
    if shift < 1:
        raise ValueError(f"a factor of {number} between two scales is too large")
    return multiplier, shift


def scaled(total: NDArray, multiplier: NDArray, shift: NDArray) -> NDArray:
    """total * multiplier / 2^shift in int64, rounded half up, for int32 totals."""
    wide = total.astype("int64") * multiplier.astype("int64")
    half = nd.bitwise_left_shift(nd.ones_like(wide), shift.astype("int64") - 1)
    return nd.bitwise_right_shift(wide + half, shift.astype("int64"))


def clamped(values: NDArray, low: int, high: int) -> NDArray:
    """Cut to [low, high], as int8."""
    return nd.clip(values, low, high).astype("int8")


def quantize(x: NDArray, /, *, scale: float, zero: int) -> NDArray:
    """x / scale + zero, to the nearest, as int8. The division is a multiplication by the reciprocal in float32."""
    return clamped(nd.round(x * (1.0 / scale)) + float(zero), LEAST, MOST)


def dequantize(q: NDArray, /, *, scale: float, zero: int) -> NDArray:
    """scale * (q - zero) in float32."""
    return (q.astype("int32") - zero).astype("float32") * scale


def product(
    q: NDArray, weight: NDArray, bias: NDArray, multiplier: NDArray, shift: NDArray, /, *, of: str, zero: int,
    out_zero: int, low: int, high: int, **windows: Any,
) -> NDArray:  # fmt: skip
    """A convolution or matrix product of quantised values, rescaled to the result's scale and cut to [low, high]."""
    x, w = q.astype("int32") - zero, weight.astype("int32")
    total = nd.conv(x, w, **windows) if of == "conv" else nd.matmul(x, w)
    shape = (-1, *(1,) * (total.ndim - 2)) if of == "conv" else (-1,)
    each = [array.reshape(shape) for array in (bias, multiplier, shift)]
    return clamped(scaled(total + each[0], each[1], each[2]) + out_zero, low, high)


def lookup(q: NDArray, table: NDArray, /) -> NDArray:
    """A function of one quantised value, by a table of its 256 results."""
    return nd.take(table, q.astype("int32") - LEAST, axis=0)


def add(
    a: NDArray, b: NDArray, /, *, zeros: tuple[int, int], multipliers: tuple[int, int], shift: int, out_zero: int
) -> NDArray:
    """The sum of two quantised values of different scales."""
    first = (a.astype("int32") - zeros[0]) * multipliers[0]
    second = (b.astype("int32") - zeros[1]) * multipliers[1]
    total = first + second + (1 << (shift - 1))
    return clamped(nd.bitwise_right_shift(total, nd.asarray(shift, dtype="int32")) + out_zero, LEAST, MOST)


def multiply(
    a: NDArray, b: NDArray, /, *, zeros: tuple[int, int], multiplier: int, shift: int, out_zero: int
) -> NDArray:
    """The product, element by element, of two quantised values."""
    total = (a.astype("int32") - zeros[0]) * (b.astype("int32") - zeros[1])
    one = nd.asarray(multiplier, dtype="int64"), nd.asarray(shift, dtype="int64")
    return clamped(scaled(total, *one) + out_zero, LEAST, MOST)


INTEGER_FUNCTIONS: dict[str, Any] = {
    "int8.quantize": quantize, "int8.dequantize": dequantize, "int8.product": product, "int8.lookup": lookup,
    "int8.add": add, "int8.multiply": multiply,
}  # fmt: skip
"""By the names that calls of a quantised program have."""
