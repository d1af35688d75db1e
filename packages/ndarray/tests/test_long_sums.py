"""Sums over millions of products: rounding errors may not grow with their length.

Tenths are the worst case, since every addition onto a sum of one size rounds the same way: added in order, a million
float32 ones lose a percent. Expected values are exact ones of ``fractions`` (all terms are equal).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

BOUND = {"float32": 3e-5, "float64": 6e-14}
"""Of the relative error: what about 2,000 additions in one direction lose. NumPy's product loses as much or more."""
LENGTHS = (1 << 20, (1 << 22) + 1)
SIDES = [(1, 1), (1, 4), (4, 1), (2, 2), (3, 2), (4, 4), (1, 70), (40, 2)]

each_dtype = pytest.mark.parametrize("dtype", sorted(BOUND))


def tenths(dtype: str, rows: int, columns: int, transposed: bool) -> nd.NDArray:
    return nd.full((columns, rows), 0.1, dtype=dtype).T if transposed else nd.full((rows, columns), 0.1, dtype=dtype)


def assert_is_exact(result: Any, dtype: str, length: int) -> None:
    exact = Fraction(float(np.dtype(dtype).type(0.1))) ** 2 * length
    for value in {*np.ravel(result.numpy()).tolist()}:
        assert abs(Fraction(value) / exact - 1) < BOUND[dtype]


@each_dtype
@pytest.mark.parametrize(("m", "n"), SIDES)
@pytest.mark.usefixtures("instruction_set")
def test_products_of_every_layout(dtype: str, m: int, n: int) -> None:
    length = LENGTHS[0] + 5
    if m * n > 16:  # thin, but not for dot products
        length >>= 2
    for x_lies in (False, True):
        for y_lies in (False, True):
            assert_is_exact(tenths(dtype, m, length, x_lies) @ tenths(dtype, length, n, y_lies), dtype, length)


@each_dtype
@pytest.mark.parametrize("length", LENGTHS)
def test_vectors(dtype: str, length: int) -> None:
    x = nd.full((length,), 0.1, dtype=dtype)
    for result in (nd.dot(x, x), nd.vecdot(x, x), nd.einsum("i,i->", x, x), x[None, :] @ x, x @ x[:, None]):
        assert_is_exact(result, dtype, length)
    strided = nd.full((length, 2), 0.1, dtype=dtype)[:, 0]
    assert_is_exact(nd.vecdot(strided, strided), dtype, length)
    assert_is_exact(nd.vecdot(nd.full((3, length), 0.1, dtype=dtype), x), dtype, length)


@each_dtype
def test_long_sums_are_the_same_bits_for_every_number_of_threads(dtype: str, threads: Callable[[int], None]) -> None:
    rng = np.random.default_rng(3)
    for m, k, n in [(1, 1 << 20, 1), (2, 100_001, 3), (1, 30_000, 600), (20, 20_001, 16), (40, 150_000, 40)]:
        x = nd.asarray(rng.standard_normal((m, k)).astype(dtype))
        y = nd.asarray(rng.standard_normal((k, n)).astype(dtype))
        threads(1)
        alone = (x @ y).numpy()
        some = np.s_[::7]  # of rows and columns: NumPy's product of long doubles takes seconds
        exact = x.numpy()[some].astype(np.longdouble) @ y.numpy()[:, some].astype(np.longdouble)
        np.testing.assert_allclose(alone[some, some], exact.astype(np.float64), rtol=0, atol=k * np.finfo(dtype).eps)
        for count in (2, 5):
            threads(count)
            assert (x @ y).numpy().tobytes() == alone.tobytes()


@each_dtype
def test_special_values_survive_the_runs(dtype: str) -> None:
    x, ones = np.ones((1, 30_000), dtype), nd.ones((30_000, 2), dtype=dtype)
    for place, value, expected in [(20_000, np.inf, np.inf), (3, -np.inf, -np.inf), (29_999, np.nan, np.nan)]:
        changed = x.copy()
        changed[0, place] = value
        np.testing.assert_array_equal((nd.asarray(changed) @ ones).numpy(), np.full((1, 2), expected, dtype))
    x[0, 1], x[0, 29_000] = np.inf, -np.inf
    assert np.isnan((nd.asarray(x) @ ones).numpy()).all()
