"""ONNX's elements of 8 bits and fewer that treadle has no dtype for, held exactly in a wider one and rounded to.

4- and 2-bit integers are held in int8 and uint8, 8- and 4-bit floats in float32.
Sources: ONNX, technical details on float stored in 8 bits and in 4 bits; OCP Microscaling Formats (MX) 1.0, section 5.
"""

import math
from dataclasses import dataclass

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.ndarray import DType

__all__ = ["FLOATS", "INTEGERS", "bytes_of", "held_in", "narrowed"]


@dataclass(frozen=True, slots=True)
class Float:
    """A format: bits of the fraction, the exponent of the smallest normal number, the largest one, what is beyond."""

    fraction: int
    least: int
    most: float
    beyond: float = math.nan


INTEGERS = {21: (0, 15), 22: (-8, 7), 25: (0, 3), 26: (-2, 1)}
"""The least and the largest of uint4, int4, uint2 and int2, by the number in ``TensorProto.DataType``."""

FLOATS = {
    17: Float(3, -6, 448.0), 18: Float(3, -7, 240.0), 19: Float(2, -14, 57344.0, math.inf),
    20: Float(2, -15, 57344.0), 23: Float(1, 0, 6.0), 24: Float(0, -127, 2.0**127),
}  # fmt: skip
"""float8e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, float4e2m1 and float8e8m0."""

_FOUR_BITS = 23  # float4e2m1, which has neither infinity nor NaN: onnx's reference makes -0 of NaN
_POWERS = 24  # float8e8m0, which has powers of two only


def held_in(number: int) -> DType | None:
    """The dtype that holds such elements; None for other numbers."""
    if number in INTEGERS:
        return nd.int8 if INTEGERS[number][0] else nd.uint8
    return nd.float32 if number in FLOATS else None


def bytes_of(number: int, count: int) -> int:
    """How many bytes so many elements take in a file, several in one byte."""
    bits = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}.get(number, 8)
    return -(-count * bits // 8)


def narrowed(x: Tensor, number: int, saturate: bool = True, rounding: str = "up") -> Tensor:
    """The elements rounded to a narrow type, in the dtype that holds it.

    Floats are rounded to the nearest, ties to even; beyond the largest comes the largest, or without ``saturate``
    infinity or NaN. Integers keep their low bits.
    """
    if number in INTEGERS:
        low, high = INTEGERS[number]
        whole = F.astype(x, nd.int64)
        return F.astype(F.remainder(whole - low, high - low + 1) + low, nd.int8 if low else nd.uint8)
    wide = F.astype(x, nd.float32)
    if number == _POWERS:
        return _power(wide, saturate, rounding)
    kind = FLOATS[number]
    size = F.abs(wide)
    step = F.exp2(F.maximum(_exponent(size), float(kind.least)) - kind.fraction)
    rounded = F.round(wide / step) * step
    bounded = F.copysign(F.minimum(F.abs(rounded), kind.most), wide)
    if not saturate and number != _FOUR_BITS:
        beyond = F.copysign(F.full_like(wide, kind.beyond), wide)
        bounded = F.where(F.abs(rounded) > kind.most, beyond, bounded)
        bounded = F.where(F.isinf(wide), beyond, bounded)
    else:
        bounded = F.where(F.isinf(wide), F.copysign(F.full_like(wide, kind.most), wide), bounded)
    return F.where(F.isnan(wide), -0.0 if number == _FOUR_BITS else wide, bounded)


def _exponent(size: Tensor) -> Tensor:
    """floor(log2), corrected where the logarithm is rounded over a whole number."""
    tame = F.where(F.logical_and(F.isfinite(size), size > 0), size, 1.0)
    found = F.floor(F.log2(tame))
    found = F.where(F.exp2(found) > tame, found - 1.0, found)
    return F.where(F.exp2(found + 1.0) <= tame, found + 1.0, found)


def _power(x: Tensor, saturate: bool, rounding: str) -> Tensor:
    """A power of two: the next one ``up`` or ``down``, or the ``nearest``; NaN below 0."""
    low = F.maximum(_exponent(x), -127.0)
    power = F.exp2(low)
    raised = {"up": x > power, "down": x < 0.0, "nearest": x >= 1.5 * power}[rounding]
    found = F.where(raised, power * 2.0, power)
    top = FLOATS[_POWERS].most
    found = F.where(found > top, top if saturate else math.nan, found)
    found = F.where(x == 0.0, 2.0**-127, found)
    found = F.where(F.isinf(x), top if saturate else math.nan, found)
    return F.where(F.logical_or(F.isnan(x), x < 0.0), math.nan, found)
