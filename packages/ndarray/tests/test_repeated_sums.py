"""scatter_add into few places many times, and in every layout: sums in float64, seldom rounded.

Expected values are NumPy's ``add.at`` on float64, or exact.
"""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from strategies import DEVICES

MANY = 1 << 20

each_device = pytest.mark.parametrize("device", DEVICES)


@each_device
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_tenths_into_one_place(dtype: str, device: str) -> None:
    count = MANY if dtype[-2:] in ("32", "64") else 1 << 12
    count = min(count, 1 << 17) if device == "cuda_emulated" else count  # of float32 rounded each time 0.1 % is lost
    values = nd.full((count,), 0.1, dtype=dtype, device=device)
    indices = nd.full((count,), 1, dtype="int64", device=device)
    result = nd.scatter_add(nd.zeros((3,), dtype=dtype, device=device), indices, values)
    exact = complex(values[0].item()).real * count
    bound = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 3e-5, "complex64": 3e-5}.get(dtype, 1e-10)
    assert complex(result[1].item()).real == pytest.approx(exact, rel=1.01 * bound)
    assert [complex(result[at].item()) for at in (0, 2)] == [0, 0]


@each_device
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int32", "bool"])
@pytest.mark.parametrize("layout", ["rows", "columns", "both", "reversed", "pairs"])
def test_layouts(dtype: str, layout: str, device: str) -> None:
    rng = np.random.default_rng(5)
    start = rng.integers(-8, 9, (7, 11)).astype(np.float64)
    places = rng.integers(-7, 7, (40,))
    amounts = rng.integers(-8, 9, (40, 11)).astype(np.float64)
    if dtype == "bool":
        start, amounts = np.abs(start) > 4, np.abs(amounts) > 6
    x = nd.asarray(start, device=device).astype(dtype)
    values = nd.asarray(amounts, device=device).astype(dtype)
    expected = start.copy()
    if layout == "columns":
        x, expected = x.T.copy().T, expected
    if layout == "reversed":
        x, expected = x[::-1, ::-1], expected[::-1, ::-1].copy()
    at: Any = nd.asarray(places, device=device)
    if layout == "both":
        np.add.at(expected.T, places, amounts[:, :7])
        result = nd.scatter_add(x, at, values[:, :7].T, axis=1)
    elif layout == "pairs":
        np.add.at(expected, (places, places - 2), amounts[:, 0])
        result = nd.scatter_add(x, (at, at - 2), values[:, 0])
    else:
        np.add.at(expected, places, amounts)
        result = nd.scatter_add(x, at, values)
    np.testing.assert_array_equal(np.asarray(result.tolist()), expected)


@each_device
def test_places_without_updates_keep_their_bits(device: str) -> None:
    x = nd.asarray([-0.0, float("nan"), 5.0, -0.0], device=device)
    result = nd.scatter_add(x, nd.asarray([2, 3, 2], device=device), nd.asarray([1.0, -0.0, 2.0], device=device))
    assert np.asarray(result.tolist(), np.float32).tobytes() == np.asarray([-0.0, np.nan, 8.0, -0.0], "f").tobytes()


def test_infinities_meet() -> None:
    x = nd.scatter_add(nd.zeros(2), nd.asarray([0, 0, 1]), nd.asarray([float("inf"), float("-inf"), float("inf")]))
    assert np.isnan(x[0].item())
    assert x[1].item() == float("inf")


@each_device
def test_no_updates_and_empty_rows(device: str) -> None:
    x = nd.ones((3, 2), device=device)
    none = nd.zeros((0,), dtype="int64", device=device)
    assert nd.scatter_add(x, none, nd.zeros((0, 2), device=device)).tolist() == x.tolist()
    empty = nd.zeros((3, 0), device=device)
    indices = nd.asarray([0, 0], device=device)
    assert nd.scatter_add(empty, indices, nd.zeros((2, 0), device=device)).shape == (3, 0)


def test_the_sum_may_exceed_float32_on_its_way() -> None:
    largest = 3e38
    values = nd.asarray([largest, largest, -largest])
    assert nd.scatter_add(nd.zeros(1), nd.asarray([0, 0, 0]), values).tolist() == [nd.asarray(largest).item()]
