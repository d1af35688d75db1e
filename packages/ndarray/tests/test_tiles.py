"""Operands that lie across each other are walked in tiles; large outputs go past the caches."""

import itertools
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

DTYPES = ["bool", "int8", "uint16", "float32", "int64", "float64"]
SHAPES = [(4, 4), (5, 67), (64, 64), (67, 131), (257, 3), (3, 1030), (131, 261)]


def numbers(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    """Small integers, exact in every dtype."""
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transposed_copies(dtype: str, shape: tuple[int, int]) -> None:
    values = numbers(shape, dtype)
    x = nd.asarray(values)
    for view, expected in ((x.T, values.T), (x.T[::-1], values.T[::-1]), (x[:, ::-1].T, values[:, ::-1].T)):
        np.testing.assert_array_equal(nd.copy(view).numpy(), expected)
    np.testing.assert_array_equal(nd.copy(x[::2, ::3].T).numpy(), values[::2, ::3].T)


@pytest.mark.parametrize("shape", [(5, 7, 70), (4, 65, 33), (2, 3, 66, 67), (6, 5, 4, 9)], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_permuted_axes(shape: tuple[int, ...], dtype: str) -> None:
    values = numbers(shape, dtype)
    x = nd.asarray(values)
    for axes in itertools.permutations(range(len(shape))):
        expected = values.transpose(axes)
        np.testing.assert_array_equal(nd.copy(nd.permute_dims(x, axes)).numpy(), expected)
        other = numbers(expected.shape, dtype, 1)
        np.testing.assert_array_equal((nd.permute_dims(x, axes) + nd.asarray(other)).numpy(), expected + other)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_mixed_layouts(shape: tuple[int, int]) -> None:
    a, b, c = numbers(shape), numbers(shape[::-1], seed=1), numbers(shape, seed=2)
    x, y, z = nd.asarray(a), nd.asarray(b), nd.asarray(c)
    np.testing.assert_array_equal((x - y.T).numpy(), a - b.T)
    np.testing.assert_array_equal((y.T - x).numpy(), b.T - a)
    np.testing.assert_array_equal((x.T - z.T).numpy(), (a - c).T)
    np.testing.assert_array_equal((x > y.T).numpy(), a > b.T)
    np.testing.assert_array_equal(nd.negative(x.T).numpy(), -a.T)
    np.testing.assert_array_equal((x.T - y[0]).numpy() if shape[0] == y.shape[1] else a.T - b[0], a.T - b[0])
    np.testing.assert_array_equal((x.T - y[:, :1]).numpy(), a.T - b[:, :1])
    np.testing.assert_array_equal(x.T.astype("int16").numpy(), a.T.astype("int16"))
    np.testing.assert_array_equal(nd.where(y.T > 50, x, z).numpy(), np.where(b.T > 50, a, c))
    np.testing.assert_array_equal(nd.where(x > 50, x, y.T).numpy(), np.where(a > 50, a, b.T))
    np.testing.assert_array_equal(nd.where(y > 50, x.T, z.T).numpy(), np.where(b > 50, a.T, c.T))
    np.testing.assert_array_equal(nd.clip(x.T, 10, 50).numpy(), a.T.clip(10, 50))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_that_lie_across(shape: tuple[int, int]) -> None:
    a, b = numbers(shape), numbers(shape[::-1], seed=1)
    x, y = nd.asarray(a.copy()), nd.asarray(b)
    out = nd.zeros(shape)
    nd.add(x.T, y, out=out.T)
    np.testing.assert_array_equal(out.numpy(), (a.T + b).T)
    wide = nd.full((2 * shape[0], 3 * shape[1]), -1.0)
    wide[::2, 2::3] = y.T
    np.testing.assert_array_equal(wide.numpy()[::2, 2::3], b.T)
    assert (wide == -1.0).sum().item() == wide.size - x.size
    x.T[...] += y
    np.testing.assert_array_equal(x.numpy(), a + b.T)


def test_in_place_with_itself_transposed() -> None:
    values = numbers((130, 130))
    x = nd.asarray(values.copy())
    x += x.T
    np.testing.assert_array_equal(x.numpy(), values + values.T)
    x[...] = x.T[::-1]
    np.testing.assert_array_equal(x.numpy(), (values + values.T).T[::-1])


@pytest.mark.parametrize("start", [0, 1, 5])
def test_outputs_larger_than_the_caches(start: int) -> None:
    """From any alignment, with and without an operand written over."""
    size = (4 << 20) + 77
    values = numbers((size,))
    x = nd.asarray(values.copy())
    whole = nd.full((size + 16,), -1.0)
    out = whole[start : start + size]
    nd.multiply(x, 3.0, out=out)
    np.testing.assert_array_equal(out.numpy(), values * 3)
    assert (whole == -1.0).sum().item() == 16
    np.testing.assert_array_equal((x[start:] + x[: size - start]).numpy(), values[start:] + values[: size - start])
    x += x
    np.testing.assert_array_equal(x.numpy(), values * 2)


def test_large_outputs_with_odd_rows() -> None:
    values = numbers((2051, 1037))
    x = nd.asarray(values)
    np.testing.assert_array_equal(nd.copy(x.T).numpy(), values.T)
    np.testing.assert_array_equal((x.T + values[:, 0].tolist()[0]).numpy(), values.T + values[0, 0])
    np.testing.assert_array_equal(x.T.astype("float64").numpy(), values.T.astype("float64"))
    square = x[:1037]
    np.testing.assert_array_equal((square + square.T).numpy(), values[:1037] + values[:1037].T)
