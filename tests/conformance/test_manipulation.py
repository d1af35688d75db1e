"""Views and rearrangements on every device, against NumPy; views share memory."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, INTEGERS, SHAPES, operands

each_device = pytest.mark.parametrize("device", DEVICES)

VIEWS = [
    "xp.permute_dims(x, (2, 0, 1))",
    "xp.matrix_transpose(x)",
    "xp.swapaxes(x, 0, -1)",
    "xp.moveaxis(x, 0, 2)",
    "xp.expand_dims(x, axis=1)",
    "xp.expand_dims(x, axis=-1)",
    "xp.squeeze(xp.expand_dims(x, axis=0), axis=0)",
    "xp.broadcast_to(x, (5, 2, 3, 4))",
    "xp.flip(x, axis=1)",
    "xp.flip(x)",
    "x[:, None, ::-1]",
    "x[1, ..., 1:3]",
    "x.T",
    "x.mT",
    "xp.reshape(x, (6, 4))",
    "x.reshape((2, -1))",
    "xp.reshape(xp.permute_dims(x, (1, 0, 2)), (3, 2, 2, 2))",
]


@each_device
@pytest.mark.parametrize("view", VIEWS)
def test_views_share_memory(device: str, view: str) -> None:
    """A write into the array shows in the view, which NumPy agrees with before and after."""
    base = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    array = nd.asarray(base, device=device, copy=True)
    seen, expected = eval(view, {"xp": nd, "x": array}), eval(view, {"xp": np, "x": base})
    assert_same(seen, expected)
    array[...] = array + 100
    base += 100
    assert_same(seen, eval(view, {"xp": np, "x": base}))


@each_device
@hypothesis.given(data=st.data())
def test_reshape(device: str, data: st.DataObject) -> None:
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), (2, 6, 2)))
    shape = data.draw(st.sampled_from([(24,), (-1,), (4, 6), (2, 3, -1), (1, 24, 1), (2, 2, 3, 2), (12, 2)]))
    hypothesis.note(f"nd.reshape({operand.code(device)}, {shape})")
    assert_same(nd.reshape(operand.array(device), shape), operand.numpy().reshape(shape))


@each_device
@hypothesis.given(data=st.data())
def test_concat(device: str, data: st.DataObject) -> None:
    dtype, rank = data.draw(st.sampled_from(DTYPES)), data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(-rank, rank - 1))
    common = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    drawn = []
    for _ in range(data.draw(st.integers(1, 3))):
        common[axis] = data.draw(st.integers(0, 3))
        drawn.append(data.draw(operands(dtype, tuple(common))))
    hypothesis.note(f"nd.concat([{', '.join(each.code(device) for each in drawn)}], axis={axis})")
    actual = nd.concat([each.array(device) for each in drawn], axis=axis)
    assert_same(actual, np.concat([each.numpy() for each in drawn], axis=axis))


@each_device
@hypothesis.given(data=st.data())
def test_stack(device: str, data: st.DataObject) -> None:
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(DTYPES))
    drawn = [data.draw(operands(dtype, shape)) for _ in range(data.draw(st.integers(1, 3)))]
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    hypothesis.note(f"nd.stack([{', '.join(each.code(device) for each in drawn)}], axis={axis})")
    actual = nd.stack([each.array(device) for each in drawn], axis=axis)
    assert_same(actual, np.stack([each.numpy() for each in drawn], axis=axis))


@each_device
@hypothesis.given(data=st.data())
def test_copies_between_devices_keep_every_bit(device: str, data: st.DataObject) -> None:
    operand = data.draw(operands(data.draw(st.sampled_from(DTYPES)), data.draw(SHAPES)))
    for other in DEVICES:
        there = operand.array(device).to_device(other)
        assert there.device == other
        assert there.to_device(device).numpy().tobytes() == operand.numpy().tobytes()


@each_device
@pytest.mark.parametrize(
    "made",
    [
        "xp.zeros((2, 3), dtype=xp.int16)",
        "xp.ones((), dtype=xp.float64)",
        "xp.full((2, 2), 7, dtype=xp.uint8)",
        "xp.full((3,), -0.0, dtype=xp.float32)",
        "xp.eye(3, 4, k=1, dtype=xp.float32)",
        "xp.arange(5, dtype=xp.int64)",
        "xp.arange(10, 0, -3, dtype=xp.int32)",
        "xp.arange(0.0, 1.0, 0.1, dtype=xp.float64)",
        "xp.linspace(0.0, 1.0, 7, dtype=xp.float64)",
        "xp.linspace(-1.0, 1.0, 5, dtype=xp.float32)",
        "xp.tril(xp.ones((3, 4), dtype=xp.float32), k=-1)",
        "xp.triu(xp.ones((3, 4), dtype=xp.int8))",
        "xp.zeros((0, 3), dtype=xp.float32)",
    ],
)
def test_creation(device: str, made: str) -> None:
    with nd.use_device(device):
        actual: Any = eval(made, {"xp": nd})
    assert actual.device == device
    assert_same(actual, eval(made, {"xp": np}))


@each_device
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_keep_the_ends_of_their_range(device: str, dtype: str) -> None:
    """Every value that the dtype holds is stored as it is; the next one is refused."""
    bounds = np.iinfo(dtype)
    for end, beyond in ((int(bounds.min), int(bounds.min) - 1), (int(bounds.max), int(bounds.max) + 1)):
        assert nd.full((2,), end, dtype=nd.dtype(dtype), device=device).tolist() == [end, end]
        assert nd.asarray([end], dtype=nd.dtype(dtype), device=device).tolist() == [end]
        with pytest.raises(OverflowError, match=dtype):
            nd.full((2,), beyond, dtype=nd.dtype(dtype), device=device)


@each_device
def test_one_hot(device: str) -> None:
    actual = nd.one_hot(nd.asarray([[2, 0], [1, 1]], device=device), 3)
    assert_same(actual, np.eye(3, dtype=np.float32)[[[2, 0], [1, 1]]])
