"""Systems with triangles, least squares, condition numbers and products of many: by NumPy and by what defines them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

DTYPES = ["float32", "float64", "complex128"]
LOOSE = {"float32": 1e-4, "float64": 1e-11, "complex128": 1e-11}


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    with nd.use_device(request.param) as chosen:
        yield chosen


def drawn(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape)
    return (values + 1j * generator.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_triangles(upper: bool, left: bool, unit: bool, dtype: str, device: Any) -> None:
    a = drawn(2, 4, 4, dtype=dtype)
    a[:, range(4), range(4)] += 3.0
    b = drawn(2, *((4, 3) if left else (3, 4)), dtype=dtype, seed=1)
    part = np.triu(a) if upper else np.tril(a)
    if unit:
        part[:, range(4), range(4)] = 1.0
    a[part == 0.0] = np.nan  # is not read
    options: dict[str, Any] = {"upper": upper, "left": left, "unitriangular": unit}
    found = nd.linalg.solve_triangular(nd.asarray(a), nd.asarray(b), **options)
    assert found.dtype.name == dtype
    product = part @ found.numpy() if left else found.numpy() @ part
    np.testing.assert_allclose(product, b, rtol=LOOSE[dtype], atol=LOOSE[dtype])


def test_a_triangle_is_solved_by_substitution(device: Any) -> None:
    """Pivots would spoil the small elements: each row of this one holds 1e10 times what the row above does."""
    a = np.tril(np.full((4, 4), 1.0)) * 1e10 ** np.arange(4.0)[:, None]
    expected = np.asarray([[1.0], [-2.0], [3.0], [5.0]])
    found = nd.linalg.solve_triangular(nd.asarray(a), nd.asarray(a @ expected), upper=False)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    with pytest.raises(nd.LinearAlgebraError):
        nd.linalg.solve_triangular(nd.zeros((2, 2)), nd.ones((2, 1)), upper=True)
    for shapes in (((2, 3), (2, 1)), ((2, 2), (3, 1)), ((2, 2), (2,)), ((2,), (2, 1))):
        with pytest.raises(nd.ShapeError, match="solve_triangular"):
            nd.linalg.solve_triangular(nd.ones(shapes[0]), nd.ones(shapes[1]), upper=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_least_squares(columns: tuple[int, ...], shape: tuple[int, int], dtype: str, device: Any) -> None:
    a, b = drawn(*shape, dtype=dtype), drawn(shape[0], *columns, dtype=dtype, seed=1)
    for rows in (a, np.where(np.arange(shape[1]) == 0, a[:, 1:2], a)):  # the second of a smaller rank
        found, expected = nd.linalg.lstsq(nd.asarray(rows), nd.asarray(b)), np.linalg.lstsq(rows, b)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=LOOSE[dtype], atol=LOOSE[dtype])


def test_least_squares_in_stacks_and_their_arguments(device: Any) -> None:
    a, b = drawn(2, 5, 2), drawn(2, 5, 3, seed=1)
    found = nd.linalg.lstsq(nd.asarray(a), nd.asarray(b))
    for at in range(2):
        solution, residuals, rank, values = np.linalg.lstsq(a[at], b[at])
        np.testing.assert_allclose(found.solution[at].numpy(), solution, rtol=1e-11)
        np.testing.assert_allclose(found.residuals[at].numpy(), residuals, rtol=1e-11)
        np.testing.assert_allclose(found.singular_values[at].numpy(), values, rtol=1e-11)
        assert found.rank[at].item() == rank
    flat = nd.asarray([[1.0, 0.0], [0.0, 1e-3], [0.0, 0.0]])
    assert nd.linalg.lstsq(flat, nd.ones(3), rcond=1e-2).rank.item() == 1
    for wrong in ((4,), (4, 1), ()):
        with pytest.raises(nd.ShapeError, match="lstsq"):
            nd.linalg.lstsq(flat, nd.ones(wrong))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_conditions(dtype: str, p: Any, device: Any) -> None:
    x = drawn(3, 4, 4, dtype=dtype)
    x[1] = 1.0  # singular
    found = nd.linalg.cond(nd.asarray(x), p).numpy()
    np.testing.assert_allclose(found[[0, 2]], np.linalg.cond(x[[0, 2]], p), rtol=20 * LOOSE[dtype])
    assert found[1] > 1e6 if p != -2 else found[1] < 1e-6
    assert nd.linalg.cond(nd.zeros((2, 2)), p).item() == np.inf
    if p in (None, 2, -2):
        wide = drawn(2, 5, dtype=dtype)
        np.testing.assert_allclose(nd.linalg.cond(nd.asarray(wide), p).item(), np.linalg.cond(wide, p), rtol=1e-4)
    for shape in ((0, 0), (3,)):
        with pytest.raises(nd.ShapeError, match="cond"):
            nd.linalg.cond(nd.zeros(shape), p)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (3, 4)],
        [(10, 2), (2, 30), (30, 3), (3, 5)],
        [(3,), (3, 4), (4, 2)],
        [(2, 3), (3, 4), (4,)],
        [(3,), (3, 9), (9, 2), (2,)],
        [(4,), (4,)],
        [(2, 0), (0, 3), (3, 1)],
    ],
)
def test_products_of_many(shapes: list[tuple[int, ...]], device: Any) -> None:
    values = [drawn(*shape, seed=at) for at, shape in enumerate(shapes)]
    found = nd.linalg.multi_dot([nd.asarray(each) for each in values]).numpy()
    expected = np.linalg.multi_dot(values)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_the_order_of_products_is_the_cheapest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cormen et al., section 15.2: lengths 30, 35, 15, 5, 10, 20, 25 need 15125 multiplications."""
    lengths, done = [30, 35, 15, 5, 10, 20, 25], []
    matmul = nd.matmul

    def counted(x: Any, y: Any) -> Any:
        done.append(x.shape[0] * x.shape[1] * y.shape[1])
        return matmul(x, y)

    monkeypatch.setattr(nd, "matmul", counted)
    nd.linalg.multi_dot([nd.ones(shape) for shape in pairwise(lengths)])
    assert sum(done) == 15125
    for shapes in ([(2, 3)], [(2, 3), (2, 3)], [(2, 3), (3,), (3, 2)], [(2, 2, 2), (2, 2)], []):
        with pytest.raises(nd.ShapeError, match="multi_dot"):
            nd.linalg.multi_dot([nd.ones(shape) for shape in shapes])
