"""Input that would run off the end of something, were it not checked."""

import copy
import ctypes
import pickle
import struct
import threading

import numpy as np
import pytest

import treadle.ndarray as nd


@pytest.mark.parametrize("ndim", [33, 64])
def test_foreign_arrays_of_too_many_dimensions(ndim: int) -> None:
    with pytest.raises(nd.ShapeError, match=f"{ndim} dimensions"):
        nd.asarray(np.ones((1,) * ndim))
    assert nd.asarray(np.ones((1,) * 32)).ndim == 32


@pytest.mark.parametrize("shape", [(2**40, 2**40), (11, 1676976733973595602), (2**61,)])
def test_broadcasts_beyond_64_bits(shape: tuple[int, ...]) -> None:
    with pytest.raises(nd.ShapeError, match="counted"):
        nd.broadcast_to(nd.ones(1), shape)
    assert nd.broadcast_to(nd.ones(1), (2**40,)).shape == (2**40,)
    assert nd.broadcast_to(nd.ones((1, 0)), (2**40, 0)).size == 0


def test_updates_never_write_read_only_state() -> None:
    frozen = nd.asarray(np.frombuffer(b"\0" * 12, "f4"))
    x = nd.ones(3)
    for step in (
        lambda: nd.sgd_step(x, x, frozen, lr=0.1, momentum=0.9),
        lambda: nd.adam_step(x, x, frozen, nd.zeros(3), lr=0.1, step=1),
        lambda: nd.adam_step(x, x, nd.zeros(3), frozen, lr=0.1, step=1),
    ):
        with pytest.raises(nd.BufferReadOnlyError):
            step()
    assert frozen.tolist() == [0, 0, 0]


def test_contiguous_buffer_requests() -> None:
    x = nd.arange(6).reshape(2, 3)
    assert memoryview(x).c_contiguous
    assert memoryview(x.T).f_contiguous
    for strided in (x.T, x[:, ::2]):
        with pytest.raises(BufferError):
            struct.unpack_from("q", strided)  # asks for plain contiguous bytes
    assert struct.unpack_from("q", x) == (0,)


def test_dtypes_are_not_made() -> None:
    with pytest.raises(nd.DTypeError, match="named"):
        nd.DType("x", "f", 99999, "f")


def test_assignment_with_numpy_integers() -> None:
    x = nd.zeros((2, 3))
    x[np.int64(1)] = 5.0
    x[np.int64(0), :2] = 7
    assert x.tolist() == [[7, 7, 0], [5, 5, 5]]


@pytest.mark.parametrize("n", [3, 49, 1000])
def test_the_mean_of_a_constant_is_the_constant(n: int) -> None:
    for dtype in ("float32", "float64"):
        assert nd.mean(nd.ones(n, dtype=dtype)).item() == 1.0
        assert nd.mean(nd.ones((n, 3), dtype=dtype), axis=0).tolist() == [1.0] * 3


def test_unequal_kinds_are_never_silently_unequal() -> None:
    x = nd.asarray([1, 2])
    for other in (np.array([1, 2]), [1, 2], (1, 2)):
        with pytest.raises(nd.DTypeError, match="asarray"):
            x == other  # noqa: B015
        with pytest.raises(nd.DTypeError, match="asarray"):
            x != other  # noqa: B015
    assert (x == None) is False  # type: ignore[comparison-overlap]  # noqa: E711


def test_comparisons_with_integers_out_of_range() -> None:
    x = nd.asarray([0, 255], dtype="uint8")
    assert (x == 300).tolist() == [False, False]
    assert (x != -1).tolist() == [True, True]
    assert (x < 300).tolist() == (x > -1).tolist() == x.__lt__(300).tolist() == [True, True]
    assert (x >= 2**70).tolist() == nd.greater_equal(-(2**70), x).tolist() == [False, False]
    assert -1 not in x


def test_threads_draw_apart() -> None:
    generator, drawn = nd.random.Generator(1), []
    threads = [
        threading.Thread(target=lambda: drawn.extend(generator.bits((2000,)).tolist() for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number for part in drawn for number in part}) == 4 * 20 * 2000


def test_generators_are_copied_where_they_stand() -> None:
    generator = nd.random.Generator(3)
    generator.bits((5,))
    twins = (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)))
    expected = generator.bits((3,)).tolist()
    assert [twin.bits((3,)).tolist() for twin in twins] == [expected, expected]


def test_integers_stay_in_their_dtype() -> None:
    generator = nd.random.Generator(0)
    with pytest.raises(ValueError, match="uint8"):
        generator.integers(0, 1000, dtype="uint8")
    with pytest.raises(ValueError, match="members"):
        generator.integers(-(2**63), 2**63)
    assert generator.integers(0, 256, (1000,), dtype="uint8").max().item() <= 255


def test_scalars_go_where_the_arrays_are() -> None:
    there = nd.asarray([1.0, -1.0], device="numpy")
    assert nd.where(there > 0, 1.0, 0.0).device == "numpy"
    assert nd.add(there, [1.0, 2.0]).tolist() == [2, 1]


def test_errors_name_the_op_that_was_called() -> None:
    x = nd.ones((2, 3))
    for op in ("softmax", "log_softmax", "logsumexp", "var", "argmax", "cumsum"):
        with pytest.raises(nd.ShapeError, match=rf"^{op}: axis 5"):
            getattr(nd, op)(x, axis=5)
    with pytest.raises(nd.ShapeError, match=r"^stack"):
        nd.stack([])


def test_unaligned_foreign_memory() -> None:
    raw = memoryview(bytearray(b"\0" + struct.pack("4d", 1, 2, 3, 4)))[1:].cast("d")
    assert nd.asarray(raw).tolist() == [1, 2, 3, 4]


def test_linspace_of_integers() -> None:
    assert nd.linspace(0, 10, 5, dtype="int64").tolist() == np.linspace(0, 10, 5, dtype="i8").tolist()


def test_ctypes_arrays() -> None:
    assert nd.asarray((ctypes.c_float * 4)(1, 2, 3, 4)).tolist() == [1, 2, 3, 4]
    assert nd.asarray(((ctypes.c_int32 * 2) * 3)((1, 2), (3, 4), (5, 6))).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_none_is_no_array() -> None:
    for call in (lambda: nd.reshape(None, (2,)), lambda: nd.result_dtype(nd.float32, None)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            call()


def test_lists_that_lie_or_contain_themselves() -> None:
    class Short(list):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 1

    with pytest.raises(nd.ShapeError, match="ragged"):
        nd.asarray(Short(range(3000)))
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(nd.ShapeError, match="deep"):
        nd.asarray(endless)


def test_arrays_without_memory_are_not_made() -> None:
    with pytest.raises(TypeError, match="asarray"):
        nd.NDArray.__new__(nd.NDArray)


def test_scalars_are_stored_exactly_or_not_at_all() -> None:
    x = nd.zeros(1, dtype="int64")
    x[0] = 16777217.0
    assert x.item() == 16777217
    assert nd.full((1,), 123456789.0, dtype="int64").item() == 123456789
    for value, error in ((3e9, OverflowError), (float("nan"), nd.DTypeError), (float("inf"), nd.DTypeError)):
        with pytest.raises(error):
            nd.zeros(1, dtype="int32")[0] = value


def test_foreign_booleans_are_normalised() -> None:
    x = nd.asarray(np.array([2, 255, 0, 1], "u1").view(bool))
    assert (x.sum().item(), x.astype("int64").tolist()) == (3, [1, 1, 0, 1])


def test_devices_survive_copies() -> None:
    for twin in (copy.deepcopy(nd.device("numpy")), pickle.loads(pickle.dumps(nd.device("cpu")))):
        assert twin is nd.device(str(twin))


def test_tanh_keeps_the_sign_of_zero() -> None:
    assert np.signbit(nd.tanh(nd.asarray([-0.0])).numpy()).all()


def test_numpy_integers_as_shapes() -> None:
    assert nd.zeros(np.int64(3)).reshape(np.int64(3)).shape == (3,)  # type: ignore[arg-type]
    for bad in ("ab", None, 1.5, 2**64):
        with pytest.raises(nd.ShapeError):
            nd.zeros(6).reshape(bad)  # type: ignore[call-overload]
