"""Running sums, quantiles, histograms and the reductions without NaN, on every device, against NumPy."""

import warnings
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, FLOATS, INTEGERS, SHAPES, operands

each_device = pytest.mark.parametrize("device", DEVICES)
METHODS = [
    "linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf", "hazen", "weibull",
    "median_unbiased", "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
]  # fmt: skip


def _axis(data: st.DataObject, ndim: int) -> Any:
    single = st.integers(-ndim, ndim - 1)
    several = st.lists(st.integers(0, ndim - 1), unique=True, min_size=1).map(tuple)
    return data.draw(st.none() | single | several) if ndim else None


def _tame(value: Any) -> bool:
    return bool(np.isnan(value) or abs(value) <= 2)


@each_device
@pytest.mark.parametrize("function", ["cumulative_sum", "cumulative_prod"])
@hypothesis.given(data=st.data())
def test_cumulative(function: str, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(len))
    dtype = data.draw(st.sampled_from(DTYPES[1:]))
    operand = data.draw(operands(dtype, shape, (0.5, 2.0), lambda value: dtype not in FLOATS or _tame(value)))
    axis, initial = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.booleans())
    hypothesis.note(f"nd.{function}({operand.code(device)}, axis={axis}, include_initial={initial})")
    x = operand.numpy()
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64 if dtype in FLOATS else np.uint64 if dtype[0] == "u" else np.int64)
        expected = getattr(np, function)(wide, axis=axis, include_initial=initial)
        expected = expected.astype(dtype) if dtype in FLOATS else expected
    actual = getattr(nd, function)(operand.array(device), axis=axis, include_initial=initial)
    slack = 1e-13 * np.nansum(np.abs(wide.astype(float))) if function == "cumulative_sum" and dtype in FLOATS else 0.0
    assert_same(actual, expected, ulps=2 + x.size, slack=slack, zero_signs=False)


@each_device
def test_cumulative_dtypes_and_axes(device: str) -> None:
    x = nd.asarray([200, 100], dtype="uint8", device=device)
    assert_same(nd.cumulative_sum(x, dtype="uint8"), np.array([200, 44], np.uint8))
    assert_same(nd.cumulative_sum(x, dtype="float64", include_initial=True), np.array([0.0, 200.0, 300.0]))
    with pytest.raises(nd.ShapeError, match="cumulative_sum"):
        nd.cumulative_sum(nd.ones((2, 2), device=device))


@each_device
@hypothesis.given(data=st.data())
def test_logcumsumexp(device: str, data: st.DataObject) -> None:
    """Against a running logaddexp in float64."""
    shape = data.draw(SHAPES.filter(len))
    dtype = data.draw(st.sampled_from(FLOATS))
    operand = data.draw(operands(dtype, shape, (-700.0, 700.0), lambda value: abs(value) < 1 or value in (-np.inf,)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    hypothesis.note(f"nd.logcumsumexp({operand.code(device)}, axis={axis})")
    expected = np.logaddexp.accumulate(operand.numpy().astype(np.float64), axis=axis).astype(dtype)
    actual = nd.logcumsumexp(operand.array(device), axis=axis)
    assert_same(actual, expected, ulps=16, slack=16 * float(np.finfo(dtype).eps), zero_signs=False)


@each_device
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
@hypothesis.settings(max_examples=20)
@hypothesis.given(data=st.data())
def test_quantile(function: str, method: str, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(lambda shape: 0 not in shape))
    operand = data.draw(operands("float64", shape, (-10.0, 10.0), _tame))
    axis, keepdims = _axis(data, len(shape)), data.draw(st.booleans())
    q: Any = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.3, 0.99, 1.0, [0.1, 0.9], [[0.5], [1.0]]]))
    hypothesis.note(f"nd.{function}({operand.code(device)}, {q}, axis={axis}, method={method!r}, keepdims={keepdims})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        # one axis of q at a time: of two, NumPy's nanquantile loses the order when axis is a tuple
        rows = getattr(np, function)(operand.numpy(), np.ravel(q), axis=axis, method=method, keepdims=keepdims)
    expected = np.asarray(rows).reshape(np.shape(q) + np.shape(rows)[1:])
    actual = getattr(nd, function)(operand.array(device), q, axis=axis, method=method, keepdims=keepdims)
    assert_same(actual, expected.astype(np.float64), ulps=8, slack=1e-12, zero_signs=False)


@each_device
def test_quantile_of_other_dtypes_and_of_nothing(device: str) -> None:
    assert nd.median(nd.asarray([1, 2, 3, 10], device=device)).tolist() == 2.5
    assert nd.median(nd.asarray([1, 2, 3, 10], device=device)).dtype == nd.float32
    assert nd.percentile(nd.asarray([1.0, 2.0], dtype="float32", device=device), 50).dtype == nd.float32
    assert nd.isnan(nd.median(nd.zeros((0, 2), device=device), axis=0)).tolist() == [True, True]
    assert nd.quantile(nd.asarray([-nd.inf, nd.inf], device=device), [0, 1]).tolist() == [-nd.inf, nd.inf]
    assert nd.median(nd.asarray([nd.inf, nd.inf], device=device)).item() == nd.inf
    assert nd.nanmedian(nd.asarray([nd.nan, 4.0, 2.0], device=device)).item() == 3.0
    assert nd.nanpercentile(nd.asarray([nd.nan, 4.0, 2.0], device=device), 100).item() == 4.0
    x = nd.ones(3, device=device)
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            nd.quantile(x, wrong)
    with pytest.raises(ValueError, match="method"):
        nd.quantile(x, 0.5, method="guess")


@each_device
@pytest.mark.parametrize("function", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"])
@hypothesis.given(data=st.data())
def test_nan_reductions(function: str, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(lambda shape: 0 not in shape))
    operand = data.draw(operands("float64", shape, (-2.0, 2.0), lambda value: np.isnan(value) or value in (0, 1)))
    axis, keepdims = _axis(data, len(shape)), data.draw(st.booleans())
    hypothesis.note(f"nd.{function}({operand.code(device)}, axis={axis}, keepdims={keepdims})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = getattr(np, function)(operand.numpy(), axis=axis, keepdims=keepdims)
    actual = getattr(nd, function)(operand.array(device), axis=axis, keepdims=keepdims)
    slack = 1e-7 if function == "nanstd" else 1e-13
    assert_same(actual, np.asarray(expected, np.float64), ulps=4 + operand.numpy().size, slack=slack, zero_signs=False)


@each_device
@pytest.mark.parametrize("dtype", INTEGERS)
def test_nan_reductions_of_integers_are_the_plain_ones(device: str, dtype: str) -> None:
    x = nd.asarray([[1, 2], [3, 5]], dtype=dtype, device=device)
    for name in ("sum", "prod", "max", "min"):
        plain, without = getattr(nd, name)(x, axis=0), getattr(nd, "nan" + name)(x, axis=0)
        assert plain.dtype == without.dtype and plain.tolist() == without.tolist()


@each_device
@pytest.mark.parametrize("function", ["nanargmax", "nanargmin"])
@hypothesis.given(data=st.data())
def test_index_reductions_without_nan(function: str, device: str, data: st.DataObject) -> None:
    """Against a search in Python: NumPy's own functions take NaN for an infinity."""
    shape = data.draw(SHAPES.filter(lambda shape: 0 not in shape))
    dtype = data.draw(st.sampled_from(DTYPES))
    operand = data.draw(operands(dtype, shape, (-2.0, 2.0)))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    keepdims = data.draw(st.booleans())
    hypothesis.note(f"nd.{function}({operand.code(device)}, axis={axis}, keepdims={keepdims})")
    x, largest = operand.numpy(), function == "nanargmax"
    absent = np.isnan(x)
    if absent.all(axis=axis).any():
        with pytest.raises(nd.ShapeError, match=f"{function}: shape"):
            getattr(nd, function)(operand.array(device), axis=axis)
        return
    lines = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    chosen = [
        next(i for i, value in enumerate(line) if value == (max if largest else min)(v for v in line if v == v))
        for line in lines.tolist()
    ]
    kept = np.max(x, axis=axis, keepdims=keepdims).shape if x.ndim else ()
    actual = getattr(nd, function)(operand.array(device), axis=axis, keepdims=keepdims)
    assert_same(actual, np.asarray(chosen).reshape(kept))


@each_device
def test_index_reductions_tell_nan_from_the_infinity_that_loses(device: str) -> None:
    x = nd.asarray([[nd.nan, -nd.inf, nd.nan, -nd.inf], [nd.nan, 1.0, nd.nan, 2.0]], device=device)
    assert nd.nanargmax(x, axis=1).tolist() == [1, 3] and nd.nanargmin(-x, axis=1).tolist() == [1, 3]
    assert nd.nanargmax(x[0]).item() == 1 and nd.nanargmax(x).item() == 7 and nd.nanargmin(x).item() == 1


@each_device
@hypothesis.given(data=st.data())
def test_histogram(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float64", "int64", "uint8"]))
    operand = data.draw(operands(dtype, data.draw(SHAPES), (-10.0, 10.0), lambda value: abs(value) <= 10))
    bins: Any = data.draw(st.integers(1, 7) | st.sampled_from([[0.0, 1.0, 1.0, 4.0], [-5.0, 5.0]]))
    limits = data.draw(st.none() | st.sampled_from([(-1.0, 3.0), (2.0, 2.0)])) if isinstance(bins, int) else None
    hypothesis.note(f"nd.histogram({operand.code(device)}, {bins}, range={limits})")
    x = operand.numpy()
    try:
        expected_edges = np.histogram_bin_edges(x, bins, limits)
    except ValueError:  # "Too many bins for data range": NumPy refuses neighbouring numbers
        hypothesis.reject()
    actual = nd.histogram(operand.array(device), bins, range=limits)
    assert_same(actual.edges, np.asarray(expected_edges, np.float64), ulps=4, slack=1e-14, zero_signs=False)
    expected = np.histogram(x, actual.edges.to_device("cpu").numpy())[0]  # our edges may differ in the last bit
    assert_same(actual.counts, expected)


@each_device
def test_histogram_weights_density_and_errors(device: str) -> None:
    values = np.array([0.1, 0.4, 0.4, 0.9])
    weights = np.array([1.0, 2.0, 4.0, 8.0])
    x, w = nd.asarray(values, device=device), nd.asarray(weights, device=device)
    expected, edges = np.histogram(values, 2, range=(0.0, 1.0), weights=weights)
    actual = nd.histogram(x, 2, range=(0.0, 1.0), weights=w)
    assert_same(actual.counts, expected)
    assert_same(actual.edges, edges)
    density = nd.histogram(x, [0.0, 0.2, 1.0], density=True)
    assert np.allclose(density.counts.to_device("cpu").numpy(), [1.25, 0.9375])
    for bins in (0, [1.0], [2.0, 1.0]):
        with pytest.raises(ValueError, match="histogram"):
            nd.histogram(x, bins)
    with pytest.raises(ValueError, match="finite"):
        nd.histogram(nd.asarray([0.0, nd.inf], device=device))
    with pytest.raises(nd.ShapeError, match="weights"):
        nd.histogram(x, 2, weights=nd.ones(2, device=device))
