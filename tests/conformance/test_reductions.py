"""Every reduction and scan of the table, on every device, dtype, layout and axis, against NumPy."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import oracle
import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, SHAPES, Operand, accepted, operands
from treadle.ndarray.opset import OPS, Family, Op, family

each_device = pytest.mark.parametrize("device", DEVICES)


def nasty_for(op: Op, dtype: str) -> Any:
    """Which nasty values leave the result independent of the order: those whose products and sums stay in range."""
    if op.name in ("prod", "cumprod", "sum", "cumsum", "mean") and dtype.startswith("float"):
        return lambda value: value in (0, 1, -1, np.inf, -np.inf) or np.isnan(value)
    return lambda value: True


@st.composite
def axes(draw: st.DrawFn, ndim: int) -> Any:
    """None, an axis, or a tuple of them, the empty one included; counted from either end."""
    if ndim == 0:
        return draw(st.sampled_from([None, ()]))
    chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True))
    signed = tuple(axis - ndim if draw(st.booleans()) else axis for axis in chosen)
    return draw(st.sampled_from([None, signed, signed[0] if signed else 0]))


def drawn(data: st.DataObject, op: Op, shape: tuple[int, ...]) -> Operand:
    dtype = data.draw(accepted(op))
    domain = (0.5, 2.0) if op.name in ("prod", "cumprod") and dtype.startswith("float") else op.domain
    operand: Operand = data.draw(operands(dtype, shape, domain, nasty_for(op, dtype)))
    return operand


def is_empty(shape: tuple[int, ...], axis: Any) -> bool:
    """Whether no element is reduced into each element of the result."""
    chosen = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return any(shape[each] == 0 for each in chosen)


def tolerance(op: Op, x: Any) -> float:
    return 2 + x.size if op.name in ("prod", "cumprod") else 1 if op.name in ("sum", "mean", "cumsum") else 0


@each_device
@pytest.mark.parametrize("op", family(Family.REDUCE), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_reduce(op: Op, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    operand, axis, keepdims = drawn(data, op, shape), data.draw(axes(len(shape))), data.draw(st.booleans())
    hypothesis.note(f"nd.{op.name}({operand.code(device)}, axis={axis}, keepdims={keepdims})")
    x = operand.array(device)
    if op.name in ("max", "min") and is_empty(shape, axis):
        with pytest.raises(ValueError, match=op.name):
            getattr(nd, op.name)(x, axis=axis, keepdims=keepdims)
        return
    expected, slack = oracle.reduction(op, operand.numpy(), axis, keepdims)
    actual = getattr(nd, op.name)(x, axis=axis, keepdims=keepdims)
    assert actual.device == device
    assert_same(actual, expected, ulps=tolerance(op, operand.numpy()), slack=slack, zero_signs=False)


@each_device
@pytest.mark.parametrize("op", family(Family.ARG_REDUCE), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_arg_reduce(op: Op, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    operand, keepdims = drawn(data, op, shape), data.draw(st.booleans())
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    hypothesis.note(f"nd.{op.name}({operand.code(device)}, axis={axis}, keepdims={keepdims})")
    x = operand.array(device)
    if is_empty(shape, axis):
        with pytest.raises(ValueError, match=op.name):
            getattr(nd, op.name)(x, axis=axis, keepdims=keepdims)
        return
    expected = getattr(np, op.name)(operand.numpy(), axis=axis, keepdims=keepdims)
    assert_same(getattr(nd, op.name)(x, axis=axis, keepdims=keepdims), np.asarray(expected, np.int64))


@each_device
@pytest.mark.parametrize("op", family(Family.SCAN), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_scan(op: Op, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(len))
    operand, axis = drawn(data, op, shape), data.draw(st.integers(-len(shape), len(shape) - 1))
    hypothesis.note(f"nd.{op.name}({operand.code(device)}, axis={axis})")
    expected, slack = oracle.scan(op, operand.numpy(), axis)
    actual = getattr(nd, op.name)(operand.array(device), axis=axis)
    assert_same(actual, expected, ulps=tolerance(op, operand.numpy()), slack=slack, zero_signs=False)


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_negative_zeros(dtype: str, axis: int, device: str) -> None:
    """A scan starts from its first element, as NumPy's."""
    x = nd.full((3, 2), -0.0, dtype=dtype, device=device)
    total = nd.real(nd.cumsum(x, axis=axis)).astype("float32")
    assert nd.signbit(total).all()
    assert not nd.signbit(nd.cumsum(nd.asarray([-0.0, 0.0], device=device)))[1]


@each_device
@pytest.mark.parametrize("op", [OPS["sum"], OPS["max"], OPS["argmax"], OPS["cumsum"]], ids=lambda op: op.name)
@pytest.mark.parametrize("axis", [2, -3])
def test_axes_out_of_range_are_refused(op: Op, device: str, axis: int) -> None:
    with pytest.raises(nd.ShapeError, match=f"{op.name}.*axis {axis}"):
        getattr(nd, op.name)(nd.ones((2, 3), device=device), axis=axis)


@each_device
def test_repeated_axes_are_refused(device: str) -> None:
    with pytest.raises(nd.ShapeError, match="sum"):
        nd.sum(nd.ones((2, 3), device=device), axis=(0, -2))


@each_device
@pytest.mark.parametrize("function", ["softmax", "log_softmax", "logsumexp"])
@hypothesis.given(data=st.data())
def test_softmax_family(function: str, device: str, data: st.DataObject) -> None:
    """Against the definitions, shifted by the maximum, in float64."""
    shape = data.draw(SHAPES.filter(lambda shape: len(shape) > 0 and 0 not in shape))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    operand = data.draw(operands(dtype, shape, (-1000.0, 1000.0), lambda value: value in (0.0, 1.0)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    hypothesis.note(f"nd.{function}({operand.code(device)}, axis={axis})")
    wide = operand.numpy().astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    expected = {
        "softmax": np.exp(shifted) / total,
        "log_softmax": shifted - np.log(total),
        "logsumexp": np.squeeze(wide.max(axis=axis, keepdims=True) + np.log(total), axis=axis),
    }[function]
    actual = getattr(nd, function)(operand.array(device), axis=axis)
    precision = float(np.finfo(dtype).eps)
    slack = 8 * precision * (np.abs(expected) + (0 if function == "softmax" else 1))
    assert_same(actual, expected.astype(dtype), ulps=64, slack=slack + float(np.finfo(dtype).tiny), zero_signs=False)


@each_device
@pytest.mark.parametrize("correction", [0.0, 1.0])
@hypothesis.given(data=st.data())
def test_variance(correction: float, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(lambda shape: len(shape) > 0 and 0 not in shape))
    operand = data.draw(operands("float64", shape, (-10.0, 10.0), lambda value: value in (0.0, 1.0)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    hypothesis.assume(shape[axis] > correction)
    hypothesis.note(f"nd.var({operand.code(device)}, axis={axis}, correction={correction})")
    for function in ("var", "std"):
        expected = getattr(np, function)(operand.numpy(), axis=axis, correction=correction)
        actual = getattr(nd, function)(operand.array(device), axis=axis, correction=correction)
        assert_same(actual, expected, ulps=16, slack=1e-13 if function == "var" else 1e-7, zero_signs=False)
