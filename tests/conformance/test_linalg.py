"""The extension ``linalg`` on every device, against its definitions and NumPy."""

import math
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, FLOATS

each_device = pytest.mark.parametrize("device", DEVICES)
linalg = nd.linalg
BATCHES = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2)


def tolerance(dtype: str) -> float:
    return 1e-4 if dtype == "float32" else 1e-10


def host(x: nd.NDArray) -> Any:
    return x.to_device("cpu").numpy()


@st.composite
def stacks(draw: st.DrawFn, square: bool = False) -> Any:
    """A stack of matrices of normal variates: well conditioned enough to compare, and in one of three layouts."""
    m = draw(st.integers(0, 4))
    n = m if square else draw(st.integers(0, 4))
    shape = (*draw(BATCHES), m, n)
    values = np.random.default_rng(draw(st.integers(0, 2**32))).standard_normal(shape)
    return values.astype(draw(st.sampled_from(FLOATS)))


def arrays(values: Any, device: str) -> list[nd.NDArray]:
    """The values in C order, as a transposed view and backwards."""
    dense = nd.asarray(values, device=device, copy=True)
    turned = nd.asarray(np.ascontiguousarray(np.swapaxes(values, -1, -2)), device=device, copy=True).mT
    backwards = nd.asarray(np.ascontiguousarray(values[..., ::-1, :]), device=device, copy=True)[..., ::-1, :]
    return [dense, turned, backwards]


def near(actual: nd.NDArray, expected: Any, dtype: str, device: str) -> None:
    assert actual.device == device
    assert actual.dtype == dtype
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(host(actual), expected, rtol=tolerance(dtype), atol=tolerance(dtype))


@each_device
@hypothesis.given(values=stacks())
@hypothesis.settings(max_examples=25)
def test_decompositions_multiply_back(device: str, values: Any) -> None:
    dtype = values.dtype.name
    for x in arrays(values, device):
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(x, mode=mode)
            near(q @ r, values, dtype, device)
            near(r, np.triu(host(r)), dtype, device)
        for full in (False, True):
            u, s, vh = linalg.svd(x, full_matrices=full)
            k = s.shape[-1]
            near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], values, dtype, device)
        near(linalg.svdvals(x), host(s), dtype, device)
        near(x @ linalg.pinv(x) @ x, values, dtype, device)


@each_device
@hypothesis.given(values=stacks(square=True))
@hypothesis.settings(max_examples=25)
def test_square_matrices(device: str, values: Any) -> None:
    dtype, n = values.dtype.name, values.shape[-1]
    values = values + 4 * np.eye(n, dtype=dtype)  # away from singular
    symmetric = values @ np.swapaxes(values, -1, -2) + np.eye(n, dtype=dtype)
    identity = np.broadcast_to(np.eye(n), values.shape)
    for x, s in zip(arrays(values, device), arrays(symmetric, device), strict=True):
        near(x @ linalg.inv(x), identity, dtype, device)
        sign, logabsdet = linalg.slogdet(x)
        np.testing.assert_allclose(host(linalg.det(x)), host(sign * nd.exp(logabsdet)), rtol=1e-3)
        near(linalg.det(x), np.linalg.det(values), dtype, device) if n < 3 else None
        b = nd.asarray(values[..., :, :1], device=device)
        near(x @ linalg.solve(x, b), host(b), dtype, device)
        lower, upper = linalg.cholesky(s), linalg.cholesky(s, upper=True)
        scale = tolerance(dtype) * max(1.0, float(np.abs(symmetric).max(initial=1.0)))
        np.testing.assert_allclose(host(lower @ lower.mT), symmetric, atol=scale)
        np.testing.assert_allclose(host(upper.mT @ upper), symmetric, atol=scale)
        w, v = linalg.eigh(s)
        np.testing.assert_allclose(host((v * w[..., None, :]) @ v.mT), symmetric, atol=scale)
        np.testing.assert_allclose(host(linalg.eigvalsh(s)), host(w), atol=scale)
        for power in (0, 1, 3, -2):
            np.testing.assert_allclose(
                host(linalg.matrix_power(x, power)), np.linalg.matrix_power(values, power), rtol=1e-3, atol=scale
            )


@each_device
@hypothesis.given(values=stacks(), data=st.data())
def test_norms_and_ranks(device: str, values: Any, data: st.DataObject) -> None:
    dtype, keepdims = values.dtype.name, data.draw(st.booleans())
    x = data.draw(st.sampled_from(arrays(values, device)))
    if 0 not in values.shape[-2:]:
        orders: list[Any] = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]
        for order in orders:
            expected = np.linalg.matrix_norm(values, ord=order, keepdims=keepdims)
            near(linalg.matrix_norm(x, ord=order, keepdims=keepdims), expected, dtype, device)
        axis: Any = data.draw(st.sampled_from([-1, -2, (-2, -1)]))
        for power in (0, 1, 2, 3, 0.5, math.inf, -math.inf):
            expected = np.linalg.vector_norm(values, axis=axis, ord=power, keepdims=keepdims)
            near(linalg.vector_norm(x, axis=axis, ord=power, keepdims=keepdims), expected, dtype, device)
        thin = values[..., :1] * np.ones(3, dtype)
        ranks = linalg.matrix_rank(nd.asarray(thin, device=device))
        assert_same(ranks, np.full(thin.shape[:-2], 1))
    assert linalg.matrix_rank(x).dtype == nd.int64
    offset = data.draw(st.integers(-4, 4))
    assert_same(linalg.diagonal(x, offset=offset), np.linalg.diagonal(values, offset=offset))
    near(linalg.trace(x, offset=offset), np.linalg.trace(values, offset=offset), dtype, device)


@each_device
def test_cross(device: str) -> None:
    x, y = np.arange(12).reshape(2, 3, 2), np.arange(12)[::-1].reshape(2, 3, 2)
    expected = np.cross(x, y, axis=1)
    assert_same(linalg.cross(nd.asarray(x, device=device), nd.asarray(y.copy(), device=device), axis=1), expected)
    with pytest.raises(nd.ShapeError, match="cross"):
        linalg.cross(nd.ones(2, device=device), nd.ones(2, device=device))


@each_device
def test_solve_takes_vectors_and_integers(device: str) -> None:
    a, b = nd.asarray([[2, 0], [0, 4]], device=device), nd.asarray([2, 2], device=device)
    assert linalg.solve(a, b).tolist() == [1.0, 0.5]
    assert linalg.solve(a, b).dtype == nd.float32
    assert linalg.trace(a.astype("int8")).dtype == nd.int64


@each_device
def test_what_does_not_exist_is_refused(device: str) -> None:
    singular, flat = nd.zeros((2, 2), device=device), nd.ones((2, 3), device=device)
    with pytest.raises(nd.LinearAlgebraError, match=r"inv.*\(2, 2\)"):
        linalg.inv(singular)
    with pytest.raises(nd.LinearAlgebraError, match="cholesky"):
        linalg.cholesky(-nd.eye(2, device=device))
    calls: list[Callable[[], Any]] = [
        lambda: linalg.inv(flat),
        lambda: linalg.det(nd.ones(3, device=device)),
        lambda: linalg.matrix_power(flat, 2),
        lambda: linalg.solve(nd.eye(2, device=device), nd.ones(3, device=device)),
        lambda: linalg.svd(nd.ones(3, device=device)),
    ]
    for call in calls:
        with pytest.raises(nd.ShapeError):
            call()
    refused: list[Callable[[], Any]] = [lambda: linalg.qr(flat, mode="raw"), lambda: linalg.matrix_norm(flat, ord=3)]
    for wrong in refused:
        with pytest.raises(ValueError, match=r"mode|norm"):
            wrong()


def test_nothing_is_copied_on_the_way() -> None:
    """What NumPy made is taken over as it is: the result is a view of NumPy's memory."""
    inverse = linalg.inv(nd.eye(3))
    assert inverse.buffer.owner is not None


@st.composite
def complex_stacks(draw: st.DrawFn, square: bool = False) -> Any:
    """As :func:`stacks`, complex."""
    real = draw(stacks(square))
    imag = np.random.default_rng(draw(st.integers(0, 2**32))).standard_normal(real.shape)
    return real.astype(np.complex64 if real.dtype == np.float32 else np.complex128) + imag.astype(real.dtype) * 1j


def adjoint(values: Any) -> Any:
    return np.swapaxes(np.conj(values), -1, -2)


with_complex = pytest.mark.parametrize("device", ["cpu", "numpy"])
REAL = {"complex64": "float32", "complex128": "float64"}


def close(actual: nd.NDArray, expected: Any, dtype: str) -> None:
    """The dtype is that named; the values agree to the roundings of float32 or float64, beside the largest."""
    assert actual.dtype == dtype and actual.shape == np.shape(expected)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    atol = (1e-4 if dtype in ("float32", "complex64") else 1e-10) * scale
    np.testing.assert_allclose(host(actual), expected, atol=atol)


@with_complex
@hypothesis.given(values=complex_stacks())
@hypothesis.settings(max_examples=25)
def test_complex_matrices(device: str, values: Any) -> None:
    dtype = values.dtype.name
    real = REAL[dtype]
    for x in arrays(values, device):
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(x, mode=mode)
            close(q @ r, values, dtype)
            close(nd.conj(q.mT) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2)), dtype)
        u, s, vh = linalg.svd(x, full_matrices=False)
        close((u * s[..., None, :]) @ vh, values, dtype)
        assert s.dtype == linalg.svdvals(x).dtype == real
        inverse = linalg.pinv(x)
        close(x @ inverse @ x, values, dtype)
        close(nd.conj((x @ inverse).mT), host(x @ inverse), dtype)  # Moore and Penrose: Hermitian
        close(linalg.trace(x), np.trace(values, axis1=-2, axis2=-1), dtype)
        if 0 in values.shape[-2:]:
            continue
        orders: list[Any] = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]
        for order in orders:
            close(linalg.matrix_norm(x, ord=order), np.linalg.matrix_norm(values, ord=order), real)
        for power in (0, 1, 2, 3, 0.5, math.inf, -math.inf):
            close(linalg.vector_norm(x, axis=-1, ord=power), np.linalg.vector_norm(values, axis=-1, ord=power), real)
        thin = nd.asarray(values[..., :1] * np.asarray([1, 1j, 2], values.dtype), device=device)
        assert_same(linalg.matrix_rank(thin), np.full(values.shape[:-2], 1))


@with_complex
@hypothesis.given(values=complex_stacks(square=True))
@hypothesis.settings(max_examples=25)
def test_complex_square_matrices(device: str, values: Any) -> None:
    dtype, n = values.dtype.name, values.shape[-1]
    values = values + 6 * np.eye(n, dtype=dtype)  # away from singular
    hermitian = values @ adjoint(values)
    identity = np.broadcast_to(np.eye(n), values.shape)
    for x, h in zip(arrays(values, device), arrays(hermitian, device), strict=True):
        close(x @ linalg.inv(x), identity, dtype)
        sign, logabsdet = linalg.slogdet(x)
        assert logabsdet.dtype == REAL[dtype]
        close(linalg.det(x), host(sign) * np.exp(host(logabsdet)), dtype)
        b = nd.asarray(values[..., :, :1], device=device)
        close(x @ linalg.solve(x, b), host(b), dtype)
        lower, upper = linalg.cholesky(h), linalg.cholesky(h, upper=True)
        close(lower @ nd.conj(lower.mT), hermitian, dtype)
        close(nd.conj(upper.mT) @ upper, hermitian, dtype)
        close(upper, np.triu(host(upper)), dtype)
        w, v = linalg.eigh(h)
        assert w.dtype == REAL[dtype]
        close((v * w[..., None, :]) @ nd.conj(v.mT), hermitian, dtype)
        close(linalg.eigvalsh(h), host(w), REAL[dtype])
        for power in (0, 1, 3, -2):
            close(linalg.matrix_power(x, power), np.linalg.matrix_power(values, power), dtype)


@with_complex
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64", "float16", "bfloat16"])
def test_eigenvalues(dtype: str, device: str) -> None:
    """Complex in any case, and x @ v == v * w."""
    wide = "complex128" if dtype in ("float64", "complex128") else "complex64"
    values = np.random.default_rng(5).integers(-4, 5, (3, 4, 4)).astype(float)
    for x in (nd.asarray(values, device=device).astype(dtype), nd.asarray(values, device=device).astype(dtype).mT):
        w, v = linalg.eig(x)
        assert v.dtype == wide
        wide_x = x.astype("float32").astype(wide) if x.itemsize == 2 else x.astype(wide)
        close(wide_x @ v, host(v * w[..., None, :]), wide)
        close(linalg.eigvals(x), host(w), wide)
    rotation = nd.asarray([[0.0, -1.0], [1.0, 0.0]], device=device).astype(dtype)
    close(nd.sort(nd.imag(linalg.eigvals(rotation))), [-1, 1], REAL[wide])
    assert linalg.eig(nd.eye(2, dtype=dtype, device=device)).eigenvalues.dtype == wide  # real ones too
    assert linalg.eigvals(nd.zeros((2, 0, 0), dtype=dtype, device=device)).shape == (2, 0)
    with pytest.raises(nd.ShapeError, match=r"eig: shape \(2, 3\)"):
        linalg.eig(nd.ones((2, 3), device=device))
    with pytest.raises(nd.LinearAlgebraError, match=r"eigvals: shape \(1, 1\)"):
        linalg.eigvals(nd.full((1, 1), nd.nan, device=device))


@with_complex
def test_complex_products(device: str) -> None:
    """vecdot conjugates its first operand; outer, cross, tensordot and matmul conjugate nothing."""
    x, y = np.asarray([1 + 2j, 3j, -1], "complex64"), np.asarray([2 - 1j, 1, 1j], "complex64")
    a, b = nd.asarray(x, device=device), nd.asarray(y, device=device)
    assert linalg.vecdot(a, b).item() == np.vdot(x, y)
    assert_close = np.testing.assert_allclose
    assert_close(host(linalg.outer(a, b)), np.outer(x, y))
    assert_close(host(linalg.cross(a, b)), np.cross(x, y))
    assert_close(host(linalg.tensordot(a, b, axes=1)), np.tensordot(x, y, 1))
    assert_close(host(linalg.matmul(a, b)), x @ y)
    assert linalg.vecdot(nd.asarray([1.0, 2.0], device=device), a[:2]).dtype == nd.complex64
