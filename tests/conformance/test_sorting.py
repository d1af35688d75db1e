"""sort, argsort and topk on every device, dtype, layout and axis, against Python's sort; NaN always comes last."""

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, SHAPES, Operand, operands

each_device = pytest.mark.parametrize("device", DEVICES)
LENGTHS = [0, 1, 2, 24, 25, 49, 63, 64, 65, 100, 127, 128, 129, 300]
"""Lengths on both sides of where the kernel goes from insertion to merging to radix sort."""


def order(x: Any, axis: int, descending: bool) -> Any:
    """The places of x's elements in stable order, by Python's sort."""
    lines = np.moveaxis(x, axis, -1)
    result = np.empty(lines.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        values = lines[at].tolist()
        numbers = [place for place, value in enumerate(values) if value == value]
        absent = [place for place, value in enumerate(values) if value != value]
        result[at] = sorted(numbers, key=values.__getitem__, reverse=descending) + absent
    return np.moveaxis(result, -1, axis)


def drawn(data: st.DataObject, shapes: Any = SHAPES) -> tuple[Operand, int]:
    shape = data.draw(shapes.filter(len))
    return data.draw(operands(data.draw(st.sampled_from(DTYPES)), shape)), data.draw(
        st.integers(-len(shape), len(shape) - 1)
    )


@each_device
@pytest.mark.parametrize("descending", [False, True])
@hypothesis.given(data=st.data())
def test_sort_and_argsort(device: str, descending: bool, data: st.DataObject) -> None:
    operand, axis = drawn(data)
    hypothesis.note(f"nd.argsort({operand.code(device)}, axis={axis}, descending={descending})")
    x = operand.numpy()
    places = order(x, axis, descending)
    array = operand.array(device)
    assert_same(nd.argsort(array, axis=axis, descending=descending), places)
    assert_same(nd.sort(array, axis=axis, descending=descending), np.take_along_axis(x, places, axis))
    assert_same(array, x)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_lines(dtype: str, descending: bool, length: int) -> None:
    """Every algorithm of the kernel, with many equal elements and with few; along contiguous and strided lines."""
    rng = np.random.default_rng(length)
    info = None if dtype in ("bool", "float32", "float64") else np.iinfo(dtype)
    for few in (True, False):
        if info is None:
            x = (rng.integers(-3, 3, (3, length)) if few else rng.standard_normal((3, length)) * 1e3).astype(dtype)
        else:
            low, high = (0, 5) if few else (info.min, info.max)
            x = rng.integers(low, high, (3, length), dtype=dtype, endpoint=True)
        if dtype.startswith("float"):
            edges = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf], dtype)
            spots = rng.random(x.shape) < 0.2
            x[spots] = rng.choice(edges, int(spots.sum()))
        places = order(x, 1, descending)
        expected = np.take_along_axis(x, places, 1)
        for array, axis in ((nd.asarray(x), 1), (nd.asarray(np.asfortranarray(x)), 1), (nd.asarray(x).T, 0)):
            turned = axis == 0
            assert_same(nd.argsort(array, axis=axis, descending=descending), places.T if turned else places)
            result = nd.sort(array, axis=axis, descending=descending)
            assert_same(result, expected.T if turned else expected)
            bits = result.T.numpy() if turned else result.numpy()
            assert np.array_equal(np.signbit(bits), np.signbit(expected)) or dtype == "bool" or info is not None


@each_device
@pytest.mark.parametrize("largest", [True, False])
@hypothesis.given(data=st.data())
def test_topk(device: str, largest: bool, data: st.DataObject) -> None:
    operand, axis = drawn(data)
    x = operand.numpy()
    k = data.draw(st.integers(0, x.shape[axis]))
    hypothesis.note(f"nd.topk({operand.code(device)}, {k}, axis={axis}, largest={largest})")
    places = np.take(order(x, axis, largest), np.arange(k), axis)
    found = nd.topk(operand.array(device), k, axis=axis, largest=largest)
    assert_same(found.indices, places)
    assert_same(found.values, np.take_along_axis(x, places, axis))


@each_device
def test_wrong_axes_are_refused(device: str) -> None:
    x = nd.ones((2, 3), device=device)
    calls: list[Callable[[], Any]] = [
        lambda: nd.sort(x, axis=2),
        lambda: nd.argsort(x, axis=-3),
        lambda: nd.topk(x, 1, axis=5),
    ]
    for call in calls:
        with pytest.raises(nd.ShapeError, match="axis"):
            call()
    with pytest.raises(nd.ShapeError, match="sort"):
        nd.sort(nd.asarray(1.0, device=device))
    for k in (-1, 4):
        with pytest.raises(nd.ShapeError, match="topk"):
            nd.topk(x, k)


def test_a_backend_without_a_sort_is_served_by_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    from treadle.ndarray.numpy_backend import NumpyBackend

    monkeypatch.delattr(NumpyBackend, "sort")
    x = nd.asarray([3.0, 1.0, 2.0], device="numpy")
    for result in (nd.sort(x), nd.argsort(x)):
        assert result.device == "numpy"
    assert nd.sort(x).tolist() == [1.0, 2.0, 3.0]
    assert nd.argsort(x).tolist() == [1, 2, 0]
