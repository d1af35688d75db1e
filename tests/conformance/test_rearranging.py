"""Windows, padding, and what lays elements out anew, on every device, against NumPy."""

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, SHAPES, Operand, operands

each_device = pytest.mark.parametrize("device", DEVICES)


def drawn(data: st.DataObject, shapes: Any = SHAPES) -> Operand:
    operand: Operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), data.draw(shapes)))
    return operand


def agree(device: str, operand: Operand, text: str) -> None:
    """Evaluate a call of one namespace in both; {x} is the operand."""
    hypothesis.note(text.replace("x,", f"{operand.code(device)},", 1))
    assert_same(
        eval(text, {"xp": nd, "x": operand.array(device)}), np.asarray(eval(text, {"xp": np, "x": operand.numpy()}))
    )


@each_device
@hypothesis.given(data=st.data())
def test_roll(device: str, data: st.DataObject) -> None:
    operand = drawn(data)
    ndim = operand.numpy().ndim
    shift = data.draw(st.integers(-7, 7))
    axis = data.draw(st.none() | st.integers(-ndim, ndim - 1)) if ndim else None
    agree(device, operand, f"xp.roll(x, {shift}, axis={axis})")
    if ndim > 1:
        agree(device, operand, f"xp.roll(x, ({shift}, 2, {shift}), axis=(0, -1, 0))")
        agree(device, operand, f"xp.roll(x, {shift}, axis=(0, 1))")


@each_device
@hypothesis.given(data=st.data())
def test_tile(device: str, data: st.DataObject) -> None:
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    agree(device, drawn(data), f"xp.tile(x, {times})")


@each_device
@hypothesis.given(data=st.data())
def test_repeat(device: str, data: st.DataObject) -> None:
    operand = drawn(data)
    x = operand.numpy()
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    agree(device, operand, f"xp.repeat(x, {data.draw(st.integers(0, 3))}, axis={axis})")
    length = x.size if axis is None else x.shape[axis]
    times = data.draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    if length != 1:
        actual = nd.repeat(operand.array(device), nd.asarray(times, dtype="int64", device=device), axis=axis)
        assert_same(actual, np.repeat(x, times, axis=axis))


@each_device
@hypothesis.given(data=st.data())
def test_unstack_and_split(device: str, data: st.DataObject) -> None:
    operand = drawn(data, SHAPES.filter(len))
    x, array = operand.numpy(), operand.array(device)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    sections: Any = data.draw(st.integers(1, 4) | st.lists(st.integers(0, 5), max_size=3).map(sorted))
    hypothesis.note(f"nd.array_split({operand.code(device)}, {sections}, axis={axis})")
    for actual, expected in zip(nd.unstack(array, axis=axis), np.unstack(x, axis=axis), strict=True):
        assert_same(actual, expected)
    for actual, expected in zip(
        nd.array_split(array, sections, axis=axis), np.array_split(x, sections, axis=axis), strict=True
    ):
        assert_same(actual, expected)
    if isinstance(sections, int) and x.shape[axis] % sections:
        with pytest.raises(nd.ShapeError, match="split"):
            nd.split(array, sections, axis=axis)
    else:
        parts = nd.split(array, sections, axis=axis)
        assert [each.shape for each in parts] == [each.shape for each in np.split(x, sections, axis=axis)]


@each_device
@pytest.mark.parametrize("k", range(-2, 6))
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, 0)])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=5)
def test_rot90(axes: Any, k: int, device: str, data: st.DataObject) -> None:
    agree(device, drawn(data, st.sampled_from([(2, 3), (2, 3, 4), (0, 2)])), f"xp.rot90(x, k={k}, axes={axes})")


@each_device
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@hypothesis.given(data=st.data())
def test_pad(mode: str, device: str, data: st.DataObject) -> None:
    """Widths beyond the length go round again, as often as it takes."""
    operand = drawn(data, SHAPES.filter(lambda shape: mode == "constant" or 0 not in shape))
    ndim = operand.numpy().ndim
    pair = st.tuples(st.integers(0, 7), st.integers(0, 7))
    width: Any = data.draw(st.integers(0, 3) | pair | st.lists(pair, min_size=ndim, max_size=ndim))
    if isinstance(width, list) and not width:
        width = 0
    agree(device, operand, f"xp.pad(x, {width}, mode={mode!r})")


@each_device
def test_pad_constants_and_errors(device: str) -> None:
    x = np.arange(4, dtype=np.int32).reshape(2, 2)
    array = nd.asarray(x, device=device)
    for width, values in (((1, 2), (5, 6)), (((1, 0), (2, 1)), ((1, 2), (3, 4))), (2, 9)):
        assert_same(nd.pad(array, width, constant_values=values), np.pad(x, width, constant_values=values))
    calls: list[Callable[[], Any]] = [
        lambda: nd.pad(array, -1),
        lambda: nd.pad(array, (1, 2, 3)),
        lambda: nd.pad(nd.zeros((0,), device=device), 1, mode="edge"),
        lambda: nd.pad(array, 1, mode="mirror"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="pad"):
            call()


@each_device
@hypothesis.given(data=st.data())
def test_sliding_windows(device: str, data: st.DataObject) -> None:
    operand = drawn(data, SHAPES.filter(len))
    x = operand.numpy()
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, max_size=2))
    room = list(x.shape)
    lengths = []
    for axis in axes:
        lengths.append(data.draw(st.integers(0, room[axis])))
        room[axis] -= max(lengths[-1] - 1, 0)
    hypothesis.note(f"nd.sliding_window_view({operand.code(device)}, {tuple(lengths)}, axis={tuple(axes)})")
    if 0 in lengths:
        return  # NumPy refuses nothing here, but counts windows of no length in two ways
    actual = nd.sliding_window_view(operand.array(device), tuple(lengths), axis=tuple(axes))
    assert_same(actual, sliding_window_view(x, tuple(lengths), axis=tuple(axes)))
    assert actual.readonly


@each_device
@hypothesis.given(data=st.data())
def test_diagonal(device: str, data: st.DataObject) -> None:
    operand = drawn(data, SHAPES.filter(lambda shape: len(shape) > 1))
    x = operand.numpy()
    axis1, axis2 = data.draw(st.permutations(range(x.ndim)))[:2]
    offset = data.draw(st.integers(-5, 5))
    hypothesis.note(f"nd.diagonal({operand.code(device)}, offset={offset}, axis1={axis1}, axis2={axis2})")
    expected = np.diagonal(x, offset, axis1, axis2)
    assert_same(nd.diagonal(operand.array(device), offset=offset, axis1=axis1, axis2=axis2), expected)


@each_device
def test_windows_are_views(device: str) -> None:
    x = nd.arange(6, device=device)
    windows, grid = nd.sliding_window_view(x, 3), nd.reshape(x, (2, 3))
    diagonal = nd.diagonal(grid)
    x[1] = 10
    assert windows[0].tolist() == [0, 10, 2]
    diagonal[1] = 40
    assert x.tolist() == [0, 10, 2, 3, 40, 5]
    with pytest.raises(nd.BufferReadOnlyError):
        windows[0] = 1
    nd.as_strided(x, (3,), (16,), writable=True)[...] = 7
    assert x.tolist() == [7, 10, 7, 3, 7, 5]


@each_device
def test_as_strided_stays_inside(device: str) -> None:
    """Nothing outside the bytes that the array reaches, whatever offset, shape and strides say."""
    x = nd.arange(10, dtype="int32", device=device)[2:8]
    assert nd.as_strided(x, (2, 3), (12, 4)).tolist() == [[2, 3, 4], [5, 6, 7]]
    assert nd.as_strided(x, (3,), (-4,), offset=20).tolist() == [7, 6, 5]
    assert nd.as_strided(x[::-1], (2,), (4,), offset=-20).tolist() == [2, 3]
    assert nd.as_strided(x, (0, 5), (400, 400), offset=0).shape == (0, 5)
    assert nd.as_strided(x, (1,), (1 << 40,)).tolist() == [2]
    for shape, strides, offset in [
        ((7,), (4,), 0),
        ((2,), (-4,), 0),
        ((1,), (4,), -4),
        ((1,), (4,), 24),
        ((2, 3), (16, 4), 0),
        ((2,), (2,), 0),
        ((1,), (4,), 2),
        ((1 << 40, 1 << 40), (1 << 40, 1 << 40), 0),
        ((3,), (1 << 62,), 0),
        ((3,), (1 << 80,), 0),
        ((2, 2), (4,), 0),
    ]:
        with pytest.raises(nd.ShapeError, match="as_strided"):
            nd.as_strided(x, shape, strides, offset=offset)
    with pytest.raises(nd.ShapeError):
        nd.as_strided(nd.zeros((0,), device=device), (1,), (4,))
    calls: list[Callable[[], Any]] = [lambda: nd.sliding_window_view(x, 7), lambda: nd.sliding_window_view(x, -1)]
    for call in calls:
        with pytest.raises(nd.ShapeError, match="window"):
            call()


@each_device
def test_meshgrid(device: str) -> None:
    parts = [np.arange(3), np.arange(2.0, dtype=np.float32), np.array([True, False])]
    arrays = [nd.asarray(each, device=device) for each in parts]
    for count in range(4):
        for indexing in ("xy", "ij"):
            actual = nd.meshgrid(*arrays[:count], indexing=indexing)
            expected: Any = np.meshgrid(*parts[:count], indexing=indexing)
            for one, other in zip(actual, expected, strict=True):
                assert_same(one, other)
