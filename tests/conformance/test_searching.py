"""searchsorted, count_nonzero and the sets, on every device, against NumPy."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, FLOATS, INTEGERS, SHAPES, operands

each_device = pytest.mark.parametrize("device", DEVICES)


@each_device
@pytest.mark.parametrize("side", ["left", "right"])
@hypothesis.given(data=st.data())
def test_searchsorted(device: str, side: Any, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    haystack = data.draw(operands(dtype, (data.draw(st.integers(0, 40)),)))
    needles = data.draw(operands(dtype, data.draw(SHAPES)))
    hypothesis.note(f"nd.searchsorted(nd.sort({haystack.code(device)}), {needles.code(device)}, side={side!r})")
    x, y = haystack.numpy(), needles.numpy()
    expected = np.asarray(np.searchsorted(np.sort(x), y, side=side), np.int64)
    array = haystack.array(device)
    assert_same(nd.searchsorted(nd.sort(array), needles.array(device), side=side), expected)
    by_sorter = nd.searchsorted(array, needles.array(device), side=side, sorter=nd.argsort(array))
    assert_same(by_sorter, expected)


@each_device
def test_searchsorted_takes_scalars_and_mixed_kinds(device: str) -> None:
    x = nd.asarray([1, 2**60, 2**60 + 1], device=device)
    assert nd.searchsorted(x, 2**60, side="right").item() == 2
    assert nd.searchsorted(x, 1.5).item() == 1
    with pytest.raises(ValueError, match="side"):
        nd.searchsorted(x, 1, side="middle")  # type: ignore[arg-type]
    with pytest.raises(nd.ShapeError, match="1-D"):
        nd.searchsorted(nd.ones((2, 2), device=device), 1)


@each_device
@hypothesis.given(data=st.data())
def test_count_nonzero(device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), shape))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    keepdims = data.draw(st.booleans())
    hypothesis.note(f"nd.count_nonzero({operand.code(device)}, axis={axis}, keepdims={keepdims})")
    expected = np.asarray(np.count_nonzero(operand.numpy(), axis=axis, keepdims=keepdims), np.int64)
    assert_same(nd.count_nonzero(operand.array(device), axis=axis, keepdims=keepdims), expected)


@each_device
@hypothesis.given(data=st.data())
def test_unique(device: str, data: st.DataObject) -> None:
    """Values up to the sign of zero; every NaN is distinct, as the standard has it."""
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), data.draw(SHAPES), (-2.0, 2.0)))
    hypothesis.note(f"nd.unique_all({operand.code(device)})")
    x, array = operand.numpy(), operand.array(device)
    values, indices, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    found = nd.unique_all(array)
    assert_same(found.values, values, zero_signs=False)
    assert_same(found.indices, indices)
    assert_same(found.inverse_indices, np.reshape(inverse, x.shape))
    assert_same(found.counts, counts)
    assert_same(nd.unique_values(array), values, zero_signs=False)
    assert_same(nd.unique_counts(array).counts, counts)
    assert_same(nd.unique_counts(array).values, values, zero_signs=False)
    assert_same(nd.unique_inverse(array).inverse_indices, np.reshape(inverse, x.shape))
    assert_same(nd.take(found.values, found.inverse_indices), x, zero_signs=False)


@each_device
@pytest.mark.parametrize("invert", [False, True])
@hypothesis.given(data=st.data())
def test_isin(device: str, invert: bool, data: st.DataObject) -> None:
    kinds = st.sampled_from(INTEGERS) if data.draw(st.booleans()) else st.sampled_from(FLOATS)
    x, y = (data.draw(operands(data.draw(kinds), data.draw(SHAPES), (-3.0, 3.0))) for _ in range(2))
    hypothesis.note(f"nd.isin({x.code(device)}, {y.code(device)}, invert={invert})")
    expected = np.isin(x.numpy(), y.numpy(), invert=invert, kind="sort" if x.base.dtype.kind in "iu" else None)
    if {x.base.dtype.name, y.base.dtype.name} & {"uint64"} and "i" in (x.base.dtype.kind, y.base.dtype.kind):
        return  # the two meet in float64, where close numbers are one
    assert_same(nd.isin(x.array(device), y.array(device), invert=invert), expected)


@each_device
def test_isin_with_scalars(device: str) -> None:
    x = nd.asarray([1, 2, 3], device=device)
    assert nd.isin(x, 2).tolist() == [False, True, False]
    assert nd.isin(2, x).item() is True
    with pytest.raises(nd.DTypeError, match="isin"):
        nd.isin(1, 2)
