"""diff, isclose and allclose on every device, against NumPy."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, FLOATS, SHAPES, broadcastable, operands

each_device = pytest.mark.parametrize("device", DEVICES)


@each_device
@hypothesis.given(data=st.data())
def test_diff(device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES.filter(len))
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), shape))
    axis, n = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.integers(0, 3))
    hypothesis.note(f"nd.diff({operand.code(device)}, axis={axis}, n={n})")
    with np.errstate(all="ignore"):
        expected = np.diff(operand.numpy(), axis=axis, n=n)
    assert_same(nd.diff(operand.array(device), axis=axis, n=n), expected)


@each_device
def test_diff_with_ends(device: str) -> None:
    x = np.array([[1, 4], [9, 16]])
    array = nd.asarray(x, device=device)
    assert_same(nd.diff(array, prepend=array[:, :1], append=array), np.diff(x, prepend=x[:, :1], append=x))
    with pytest.raises(nd.ShapeError, match="diff"):
        nd.diff(array, n=-1)
    with pytest.raises(nd.ShapeError, match="diff"):
        nd.diff(array[0, 0])


@each_device
@pytest.mark.parametrize("equal_nan", [False, True])
@hypothesis.given(data=st.data())
def test_isclose(device: str, equal_nan: bool, data: st.DataObject) -> None:
    kinds = st.sampled_from(FLOATS) if data.draw(st.booleans()) else st.sampled_from(DTYPES[1:9])
    dtype = data.draw(kinds)
    x, y = (data.draw(operands(dtype, shape, (-2.0, 2.0))) for shape in data.draw(broadcastable(2)))
    hypothesis.note(f"nd.isclose({x.code(device)}, {y.code(device)})")
    with np.errstate(all="ignore"):
        a, b = x.numpy(), y.numpy()
        a, b = (a, b) if dtype in FLOATS else (a.astype(np.float64), b.astype(np.float64))
        expected = np.isclose(a, b, equal_nan=equal_nan)
    assert_same(nd.isclose(x.array(device), y.array(device), equal_nan=equal_nan), np.asarray(expected))
    assert nd.allclose(x.array(device), y.array(device), equal_nan=equal_nan) is bool(expected.all())


@each_device
def test_isclose_to_a_scalar(device: str) -> None:
    x = nd.asarray([0.1, 0.2], dtype="float64", device=device)
    assert nd.isclose(x, 0.1, rtol=1e-12, atol=0.0).tolist() == [True, False]
    assert nd.isclose(nd.asarray([1, 2], device=device), 1.0000001).tolist() == [True, False]
    assert nd.allclose(nd.zeros((0,), device=device), 1.0)
