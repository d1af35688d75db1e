"""Every op of the table on float16 and bfloat16, against float32 or float64 rounded to the format."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import oracle
import treadle.ndarray as nd
from comparison import assert_same
from halves import HalfOperand, assert_half, every_number, half_operands, rounded, values
from strategies import DEVICES, HALVES, SHAPES, broadcastable
from treadle.ndarray.opset import OPS, Accepts, Family, Op, family

each_device = pytest.mark.parametrize("device", DEVICES)
each_half = pytest.mark.parametrize("dtype", HALVES)

DEFINED = {Accepts.ALL, Accepts.NUMERIC, Accepts.FLOATING}
UNARY = [op for op in family(Family.UNARY) if op.accepts in DEFINED]
BINARY = [op for op in family(Family.BINARY) if op.accepts in DEFINED and op.name != "nextafter"]


def check(op: Op, device: str, drawn: list[HalfOperand], dtype: str) -> None:
    hypothesis.note(f"nd.{op.name}({', '.join(operand.code(device) for operand in drawn)})")
    singles = [operand.numpy().astype(np.float32) for operand in drawn]
    expected = oracle.elementwise(op, *singles)
    actual = getattr(nd, op.name)(*(operand.array(device) for operand in drawn))
    assert actual.device == device
    if expected.dtype.kind == "b":
        assert_same(actual, expected)
        return
    if op.name in oracle.ANY_ZERO:
        expected, actual = expected + np.float32(0), actual + 0.0
    assert_half(actual, expected.astype(np.float64), dtype, 0 if op.name in oracle.EXACT else 1)


@each_device
@hypothesis.given(data=st.data())
def test_unary_in_every_layout(device: str, data: st.DataObject) -> None:
    dtype, op = data.draw(st.sampled_from(HALVES)), data.draw(st.sampled_from(UNARY))
    check(op, device, [data.draw(half_operands(dtype, data.draw(SHAPES), op.domain))], dtype)


@each_device
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
@hypothesis.settings(max_examples=20)
@hypothesis.given(data=st.data())
def test_binary(op: Op, device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(HALVES))
    shapes = data.draw(broadcastable(2))
    check(op, device, [data.draw(half_operands(dtype, shape, op.domain)) for shape in shapes], dtype)


@each_device
@each_half
@hypothesis.given(data=st.data())
def test_clip(dtype: str, device: str, data: st.DataObject) -> None:
    check(
        OPS["clip"],
        device,
        [data.draw(half_operands(dtype, shape, (-9.0, 9.0))) for shape in data.draw(broadcastable(3))],
        dtype,
    )


@each_device
@each_half
def test_where_keeps_every_bit(dtype: str, device: str) -> None:
    x = nd.asarray(every_number(dtype)).astype(dtype).to_device(device)
    assert_half(nd.where(x == x, x, nd.flip(x)), np.where(values(x) == values(x), values(x), values(x)[::-1]), dtype)


@each_device
@each_half
def test_unary_ops_on_every_number(dtype: str, device: str) -> None:
    """All 65536 patterns: exact ops are exact, the others within a unit in the last place."""
    every = every_number(dtype)
    x = nd.asarray(every).astype(dtype).to_device(device)
    for op in UNARY:
        if op.name in ("erf", "gelu", "gelu_tanh") and device == "numpy":
            continue  # a loop in Python there
        expected = oracle.elementwise(op, every.astype(np.float32))
        actual = getattr(nd, op.name)(x)
        if expected.dtype.kind == "b":
            assert_same(actual, expected)
        else:
            zero = np.float32(0) if op.name in oracle.ANY_ZERO else np.float32(-0.0)
            exact = op.name in oracle.EXACT
            assert_half(actual + float(zero), (expected + zero).astype(np.float64), dtype, 0 if exact else 1)


@each_device
@each_half
def test_nextafter_steps_on_the_grid(dtype: str, device: str) -> None:
    every = every_number(dtype)
    grid = np.unique(every[~np.isnan(every)])  # ascending, one zero
    x = nd.asarray(grid).astype(dtype).to_device(device)
    up, down = (values(nd.nextafter(x, nd.full((), end, dtype=dtype, device=device))) for end in (np.inf, -np.inf))
    np.testing.assert_array_equal(up[:-1], grid[1:])
    np.testing.assert_array_equal(down[1:], grid[:-1])
    np.testing.assert_array_equal(values(nd.nextafter(x, x)), grid)
    assert up[-1] == np.inf and down[0] == -np.inf
    nans = nd.nextafter(x, nd.full((), np.nan, dtype=dtype, device=device))
    assert np.isnan(values(nans)).all() and np.isnan(values(nd.nextafter(nans, x))).all()


@each_device
@pytest.mark.parametrize("op", [*family(Family.REDUCE), *family(Family.SCAN)], ids=lambda op: op.name)
@hypothesis.settings(max_examples=30)
@hypothesis.given(data=st.data())
def test_reductions_and_scans(op: Op, device: str, data: st.DataObject) -> None:
    """Sums and products are carried in float64 to the end and rounded once."""
    dtype = data.draw(st.sampled_from(HALVES))
    shape = data.draw(SHAPES.filter(len))
    axis = data.draw(st.sampled_from([*range(len(shape)), None] if op.family is Family.REDUCE else range(len(shape))))
    hypothesis.assume(op.name not in ("max", "min") or 0 not in shape)
    folds = op.name in ("sum", "prod", "mean", "cumsum", "cumprod")
    domain = (0.5, 1.5) if "prod" in op.name else (-10.0, 10.0)
    operand = data.draw(half_operands(dtype, shape, domain, whole_range=not folds))
    hypothesis.note(f"nd.{op.name}({operand.code(device)}, axis={axis})")
    x = operand.numpy()
    with np.errstate(all="ignore"):
        if op.name == "mean":
            total = np.sum(x, axis=axis)
            expected = np.asarray(total / np.float64(x.size // total.size if total.size else 0))
        else:
            expected = np.asarray(getattr(np, op.name)(x, axis=axis))
    actual = getattr(nd, op.name)(operand.array(device), axis=axis)
    if expected.dtype.kind == "b":
        assert_same(actual, expected)
    else:
        assert_half(actual + 0.0, expected + 0.0, dtype, 1 if folds else 0)


@each_device
@each_half
def test_a_long_sum_is_rounded_once(dtype: str, device: str) -> None:
    """Carried in the format itself, the sum would stop at 2048 (or 256)."""
    x = nd.ones((5, 5000), dtype=dtype, device=device)
    x[:, ::2] = 3.0
    assert values(nd.sum(x, axis=1)).tolist() == [rounded(10000.0, dtype)] * 5
    assert values(nd.sum(x.T, axis=0)).tolist() == [rounded(10000.0, dtype)] * 5
    assert nd.mean(x).item() == 2.0 and nd.var(x).item() == 1.0 and nd.std(x).item() == 1.0


@each_device
@pytest.mark.parametrize("op", family(Family.ARG_REDUCE), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_index_reductions_and_sorting(op: Op, device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(HALVES))
    shape = data.draw(SHAPES.filter(lambda shape: len(shape) > 0 and 0 not in shape))
    operand = data.draw(half_operands(dtype, shape, (-10.0, 10.0)))
    x = operand.numpy()
    array = operand.array(device)
    assert_same(getattr(nd, op.name)(array, axis=0), np.asarray(getattr(np, op.name)(x, axis=0)))
    places = np.argsort(x, axis=-1, kind="stable")
    assert_same(nd.argsort(array), places)
    assert_half(nd.sort(array), np.take_along_axis(x, places, -1), dtype)


@each_device
@each_half
@hypothesis.given(data=st.data())
def test_matmul_rounds_once(dtype: str, device: str, data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 9)) for _ in range(3))
    x, y = (data.draw(half_operands(dtype, shape, (-4.0, 4.0), whole_range=False)) for shape in ((2, m, k), (k, n)))
    a, b = x.numpy(), y.numpy()
    slack = np.abs(a) @ np.abs(b) * k * 2.0**-24  # of the sum in float32
    actual: Any = x.array(device) @ y.array(device)
    assert_half(actual + 0.0, a @ b + 0.0, dtype, 1, slack)
