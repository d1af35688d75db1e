"""Making arrays from Python and foreign data."""

import array

import numpy as np
import pytest

import treadle.ndarray as nd


@pytest.mark.parametrize(
    ("obj", "dtype", "shape"),
    [
        (3, "int64", ()),
        (2.5, "float32", ()),
        (True, "bool", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        (range(3), "int64", (3,)),
        (((1, 2), (3, 4)), "int64", (2, 2)),
        ([np.float32(1), 2], "float32", (2,)),
        ([np.ones(3), np.zeros(3)], "float64", (2, 3)),
    ],
)
def test_asarray_of_python_data(obj: object, dtype: str, shape: tuple[int, ...]) -> None:
    x = nd.asarray(obj)
    assert (x.dtype.name, x.shape) == (dtype, shape)
    np.testing.assert_array_equal(x.numpy(), np.asarray(obj, dtype=dtype))


def test_asarray_shares_foreign_memory() -> None:
    source = np.arange(6.0).reshape(2, 3)
    x = nd.asarray(source[::-1, ::2])
    source[1, 0] = 42
    assert x[0, 0].item() == 42
    x[0, 0] = 7
    assert source[1, 0] == 7
    assert nd.asarray(array.array("i", [1, 2])).dtype == "int32"


def test_asarray_copies_where_it_must() -> None:
    unaligned = np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)
    assert nd.asarray(unaligned).data_pointer % 8 == 0
    assert nd.asarray(np.array([1, 2, 3], ">f4")).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="copy"):
        nd.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy"):
        nd.asarray(np.ones(2), dtype="float32", copy=False)
    source = np.ones(2)
    assert not np.shares_memory(nd.asarray(source, copy=True).numpy(), source)


@pytest.mark.parametrize(
    "bad", ["text", [1, "a"], [object()], None, {1: 2}, np.array([1, None]), np.array(["a"]), np.longdouble]
)
def test_no_numbers(bad: object) -> None:
    with pytest.raises(nd.DTypeError):
        nd.asarray(bad)


@pytest.mark.parametrize("ragged", [[[1, 2], [3]], [[1], 2], [1, [2]], [[[1]], [[1, 2]]]])
def test_ragged(ragged: object) -> None:
    with pytest.raises(nd.ShapeError, match="ragged"):
        nd.asarray(ragged)


def test_integers_out_of_range() -> None:
    with pytest.raises(OverflowError, match="uint8"):
        nd.asarray([256], dtype="uint8")
    with pytest.raises(OverflowError, match="int64"):
        nd.asarray([2**63])
    assert nd.asarray([2**64 - 1], dtype="uint64").item() == 2**64 - 1
    with pytest.raises(OverflowError):
        nd.ones(2, dtype="int8") + 128


@pytest.mark.parametrize("arguments", [(5,), (2, 7), (0, 1, 0.25), (7, 2, -2), (3, 3), (0, 10, 3), (1, 0)])
def test_arange(arguments: tuple[float, ...]) -> None:
    np.testing.assert_allclose(nd.arange(*arguments).numpy(), np.arange(*arguments), rtol=1e-6)


def test_arange_of_large_integers_is_exact() -> None:
    start = 2**62
    assert nd.arange(start, start + 3).tolist() == [start, start + 1, start + 2]


def test_linspace_eye_triangles() -> None:
    np.testing.assert_allclose(nd.linspace(-1, 2, 7).numpy(), np.linspace(-1, 2, 7), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(nd.linspace(0, 1, 4, endpoint=False).numpy(), [0, 0.25, 0.5, 0.75])
    assert nd.linspace(3, 9, 1).tolist() == [3]
    np.testing.assert_array_equal(nd.eye(3, 4, k=1).numpy(), np.eye(3, 4, k=1))
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(nd.tril(nd.asarray(x), k=-1).numpy(), np.tril(x, -1))
    np.testing.assert_array_equal(nd.triu(nd.asarray(x), k=1).numpy(), np.triu(x, 1))


def test_one_hot_of_what_is_no_class_is_zero() -> None:
    assert nd.one_hot(nd.asarray([2, -1, 3]), 3).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_impossible_shapes() -> None:
    with pytest.raises(nd.ShapeError, match="-1"):
        nd.zeros((2, -1))
    with pytest.raises(nd.ShapeError, match="dimensions"):
        nd.zeros((1,) * 33)
    with pytest.raises(nd.ShapeError, match="sequence of ints"):
        nd.zeros((2.5,))
    with pytest.raises(MemoryError):
        nd.zeros((2**40, 2**40))
    with pytest.raises(MemoryError):
        nd.empty(2**47)
    assert (nd.ones(3) + 1).tolist() == [2, 2, 2]  # all is usable afterwards
