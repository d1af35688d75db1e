"""Comparisons of integers that no common dtype holds: signed with uint64, and with Python ints out of range.

Expected values are Python's, whose ints are exact.
"""

import operator
from typing import Any

import pytest

import treadle.ndarray as nd
from strategies import DEVICES

SIGNED = ("int8", "int16", "int32", "int64")
COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
WIDE = [0, 1, 127, 2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 128]

each_device = pytest.mark.parametrize("device", DEVICES)
each_comparison = pytest.mark.parametrize("name", COMPARISONS)


def narrow(dtype: str) -> list[int]:
    limits = nd.iinfo(dtype)
    return [each for each in (limits.min, -1, 0, 1, 127, 2**53 + 1, 2**60, 2**60 + 1, limits.max) if each <= limits.max]


@each_device
@each_comparison
@pytest.mark.parametrize("dtype", SIGNED)
def test_signed_with_uint64(name: str, dtype: str, device: str) -> None:
    left = nd.asarray(narrow(dtype), dtype=dtype, device=device)[:, None]
    right = nd.asarray(WIDE, dtype="uint64", device=device)
    function, compare = getattr(nd, name), COMPARISONS[name]
    expected = [[compare(x, y) for y in WIDE] for x in narrow(dtype)]
    assert function(left, right).tolist() == expected
    assert compare(left, right).tolist() == expected
    mirrored = [[compare(y, x) for y in WIDE] for x in narrow(dtype)]
    assert function(right, left).tolist() == mirrored
    assert function(right[::-1], left[::-1]).tolist() == [row[::-1] for row in mirrored[::-1]]
    out = nd.zeros(left.shape[:1] + right.shape, dtype="bool", device=device)
    assert function(left, right, out=out) is out
    assert out.tolist() == expected


@each_device
@each_comparison
@pytest.mark.parametrize("dtype", [*SIGNED, "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("scalar", [-1, 300, 2**60 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**30)])
def test_python_ints_of_any_size(name: str, dtype: str, device: str, scalar: int) -> None:
    limits, compare = nd.iinfo(dtype), COMPARISONS[name]
    numbers = sorted({limits.min, 0, 1, min(limits.max, 2**60), limits.max})
    x = nd.asarray(numbers, dtype=dtype, device=device)
    left: Any = compare(x, scalar)
    right: Any = compare(scalar, x)
    assert left.tolist() == [compare(each, scalar) for each in numbers]
    assert right.tolist() == [compare(scalar, each) for each in numbers]


@each_device
def test_neighbours_that_float64_takes_for_one(device: str) -> None:
    x = nd.asarray([2**60 + 1], dtype="uint64", device=device)
    assert (x == nd.asarray([2**60], device=device)).tolist() == [False]
    assert (x > nd.asarray(2**60, device=device)).tolist() == [True]
