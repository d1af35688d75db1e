"""Gather, scatter and nonzero."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", ["x", "x[::-1, :, ::-2]", "x.T"])
def test_gather(device: str, grid: int, dtype: str, view: str) -> None:
    x = np.arange(5 * 6 * 8).reshape(5, 6, 8).astype(dtype)
    generator = np.random.default_rng(0)
    viewed, on_device = eval(view), eval(view, {"x": nd.asarray(x, device=device)})
    first = generator.integers(-viewed.shape[0], viewed.shape[0], (4, 9))
    second = generator.integers(0, viewed.shape[1], (4, 9))
    i, j = nd.asarray(first, device=device), nd.asarray(second, device=device)
    assert_same(on_device[i], viewed[first])
    assert_same(on_device[i, j], viewed[first, second])
    assert_same(on_device[i.T, j.T], viewed[first.T, second.T])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_of_repeated_assignments_wins(device: str, grid: int, schedule: str, dtype: str) -> None:
    generator = np.random.default_rng(0)
    x = np.zeros((7, 3), dtype)
    indices = generator.integers(0, 7, 2000)
    values = generator.integers(0, 2 if dtype == "bool" else 100, (2000, 3)).astype(dtype)
    on_device = nd.asarray(x, device=device, copy=True)
    on_device[nd.asarray(indices, device=device)] = nd.asarray(values, device=device)
    x[indices] = values
    assert_same(on_device, x)


def test_assignment_through_a_reversed_view(device: str, schedule: str) -> None:
    x = np.zeros((4, 5))
    on_device = nd.asarray(x, device=device, copy=True)
    rows, columns = np.array([0, 1, 0, 3, 0]), np.array([1, 1, 1, 4, 2])
    on_device[::-1][nd.asarray(rows, device=device), nd.asarray(columns, device=device)] = nd.arange(5.0, device=device)
    x[::-1][rows, columns] = np.arange(5.0)
    assert_same(on_device.astype("float64"), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 3])
def test_every_repetition_is_added(device: str, grid: int, dtype: str, columns: int) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2, (7, columns)).astype(dtype)
    indices = generator.integers(0, 7, 300)
    values = generator.integers(0, 2 if dtype == "bool" else 50, (300, columns)).astype(dtype)
    expected = x.copy()
    np.add.at(expected, indices, values)
    got = nd.scatter_add(
        nd.asarray(x, device=device), nd.asarray(indices, device=device), nd.asarray(values, device=device)
    )
    assert_same(got, expected)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_nonzero(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=4)))
    x = np.random.default_rng(data.draw(st.integers(0, 1000))).random(shape) < data.draw(st.floats(0, 1))
    on_device = nd.asarray(x, device="cuda_emulated")
    for got, expected in zip(nd.nonzero(on_device.T), np.nonzero(x.T), strict=True):
        assert_same(got, expected)


@pytest.mark.parametrize("length", [31, 32, 33, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_nonzero_over_chunks(device: str, grid: int, schedule: str, length: int, density: float) -> None:
    x = np.random.default_rng(0).random((length, 2)) < density
    got = nd.nonzero(nd.asarray(x, device=device))
    for axis, expected in enumerate(np.nonzero(x)):
        assert_same(got[axis], expected)
