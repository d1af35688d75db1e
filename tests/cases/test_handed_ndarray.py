"""Faults that users of other array libraries reported, each as a case that must come out right here.

The source of each is named in its test; expected values come from NumPy, IEEE 754 or the array API standard.
"""

import gc
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, FLOATS

each_device = pytest.mark.parametrize("device", DEVICES)


def array(values: Any, dtype: str, device: str) -> nd.NDArray:
    return nd.asarray(values, dtype=nd.dtype(dtype), device=device)


@each_device
@pytest.mark.parametrize("layout", ["C", "F"])
def test_sums_of_a_million_tenths_do_not_drift(device: str, layout: str) -> None:
    """numpy/numpy#8869, numpy/numpy#11331: float32 sums over a first axis."""
    rows = 2**20 if device in ("cpu", "numpy") else 2**14
    x = nd.full((rows, 2) if layout == "C" else (2, rows), 0.1, dtype=nd.float32, device=device)
    x = x if layout == "C" else x.T
    exact = float(np.float32(0.1)) * rows
    for total in nd.sum(x, axis=0).tolist():
        assert total == pytest.approx(exact, rel=1e-5)
    assert nd.sum(x).item() == pytest.approx(2 * exact, rel=1e-5)


@each_device
def test_variance_of_large_means_does_not_cancel(device: str) -> None:
    """numpy/numpy#14691"""
    assert nd.var(array([1e4, 1e4 + 1, 1e4 + 2], "float32", device)).item() == pytest.approx(2 / 3, rel=1e-6)
    rows = 10**6 if device in ("cpu", "numpy") else 10**4
    columns = nd.broadcast_to(array([50, -50, 7], "float32", device), (rows, 3))
    assert nd.std(columns, axis=0).tolist() == pytest.approx([0, 0, 0], abs=1e-3)


@each_device
def test_python_scalars_do_not_widen(device: str) -> None:
    """numpy/numpy#29202, data-apis/array-api#98"""
    assert_same(array([200], "uint8", device) + 100, np.array([44], np.uint8))
    assert_same(array([1], "float32", device) * 2.5, np.array([2.5], np.float32))
    assert_same(array([1], "float32", device) * 2, np.array([2], np.float32))
    assert_same(nd.sum(array([100, 100], "int8", device)), np.array(200, np.int64))
    assert_same(array([1], "int32", device) / 2, np.array([0.5], np.float32))
    assert_same(array([True], "bool", device) + array([True], "bool", device), np.array([True]))


@each_device
def test_reductions_of_nothing(device: str) -> None:
    """pytorch/pytorch#28380, pytorch/pytorch#19447"""
    x = nd.zeros((3, 0), device=device)
    assert nd.max(x, axis=0).shape == (0,)
    for reduction in (nd.max, nd.min, nd.argmax, nd.argmin):
        with pytest.raises(ValueError, match="no element"):
            reduction(x, axis=1)
    assert nd.sum(x, axis=1).tolist() == [0, 0, 0]
    assert nd.prod(x, axis=1).tolist() == [1, 1, 1]
    assert np.isnan(nd.mean(x, axis=1).tolist()).all()


@each_device
@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [((1,), (0,), (0,)), ((4, 0), (4, 1), (4, 0)), ((3, 1), (0,), (3, 0)), ((0, 1), (1, 0), (0, 0))],
)
def test_a_length_of_1_stretches_to_0(device: str, left: Any, right: Any, shape: Any) -> None:
    """cupy/cupy#532, helmholtz-analytics/heat#891"""
    assert (nd.ones(left, device=device) + nd.ones(right, device=device)).shape == shape
    with pytest.raises(nd.ShapeError, match="add"):
        nd.ones((2,), device=device) + nd.ones((0,), device=device)


@each_device
def test_overlapping_assignment_reads_before_it_writes(device: str) -> None:
    """numba/numba#230"""
    a = nd.arange(6, device=device)
    a[1:] = a[:-1]
    assert a.tolist() == [0, 0, 1, 2, 3, 4]
    a = nd.arange(6, device=device)
    a[:-1] = a[1:]
    assert a.tolist() == [1, 2, 3, 4, 5, 5]
    a = nd.arange(6, device=device)
    a[...] = a[::-1]
    assert a.tolist() == [5, 4, 3, 2, 1, 0]
    a = nd.arange(6, device=device)
    a[1:] += a[:-1]
    assert a.tolist() == [0, 1, 3, 5, 7, 9]
    m = nd.reshape(nd.arange(9, device=device), (3, 3))
    m[1:, 1:] = m[:-1, :-1]
    assert m.tolist() == [[0, 1, 2], [3, 0, 1], [6, 3, 4]]


@each_device
def test_negative_strides(device: str) -> None:
    """pytorch/pytorch#188023, ml-explore/mlx#231"""
    reversed_rows = np.arange(6.0).reshape(2, 3)[::-1, ::-1]
    assert nd.asarray(reversed_rows, device=device).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert nd.zeros((4, 7), device=device)[1:-2, -1].shape == (1,)
    assert nd.arange(5, device=device)[::-2].tolist() == [4, 2, 0]


@each_device
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_inner_length_of_0_gives_zeros(device: str, dtype: str) -> None:
    """pytorch/pytorch#31421, pytorch/pytorch#71774, apache/tvm#19578"""
    dirty = nd.full((2, 3, 4), 1, dtype=nd.dtype(dtype), device=device)
    del dirty
    product = nd.ones((2, 3, 0), dtype=nd.dtype(dtype), device=device) @ nd.ones(
        (2, 0, 4), dtype=nd.dtype(dtype), device=device
    )
    assert_same(product, np.zeros((2, 3, 4), dtype))


@each_device
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1, 3, 8, 33, 1000])
def test_nan_wins_in_max_and_argmax(device: str, dtype: str, size: int) -> None:
    """ml-explore/mlx#4274, jax-ml/jax#4640: in the vector loop as in its rest."""
    for position in {0, size // 2, size - 1}:
        values = np.arange(size, dtype=dtype)
        values[position] = np.nan
        x = nd.asarray(values, device=device)
        assert np.isnan(nd.max(x).item()) and np.isnan(nd.min(x).item())
        assert nd.argmax(x).item() == nd.argmin(x).item() == position
    two = array([-1, 4, np.nan, 9, np.nan], dtype, device)
    assert nd.argmax(two).item() == nd.argmin(two).item() == 2


@each_device
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_sign_of_zero(device: str, dtype: str) -> None:
    """numpy/numpy#5781, numpy/numpy#5780; IEEE 754"""
    zero = array([-0.0], dtype, device)
    signs = {
        "abs": False,
        "sqrt": True,
        "negative": False,
        "floor": True,
        "trunc": True,
        "round": True,
        "positive": True,
    }
    for name, negative in signs.items():
        assert np.signbit(getattr(nd, name)(zero).tolist()[0]) == negative, name
    assert np.signbit(nd.round(array([-0.5], dtype, device)).tolist()[0])
    assert not np.signbit((zero + array([0.0], dtype, device)).tolist()[0])


@each_device
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_floor_division_rounds_down(device: str, dtype: str) -> None:
    """pytorch/pytorch#43874"""
    x, y = array([-7, 7, -7, 7], dtype, device), array([2, -2, -2, 2], dtype, device)
    assert (x // y).tolist() == [-4, -4, 3, 3]
    assert (x % y).tolist() == [1, -1, -1, 1]


@each_device
def test_an_empty_tuple_of_axes_reduces_nothing(device: str) -> None:
    """pytorch/pytorch#29137, pytorch/pytorch#60845"""
    x = nd.reshape(nd.arange(12, device=device), (2, 2, 3))
    assert nd.sum(x, axis=()).tolist() == x.tolist()
    assert nd.sum(x, axis=None).shape == ()
    assert nd.sum(x, axis=(0, 2), keepdims=True).shape == (1, 2, 1)
    assert nd.sum(x, axis=-1).shape == (2, 2)


@each_device
@pytest.mark.parametrize(
    "foreign",
    [
        np.array([1, 2, 3], ">f4"),
        np.array([1, 2, 3], ">i8"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.frombuffer(b"\0" + np.arange(4.0).tobytes(), np.uint8)[1:].view(np.float64),
        np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::2],
    ],
    ids=["big-endian float", "big-endian int", "Fortran", "misaligned", "strided"],
)
def test_foreign_layouts_keep_their_values(device: str, foreign: Any) -> None:
    """safetensors/safetensors#75, pytorch/pytorch#5442"""
    assert nd.asarray(foreign, device=device).tolist() == foreign.tolist()


@each_device
def test_read_only_memory_is_not_written(device: str) -> None:
    source = np.frombuffer(bytes(16), np.float64)
    try:
        x = nd.asarray(source, device=device)
        x += 1
    except nd.BufferReadOnlyError:
        pass
    assert source.tolist() == [0.0, 0.0]


def test_exports_outlive_the_array() -> None:
    """metatensor/metatensor#1008, numpy/numpy#19083"""
    x = nd.arange(1000, dtype=nd.float64)
    seen, exported = x.numpy(), memoryview(x[1:])
    del x
    gc.collect()
    other = [nd.zeros((1000,), dtype=nd.float64) for _ in range(10)]
    assert seen.tolist() == list(range(1000))
    assert exported[0] == 1.0 and exported[998] == 999.0
    assert len(other) == 10


def test_borrowed_memory_outlives_its_name() -> None:
    source = np.arange(1000, dtype=np.float32)
    x = nd.asarray(source)
    del source
    gc.collect()
    other = [np.zeros(1000, np.float32) for _ in range(10)]
    assert x.tolist() == list(range(1000))
    assert len(other) == 10
