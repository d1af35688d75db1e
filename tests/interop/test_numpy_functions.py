"""NumPy beside arrays: its scalars and its functions give a right result, its arrays a clear error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

VALUES = np.array([[1.5, -2.0, 3.0], [0.25, 5.0, -6.0]], np.float32)

RIGHT = """
np.sum(a) | np.sum(a, axis=0) | np.sum(a, axis=1, keepdims=True) | np.sum(a, dtype="f8") | np.mean(a, axis=0)
np.prod(a) | np.std(a) | np.var(a, ddof=1) | np.max(a) | np.min(a, axis=1) | np.ptp(a) | np.any(a) | np.all(a)
np.argmax(a) | np.argmin(a, axis=0) | np.cumsum(a) | np.cumprod(a, axis=0) | np.median(a) | np.percentile(a, 30)
np.concatenate([a, a]) | np.concatenate((a, a), axis=1) | np.stack([a, b]) | np.vstack([a, b]) | np.hstack([a, b])
np.where(a > 0, a, b) | np.clip(a, 0, 2) | np.round(a, 1) | np.sort(a) | np.argsort(a) | np.unique(a) | np.diff(a)
np.transpose(a) | np.reshape(a, (3, 2)) | np.ravel(a) | np.squeeze(a[:1, ...]) | np.expand_dims(a, 0)
np.swapaxes(a, 0, 1)
np.moveaxis(a, 0, 1) | np.broadcast_to(a, (2, 2, 3)) | np.repeat(a, 2) | np.tile(a, 2) | np.roll(a, 1) | np.flip(a)
np.take(a, [0, 2]) | np.nonzero(a)[0] | np.searchsorted(np.arange(3.0), a) | np.isclose(a, b) | np.nan_to_num(a)
np.dot(a, b.T) | np.inner(a, b) | np.outer(a, b) | np.tensordot(a, b, 2) | np.einsum("ij,ij->i", a, b) | np.trace(a)
np.linalg.norm(a) | np.linalg.svd(a)[1] | np.linalg.det(a[:, :2]) | np.fft.fft(a) | np.diagonal(a) | np.tril(a)
np.asarray(a) | np.asarray(a, dtype="f8") | np.array(a) | np.array([a, b]) | np.copy(a) | np.full((2, 3), a)
np.pad(a, 1)
np.zeros_like(a) | np.ones_like(a) | np.full_like(a, 7) | np.from_dlpack(a) | np.atleast_1d(a) | np.histogram(a, 3)[0]
np.interp(a, [0.0, 1.0], [0.0, 2.0]) | np.cov(a) | np.average(a, axis=0, weights=[1, 3]) | np.array_split(a, 2)[1]
np.float32(2) * a | a * np.float32(2) | np.float64(1) + a | np.int64(3) - a | 2 / a | np.float32(2) < a | a**np.int8(2)
np.float32(2) // a | np.float16(1.5) % a | np.bool_(True) & (a > 1) | np.float32(1) - a | abs(a) | -a
"""

PLAIN = [
    "np.shape(a)",
    "np.ndim(a)",
    "np.size(a)",
    "np.allclose(a, a)",
    "np.array_equal(a, b)",
    "np.may_share_memory(a, b)",
]


def evaluated(text: str, a: Any, b: Any) -> Any:
    return eval(text, {"np": np, "a": a, "b": b})


@pytest.mark.parametrize("text", [each.strip() for line in RIGHT.strip().splitlines() for each in line.split(" | ")])
def test_right_results(text: str) -> None:
    """What NumPy gives for its own arrays; a NumPy scalar in an operator is weak, so it never widens float32."""
    a, b = nd.asarray(VALUES, copy=True), nd.asarray(VALUES[::-1] + 1, copy=True)
    result, expected = evaluated(text, a, b), np.asarray(evaluated(text, VALUES, VALUES[::-1] + 1))
    values = np.asarray(result)
    assert values.shape == expected.shape
    weak = isinstance(result, nd.NDArray) and expected.dtype == np.float64
    assert values.dtype == (np.float32 if weak else expected.dtype)
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_results(text: str) -> None:
    a, b = nd.asarray(VALUES, copy=True), nd.asarray(VALUES[::-1], copy=True)
    assert evaluated(text, a, b) == evaluated(text, VALUES, VALUES[::-1].copy())


@pytest.mark.parametrize(
    "text",
    [
        "n + a",
        "a + n",
        "n * a",
        "a / n",
        "n @ a.T",
        "a @ n.T",
        "n == a",
        "a != n",
        "n < a",
        "a ** n",
        "n - a",
        "a // n",
    ],
)
def test_arrays_of_numpy_beside_arrays(text: str) -> None:
    with pytest.raises(nd.DTypeError, match=r"numpy\.ndarray is no array of treadle's; convert it with"):
        eval(text, {"a": nd.asarray(VALUES), "n": VALUES})


@pytest.mark.parametrize("function", [np.exp, np.negative, lambda a: np.add(a, a), lambda a: np.matmul(a, a.T)])
def test_universal_functions_are_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="does not support ufuncs"):
        function(nd.asarray(VALUES))


def test_writing_functions() -> None:
    """They write the array's memory, and its version says so."""
    a: Any = nd.asarray(VALUES, copy=True)
    writes: list[Callable[[], Any]] = [
        lambda: np.copyto(a, 3.0),
        lambda: np.put(a, [0], 7.0),
        lambda: np.fill_diagonal(a, 9.0),
        lambda: np.putmask(a, np.ones((2, 3), bool), 1.0),
        lambda: np.sum(np.ones((4, 2, 3), "f4"), axis=0, out=a),
    ]
    for write in writes:
        before = a.version
        result = write()
        assert a.version > before
    assert result is a and a.tolist() == [[4.0] * 3] * 2
    before = a.version
    np.sum(a), np.sort(a), np.concatenate([a, a])
    assert a.version == before


def test_reading_functions_share_memory() -> None:
    a = nd.asarray(VALUES, copy=True)
    np.transpose(a)[2, 1] = 11
    assert a[1, 2].item() == 11


def test_other_devices() -> None:
    a = nd.asarray(VALUES, device="numpy")
    assert np.sum(a, axis=0).tolist() == VALUES.sum(axis=0).tolist()
    try:
        there = nd.asarray(VALUES, device="cuda_emulated")
    except nd.TreadleError:
        return
    for call in (np.sum, np.asarray, np.sort):
        with pytest.raises(TypeError, match="cuda_emulated is not converted"):
            call(there)


def test_keywords_and_nesting() -> None:
    a = nd.asarray(VALUES)
    assert np.concatenate(([a, a[:1]], [VALUES])[0]).shape == (3, 3)
    assert np.average(VALUES, weights=a * 0 + 1) == pytest.approx(VALUES.mean())
    assert np.select([a > 0, a < 0], [a, -a], default=0).tolist() == np.abs(VALUES).tolist()
    with pytest.raises(np.exceptions.AxisError):
        np.sum(a, axis=5)
