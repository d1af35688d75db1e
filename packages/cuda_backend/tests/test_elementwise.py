"""What is particular to the elementwise kernels; the top-level tests compare every op of the table with NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DTYPES, SHAPES, operands

LENGTHS = [1, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 5000]
"""Around a block's width, and around the elements that a block takes at once."""


@pytest.mark.parametrize("length", LENGTHS)
def test_every_element_is_done_once(device: str, grid: int, schedule: str, length: int) -> None:
    for dtype in (np.int32, np.uint8):  # a block takes twice as many narrow ones
        x = np.arange(length).astype(dtype)
        assert_same(nd.asarray(x, device=device) + 1, x + dtype(1))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("step", [-3, -1, 2])
def test_steps(device: str, grid: int, length: int, step: int) -> None:
    x = np.arange(3 * length, dtype=np.float32)
    on_device = nd.asarray(x, device=device)
    assert_same(on_device[::step] * on_device[::-step], x[::step] * x[::-step])


def test_writing_through_views(device: str, grid: int, schedule: str) -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    on_device = nd.asarray(x, device=device, copy=True)
    on_device[::-1, 1:, ::2] += 100.0
    x[::-1, 1:, ::2] += 100.0
    assert_same(on_device, x)


@pytest.mark.parametrize("ndim", [5, 8, 9, 16])
def test_many_dimensions_that_do_not_merge(device: str, grid: int, ndim: int) -> None:
    x = np.arange(2**ndim, dtype=np.int64).reshape((2,) * ndim)
    axes = (*range(ndim - 1, -1, -2), *range(ndim - 2, -1, -2))
    on_device = nd.asarray(x, device=device)
    assert_same(on_device + nd.permute_dims(on_device, axes), x + x.transpose(axes))


def test_as_many_dimensions_as_an_array_has(device: str) -> None:
    shape = (2,) + (1,) * 29 + (3, 2)
    x = np.arange(12.0).reshape(shape)
    assert_same(-nd.asarray(x, device=device), -x)


def test_an_operand_may_be_the_output(device: str, grid: int) -> None:
    x = np.arange(3000, dtype=np.float32)
    on_device = nd.asarray(x, device=device, copy=True)
    nd.multiply(on_device, on_device, out=on_device)
    assert_same(on_device, x * x)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), source=st.sampled_from(DTYPES), target=st.sampled_from(DTYPES))
def test_conversions(data: st.DataObject, source: str, target: str) -> None:
    # what C leaves undefined is not asked for: floats are whole numbers that fit the target
    def fits(value: float) -> bool:
        return bool(np.isfinite(value)) and abs(value) <= 100

    low = -100 if np.dtype(target).kind in "if" else 0
    operand = data.draw(operands(source, data.draw(SHAPES), (low, 100), fits if np.dtype(source).kind == "f" else bool))
    x = operand.numpy()
    if np.dtype(source).kind == "f":
        x = np.trunc(np.clip(x, low, 100)) if np.dtype(target).kind != "f" else x
        on_device = nd.asarray(x, device="cuda_emulated")
    else:
        on_device = operand.array("cuda_emulated")
    assert_same(on_device.astype(target), x.astype(target))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill(device: str, grid: int, dtype: str) -> None:
    largest = 1 if dtype == "bool" else np.finfo(dtype).max if dtype[0] == "f" else np.iinfo(dtype).max
    for value in (0, 1, largest):
        assert_same(
            nd.full((3, 700), np.dtype(dtype).type(value).item(), dtype=dtype, device=device),
            np.full((3, 700), value, dtype),
        )


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_arange(device: str, grid: int, dtype: str) -> None:
    assert_same(nd.arange(3, 100, 7, dtype=dtype, device=device), np.arange(3, 100, 7, dtype=dtype))


def test_arange_rounds_once(device: str) -> None:
    expected = (1.0 + np.arange(3000) * 0.1).astype(np.float32)
    assert_same(nd.arange(1.0, 301.0, 0.1, dtype="float32", device=device), expected)


@pytest.mark.parametrize("ndim", [9, 12, 32])
def test_more_than_eight_axes(device: str, ndim: int) -> None:
    """Views that no axis of which merges with its neighbour."""
    shape = (2, 1, 3, *[1] * (ndim - 7), 2, 3, 2, 2)
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    axes = tuple(range(ndim))[::-1]
    there, here = nd.permute_dims(nd.asarray(x, device=device), axes), x.transpose(axes)
    assert_same(there + nd.asarray(here.copy(), device=device), here + here)
    assert_same(nd.sum(there, axis=(0, ndim - 1)), here.sum(axis=(0, ndim - 1)))
    assert_same(nd.cumsum(there, axis=0), here.cumsum(axis=0))
    assert_same(nd.sort(there, axis=0), np.sort(here, axis=0))
    assert_same(nd.exp(there * 0), np.ones_like(here))
