"""Text of arrays, beside NumPy's."""

import numpy as np
import pytest

import treadle.ndarray as nd

SAME_AS_NUMPY = [
    np.array([0.0, 0.5, 1.0], "f4"),
    np.array([1.25, 100.123456789, -3], "f4"),
    np.array([[1, 2], [3, 400]]),
    np.array([True, False]),
    np.array([np.nan, 1.5, -np.inf], "f4"),
    np.array([-0.0, 0.0], "f4"),
    np.arange(2000),
    np.zeros((2, 3, 4), "f4"),
    np.arange(40.0, dtype="f4"),
    np.array(7),
    np.zeros((1, 1, 1), "f4"),
    np.array([0.1, 0.2], "f4"),
]


@pytest.mark.parametrize("x", SAME_AS_NUMPY, ids=range(len(SAME_AS_NUMPY)))
def test_str_as_numpy(x: np.ndarray) -> None:
    assert str(nd.asarray(x)) == str(x)


def test_repr() -> None:
    assert repr(nd.asarray([1, 2])) == "array([1, 2])"
    assert repr(nd.zeros((0, 3))) == "array([], shape=(0, 3), dtype=float32)"
    assert repr(nd.ones(2, dtype="int8", device="numpy")) == "array([1, 1], dtype=int8, device='numpy')"
    assert repr(nd.asarray([[1.5], [2.0]])) == "array([[1.5],\n       [2. ]])"
    assert "..." in repr(nd.zeros((50, 50)))


def test_every_float32_is_told_from_its_neighbours() -> None:
    x = np.float32(1) + np.float32(2**-20)
    assert np.float32(str(nd.asarray(x))) == x


def test_large_arrays_are_quick_to_print() -> None:
    assert str(nd.zeros((10**4, 10**3))).count("...") >= 1
