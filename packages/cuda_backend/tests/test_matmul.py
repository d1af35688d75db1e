"""The matrix product at the edges of its tiles, for every dtype, layout and batch."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.cuda
import treadle.ndarray as nd
from comparison import assert_same
from strategies import DTYPES

SIZES = [
    (1, 1, 1),
    (1, 7, 1),
    (32, 16, 32),
    (33, 17, 31),
    (31, 15, 33),
    (64, 16, 64),
    (65, 33, 70),
    (1, 300, 5),
    (5, 1, 200),
]


def integers(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small whole numbers: products and sums are exact in every dtype."""
    return generator.integers(0, 2 if dtype == "bool" else 4, shape).astype(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes(device: str, grid: int, size: tuple[int, int, int], dtype: str) -> None:
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    x, y = integers(generator, (rows, inner), dtype), integers(generator, (inner, columns), dtype)
    assert_same(nd.asarray(x, device=device) @ nd.asarray(y, device=device), x @ y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(640, 20, 640), (1300, 9, 1300)])
def test_larger_tiles(device: str, schedule: str, size: tuple[int, int, int], dtype: str) -> None:
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    x, y = integers(generator, (rows, inner), dtype), integers(generator, (inner, columns), dtype)
    assert_same(nd.asarray(x, device=device) @ nd.asarray(y, device=device), x @ y)


@pytest.mark.parametrize("x_layout", ["plain", "transposed", "reversed", "stepped"])
@pytest.mark.parametrize("y_layout", ["plain", "transposed", "reversed", "stepped"])
def test_layouts(device: str, x_layout: str, y_layout: str) -> None:
    views = {"plain": lambda a: a, "transposed": lambda a: a.T, "reversed": lambda a: a[::-1, ::-1],
             "stepped": lambda a: a[::2, ::3]}  # fmt: skip
    generator = np.random.default_rng(0)
    x, y = integers(generator, (70, 70), "float32"), integers(generator, (70, 70), "float32")
    left, right = views[x_layout], views[y_layout]
    inner = min(left(x).shape[1], right(y).shape[0])
    got = left(nd.asarray(x, device=device))[:, :inner] @ right(nd.asarray(y, device=device))[:inner]
    assert_same(got, left(x)[:, :inner] @ right(y)[:inner])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batches(data: st.DataObject) -> None:
    sizes = st.integers(0, 6)
    batch = data.draw(st.lists(st.integers(1, 3), max_size=3).map(tuple))
    dropped = data.draw(st.integers(0, len(batch)))
    rows, inner, columns = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x = integers(generator, (*(1 if data.draw(st.booleans()) else size for size in batch), rows, inner), "float64")
    y = integers(generator, (*batch[dropped:], inner, columns), "float64")
    assert_same(nd.asarray(x, device="cuda_emulated") @ nd.asarray(y, device="cuda_emulated"), x @ y)


def test_rounding(device: str) -> None:
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(40, 784)).astype(np.float32), generator.normal(size=(784, 50)).astype(np.float32)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64) * 784 * 2.0**-24
    got = (nd.asarray(x, device=device) @ nd.asarray(y, device=device)).numpy()
    assert (np.abs(got - exact) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_inner_axis_gives_zeros(device: str, dtype: str) -> None:
    dirty = nd.full((2, 3, 4), 1, dtype=dtype, device=device)
    del dirty
    x, y = nd.ones((2, 3, 0), dtype=dtype, device=device), nd.ones((2, 0, 4), dtype=dtype, device=device)
    assert_same(x @ y, np.zeros((2, 3, 4), dtype))


def test_nan_and_infinity_stay_in_their_rows_and_columns(device: str) -> None:
    x, y = np.ones((20, 20), np.float32), np.ones((20, 20), np.float32)
    x[3, 4], y[5, 6] = np.nan, np.inf
    assert_same(nd.asarray(x, device=device) @ nd.asarray(y, device=device), x @ y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "complex64"])
@pytest.mark.parametrize("size", [(1, 600, 3), (5, 2500, 1), (40, 1030, 33)])
def test_a_long_inner_axis_is_cut_into_parts(
    device: str, grid: int, schedule: str, dtype: str, size: tuple[int, int, int]
) -> None:
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    x, y = integers(generator, (2, rows, inner), dtype), integers(generator, (2, inner, columns), dtype)
    out = nd.asarray(x, device=device) @ nd.asarray(y, device=device)
    np.testing.assert_array_equal(out.numpy(), x @ y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [*SIZES, (64, 64, 64), (70, 47, 130), (33, 700, 40)])
def test_halves_are_rounded_once(device: str, schedule: str, dtype: str, size: tuple[int, int, int]) -> None:
    """Whole numbers, whose sums are exact in float32; the larger ones by the matrix instruction."""
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    x, y = integers(generator, (rows, inner), "float32"), integers(generator, (inner, columns), "float32")
    out = nd.asarray(x, device=device).astype(dtype) @ nd.asarray(y, device=device).astype(dtype)
    assert out.dtype == dtype
    assert out.astype("float32").tolist() == nd.asarray(x @ y).astype(dtype).astype("float32").tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["batch", "transposed", "reversed"])
def test_layouts_of_halves(device: str, grid: int, dtype: str, layout: str) -> None:
    generator = np.random.default_rng(0)
    x, y = integers(generator, (2, 40, 50), "float32"), integers(generator, (2, 50, 36), "float32")
    left, right = nd.asarray(x, device=device).astype(dtype), nd.asarray(y, device=device).astype(dtype)
    if layout == "transposed":
        x, y, left, right = y.swapaxes(1, 2), x.swapaxes(1, 2), right.mT, left.mT
    if layout == "reversed":
        x, y, left, right = x[::-1, ::-1, ::-1], y[::-1, ::-1], left[::-1, ::-1, ::-1], right[::-1, ::-1]
    expected = nd.asarray(np.ascontiguousarray(x @ y)).astype(dtype).astype("float32").tolist()
    assert (left @ right).astype("float32").tolist() == expected


@pytest.mark.parametrize("inner", [32, 40])
def test_tiles_that_follow_each_other(device: str, grid: int, schedule: str, inner: int) -> None:
    """In one block, which fills the first stages for the next tile while its last are still read."""
    generator = np.random.default_rng(0)
    x, y = integers(generator, (136, inner), "float32"), integers(generator, (inner, 136), "float32")
    got = nd.asarray(x, device=device).astype("float16") @ nd.asarray(y, device=device).astype("float16")
    np.testing.assert_array_equal(got.astype("float32").numpy(), x @ y)


@pytest.fixture
def tf32(device: str) -> Iterator[None]:
    """Products of float32 may be of TF32."""
    before = treadle.cuda.allow_tf32(True, device)
    yield
    treadle.cuda.allow_tf32(before, device)


def rounded_to_tf32(x: np.ndarray) -> np.ndarray:
    """To 11 significant bits, from a tie away from zero."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.trunc(fraction * 2**11 + np.copysign(0.5, fraction)) / 2**11, exponent)


@pytest.mark.parametrize("size", [(64, 64, 64), (70, 47, 130), (33, 700, 40)])
@pytest.mark.parametrize("layout", ["plain", "transposed", "reversed"])
def test_tf32(device: str, grid: int, schedule: str, tf32: None, size: tuple[int, int, int], layout: str) -> None:
    """The product of the rounded operands, whose products are exact in float32."""
    rows, inner, columns = size
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(rows, inner)), generator.normal(size=(inner, columns))
    x, y = x.astype(np.float32), y.astype(np.float32)
    left, right = nd.asarray(x, device=device), nd.asarray(y, device=device)
    if layout == "transposed":
        left, right = nd.asarray(x.T.copy(), device=device).T, nd.asarray(y.T.copy(), device=device).T
    if layout == "reversed":
        left = nd.asarray(x[::-1, ::-1].copy(), device=device)[::-1, ::-1]
    exact = rounded_to_tf32(x) @ rounded_to_tf32(y)
    bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64) * inner * 2.0**-24
    got = (left @ right).numpy()
    assert (np.abs(got - exact) <= bound).all()
    assert (np.abs(got - x.astype(np.float64) @ y) > bound).any(), "it is of rounded operands"


@pytest.mark.parametrize(("dtype", "transposed"), [("float16", False), ("bfloat16", True), ("float32", False)])
def test_large_tiles_of_the_matrix_instruction(device: str, tf32: None, dtype: str, transposed: bool) -> None:
    """Enough of them to fill a device, with edges; few steps of the inner axis, so that no other instruction serves."""
    generator = np.random.default_rng(0)
    x, y = integers(generator, (24, 136, 40), "float32"), integers(generator, (40, 200), "float32")
    left, right = nd.asarray(x, device=device).astype(dtype), nd.asarray(y, device=device).astype(dtype)
    if transposed:
        left, right = left.mT.copy().mT, right.T.copy().T
    np.testing.assert_array_equal((left @ right).astype("float32").numpy(), x @ y)


def test_tf32_of_ties_and_special_values(device: str, tf32: None) -> None:
    """Through the identity, which keeps a row of the operand as it is rounded."""
    tie, below = 1.0 + 2.0**-11, 1.0 + 2.0**-11 - 2.0**-23
    values = np.zeros((32, 32), np.float32)
    values[0, :6] = tie, -tie, below, 1e-45, -0.0, 3.4028235e38
    got = (nd.eye(32, device=device) @ nd.asarray(values, device=device)).numpy()
    assert got[0, :6].tolist() == [1.0 + 2.0**-10, -1.0 - 2.0**-10, 1.0, 0.0, 0.0, np.inf]
    assert not got[1:, :5].any()
    values[0, :3] = np.inf, -np.inf, np.nan
    got = (nd.ones((32, 32), device=device) @ nd.asarray(values, device=device)).numpy()
    assert (got[:, 0] == np.inf).all() and (got[:, 1] == -np.inf).all() and np.isnan(got[:, 2]).all()


def test_float32_is_not_rounded_unless_it_is_allowed(device: str) -> None:
    x = nd.full((64, 64), 1.0 + 2.0**-20, device=device)
    assert (x @ nd.eye(64, device=device) == x).all()
    before = treadle.cuda.allow_tf32(True, device)
    assert not before and (x @ nd.eye(64, device=device) == 1.0).all()
    assert (x[:31] @ nd.eye(64, device=device) == x[:31]).all(), "a small product"
    assert treadle.cuda.allow_tf32(before, device)
