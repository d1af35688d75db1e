"""Exponentials of matrices and products of reflections, by what defines them."""

from collections.abc import Iterator
from math import cos, exp, sin
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    with nd.use_device(request.param) as chosen:
        yield chosen


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    generator = np.random.default_rng(0)
    values = generator.normal(size=shape)
    return (values + 1j * generator.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials_by_eigenvalues(dtype: str, device: Any) -> None:
    """Of Hermitian matrices of very different norms in one stack: V exp(L) V*."""
    x = drawn((4, 5, 5), dtype) * np.asarray([1e-9, 0.1, 2.0, 12.0], dtype="float32")[:, None, None]
    x = ((x + x.conj().swapaxes(1, 2)) / 2).astype(dtype)
    values, vectors = np.linalg.eigh(x.astype("complex128"))
    expected = vectors * np.exp(values)[:, None, :] @ vectors.conj().swapaxes(1, 2)
    found = nd.linalg.matrix_exp(nd.asarray(x))
    assert found.dtype.name == dtype
    for one, other in zip(found.numpy(), expected, strict=True):
        tolerance = (1e-4 if dtype in ("float32", "complex64") else 1e-12) * np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


def test_exponentials_in_closed_form(device: Any) -> None:
    rotation, shear = [[0.0, -30.0], [30.0, 0.0]], [[1.0, 5.0], [0.0, 1.0]]
    found = nd.linalg.matrix_exp(nd.asarray([rotation, shear], dtype="float64")).numpy()
    turned = [[cos(30.0), -sin(30.0)], [sin(30.0), cos(30.0)]]
    np.testing.assert_allclose(found, [turned, [[exp(1.0), 5.0 * exp(1.0)], [0.0, exp(1.0)]]], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (1, 1)])
def test_exponentials_of_little(shape: tuple[int, ...], device: Any) -> None:
    assert nd.linalg.matrix_exp(nd.zeros(shape)).shape == shape


def test_exponentials_of_halves_integers_and_what_is_not_finite(device: Any) -> None:
    assert nd.linalg.matrix_exp(nd.asarray([[1.0]], dtype="bfloat16")).item() == 2.71875
    assert nd.linalg.matrix_exp(nd.asarray([[0]])).dtype == nd.float32
    assert np.isnan(nd.linalg.matrix_exp(nd.asarray([[np.nan]])).item())
    with pytest.raises(nd.ShapeError, match="square"):
        nd.linalg.matrix_exp(nd.ones((2, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "columns", "count"), [(5, 3, 3), (4, 4, 2), (3, 1, 1), (2, 2, 0)])
def test_products_of_reflections(dtype: str, rows: int, columns: int, count: int, device: Any) -> None:
    """One reflection after the other, some of them none at all."""
    x, tau = drawn((2, rows, columns), dtype), drawn((2, count), dtype)
    tau[:, :1] = 0.0
    expected = np.empty(x.shape, dtype)
    for at in range(2):
        product = np.eye(rows, dtype=dtype)
        for column in range(count):
            v = np.where(np.arange(rows) > column, x[at, :, column], 0) + np.eye(rows)[column]
            product = product @ (np.eye(rows) - tau[at, column] * np.outer(v, v.conj()))
        expected[at] = product[:, :columns]
    found = nd.linalg.householder_product(nd.asarray(x), nd.asarray(tau)).numpy()
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("x", "tau"), [((2, 3), (2,)), ((3, 2), (3,)), ((2, 3, 2), (1, 2)), ((3,), ())])
def test_shapes_that_fit_no_reflections(x: tuple[int, ...], tau: tuple[int, ...]) -> None:
    with pytest.raises(nd.ShapeError):
        nd.linalg.householder_product(nd.ones(x), nd.ones(tau))
