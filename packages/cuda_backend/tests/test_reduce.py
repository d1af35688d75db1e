"""Reductions, index reductions and scans: long lines, many lines, either direction in memory, parts, NaN."""

import numpy as np
import pytest

import treadle.ndarray as nd
from comparison import assert_same

SHAPES = [(1, 1), (7, 300), (300, 7), (40, 33), (2000, 3), (3, 2000), (1, 70000), (70000, 1), (2, 40000), (1500, 40)]
"""Rows and columns; the last are longer than one part."""


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.normal(size=shape).astype(dtype)
    return generator.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64"])
def test_sums(device: str, grid: int, schedule: str, shape: tuple[int, int], axis: int | None, dtype: str) -> None:
    x = values(shape, dtype)
    on_device = nd.asarray(x, device=device)
    wide = np.float64 if dtype == "float32" else None
    expected = x.sum(axis=axis, dtype=wide)
    slack = np.abs(x).sum(dtype=np.float64) * 2.0**-50 if wide else 0.0
    assert_same(
        nd.sum(on_device, axis=axis), expected.astype(dtype) if wide else expected, ulps=bool(wide), slack=slack
    )


@pytest.mark.parametrize("op", ["max", "min", "any", "all", "prod", "mean"])
@pytest.mark.parametrize("shape", [(300, 7), (7, 300), (1, 70000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_other_reductions(device: str, grid: int, op: str, shape: tuple[int, int], axis: int) -> None:
    x = values(shape, "float32") if op == "mean" else values(shape, "int64", seed=1)
    expected = getattr(np, op)(x, axis=axis, **({"dtype": np.float64} if op == "mean" else {}))
    got = getattr(nd, op)(nd.asarray(x, device=device), axis=axis)
    assert_same(got, expected.astype(np.float32) if op == "mean" else expected, ulps=op == "mean", slack=1e-10)


@pytest.mark.parametrize("axis", [(0, 2), (1, 3), (0, 1, 2, 3), (), (3,), (0, 3)])
def test_axes_of_views(device: str, grid: int, axis: tuple[int, ...]) -> None:
    x = values((6, 5, 4, 7), "int32")
    view, on_device = x[::-2, :, ::-1].transpose(2, 0, 3, 1), nd.asarray(x, device=device)
    got = nd.sum(nd.permute_dims(on_device[::-2, :, ::-1], (2, 0, 3, 1)), axis=axis, keepdims=True)
    assert_same(got, view.sum(axis=axis, keepdims=True, dtype=np.int64))


def test_a_zero_stride_axis(device: str) -> None:
    x = np.broadcast_to(np.float32(0.1), (40000, 3))
    got = nd.sum(nd.broadcast_to(nd.asarray(np.float32(0.1), device=device), x.shape), axis=0)
    assert_same(got, x.sum(axis=0, dtype=np.float64).astype(np.float32), ulps=1)


def test_a_mean_of_nothing(device: str) -> None:
    assert np.isnan(nd.mean(nd.zeros((3, 0), device=device), axis=1).numpy()).all()


@pytest.mark.parametrize("shape", [(3, 2**18), (2**18, 3)])
def test_float32_sums_are_accumulated_in_double(device: str, shape: tuple[int, int]) -> None:
    x = np.full(shape, 0.1, np.float32)
    axis = int(shape[1] > shape[0])
    assert_same(nd.sum(nd.asarray(x, device=device), axis=axis), np.float32(np.float64(x[0, 0]) * 2**18 * np.ones(3)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["float64", "int16", "bool"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_the_first_extreme_wins(device: str, grid: int, shape: tuple[int, int], axis: int, dtype: str, op: str) -> None:
    x = values(shape, dtype)
    if dtype == "float64":
        x = np.round(x)  # many ties
    assert_same(getattr(nd, op)(nd.asarray(x, device=device), axis=axis), np.asarray(getattr(np, op)(x, axis=axis)))


@pytest.mark.parametrize("length", [3, 8, 33, 1000, 40000])
def test_nan_wins(device: str, schedule: str, length: int) -> None:
    x = np.arange(float(length))
    x[length // 2] = x[length - 1] = np.nan
    on_device = nd.asarray(x, device=device)
    assert nd.argmax(on_device).item() == nd.argmin(on_device).item() == length // 2
    assert np.isnan(nd.max(on_device).item())
    assert np.isnan(nd.min(on_device).item())


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7), (40, 33), (1, 3000), (3, 1)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint32"])
def test_scans(device: str, grid: int, schedule: str, shape: tuple[int, int], axis: int, dtype: str) -> None:
    x = values(shape, dtype)
    on_device = nd.asarray(x, device=device)
    if dtype == "float32":
        expected = np.cumsum(x, axis=axis, dtype=np.float64)
        assert_same(nd.cumsum(on_device, axis=axis), expected.astype(dtype), ulps=1, slack=1e-9)
        return
    assert_same(nd.cumsum(on_device, axis=axis), np.cumsum(x, axis=axis))
    assert_same(nd.cumprod(on_device[::-1], axis=axis), np.cumprod(x[::-1], axis=axis))
