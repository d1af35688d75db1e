"""Sorting kernels: every width of key, length of line and layout against NumPy; the growth of the work; memory."""

import threading

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import _sorting

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
LENGTHS = (0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 129, 255, 257, 511, 1025, 5003, 70001)


def elements(rng, dtype, n, kind):
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.startswith("float"):
        x = rng.standard_normal(n).astype(dtype)
        if kind == "nasty":
            for value in (np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-45):
                x[rng.integers(0, max(n, 1), n // 6)] = value
            negative_nan = np.copysign(np.nan, -1.0).astype(dtype)
            x[rng.integers(0, max(n, 1), n // 6)] = negative_nan
        return np.round(x) if kind == "few" else x
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    if kind == "nasty":
        x[::3], x[1::3] = limits.max, limits.min
    return rng.integers(0, 5, n).astype(dtype) if kind == "few" else x


def stable_order(x, descending):
    """NaN last, equal elements in the order in which they came."""
    is_nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    _, rank = np.unique(np.where(is_nan, x.dtype.type(0), x), return_inverse=True)
    return np.lexsort((np.arange(x.size), -rank if descending else rank, is_nan))


def assert_same_bits(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("kind", ["any", "nasty", "few"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_of_every_length(dtype, kind):
    rng = np.random.default_rng(5)
    for n in LENGTHS:
        x = elements(rng, dtype, n, kind)
        array = nd.asarray(x)
        for descending in (False, True):
            order = stable_order(x, descending)
            assert_same_bits(nd.sort(array, descending=descending).numpy(), x[order])
            assert_same_bits(nd.argsort(array, descending=descending).numpy(), order.astype(np.int64))
            for k in {0, min(n, 1), n // 10, n // 3, n}:
                found = nd.topk(array, k, largest=descending)
                assert_same_bits(found.values.numpy(), x[order[:k]])
                assert_same_bits(found.indices.numpy(), order[:k].astype(np.int64))


@pytest.mark.parametrize("shape", [(40, 7), (300, 33), (5, 300, 4), (2, 3, 4, 5), (1, 1000), (1000, 1), (257, 3, 19)])
def test_every_axis_and_layout(shape, threads):
    for dtype in ("float32", "int16", "uint8", "int64"):
        x = elements(np.random.default_rng(2), dtype, int(np.prod(shape)), "nasty").reshape(shape)
        for view, array in ((x, nd.asarray(x)), (x.T, nd.asarray(x).T), (x[::-1, ::2], nd.asarray(x)[::-1, ::2])):
            for axis in range(view.ndim):
                order = np.apply_along_axis(stable_order, axis, view, True).astype(np.int64)
                expected = np.take_along_axis(view, order, axis)
                k = view.shape[axis] // 6
                for count in (1, 3):
                    threads(count)
                    assert_same_bits(nd.argsort(array, axis=axis, descending=True).numpy(), order)
                    assert_same_bits(nd.sort(array, axis=axis, descending=True).numpy(), expected)
                    found = nd.topk(array, k, axis=axis)
                    assert_same_bits(found.values.numpy(), np.take(expected, range(k), axis=axis))


def test_keys_that_agree_in_their_high_bits():
    """64-bit keys leave no room for their places: the places of such runs are found by the low bits."""
    x = np.random.default_rng(0).integers(0, 50, 3000)
    x[0], x[1] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert nd.argsort(nd.asarray(x)).numpy().tolist() == np.argsort(x, kind="stable").tolist()
    y = x.astype(np.float64) * 5e-324
    y[2] = -1e300
    assert nd.argsort(nd.asarray(y)).numpy().tolist() == np.argsort(y, kind="stable").tolist()


PATTERNS = {
    "ascending": lambda n: np.arange(n),
    "descending": lambda n: np.arange(n)[::-1].copy(),
    "organ pipe": lambda n: np.minimum(np.arange(n), n - 1 - np.arange(n)),
    "equal": lambda n: np.full(n, 7),
    "two values": lambda n: np.arange(n) % 2,
    "few values": lambda n: np.arange(n) * 7919 % 31 * 100003,
    "sawtooth": lambda n: np.arange(n) % 1000,
    "wide sawtooth": lambda n: np.arange(n) % 64 * 100003,
    "median of three killer": lambda n: np.r_[np.arange(0, n, 2), np.arange(1, n, 2)],
    "one odd": lambda n: np.r_[np.full(n - 1, 5), 4],
    "powers": lambda n: 1 << np.arange(n) % 30,
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_order_of_the_elements_makes_the_work_quadratic(pattern, dtype):
    n = 100_000
    x = PATTERNS[pattern](n).astype(dtype)
    array = nd.asarray(x)
    for run, expected in ((nd.sort, np.sort(x)), (nd.argsort, np.argsort(x, kind="stable"))):
        _sorting.take_steps()
        assert np.array_equal(run(array).numpy(), expected)
        assert _sorting.take_steps() <= 40 * n  # 2 log2(n) partings and 8 radix passes are 42 n


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_a_line_that_runs_out_of_depth_is_sorted_by_radix(dtype, depth):
    x = elements(np.random.default_rng(1), dtype, 30_011, "nasty")
    _sorting.limit_depth(depth)
    try:
        _sorting.take_steps()
        order = stable_order(x, False)
        assert_same_bits(nd.sort(nd.asarray(x)).numpy(), x[order])
        assert _sorting.take_steps() <= (2 * depth + 9) * x.size
        assert_same_bits(nd.argsort(nd.asarray(x)).numpy(), order.astype(np.int64))
        assert_same_bits(nd.topk(nd.asarray(x), 5000, largest=False).indices.numpy(), order[:5000].astype(np.int64))
    finally:
        _sorting.limit_depth(-1)


def test_missing_memory_is_a_memory_error_and_leaves_sorting_usable():
    line = nd.broadcast_to(nd.asarray([1.0], dtype="float64"), (1 << 46,))
    with pytest.raises(MemoryError):
        nd.sort(line)
    assert nd.sort(nd.asarray([2.0, 1.0])).tolist() == [1.0, 2.0]


def test_scratch_memory_is_given_back():
    x = nd.asarray(np.random.default_rng(0).standard_normal((64, 500)))
    in_use = nd.memory_statistics()["in_use"]
    for axis in (0, 1):
        nd.sort(x, axis=axis)
        nd.argsort(x, axis=axis)
        nd.topk(x, 3, axis=axis)
    assert nd.memory_statistics()["in_use"] == in_use


def test_several_threads_sort_at_once():
    x = np.random.default_rng(3).standard_normal((50, 4000))
    array, expected, wrong = nd.asarray(x), np.sort(x), []

    def work():
        for _ in range(5):
            if not np.array_equal(nd.sort(array).numpy(), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_lines(dtype, side):
    rng = np.random.default_rng(4)
    for n in (0, 1, 2, 3, 100, 1000):
        x = np.sort(elements(rng, dtype, n, "nasty"))
        values = elements(rng, dtype, 5003, "nasty")
        found = nd.searchsorted(nd.asarray(x), nd.asarray(values), side=side).numpy()
        assert_same_bits(found, np.searchsorted(x, values, side=side).astype(np.int64))
    strided = nd.searchsorted(nd.asarray(np.repeat(x, 2))[::2], nd.asarray(values)[::-3], side=side).numpy()
    assert_same_bits(strided, np.searchsorted(x, values[::-3], side=side).astype(np.int64))


def test_groups_of_equal_elements():
    x = np.asarray([3.0, np.nan, -0.0, 3.0, 0.0, np.nan, 1.0], dtype=np.float32)
    found = nd.unique_all(nd.asarray(x))
    assert found.values.tolist()[:3] == [0.0, 1.0, 3.0] and found.counts.tolist() == [2, 1, 2, 1, 1]
    assert found.indices.tolist() == [2, 6, 0, 1, 5]
    assert found.inverse_indices.tolist() == [2, 3, 0, 2, 0, 4, 1]
    assert nd.unique_all(nd.asarray(x[:0])).counts.tolist() == []
