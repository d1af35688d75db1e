"""Indexing, assignment and the gathers on every device, against NumPy."""

from typing import Any

import hypothesis
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, SHAPES, Operand, operands

each_device = pytest.mark.parametrize("device", DEVICES)
SMALL = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


def on_device(index: Any, device: str) -> Any:
    """The index with its arrays on the device."""
    if isinstance(index, tuple):
        return tuple(on_device(each, device) for each in index)
    return nd.asarray(index, device=device) if isinstance(index, np.ndarray) else index


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Integers, slices, ellipses and new axes; index arrays; or a mask."""
    kind = draw(st.sampled_from(["basic", "arrays", "mask", "mixed"]))
    if kind == "basic" or not shape:
        return draw(hnp.basic_indices(shape, allow_newaxis=True))
    if kind == "arrays" and 0 not in shape:
        return draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, min_side=0, max_side=4)))
    if kind == "mixed" and 0 not in shape and len(shape) > 1:
        first = draw(
            hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=3), elements=st.integers(0, shape[0] - 1))
        )
        return (first, slice(None, None, draw(st.sampled_from([-1, 1, 2]))))
    dims = draw(st.integers(1, len(shape)))
    return draw(hnp.arrays(np.bool_, shape[:dims]))


@each_device
@hypothesis.given(data=st.data())
def test_reading(device: str, data: st.DataObject) -> None:
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), data.draw(SHAPES)))
    index = data.draw(indices(operand.numpy().shape))
    hypothesis.note(f"{operand.code(device)}[{index!r}]")
    assert_same(operand.array(device)[on_device(index, device)], operand.numpy()[index])


@st.composite
def assigned(draw: st.DrawFn, dtype: str, selected: tuple[int, ...]) -> Operand:
    """What may be written over a selection: its shape, or one that broadcasts to it."""
    dropped = draw(st.integers(0, len(selected)))
    shape = tuple(1 if draw(st.booleans()) else size for size in selected[dropped:])
    return draw(operands(dtype, shape))


@each_device
@hypothesis.given(data=st.data())
def test_writing(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    target = data.draw(operands(dtype, data.draw(SHAPES)))
    hypothesis.assume(not any("broadcast" in view for view in target.views))
    index = data.draw(indices(target.numpy().shape))
    expected, array = target.numpy().copy(), target.array(device)
    values = data.draw(assigned(dtype, expected[index].shape))
    hypothesis.note(f"x = {target.code(device)}; x[{index!r}] = {values.code(device)}")
    expected[index] = values.numpy()
    array[on_device(index, device)] = values.array(device)
    assert_same(array, expected)


@each_device
def test_writing_a_scalar(device: str) -> None:
    expected = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    array = nd.asarray(expected, device=device, copy=True)
    for index in (1, (slice(None), -1), (0, 2), slice(None, None, 2), Ellipsis):
        expected[index] = 7.5
        array[index] = 7.5
        assert_same(array, expected)


@each_device
def test_of_repeated_indices_the_last_wins(device: str) -> None:
    array = nd.zeros((3,), device=device)
    array[nd.asarray([1, 1, 0, 1], device=device)] = nd.asarray([1.0, 2.0, 3.0, 4.0], device=device)
    assert array.tolist() == [3.0, 4.0, 0.0]


@each_device
@hypothesis.given(data=st.data())
def test_take(device: str, data: st.DataObject) -> None:
    shape = data.draw(SMALL)
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), shape))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    chosen = data.draw(hnp.arrays(np.int64, st.integers(0, 5), elements=st.integers(-shape[axis], shape[axis] - 1)))
    hypothesis.note(f"nd.take({operand.code(device)}, nd.asarray({chosen.tolist()}, dtype=nd.int64), axis={axis})")
    actual = nd.take(operand.array(device), nd.asarray(chosen, device=device), axis=axis)
    assert_same(actual, np.take(operand.numpy(), chosen, axis=axis))


@each_device
@hypothesis.given(data=st.data())
def test_take_along_axis(device: str, data: st.DataObject) -> None:
    shape = data.draw(SMALL)
    operand = data.draw(operands("float64", shape))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    along = tuple(
        data.draw(st.integers(0, 4)) if each == axis % len(shape) else size for each, size in enumerate(shape)
    )
    chosen = data.draw(hnp.arrays(np.int64, along, elements=st.integers(0, shape[axis] - 1)))
    actual = nd.take_along_axis(operand.array(device), nd.asarray(chosen, device=device), axis=axis)
    assert_same(actual, np.take_along_axis(operand.numpy(), chosen, axis=axis))


@each_device
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_scatter_add_counts_repetitions(device: str, dtype: str) -> None:
    x = np.array([[1, 2], [3, 4], [5, 6]], dtype)
    chosen, values = np.array([2, 0, 2, 2]), np.array([[1, 1], [2, 3], [4, 5], [6, 7]], dtype)
    expected = x.copy()
    np.add.at(expected, chosen, values)
    arrays = (nd.asarray(each, device=device) for each in (x, chosen, values))
    assert_same(nd.scatter_add(*arrays), expected)


@each_device
@hypothesis.given(data=st.data())
def test_nonzero(device: str, data: st.DataObject) -> None:
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), data.draw(SHAPES.filter(len))))
    hypothesis.note(f"nd.nonzero({operand.code(device)})")
    actual, expected = nd.nonzero(operand.array(device)), np.nonzero(operand.numpy())
    assert len(actual) == len(expected)
    for mine, other in zip(actual, expected, strict=True):
        assert_same(mine, other)


@each_device
@pytest.mark.parametrize("index", [3, -4, (0, 2), (0, 0, 0), [0, 3], [-4]])
def test_indices_out_of_bounds_are_refused(device: str, index: Any) -> None:
    array = nd.ones((3, 2), device=device)
    chosen = nd.asarray(index, device=device) if isinstance(index, list) else index
    with pytest.raises(nd.IndexingError):
        array[chosen]
