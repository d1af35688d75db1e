"""Sorting at the edges of tiles and of merged runs; expected places are NumPy's stable argsort."""

import numpy as np
import pytest

import treadle.ndarray as nd
from comparison import assert_same

LENGTHS = [1, 2, 3, 33, 1000, 1024, 1025, 2049, 5000]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "uint64", "float16", "float32", "float64"])
def test_every_length(device: str, schedule: str, length: int, dtype: str) -> None:
    generator = np.random.default_rng(length)
    x = (generator.normal(size=(3, length)) * 30).astype(dtype)
    places = np.argsort(x, axis=1, kind="stable")
    there = nd.asarray(x, device=device)
    assert_same(nd.argsort(there), places)
    assert_same(nd.sort(there), np.take_along_axis(x, places, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_nan_comes_last_and_zeros_are_equal(device: str, grid: int, dtype: str, descending: bool) -> None:
    x = np.array([0.0, np.nan, -0.0, np.inf, -np.inf, 0.0, -np.nan, 1.0, -0.0], dtype)
    places = nd.argsort(nd.asarray(x, device=device), descending=descending)
    expected = [3, 7, 0, 2, 5, 8, 4, 1, 6] if descending else [4, 0, 2, 5, 8, 7, 3, 1, 6]
    assert places.tolist() == expected


def test_descending_keeps_the_order_of_equals(device: str) -> None:
    x = np.tile(np.arange(4), 400)
    expected = np.argsort(-x, kind="stable")
    assert_same(nd.argsort(nd.asarray(x, device=device), descending=True), expected)
    smallest = np.array([0, np.iinfo(np.int64).min, np.iinfo(np.int64).max, -1])
    assert_same(nd.sort(nd.asarray(smallest, device=device), descending=True), np.sort(smallest)[::-1].copy())


def test_along_other_axes_and_reversed_views(device: str, grid: int) -> None:
    x = np.random.default_rng(0).integers(0, 9, (5, 40, 3)).astype(np.float32)
    there = nd.asarray(x, device=device)
    for axis in range(3):
        view, viewed = there[::-1, ::2, ::-1], x[::-1, ::2, ::-1]
        assert_same(nd.argsort(view, axis=axis), np.argsort(viewed, axis=axis, kind="stable"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_sums_in_one_place_have_the_same_bits_in_every_order_of_threads(device: str, dtype: str) -> None:
    from treadle.cuda import _emulated

    values = nd.random.Generator(1).normal(0.0, 1.0, (3000,)).astype(dtype).to_device(device)
    places = nd.asarray(np.random.default_rng(0).integers(0, 5, 3000), device=device)
    found = []
    for order in ("forward", "reversed"):
        _emulated.set_schedule(order)
        found.append(nd.scatter_add(nd.zeros((5,), dtype=dtype, device=device), places, values).tolist())
    _emulated.set_schedule("forward")
    assert found[0] == found[1]
