"""Large work is cut into blocks: for several threads, without a bit that depends on their number, and accurately."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import reductions


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = nd.get_num_threads()
    yield
    nd.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


LARGE = {
    "line": numbers((300_001,)),
    "rows": numbers((517, 523)),
    "columns": numbers((523, 517)).T,
    "few columns": numbers((100_003, 3)),
    "few rows": numbers((3, 100_003)),
    "planes": numbers((31, 65, 129)).transpose(1, 2, 0),
    "reversed": numbers((517, 523))[::-1, ::-1],
    "steps": numbers((600, 1100))[::2, ::3],
    "held": np.broadcast_to(numbers((1, 523)), (517, 523)),
}
WORK: dict[str, Callable[[nd.NDArray], nd.NDArray]] = {
    "add": lambda x: x + x,
    "across": lambda x: x + nd.copy(x.T).T,
    "exp": nd.exp,
    "where": lambda x: nd.where(x > 0, x, 1.5),
    "cast": lambda x: x.astype("float64"),
    "copy": nd.copy,
    "transpose": lambda x: nd.copy(x.T),
}
for _name in ("sum", "prod", "max", "mean", "any", "argmax", "argmin", "cumsum", "cumprod", "var", "std", "logsumexp"):
    for _axis in (None, 0, -1):
        WORK[f"{_name} {_axis}"] = lambda x, name=_name, axis=_axis: getattr(nd, name)(x, axis=axis)  # type: ignore[misc]
for _name in ("softmax", "log_softmax"):
    for _axis in (0, -1):
        WORK[f"{_name} {_axis}"] = lambda x, name=_name, axis=_axis: getattr(nd, name)(x, axis=axis)  # type: ignore[misc]


@pytest.mark.parametrize("layout", LARGE)
@pytest.mark.parametrize("work", WORK)
def test_the_number_of_threads_changes_no_bit(work: str, layout: str) -> None:
    x = nd.asarray(LARGE[layout])
    results = []
    for count in (1, 2, 3):
        nd.set_num_threads(count)
        results.append(nd.copy(WORK[work](x)).numpy().tobytes())
    assert results[0] == results[1] == results[2]


REFERENCE = ("max", "min", "argmax", "argmin", "any", "all")


@pytest.mark.parametrize("layout", LARGE)
@pytest.mark.parametrize("name", REFERENCE)
def test_exact_reductions_of_large_arrays(name: str, layout: str) -> None:
    values = LARGE[layout]
    for axis in (None, 0, values.ndim - 1):
        expected = getattr(np, name)(values, axis=axis)
        np.testing.assert_array_equal(getattr(nd, name)(nd.asarray(values), axis=axis).numpy(), expected)


@pytest.mark.parametrize("layout", LARGE)
def test_scans_of_large_arrays(layout: str) -> None:
    values = LARGE[layout]
    for axis in range(values.ndim):
        wide = np.cumsum(values.astype("f8"), axis=axis)
        np.testing.assert_allclose(nd.cumsum(nd.asarray(values), axis=axis).numpy(), wide, rtol=1e-6, atol=1e-5)
        factors = 1 + values * np.float32(1e-3)
        product = np.cumprod(factors.astype("f8"), axis=axis)
        np.testing.assert_allclose(nd.cumprod(nd.asarray(factors), axis=axis).numpy(), product, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int32"])
def test_integers_in_64_bits(dtype: str) -> None:
    values = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (513, 517)).astype(dtype)
    x = nd.asarray(values)
    for axis in (None, 0, 1):
        for name in ("sum", "cumsum", "max", "argmax", "argmin"):
            expected = getattr(np, name)(values, axis=axis)
            np.testing.assert_array_equal(getattr(nd, name)(x, axis=axis).numpy(), expected)


@pytest.mark.parametrize("shape", [(1000,), (1024, 40), (40, 1024), (70, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_nan_wins_and_the_first_of_equals(shape: tuple[int, ...], dtype: str) -> None:
    values = np.round(numbers(shape, dtype))  # many ties
    for nans in (0, 1, 5):
        places = np.random.default_rng(nans).integers(0, values.size, nans)
        values.reshape(-1)[places] = np.nan
        for axis in (None, *range(values.ndim)):
            for name in ("argmax", "argmin"):
                for view in (values, values[::-1], np.asfortranarray(values)):
                    actual = getattr(nd, name)(nd.asarray(view), axis=axis)
                    np.testing.assert_array_equal(actual.numpy(), getattr(np, name)(view, axis=axis))


def test_equal_zeros_and_infinities() -> None:
    for values in ([-0.0, 0.0] * 40, [0.0, -0.0] * 40, [-np.inf] * 80, [np.inf] * 80):
        for column in (np.array(values, "f4"), np.repeat(np.array(values, "f4")[:, None], 9, 1)):
            assert nd.argmax(nd.asarray(column), axis=0).numpy().max() == 0
            assert nd.argmin(nd.asarray(column), axis=0).numpy().max() == 0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_are_right_to_the_last_bit_of_float32(axis: int, order: str) -> None:
    """Against math.fsum; numpy/numpy#8869: float32 sums over the first axis stalled."""
    shape = (1 << 18, 3) if axis == 0 else (3, 1 << 18)
    for values in (np.full(shape, 0.1, "f4"), numbers(shape) + np.float32(3)):
        exact = [math.fsum(line.tolist()) for line in np.moveaxis(values, axis, -1)]
        actual = nd.sum(nd.asarray(np.asarray(values, order=order)), axis=axis)  # type: ignore[call-overload]
        np.testing.assert_array_equal(actual.numpy(), np.array(exact, "f4"))
    whole = nd.sum(nd.asarray(np.asarray(values, order=order))).item()  # type: ignore[call-overload]
    assert np.float32(whole) == np.float32(math.fsum(values.reshape(-1).tolist()))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_float64_sums_stay_near_the_exact_ones(axis: int | None) -> None:
    values = numbers((1021, 1031), "float64") * 10.0 ** np.random.default_rng(2).integers(-8, 8, (1021, 1031))
    lines = [values.reshape(-1)] if axis is None else np.moveaxis(values, axis, -1)
    actual = np.atleast_1d(nd.sum(nd.asarray(values), axis=axis).numpy())
    for line, total in zip(lines, actual, strict=True):
        bound = 64 * np.finfo("f8").eps * math.fsum(np.abs(line).tolist())
        assert abs(total - math.fsum(line.tolist())) <= bound


@pytest.mark.parametrize("layout", LARGE)
def test_variances(layout: str) -> None:
    """Of data far from zero too, where the mean of squares would leave nothing."""
    values = LARGE[layout]
    for offset in (0.0, 3000.0):
        shifted = values + np.float32(offset)
        wide = shifted.astype("f8")
        for axis in (None, *range(values.ndim)):
            for correction in (0.0, 1.0):
                actual = nd.var(nd.asarray(shifted), axis=axis, correction=correction)
                np.testing.assert_allclose(actual.numpy(), wide.var(axis=axis, ddof=correction), rtol=3e-7)


def test_variances_of_little_and_nothing() -> None:
    assert math.isnan(nd.var(nd.zeros((0,))).item())
    assert nd.var(nd.zeros((3, 0)), axis=0).shape == (0,)
    assert nd.var(nd.asarray(3.0)).item() == 0.0
    assert math.isnan(nd.var(nd.asarray([3.0]), correction=1).item())
    assert nd.var(nd.asarray([1.0, 5.0]), correction=2).item() == math.inf
    assert nd.var(nd.asarray([1, 5])).item() == 4.0
    assert math.isnan(nd.var(nd.asarray([1.0, math.nan])).item())
    assert nd.var(nd.ones((2, 3)), axis=(), keepdims=True).tolist() == [[0.0] * 3] * 2


EDGES = [
    [0.0, 1.0, -1.0],
    [1e30, -1e30, 0.0],
    [-np.inf, 0.0, 1.0],
    [-np.inf] * 3,
    [np.inf, 0.0, 1.0],
    [np.nan, 0.0, 1.0],
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 3, 255, 256, 1025])
def test_fused_softmax_is_its_composition(length: int, dtype: str) -> None:
    lines = [numbers((5, length), dtype) * scale for scale in (1, 30, 1000)]
    lines.append(np.resize(np.array(EDGES, dtype), (6, length)))
    for values in lines:
        x = nd.asarray(values)
        for view in (x, x[:, ::-1][:, ::-1], x[::-1], nd.asarray(np.stack([values] * 3, 1))[:, 1]):
            compare(nd.softmax(view), reductions._composed_softmax(view, 1))
            compare(nd.log_softmax(view), reductions._composed_log_softmax(view, 1))
            compare(nd.logsumexp(view, axis=1), reductions._composed_logsumexp(view, (1,), False))
            compare(nd.logsumexp(view, axis=-1, keepdims=True), reductions._composed_logsumexp(view, (1,), True))


def compare(actual: nd.NDArray, expected: nd.NDArray) -> None:
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    precision = 4 * float(np.finfo(expected.dtype.name).eps)
    np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=precision, atol=precision)


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed", "planes", "few columns"])
def test_fused_variance_is_its_composition(layout: str) -> None:
    x = nd.asarray(LARGE[layout])
    for axes in ((0,), (x.ndim - 1,), tuple(range(x.ndim))):
        actual, composed = nd.var(x, axis=axes), reductions._composed_var(x, axes, 0.0, False)
        np.testing.assert_allclose(actual.numpy(), composed.numpy(), rtol=1e-6)
