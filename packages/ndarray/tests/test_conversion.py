"""To Python, to NumPy, from NumPy scalars; exported memory."""

import copy
import ctypes
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd


def test_numpy_shares_memory_and_keeps_it_alive() -> None:
    x = nd.asarray([[1.0, 2.0], [3.0, 4.0]])
    view, memory = x.T.numpy(), memoryview(x)
    reference = weakref.ref(x)
    x[0, 1] = 9
    assert view[1, 0] == 9
    del x
    gc.collect()
    nd.full((2, 2), 5.0)
    assert reference() is not None
    assert memory.tolist() == [[1, 9], [3, 4]]
    memory.release()
    assert view.tolist() == [[1, 3], [9, 4]]


def test_buffer_requests() -> None:
    x = nd.arange(6).reshape(2, 3)
    assert bytes(x) == np.arange(6).tobytes()
    with pytest.raises(BufferError, match="contiguous"):
        np.frombuffer(x.T, dtype="i8")
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_char * 4).from_buffer(nd.broadcast_to(nd.zeros(1), (1, 3)))


def test_numpy_functions() -> None:
    x = nd.asarray([1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [1, 2])
    assert np.asarray(x, dtype="f8").dtype == "f8"
    with pytest.raises(TypeError):
        np.add(x, x)


@pytest.mark.parametrize("scalar", [2, 2.5, True, np.float32(2.5), np.float64(2.5), np.int64(3), np.bool_(True)])
def test_scalars_on_either_side_do_not_widen(scalar: object) -> None:
    x = nd.asarray([1.0, 2.0])
    for result in (scalar * x, x * scalar, scalar + x, x - scalar, scalar / x):  # type: ignore[operator]
        assert isinstance(result, nd.NDArray)
        assert result.dtype == "float32"
    np.testing.assert_allclose((scalar - x).numpy(), float(scalar) - np.array([1, 2], "f4"))  # type: ignore[operator, arg-type]


def test_foreign_operands_are_refused() -> None:
    x = nd.asarray([1.0, 2.0])
    for other in ("a", None, [1, 2], object()):
        with pytest.raises(TypeError):
            x + other  # type: ignore[operator]
        with pytest.raises(TypeError):
            x @ other  # type: ignore[operator]

    class Wrapper:
        def __radd__(self, other: object) -> str:
            return "reflected"

    assert x + Wrapper() == "reflected"  # type: ignore[operator, comparison-overlap]


def test_python_scalars() -> None:
    assert int(nd.asarray(3.9)) == 3
    assert float(nd.asarray([2])) == 2.0
    assert [10, 20, 30][nd.asarray(1)] == 20
    assert bool(nd.asarray([[0.5]]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.ones(2))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.ones(0))
    with pytest.raises(TypeError):
        [1][nd.asarray([0])]  # type: ignore[call-overload]
    with pytest.raises(nd.ShapeError, match="2 elements"):
        nd.ones(2).item()
    with pytest.raises(TypeError):
        hash(nd.ones(1))
    with pytest.raises(TypeError, match="asarray"):
        nd.NDArray([1])
    assert 2 in nd.asarray([1, 2])
    assert type(nd.asarray(True).item()) is bool
    assert nd.asarray([[1, 2]]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "source", [each.name for each in (nd.bool, nd.int8, nd.uint8, nd.int64, nd.uint64, nd.float32, nd.float64)]
)
@pytest.mark.parametrize(
    "target", [each.name for each in (nd.bool, nd.int8, nd.uint8, nd.int64, nd.uint64, nd.float32, nd.float64)]
)
def test_astype(source: str, target: str) -> None:
    values = np.array([0, 1, 2, 100, 127], source)
    np.testing.assert_array_equal(nd.asarray(values).astype(target).numpy(), values.astype(target))
    np.testing.assert_array_equal(nd.asarray(values)[::-2].astype(target).numpy(), values[::-2].astype(target))


def test_negative_numbers_wrap_as_in_numpy() -> None:
    values = np.array([-1, -200, 300], "i8")
    for target in ("int8", "uint8", "uint64"):
        np.testing.assert_array_equal(nd.asarray(values).astype(target).numpy(), values.astype(target))


def test_astype_without_copy() -> None:
    x = nd.ones(2)
    assert x.astype("float32", copy=False) is x
    assert x.astype("float32") is not x
    with pytest.raises(nd.DTypeError, match="float128"):
        x.astype("float128")


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("real", ["float32", "float64"])
@pytest.mark.parametrize("integer", ["int32", "uint32"])
@pytest.mark.parametrize("count", [1, 37])
def test_reals_beyond_32_bits_give_the_nearest_integer(real: str, integer: str, count: int, device: str) -> None:
    limits = np.iinfo(integer)
    edges = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 2.0**24 + 2, 2.0**31 - 128, 2.0**31 - 1, 2.0**31, 2.0**31 + 256]
    edges += [
        -(2.0**31),
        -(2.0**31) - 1,
        -(2.0**31) - 256,
        2.0**32 - 256,
        2.0**32 - 1,
        2.0**32,
        3e38,
        -3e38,
        np.inf,
        -np.inf,
    ]
    numbers = np.repeat(np.asarray([*edges, np.nan], real), count)
    expected = [0 if x != x else int(min(max(x, limits.min), limits.max)) for x in numbers.tolist()]
    for x in (nd.asarray(numbers, device=device), nd.asarray(np.repeat(numbers, 2), device=device)[::2]):
        assert x.astype(integer).tolist() == expected


def test_comparisons_with_what_is_no_number() -> None:
    """As in Python: other things are unequal, as a whole, and have no order."""
    x = nd.asarray([1.0, 2.0])
    for other in (None, "a", object(), {}):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError):
            _ = x < other  # type: ignore[operator]
    assert None not in [x]
    assert x in [None, x]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_copies_and_pickles_are_apart() -> None:
    for x in (
        nd.asarray([[1.0, 2.0], [3.0, 4.0]]).T,
        nd.zeros((0, 2)),
        nd.asarray(3),
        nd.asarray([1j], dtype="complex64"),
    ):
        for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy([x])[0]):
            assert made.tolist() == x.tolist()
            assert made.dtype is x.dtype
            assert not made.size or not np.shares_memory(made.numpy(), x.numpy())
    shared = nd.ones(2)
    first, second = copy.deepcopy([shared, shared])
    assert first is second


@pytest.mark.parametrize("value", [np.datetime64("2020-01-01"), np.timedelta64(3, "s")])
def test_dates_are_no_bytes(value: Any) -> None:
    for each in (value, np.asarray(value), np.asarray([value])):
        with pytest.raises(nd.DTypeError):
            nd.asarray(each)
