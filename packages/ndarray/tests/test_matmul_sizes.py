"""Sizes around every cut of the matrix product, vectors, and operands that lie awkwardly.

Expected values are the float64 product, within k * eps * (|x| @ |y|) (Higham, Accuracy and Stability of Numerical
Algorithms, section 3.5), or exact integers.
"""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

CUT_SIZES = [  # (m, k, n) beside the height and width of panels and blocks, for float32 and float64
    (30, 399, 40),
    (30, 401, 40),
    (20, 201, 50),
    (130, 257, 200),
    (113, 801, 33),
    (40, 200, 767),
    (40, 200, 769),
    (31, 300, 1600),
    (500, 130, 129),
    (1, 513, 515),
    (2, 300, 1025),
    (5, 9000, 3),
    (128, 520, 60),  # from here on: a transposed x is turned round as a whole
    (300, 1030, 129),
]
THREADED_SIZES = [(64, 784, 128), (128, 64, 784), (70, 300, 300), (500, 600, 66), (333, 512, 97), (1000, 70, 65)]


def transposed(x: Any) -> Any:
    return np.ascontiguousarray(x.T).T


def check(x: Any, y: Any) -> None:
    got = (nd.asarray(x) @ nd.asarray(y)).numpy()
    wide, high = x.astype(np.float64), y.astype(np.float64)
    bound = (x.shape[-1] + 1) * np.finfo(x.dtype).eps * (np.abs(wide) @ np.abs(high))
    exact = wide @ high
    assert got.shape == exact.shape
    assert got.dtype == x.dtype
    assert np.all(np.abs(got - exact) <= bound)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_every_small_size_and_transposition(dtype: str) -> None:
    """Each length from 1 to 70 comes as m, k and n, beside drawn others."""
    rng = np.random.default_rng(0)
    for length in range(1, 71):
        for axis in range(3):
            sizes = rng.integers(1, 71, 3)
            sizes[axis] = length
            m, k, n = (int(each) for each in sizes)
            x, y = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
            for left in (x, transposed(x)):
                for right in (y, transposed(y)):
                    check(left, right)


@pytest.mark.parametrize("sizes", CUT_SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_sizes_beside_the_cuts(sizes: tuple[int, int, int], dtype: str) -> None:
    rng = np.random.default_rng(1)
    m, k, n = sizes
    x, y = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    for left in (x, transposed(x)):
        for right in (y, transposed(y)):
            check(left, right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_vectors_of_every_length_and_stride(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for length in (*range(1, 71), 255, 256, 257, 5000):
        for other in (1, 3, 4, 5, 70):
            matrix = rng.standard_normal((other, length)).astype(dtype)
            vector = rng.standard_normal(3 * length).astype(dtype)
            for x in (vector[:length], vector[::3], vector[length - 1 :: -1]):
                check(matrix, x)
                check(transposed(matrix), x)
                check(x, matrix.T)
                check(x, np.ascontiguousarray(matrix.T))
                check(x, x)


def test_vectors_beside_batches() -> None:
    rng = np.random.default_rng(3)
    batch, x, y = rng.standard_normal((2, 3, 7, 5)), rng.standard_normal(5), rng.standard_normal(7)
    check(batch, x)
    check(y, batch)
    for dtype in ("int8", "uint16", "int64"):
        whole = rng.integers(0, 9, (2, 6, 4)).astype(dtype)
        np.testing.assert_array_equal((nd.asarray(whole) @ nd.asarray(whole[0, 0])).numpy(), whole @ whole[0, 0])
        np.testing.assert_array_equal((nd.asarray(whole[0, :, 0]) @ nd.asarray(whole)).numpy(), whole[0, :, 0] @ whole)
    assert (nd.zeros(0) @ nd.zeros(0)).item() == 0
    assert (nd.zeros((3, 0)) @ nd.zeros(0)).tolist() == [0, 0, 0]
    assert (nd.zeros(0) @ nd.zeros((2, 0, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_results_of_vectors_can_be_written_and_viewed() -> None:
    result = nd.asarray([1.0, 2.0]) @ nd.asarray([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
    assert result.shape == (3,)
    assert result.is_contiguous
    result[1:] += 1.0
    assert result.tolist() == [5.0, 12.0, 18.0]
    scalar = nd.asarray([1.0, 2.0]) @ nd.asarray([3.0, 4.0])
    assert scalar.shape == ()
    assert scalar.item() == 11


def test_vectors_that_do_not_fit() -> None:
    for x, y in (((3,), (4,)), ((3,), (4, 3)), ((2, 3), (2,)), ((2, 2, 3), (2,))):
        with pytest.raises(nd.ShapeError, match=r"^matmul: .*differ"):
            nd.ones(x) @ nd.ones(y)
    with pytest.raises(nd.ShapeError, match="0-d"):
        nd.ones(()) @ nd.ones(3)
    with pytest.raises(nd.ShapeError, match="two dimensions"):
        nd.matmul(nd.ones(3), nd.ones((3, 2)), out=nd.ones(2))
    with pytest.raises(nd.DeviceError, match="matmul"):
        nd.ones(3) @ nd.ones((3, 2), device="numpy")


@pytest.mark.parametrize("size", [3, 20, 70, 300])
def test_out_may_be_an_operand_or_overlap_it(size: int) -> None:
    rng = np.random.default_rng(4)
    data = rng.standard_normal((size + 1, size)).astype(np.float32)
    for pick_x, pick_y in ((slice(0, size), slice(1, size + 1)), (slice(1, size + 1), slice(0, size))):
        ours = nd.asarray(data, copy=True)
        expected = ours[pick_x].copy() @ ours[pick_y].copy()
        nd.matmul(ours[pick_x], ours[pick_y], out=ours[pick_x])
        assert ours[pick_x].numpy().tobytes() == expected.numpy().tobytes()
    square = nd.asarray(data[:size], copy=True)
    expected = square.copy() @ square.copy().T
    square @= square.T
    assert square.numpy().tobytes() == expected.numpy().tobytes()


def test_batches_of_zero_stride() -> None:
    rng = np.random.default_rng(5)
    one, many = rng.standard_normal((1, 40, 50)), rng.standard_normal((6, 50, 30))
    x = nd.broadcast_to(nd.asarray(one), (6, 40, 50))
    np.testing.assert_allclose((x @ nd.asarray(many)).numpy(), one @ many, rtol=1e-12, atol=1e-12)
    y = nd.broadcast_to(nd.asarray(many[:1]), (6, 50, 30))
    np.testing.assert_allclose((x @ y).numpy(), np.repeat(one @ many[:1], 6, 0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", [(3, 5, 7), (15, 17, 33), (130, 260, 135), (1, 70, 300), (70, 300, 1)])
@pytest.mark.parametrize("lay", [np.asarray, transposed])
@pytest.mark.usefixtures("instruction_set")
def test_padding_meets_no_infinity(sizes: tuple[int, int, int], lay: Any) -> None:
    """A kernel that multiplied the zeros beside a matrix with its infinities would make NaN of them."""
    m, k, n = sizes
    for dtype in ("float32", "float64"):
        x = np.ones((m, k), dtype)
        x[-1, -1] = np.inf
        y = np.ones((k, n), dtype)
        y[-1, -1] = np.inf
        wanted = np.full((m, n), float(k))
        wanted[-1], wanted[:, -1] = np.inf, np.inf
        np.testing.assert_array_equal((nd.asarray(lay(x)) @ nd.asarray(lay(y))).numpy(), wanted)
        x[-1, -1] = 0
        wanted[-1, -1] = np.nan
        wanted[-1, :-1] = k - 1
        np.testing.assert_array_equal((nd.asarray(lay(x)) @ nd.asarray(lay(y))).numpy(), wanted)


@pytest.mark.parametrize("sizes", THREADED_SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_are_the_same_whichever_way_threads_share(sizes: tuple[int, int, int], dtype: str) -> None:
    """By rows with one packed operand, by columns with one each, or alone."""
    rng = np.random.default_rng(2)
    m, k, n = sizes
    x, y = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    before = nd.get_num_threads()
    try:
        for left in (x, transposed(x)):
            for right in (y, transposed(y)):
                found = set()
                for threads in (1, 2, 3, 8):
                    nd.set_num_threads(threads)
                    check(left, right)
                    found.add((nd.asarray(left) @ nd.asarray(right)).numpy().tobytes())
                assert len(found) == 1
    finally:
        nd.set_num_threads(before)
