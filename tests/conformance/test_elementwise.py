"""Every elementwise op of the table, on every device, dtype and layout, against NumPy."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import oracle
import treadle.ndarray as nd
from comparison import assert_same
from strategies import ACCEPTED, DEVICES, DTYPES, FLOATS, Operand, accepted, broadcastable, operands
from treadle.ndarray.opset import OPS, Family, Op, family

ELEMENTWISE = [op for op in OPS.values() if op.family in (Family.UNARY, Family.BINARY, Family.TERNARY)]

each_device = pytest.mark.parametrize("device", DEVICES)


def check(op: Op, device: str, drawn: list[Operand]) -> None:
    """Compare nd's result with NumPy's."""
    hypothesis.note(f"nd.{op.name}({', '.join(operand.code(device) for operand in drawn)})")
    expected = oracle.elementwise(op, *(operand.numpy() for operand in drawn))
    actual = getattr(nd, op.name)(*(operand.array(device) for operand in drawn))
    assert actual.device == device
    assert_same(actual, expected, ulps=oracle.ulps(op), zero_signs=op.name not in oracle.ANY_ZERO)


@each_device
@pytest.mark.parametrize("op", family(Family.UNARY), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_unary(op: Op, device: str, data: st.DataObject) -> None:
    dtype = data.draw(accepted(op))
    (shape,) = data.draw(broadcastable(1))
    check(op, device, [data.draw(operands(dtype, shape, op.domain))])


@each_device
@pytest.mark.parametrize("op", family(Family.BINARY), ids=lambda op: op.name)
@hypothesis.given(data=st.data())
def test_binary(op: Op, device: str, data: st.DataObject) -> None:
    dtypes = [data.draw(accepted(op)) for _ in range(2)]
    if data.draw(st.booleans()):
        dtypes = dtypes[:1] * 2
    shapes = data.draw(broadcastable(2))
    drawn = [data.draw(operands(dtype, shape, op.domain)) for dtype, shape in zip(dtypes, shapes, strict=True)]
    if op.name == "pow" and "f" not in (drawn[0].base.dtype.kind, drawn[1].base.dtype.kind):
        hypothesis.assume((drawn[1].base >= 0).all())  # where NumPy has no result; test_negative_integer_powers
    if oracle.operand_dtype(op, *(operand.base.dtype for operand in drawn)).name not in ACCEPTED[op.accepts]:
        with pytest.raises(nd.DTypeError, match=op.name):  # int64 and uint64 meet in float64, which has no bits
            getattr(nd, op.name)(*(operand.array(device) for operand in drawn))
        return
    check(op, device, drawn)


@each_device
@hypothesis.given(data=st.data())
def test_where(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    shapes = data.draw(broadcastable(3))
    kinds = zip(("bool", dtype, dtype), shapes, strict=True)
    check(OPS["where"], device, [data.draw(operands(each, shape)) for each, shape in kinds])


@each_device
@hypothesis.given(data=st.data())
def test_clip(device: str, data: st.DataObject) -> None:
    dtype = data.draw(accepted(OPS["clip"]))
    check(OPS["clip"], device, [data.draw(operands(dtype, shape)) for shape in data.draw(broadcastable(3))])


@each_device
@pytest.mark.parametrize("bounds", [(None, 2), (-1, None), (None, None), (-1, 2)])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_clip_takes_scalars_and_none(device: str, dtype: str, bounds: tuple[Any, Any]) -> None:
    values = np.array([-5, -1, 0, 2, 7], dtype)
    expected = values if bounds == (None, None) else np.clip(values, *bounds)
    assert_same(nd.clip(nd.asarray(values, device=device), *bounds), expected)


@each_device
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_negative_integer_powers(device: str, dtype: str) -> None:
    """A negative exponent gives the truncated quotient 1 / x**-y: only 1 and -1 leave something."""
    bases, exponents = np.array([1, 1, -1, -1, 2, -3, 0], dtype), np.array([-1, -2, -1, -2, -1, -3, -1], dtype)
    actual = nd.pow(nd.asarray(bases, device=device), nd.asarray(exponents, device=device))
    assert_same(actual, np.array([1, 1, -1, 1, 0, 0, 0], dtype))


@each_device
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_dtypes_outside_the_definition_are_refused(op: Op, device: str) -> None:
    count = {Family.UNARY: 1, Family.BINARY: 2, Family.TERNARY: 3}[op.family]
    for dtype in set(DTYPES) - set(ACCEPTED[op.accepts]):
        arrays = [nd.ones((2,), dtype=nd.dtype(dtype), device=device) for _ in range(count)]
        with pytest.raises(nd.DTypeError, match=op.name):
            getattr(nd, op.name)(*arrays)


@each_device
@pytest.mark.parametrize(
    ("op", "dtype"),
    [(op, dtype) for op in family(Family.BINARY) for dtype in ACCEPTED[op.accepts] if dtype != "bool"],
    ids=lambda value: getattr(value, "name", value),
)
def test_python_scalars_are_weak(op: Op, device: str, dtype: str) -> None:
    """A Python int takes the dtype of the array beside it, on either side."""
    values = np.array([1, 2, 3], dtype)
    array = nd.asarray(values, device=device)
    same = np.array(2, dtype)
    function = getattr(nd, op.name)
    assert_same(function(array, 2), oracle.elementwise(op, values, same), ulps=oracle.ulps(op))
    assert_same(function(2, array), oracle.elementwise(op, same, values), ulps=oracle.ulps(op))


@each_device
@pytest.mark.parametrize("op", family(Family.BINARY), ids=lambda op: op.name)
def test_out_is_written_and_returned(op: Op, device: str) -> None:
    dtype = ACCEPTED[op.accepts][-1]
    x, y = np.array([[1, 2], [3, 1]], dtype), np.array([2, 3], dtype)
    expected = oracle.elementwise(op, x, y)
    out = nd.empty((2, 2), dtype=nd.dtype(expected.dtype.name), device=device)
    assert getattr(nd, op.name)(nd.asarray(x, device=device), nd.asarray(y, device=device), out=out) is out
    assert_same(out, expected, ulps=oracle.ulps(op))


@each_device
@hypothesis.given(data=st.data())
def test_conversion(device: str, data: st.DataObject) -> None:
    """astype, where C defines the result: no NaN, and no value that the target cannot hold."""
    source, target = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(DTYPES))
    (shape,) = data.draw(broadcastable(1))
    domain = (0.0, 100.0) if target.startswith("u") else (-100.0, 100.0)
    to_integer = source in FLOATS and target not in FLOATS
    operand = data.draw(operands(source, shape, domain, lambda value: not to_integer or 0 <= value < 2))
    hypothesis.note(f"{operand.code(device)}.astype(nd.{target})")
    with np.errstate(all="ignore"):
        expected = operand.numpy().astype(target)
    assert_same(operand.array(device).astype(nd.dtype(target)), expected)
