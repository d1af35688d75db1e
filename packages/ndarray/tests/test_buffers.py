"""frombuffer, and arrays that travel to other processes by pickle."""

import array
import copy
import mmap
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

DTYPES = [
    each.name for each in (nd.bool, nd.int8, nd.int16, nd.int32, nd.int64, nd.uint8, nd.uint16, nd.uint32, nd.uint64)
]
DTYPES += ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpy_does(dtype: str) -> None:
    source = (np.arange(12) % 2).astype(dtype)
    data = bytearray(source.tobytes())
    size = source.itemsize
    for count, offset in ((-1, 0), (3, 0), (0, 0), (2, size), (-1, 2 * size), (-1, 12 * size)):
        ours = nd.frombuffer(data, dtype=dtype, count=count, offset=offset)
        np.testing.assert_array_equal(ours.numpy(), np.frombuffer(data, dtype, count, offset))
        assert ours.dtype == dtype


def test_the_memory_is_shared_and_kept() -> None:
    data = bytearray(8)
    x = nd.frombuffer(data, dtype="int32")
    x[1] = 1
    assert data == b"\0\0\0\0\1\0\0\0"
    with pytest.raises(BufferError):
        data.append(1)
    del x
    data.append(1)
    assert nd.frombuffer(bytes(8)).readonly
    with pytest.raises(nd.BufferReadOnlyError):
        nd.frombuffer(bytes(8))[0] = 1
    assert nd.frombuffer(array.array("d", [1.0, 2.0]), dtype="float64").tolist() == [1, 2]
    with mmap.mmap(-1, 4096) as mapped:
        y = nd.frombuffer(mapped, dtype="uint8", count=3, offset=5)
        y[...] = 7
        assert mapped[4:9] == b"\0\7\7\7\0"
        del y


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"offset": -1}, "offset -1"),
        ({"offset": 17}, "offset 17"),
        ({"offset": 2}, "no whole number"),
        ({"count": 5}, "20 bytes"),
        ({"count": 2**62}, "bytes"),
        ({"offset": 2, "count": 2}, "copy the bytes"),
        ({"offset": 16, "count": 1}, "there are 0"),
    ],
)
def test_what_does_not_fit(keywords: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nd.frombuffer(bytearray(16), **keywords)


def test_what_is_no_buffer() -> None:
    for wrong in ("text", 3, [1, 2], np.arange(12.0).reshape(3, 4).T):
        with pytest.raises(TypeError):
            nd.frombuffer(wrong)
    with pytest.raises(nd.DTypeError):
        nd.frombuffer(b"12", dtype="float31")


VIEWS: dict[str, Any] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T,
    "strided": lambda x: x[::-1, ::2],
    "0-d": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
    "broadcast": lambda x: nd.broadcast_to(x[:1], (5, 4)),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle(dtype: str, protocol: int, view: str) -> None:
    x = VIEWS[view](nd.asarray((np.arange(12).reshape(3, 4) % 2).astype(dtype), copy=True))
    y = pickle.loads(pickle.dumps(x, protocol))
    assert isinstance(y, nd.NDArray)
    assert (y.shape, y.dtype, y.device, y.tolist()) == (x.shape, x.dtype, x.device, x.tolist())
    assert not y.readonly
    if y.size:
        y[...] = 0


def test_out_of_band_buffers_are_not_copied() -> None:
    x = nd.arange(1000, dtype=nd.float64)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps([x, x.reshape(10, 100).T], 5, buffer_callback=buffers.append)
    assert len(data) < 500
    assert len(buffers) == 2
    flat, transposed = pickle.loads(data, buffers=buffers)
    assert flat.data_pointer == x.data_pointer
    assert transposed.shape == (100, 10)
    x[0] = 5
    assert flat[0] == transposed[0, 0] == 5
    moved = bytearray(len(buffers[0].raw()))
    moved[:] = buffers[0].raw()
    again, _ = pickle.loads(data, buffers=[moved, buffers[1]])
    assert again.tolist() == x.tolist()


def test_pickles_that_lie() -> None:
    from treadle.ndarray.buffers import rebuilt

    with pytest.raises(nd.ShapeError, match="bytes for shape"):
        rebuilt(b"1234", "float32", (2,), False, "cpu")
    with pytest.raises(nd.DeviceError):
        rebuilt(b"1234", "float32", (1,), False, "nowhere")


def test_devices_and_copies() -> None:
    x = nd.asarray([1, 2], device="numpy")
    assert pickle.loads(pickle.dumps(x)).device == "numpy"
    assert copy.deepcopy([x])[0].tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(nd.float32)) is nd.float32


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_worker_processes(method: str) -> None:
    if method == "spawn":
        pytest.importorskip("numpy")
    import operator

    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(operator.add, (nd.arange(3), nd.arange(3))).tolist() == [0, 2, 4]
