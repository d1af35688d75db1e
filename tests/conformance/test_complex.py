"""Every op of the table that complex dtypes have, against NumPy in complex128; the others are refused."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from strategies import COMPLEX, DEVICES, SHAPES, Operand, broadcastable, operands
from treadle.ndarray import opset, reference
from treadle.ndarray.opset import OPS, Family, Op, family

each_device = pytest.mark.parametrize("device", DEVICES)
dtypes = st.sampled_from(list(COMPLEX))

UNARY = [op for op in family(Family.UNARY) if op.name in opset.COMPLEX]
BINARY = [op for op in family(Family.BINARY) if op.name in opset.COMPLEX]
PARTWISE = frozenset(["positive", "negative", "round", "add", "subtract"])
"""Ops whose parts are those of real numbers, to the last bit."""


def tame(value: Any) -> bool:
    """Values that leave no part of a result to the order of roundings: no product of them overflows or vanishes."""
    return abs(value) in (0, 1, 0.5, 1.5)


def plain(value: Any) -> bool:
    """Those, infinities and NaN."""
    return tame(value) or not np.isfinite(value)


def assert_near(actual: nd.NDArray, expected: Any, dtype: str, ulps: float, slack: Any = 0.0) -> None:
    """Equal within units in the last place of the magnitude; NaN and infinities in the same parts."""
    wanted = np.asarray(expected)
    assert actual.shape == wanted.shape
    found = actual.to_device("cpu").numpy()
    if wanted.dtype.kind == "b":
        assert np.array_equal(found, wanted), f"{found!r}, expected {wanted!r}"
        return
    assert actual.dtype == (dtype if wanted.dtype.kind == "c" else COMPLEX[dtype])
    limits = np.finfo(dtype)
    with np.errstate(all="ignore"):
        bound = ulps * (float(limits.eps) * np.abs(wanted) + float(limits.smallest_subnormal)) + slack
        for part in ("real", "imag"):
            x, y = getattr(found, part).astype(float), getattr(wanted, part)
            same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.isfinite(y) & (np.abs(x - y) <= bound))
            assert same.all(), f"{found!r}, expected {wanted!r} within {ulps} ulp of the magnitude"


def check(op: Op, device: str, drawn: list[Operand], dtype: str, ulps: float, slack: float = 0.0) -> None:
    """Compare with NumPy's result, in the wide dtype and rounded."""
    hypothesis.note(f"nd.{op.name}({', '.join(operand.code(device) for operand in drawn)})")
    arrays = [each.numpy() for each in drawn]
    with np.errstate(all="ignore"):
        wide = [each.astype(np.complex128) if each.dtype.kind == "c" else each for each in arrays]
        expected = np.asarray(reference.resolve(op.reference)(*wide))
        if dtype == "complex64" and expected.dtype.kind in "fc":
            expected = expected.astype({"f": np.float32, "c": np.complex64}[expected.dtype.kind]).astype(expected.dtype)
    assert_near(getattr(nd, op.name)(*(operand.array(device) for operand in drawn)), expected, dtype, ulps, slack)


@each_device
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
@hypothesis.settings(max_examples=30)
@hypothesis.given(data=st.data())
def test_unary(op: Op, device: str, data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    exact = op.name in PARTWISE or op.result == "bool"
    nasty = plain if exact or op.name == "abs" else tame
    operand = data.draw(operands(dtype, data.draw(SHAPES), (-10.0, 10.0), nasty))
    if op.name == "reciprocal":
        hypothesis.assume((np.abs(operand.base) >= 1e-6).all())
    slack = 16 * float(np.finfo(dtype).eps) if op.name == "log1p" else 0.0  # NumPy's own error, near 0
    check(op, device, [operand], dtype, 0 if exact else 8, slack)


@each_device
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
@hypothesis.settings(max_examples=30)
@hypothesis.given(data=st.data())
def test_binary(op: Op, device: str, data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    exact = op.name in PARTWISE or op.result == "bool"
    nasty = plain if exact or op.name == "multiply" else tame
    drawn = [data.draw(operands(dtype, shape, (-3.0, 3.0), nasty)) for shape in data.draw(broadcastable(2))]
    if op.name in ("pow", "divide"):  # beside 0 and subnormal numbers the result is a matter of the order of roundings
        hypothesis.assume(all((np.abs(each.base) >= 0.1).all() for each in drawn))
    check(op, device, drawn, dtype, 0 if exact else 64 if op.name == "pow" else 8)


@each_device
@hypothesis.given(data=st.data())
def test_where(device: str, data: st.DataObject) -> None:
    dtype = data.draw(dtypes)
    kinds = zip(("bool", dtype, dtype), data.draw(broadcastable(3)), strict=True)
    check(OPS["where"], device, [data.draw(operands(each, shape)) for each, shape in kinds], dtype, 0)


@each_device
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all", "cumsum", "cumprod"])
@hypothesis.settings(max_examples=30)
@hypothesis.given(data=st.data())
def test_reductions_and_scans(name: str, device: str, data: st.DataObject) -> None:
    dtype, shape = data.draw(dtypes), data.draw(SHAPES.filter(len))
    axis = data.draw(st.sampled_from([*range(len(shape)), *([] if name.startswith("cum") else [None])]))
    hypothesis.assume(name != "mean" or 0 not in shape)
    operand = data.draw(operands(dtype, shape, (-1.0, 1.0), tame))
    hypothesis.note(f"nd.{name}({operand.code(device)}, axis={axis})")
    x = operand.numpy().astype(np.complex128)
    expected = getattr(np, name)(x, axis=axis)
    hypothesis.assume(
        np.abs(expected).max(initial=0.0) < np.finfo(dtype).max / 16
    )  # of 130 factors 1.5 + 1.5j it is not
    slack = 0.0 if "prod" in name else np.abs(x).sum() * x.size * 2.0**-52
    actual = getattr(nd, name)(operand.array(device), axis=axis)
    assert_near(actual, expected, dtype, 4 * (x.size + 1) if "prod" in name else 2, slack)


@each_device
@hypothesis.given(data=st.data())
def test_matmul(device: str, data: st.DataObject) -> None:
    """In every layout of both operands, with the batch broadcast."""
    dtype = data.draw(dtypes)
    m, k, n = (data.draw(st.integers(0, 9)) for _ in range(3))
    shapes = data.draw(st.sampled_from([((m, k), (k, n)), ((2, m, k), (k, n)), ((3, 1, m, k), (2, k, n))]))
    x, y = (data.draw(operands(dtype, shape, (-3.0, 3.0), tame)) for shape in shapes)
    a, b = x.numpy().astype(np.complex128), y.numpy().astype(np.complex128)
    actual: Any = x.array(device) @ y.array(device)
    slack = (np.abs(a) @ np.abs(b)) * (k + 2) * float(np.finfo(dtype).eps)
    assert_near(actual, a @ b, dtype, 4, slack)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_matmul_of_infinities(dtype: str) -> None:
    """By the real rules part by part: an infinity in one part makes NaN where it meets a 0."""
    x = np.array([[complex(np.inf, 0), 1], [complex(0, np.nan), 2]], dtype)
    y = np.array([[2 + 1j], [1 - 1j]], dtype)
    actual = nd.matmul(nd.asarray(x, device="cpu"), nd.asarray(y, device="cpu")).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(actual, np.sum(x[:, :, None] * y[None], axis=1))


@each_device
@pytest.mark.parametrize("name", sorted({op.name for op in OPS.values()} - opset.COMPLEX))
def test_ops_that_need_an_order_or_bits_are_refused(name: str, device: str) -> None:
    count = {Family.BINARY: 2, Family.TERNARY: 3}.get(OPS[name].family, 1)
    for dtype in COMPLEX:
        arrays = [nd.ones((2,), dtype=dtype, device=device)] * count
        with pytest.raises(nd.DTypeError, match=f"{name}.*{dtype}"):
            getattr(nd, name)(*arrays)


@each_device
@hypothesis.given(data=st.data())
def test_sorting_and_sets(device: str, data: st.DataObject) -> None:
    """The order of NumPy: by the real, then by the imaginary parts, NaN last."""
    operand = data.draw(operands(data.draw(dtypes), data.draw(SHAPES.filter(len)), (-2.0, 2.0), plain))
    x, array = operand.numpy(), operand.array(device)
    places = np.argsort(x, axis=-1, kind="stable")
    assert np.array_equal(nd.argsort(array).to_device("cpu").numpy(), places)
    found = nd.sort(array).to_device("cpu").numpy()
    assert np.array_equal(found, np.take_along_axis(x, places, -1), equal_nan=True)
    values, inverse = (each.to_device("cpu").numpy() for each in nd.unique_inverse(array))
    assert np.array_equal(values[inverse], x, equal_nan=True)
    assert np.array_equal(values[~np.isnan(values)], np.unique(x[~np.isnan(x)]))
    some = x.ravel()[::2].copy()
    assert np.array_equal(nd.isin(array, nd.asarray(some, device=device)).to_device("cpu").numpy(), np.isin(x, some))
