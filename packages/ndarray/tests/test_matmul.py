"""The matrix product of the cpu: every way through it, every instruction set of this machine, threads and forks.

The shapes are chosen to reach each way (dot products, one row, small, packed on the stack, blocked, batched) and
tiles that are cut off on either side. Floating results are compared with the float64 product, within the rounding
error bound k * eps * (|x| @ |y|) (Higham, Accuracy and Stability of Numerical Algorithms, section 3.5).
"""

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHAPES = [  # (m, k, n)
    (1, 1, 1),
    (2, 3, 4),
    (1, 50, 300),
    (3, 70, 130),
    (300, 50, 1),
    (17, 33, 5),
    (14, 64, 32),
    (64, 64, 128),
    (64, 128, 10),
    (113, 31, 47),
    (130, 400, 131),
    (29, 900, 97),
    (240, 5, 1700),
    (20, 7, 8200),
    (257, 385, 257),
]


def dense(x: Any) -> Any:
    return x


def transposed(x: Any) -> Any:
    return np.ascontiguousarray(x.T).T


def reversed_rows(x: Any) -> Any:
    return np.ascontiguousarray(x[::-1])[::-1]


def sliced(x: Any) -> Any:
    """Every second row and third column of a matrix full of NaN, or of the largest integer."""
    filler = np.nan if x.dtype.kind == "f" else np.iinfo(x.dtype).max if x.dtype.kind in "iu" else True
    larger = np.full((2 * x.shape[0] + 1, 3 * x.shape[1] + 2), filler, x.dtype)
    larger[1::2, 2::3] = x
    return larger[1::2, 2::3]


LAYOUTS = [dense, transposed, reversed_rows, sliced]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.2
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """The product of floats in float64, and how far from it rounding may lead."""
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = (x.shape[-1] + 1) * np.finfo(x.dtype).eps * (np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64))
    return exact, bound


def assert_within(result: nd.NDArray, exact: Any, bound: Any) -> None:
    got = result.numpy()
    assert got.shape == exact.shape
    assert np.all(np.abs(got - exact) <= bound)


def assert_is_product(result: nd.NDArray, x: Any, y: Any) -> None:
    if x.dtype.kind == "f":
        assert_within(result, *exact_product(x, y))
    else:
        np.testing.assert_array_equal(result.numpy(), x @ y)


@functools.cache
def floats(m: int, k: int, n: int, dtype: str) -> tuple[Any, Any, Any, Any]:
    """Operands, their product and its bound: the same for every layout and instruction set."""
    rng = np.random.default_rng(m + k + n)
    x, y = values(rng, (m, k), dtype), values(rng, (k, n), dtype)
    return x, y, *exact_product(x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lay_x", LAYOUTS)
@pytest.mark.parametrize("lay_y", LAYOUTS)
@pytest.mark.usefixtures("instruction_set")
def test_floats_of_every_shape_and_layout(dtype: str, lay_x: Any, lay_y: Any) -> None:
    for shape in SHAPES:
        x, y, exact, bound = floats(*shape, dtype)
        assert_within(nd.asarray(lay_x(x)) @ nd.asarray(lay_y(y)), exact, bound)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
@pytest.mark.usefixtures("instruction_set")
def test_integers_wrap_and_bool_is_any_of_both(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for lay_x in LAYOUTS:
        for lay_y in LAYOUTS:
            for m, k, n in [(1, 1, 1), (5, 7, 3), (33, 20, 17), (2, 9, 1100)]:
                x, y = lay_x(values(rng, (m, k), dtype)), lay_y(values(rng, (k, n), dtype))
                assert_is_product(nd.asarray(x) @ nd.asarray(y), x, y)


@pytest.mark.parametrize("height", range(1, 30))
@pytest.mark.usefixtures("instruction_set")
def test_tiles_of_every_height_and_width_write_nothing_else(height: int) -> None:
    rng = np.random.default_rng(2)
    for dtype in ("float32", "float64"):
        for width in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33):
            x, y = values(rng, (height, 9), dtype), values(rng, (9, width), dtype)
            frame = nd.full((height + 2, width + 2), 7.0, dtype=getattr(nd, dtype))
            nd.matmul(nd.asarray(x), nd.asarray(y), out=frame[1:-1, 1:-1])
            assert_is_product(frame[1:-1, 1:-1].copy(), x, y)
            frame[1:-1, 1:-1] = 7.0
            assert np.all(frame.numpy() == 7.0)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64", "bool"])
def test_empty_sums_are_zero_whatever_the_memory_held(dtype: str) -> None:
    kind = getattr(nd, dtype)
    dirty = nd.ones((2, 3, 4), dtype=kind)
    del dirty
    result = nd.ones((2, 3, 0), dtype=kind) @ nd.ones((2, 0, 4), dtype=kind)
    assert result.shape == (2, 3, 4)
    assert not result.numpy().any()


@pytest.mark.parametrize(
    ("x_shape", "y_shape"), [((0, 3), (3, 2)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 2)), ((4, 0, 0), (0, 0))]
)
def test_empty_results(x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> None:
    result = nd.ones(x_shape) @ nd.ones(y_shape)
    assert result.shape == (np.ones(x_shape) @ np.ones(y_shape)).shape


@pytest.mark.parametrize(
    ("x_shape", "y_shape"),
    [
        ((4, 5, 6), (6, 7)),
        ((5, 6), (4, 6, 7)),
        ((3, 1, 5, 6), (4, 6, 7)),
        ((2, 3, 1, 40), (40, 70)),
        ((300, 8, 9), (300, 9, 10)),
        ((3, 70, 300), (300, 130)),
        ((2, 200, 210), (2, 210, 220)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_batches_broadcast(x_shape: tuple[int, ...], y_shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(3)
    x, y = values(rng, x_shape, dtype), values(rng, y_shape, dtype)
    assert_is_product(nd.asarray(x) @ nd.asarray(y), x, y)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
    assert_is_product(nd.asarray(turned) @ nd.asarray(y), x, y)


def test_a_broadcast_operand_is_read_through_zero_strides() -> None:
    rng = np.random.default_rng(4)
    row, column = values(rng, (1, 90), "float32"), values(rng, (90, 1), "float32")
    x = nd.broadcast_to(nd.asarray(row), (70, 90))
    y = nd.broadcast_to(nd.asarray(column), (90, 80))
    assert_is_product(x @ y, np.broadcast_to(row, (70, 90)), np.broadcast_to(column, (90, 80)))


@pytest.mark.parametrize(("m", "k", "n"), [(3, 4, 5), (64, 64, 128), (1, 20, 200), (200, 20, 1), (150, 400, 160)])
def test_out_of_every_layout(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(5)
    x, y = values(rng, (m, k), "float32"), values(rng, (k, n), "float32")
    outs = {
        "dense": nd.zeros((m, n)),
        "transposed": nd.zeros((n, m)).T,
        "sliced": nd.zeros((2 * m, 3 * n))[::2, ::3],
        "reversed": nd.zeros((m, n))[::-1, ::-1],
        "wide rows": nd.zeros((m, n + 5))[:, 2 : n + 2],
    }
    for out in outs.values():
        nd.matmul(nd.asarray(x), nd.asarray(y), out=out)
        assert_is_product(out.copy(), x, y)


def test_vectors() -> None:
    rng = np.random.default_rng(6)
    x, matrix = values(rng, (70,), "float64"), values(rng, (70, 90), "float64")
    assert_is_product(nd.asarray(x) @ nd.asarray(matrix), x, matrix)
    assert_is_product(nd.asarray(matrix).T @ nd.asarray(x), np.ascontiguousarray(matrix.T), x)
    assert_is_product(nd.asarray(x) @ nd.asarray(x), x, x)


def test_nan_and_infinity_stay_in_their_rows_and_columns() -> None:
    x, y = np.ones((40, 50), np.float32), np.ones((50, 45), np.float32)
    x[3, 7], y[11, 20] = np.nan, np.inf
    np.testing.assert_array_equal((nd.asarray(x) @ nd.asarray(y)).numpy(), x @ y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_results_are_the_same_bits_for_every_number_of_threads(dtype: str, threads: Callable[[int], None]) -> None:
    rng = np.random.default_rng(7)
    for m, k, n in [(300, 500, 70), (2000, 100, 30), (1, 2100, 2100), (2100, 2100, 1), (90, 90, 1000), (50, 5000, 40)]:
        for lay in (dense, transposed):
            x = nd.asarray(lay(values(rng, (m, k), dtype)))
            y = nd.asarray(lay(values(rng, (k, n), dtype)))
            threads(1)
            alone = (x @ y).numpy()
            for count in (2, 3, 8):
                threads(count)
                assert (x @ y).numpy().tobytes() == alone.tobytes()
    x, y = nd.asarray(values(rng, (500, 30, 40), dtype)), nd.asarray(values(rng, (500, 40, 20), dtype))
    threads(1)
    alone = (x @ y).numpy()
    threads(3)
    assert (x @ y).numpy().tobytes() == alone.tobytes()


def test_products_from_several_python_threads_at_once(threads: Callable[[int], None]) -> None:
    threads(3)
    rng = np.random.default_rng(8)
    x = nd.asarray(values(rng, (250, 250), "float32"))
    expected = (x @ x).numpy().tobytes()
    wrong: list[int] = []

    def work() -> None:
        for repetition in range(30):
            if (x @ x).numpy().tobytes() != expected:
                wrong.append(repetition)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_after_a_parallel_product_multiplies_too(threads: Callable[[int], None]) -> None:
    threads(3)
    rng = np.random.default_rng(9)
    x = nd.asarray(values(rng, (300, 300), "float32"))
    expected = (x @ x).numpy().tobytes()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            import signal

            signal.alarm(30)
            os._exit(0 if all((x @ x).numpy().tobytes() == expected for _ in range(3)) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert (x @ x).numpy().tobytes() == expected
