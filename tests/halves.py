"""float16 and bfloat16 in tests: values on their grids held as float64, which is exact, and operands made of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import treadle.ndarray as nd
from strategies import Operand, operands

DIGITS = {"float16": 11, "bfloat16": 8}
LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest positive numbers."""
LARGEST = {"float16": 65504.0, "bfloat16": (2.0 - 2.0**-7) * 2.0**127}


def spacing(x: Any, dtype: str) -> Any:
    """The distance between neighbours of the format around x."""
    _, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 1.0))
    return np.maximum(np.ldexp(1.0, exponent - DIGITS[dtype]), LEAST[dtype])


def rounded(x: Any, dtype: str) -> Any:
    """The nearest numbers of the format, ties to even (IEEE 754-2019, 4.3.1), as float64: a division by a power of two,
    a rounding to whole numbers and a multiplication."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        unit = spacing(x, dtype)
        near = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
        near = np.where(np.abs(near) > LARGEST[dtype], np.copysign(np.inf, near), near)
    return np.where(np.isnan(x), x, np.copysign(near, x))


def every_number(dtype: str) -> Any:
    """All 65536 patterns of bits, as float64, with every NaN quiet."""
    bits = np.arange(1 << 16, dtype=np.uint32)
    infinity, quiet = (0x7F80, 0x40) if dtype == "bfloat16" else (0x7C00, 0x200)
    bits |= np.where(bits & 0x7FFF > infinity, quiet, 0).astype(np.uint32)
    if dtype == "bfloat16":
        return (bits << 16).view(np.float32).astype(np.float64)
    return bits.astype(np.uint16).view(np.float16).astype(np.float64)


def values(x: nd.NDArray) -> Any:
    """The elements of a half array, as float64."""
    return x.to_device("cpu").astype("float64").numpy()


@dataclass(frozen=True)
class HalfOperand(Operand):
    """``base`` holds the values as float64."""

    dtype: str = "float16"

    def array(self, device: str) -> nd.NDArray:
        made = nd.asarray(self.base, device="cpu").astype(self.dtype).to_device(device)
        array: nd.NDArray = self._viewed(nd, made)
        return array

    def code(self, device: str) -> str:
        return Operand(self.base, self.views).code(device) + f".astype({self.dtype!r})"


@st.composite
def half_operands(
    draw: st.DrawFn, dtype: str, shape: tuple[int, ...], domain: tuple[float, float], *, whole_range: bool = True
) -> HalfOperand:
    """Numbers of the domain, or any bits at all, in a drawn layout."""
    if whole_range and draw(st.booleans()):
        drawn = draw(operands("uint16", shape, (0, 65535)))
        return HalfOperand(every_number(dtype)[drawn.base.astype(int)], drawn.views, dtype)
    drawn = draw(operands("float32", shape, domain, lambda value: whole_range or value in (0, 1, -1)))
    return HalfOperand(rounded(drawn.base, dtype), drawn.views, dtype)


def assert_half(actual: nd.NDArray, expected: Any, dtype: str, ulps: float = 0, slack: Any = 0.0) -> None:
    """``actual`` holds the rounded ``expected`` (float64), within units in the last place of the format.

    Infinities, NaN and, for exact results, the sign of zeros agree."""
    assert actual.dtype == dtype
    assert actual.shape == expected.shape
    found, wanted = values(actual), rounded(expected, dtype)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= ulps * spacing(wanted, dtype) + slack
        near |= (np.abs(found - expected) <= ulps * spacing(expected, dtype) + slack) & np.isfinite(found)
        edge = ulps * spacing(LARGEST[dtype], dtype)  # one of the two may just have overflowed
        near |= (np.abs(found) >= LARGEST[dtype] - edge) & (np.abs(wanted) >= LARGEST[dtype] - edge) & (ulps > 0)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | near
    assert same.all(), f"{found!r}, expected {wanted!r} within {ulps} ulp of {dtype}"
    if ulps == 0:
        zeros = (found == 0) & (wanted == 0)
        assert np.array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros])), f"sign of zero in {found!r}"
