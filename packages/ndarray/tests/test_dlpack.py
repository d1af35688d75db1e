"""DLPack out and in: NumPy, PyTorch and hand-made capsules as the other side; who owns what, and until when."""

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

DTYPES = [
    each.name for each in (nd.bool, nd.int8, nd.int16, nd.int32, nd.int64, nd.uint8, nd.uint16, nd.uint32, nd.uint64)
]
DTYPES += ["float32", "float64"]

VIEWS: dict[str, Any] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-2],
    "offset": lambda x: x[1:, 2],
    "0-d": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
    "length 1": lambda x: x[1:2],
}
each_view = pytest.mark.parametrize("view", VIEWS)


class Legacy:
    """An exporter from before the keywords, which hands out legacy capsules."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self) -> Any:
        return self.x.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def values(dtype: str) -> Any:
    return (np.arange(12).reshape(3, 4) % 2 if dtype == "bool" else np.arange(12).reshape(3, 4)).astype(dtype)


@each_view
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_takes_ours(dtype: str, view: str) -> None:
    source = values(dtype)
    ours = VIEWS[view](nd.asarray(source, copy=True))
    theirs = np.from_dlpack(ours)
    np.testing.assert_array_equal(theirs, VIEWS[view](source))
    assert theirs.dtype == dtype
    if theirs.size > 1:
        assert theirs.strides == ours.strides
        assert theirs.ctypes.data == ours.data_pointer


@each_view
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrap", [lambda x: x, Legacy], ids=["versioned", "legacy"])
def test_we_take_numpys(wrap: Any, dtype: str, view: str) -> None:
    source = VIEWS[view](values(dtype))
    if isinstance(source, np.generic):
        source = np.asarray(source)
    ours = nd.from_dlpack(wrap(source))
    np.testing.assert_array_equal(ours.numpy(), source)
    assert (ours.dtype.name, ours.shape, str(ours.device)) == (dtype, source.shape, "cpu")
    if source.size:
        assert ours.data_pointer == source.ctypes.data
        ours[...] = 1
        assert (source == 1).all()


@each_view
def test_pytorch_both_ways(view: str) -> None:
    torch = pytest.importorskip("torch")
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64"):
        if view == "reversed":  # torch has no negative strides
            continue
        source = nd.asarray(values(dtype), copy=True)
        ours = VIEWS[view](source)
        theirs = torch.from_dlpack(ours)
        assert str(theirs.dtype) == f"torch.{dtype}"
        assert theirs.tolist() == ours.tolist()
        back = nd.from_dlpack(theirs)
        assert back.dtype == dtype
        assert back.tolist() == ours.tolist()
        if ours.size:
            assert back.data_pointer == theirs.data_ptr() == ours.data_pointer
            back[...] = 0
            assert not ours.any().item()


def test_from_dlpack_is_what_the_standard_says() -> None:
    x = nd.asarray([1.0, 2.0])
    y = nd.from_dlpack(x)
    y[0] = 9
    assert x.tolist() == [9, 2]
    copied = nd.from_dlpack(np.arange(3), copy=True)
    assert not copied.readonly
    source = np.arange(3)
    assert nd.from_dlpack(source, copy=False).data_pointer == source.ctypes.data
    assert nd.from_dlpack(source, copy=True).data_pointer != source.ctypes.data
    assert nd.from_dlpack(Legacy(source), copy=True).data_pointer != source.ctypes.data
    assert nd.from_dlpack(source, device="numpy").device == "numpy"
    with pytest.raises(ValueError, match="copy is needed"):
        nd.from_dlpack(source, device="numpy", copy=False)
    with pytest.raises(TypeError, match="__dlpack__"):
        nd.from_dlpack([1, 2])


def test_asarray_takes_what_has_dlpack_and_no_buffer() -> None:
    source = np.arange(6).reshape(2, 3).T
    shared = nd.asarray(Legacy(source))
    assert shared.data_pointer == source.ctypes.data
    assert shared.tolist() == source.tolist()
    assert nd.asarray(Legacy(source), copy=True).data_pointer != source.ctypes.data
    assert nd.asarray(Legacy(source), dtype="float32").tolist() == source.tolist()
    torch = pytest.importorskip("torch")
    assert nd.asarray(torch.ones(2, 3)).shape == (2, 3)
    with pytest.raises(nd.DTypeError, match="grad"):
        nd.asarray(torch.ones(2, requires_grad=True))


def test_read_only_is_told_and_believed() -> None:
    frozen = np.arange(3)
    frozen.flags.writeable = False
    ours = nd.from_dlpack(frozen)
    assert ours.readonly
    with pytest.raises(nd.BufferReadOnlyError):
        ours[0] = 1
    assert not np.from_dlpack(ours).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        ours.__dlpack__()
    assert nd.from_dlpack(Legacy(np.arange(2))).tolist() == [0, 1]
    stretched = nd.broadcast_to(nd.asarray([1.0, 2.0]), (3, 2))
    theirs = np.from_dlpack(stretched)
    assert theirs.tolist() == [[1, 2]] * 3
    assert theirs.strides == (0, 4)
    assert not theirs.flags.writeable
    assert np.from_dlpack(stretched, copy=True).flags.writeable
    assert nd.from_dlpack(np.lib.stride_tricks.as_strided(np.arange(2.0), (3, 2), (0, 8), writeable=True)).readonly


@pytest.mark.parametrize("device", ["cpu", "numpy", "cuda_emulated"])
def test_host_memory_is_the_cpu(device: str) -> None:
    try:
        x = nd.asarray([1, 2], device=device)
    except (nd.DeviceError, nd.BackendError):
        pytest.skip(f"no {device}")
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == [1, 2]
    assert nd.from_dlpack(x).device == device


def test_requests_that_cannot_be_met() -> None:
    x = nd.asarray([1.0])
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="device type 8"):
        x.__dlpack__(dl_device=(8, 0))
    x.__dlpack__(dl_device=(1, 0), copy=False, max_version=(1, 0), stream=None)

    class Elsewhere(Legacy):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 8, 0

    with pytest.raises(ValueError, match="copy is needed"):
        nd.from_dlpack(Elsewhere(x), device="cpu", copy=False)


def test_types_without_a_counterpart_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match="no dtype here for DLPack's code"):
        nd.from_dlpack(torch.zeros(1, dtype=torch.float8_e4m3fn))


def test_capsules_are_consumed_once() -> None:
    class Same(Legacy):
        def __init__(self, x: Any) -> None:
            self.capsule = x.__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.capsule

    exporter = Same(nd.asarray([1, 2]))
    assert nd.from_dlpack(exporter).tolist() == [1, 2]
    with pytest.raises(BufferError, match="consumed"):
        nd.from_dlpack(exporter)

    class Liar(Legacy):
        def __dlpack__(self) -> Any:
            return 42

    with pytest.raises(BufferError, match="int"):
        nd.from_dlpack(Liar(None))


@pytest.mark.parametrize("version", [None, (1, 0), (1, 7), (2, 0), (0, 8)])
def test_an_unconsumed_capsule_lets_go(version: Any) -> None:
    x = nd.ones(100)
    alive = weakref.ref(x)
    capsule = x.__dlpack__(max_version=version)
    name = "dltensor" if version in (None, (0, 8)) else "dltensor_versioned"
    assert f'"{name}"' in repr(capsule)
    del x
    gc.collect()
    assert alive() is not None
    del capsule
    assert alive() is None


def test_the_exporter_is_held_for_each_consumer() -> None:
    x = nd.arange(1000, dtype=nd.float64)
    alive = weakref.ref(x)
    first, second = np.from_dlpack(x), nd.from_dlpack(Legacy(x))
    slice_of_second = second[10:20]
    del x, second
    gc.collect()
    junk = [nd.zeros(1000, dtype=nd.float64) for _ in range(10)]
    assert first.tolist() == list(range(1000))
    del first
    assert slice_of_second.tolist() == list(range(10, 20))
    assert alive() is not None
    del slice_of_second
    assert alive() is None
    assert len(junk) == 10


class Tensor(ctypes.Structure):
    """DLTensor, as the specification lays it down."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class HandMade:
    """An exporter whose every field a test chooses, and which counts its deleter's calls."""

    def __init__(self, memory: Any, shape: Any, strides: Any, **fields: Any) -> None:
        self.deleted = 0
        self.memory = memory
        self.lengths = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self.steps = None if strides is None else (ctypes.c_int64 * max(1, len(strides)))(*strides)
        self.managed = Versioned(
            major=fields.pop("major", 1), flags=fields.pop("flags", 0), deleter=DELETER(self._delete)
        )
        tensor = self.managed.tensor
        tensor.data = memory.ctypes.data
        tensor.device_type, tensor.code, tensor.bits, tensor.lanes, tensor.ndim = 1, 2, 32, 1, len(shape)
        tensor.shape = self.lengths
        if self.steps is not None:
            tensor.strides = self.steps
        for name, value in fields.items():
            setattr(tensor, name, value)

    def _delete(self, managed: int) -> None:
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack__(self, **keywords: Any) -> Any:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor_versioned", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_the_deleter_runs_once() -> None:
    exporter = HandMade(np.arange(6, dtype="f4"), (2, 3), None, flags=1)
    x = nd.from_dlpack(exporter)
    assert x.readonly
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    view = x[1:, ::-1]
    del x
    assert exporter.deleted == 0
    assert view.tolist() == [[5, 4, 3]]
    del view
    assert exporter.deleted == 1


def test_byte_offsets_and_strides() -> None:
    exporter = HandMade(np.arange(6, dtype="f4"), (2, 2), (-2, 1), byte_offset=12)
    assert nd.from_dlpack(exporter).tolist() == [[3, 4], [1, 2]]
    assert exporter.deleted == 1


def test_misaligned_elements_are_copied() -> None:
    data = np.frombuffer(bytearray(b"\0" + np.arange(4, dtype="f4").tobytes()), "u1")
    assert nd.from_dlpack(HandMade(data, (2, 2), (1, 2), byte_offset=1)).tolist() == [[0, 2], [1, 3]]
    with pytest.raises(ValueError, match="aligned"):
        nd.from_dlpack(HandMade(data, (4,), (1,), byte_offset=1), copy=False)


@pytest.mark.parametrize(
    ("shape", "strides", "fields", "message"),
    [
        ((2,), (1,), {"major": 2}, "DLPack 2.0"),
        ((2,), (1,), {"lanes": 2}, "lanes"),
        ((2,), (1,), {"bits": 8}, "8 bits"),
        ((2,), (1,), {"ndim": 33}, "33 dimensions"),
        ((2,), (1,), {"ndim": -1}, "-1 dimensions"),
        ((-2,), (1,), {}, "length of -2"),
        ((2**40, 2**40), None, {}, "beyond any memory"),
        ((2**40, 2**40), (0, 0), {}, "beyond any memory"),
        ((2,), (2**61,), {}, "stride"),
        ((2,), (1,), {"data": 0}, "no memory"),
        ((2,), (1,), {"device_type": 10}, "device type 10"),
    ],
)
def test_nonsense_is_refused_and_given_back(shape: Any, strides: Any, fields: Any, message: str) -> None:
    exporter = HandMade(np.arange(6, dtype="f4"), shape, strides, **fields)
    with pytest.raises(BufferError, match=message):
        nd.from_dlpack(exporter)
    gc.collect()
    assert exporter.deleted == 1


def test_deleters_may_be_called_without_the_interpreters_lock() -> None:
    """From C, as a consumer's thread would: ctypes lets the lock go around foreign calls."""
    x = nd.ones(4)
    alive = weakref.ref(x)
    capsule = x.__dlpack__(max_version=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = (ctypes.py_object, ctypes.c_char_p)
    managed = Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
    used = b"used_dltensor_versioned"
    rename(capsule, used)
    del x
    managed.deleter(ctypes.addressof(managed))
    assert alive() is None
    del capsule
