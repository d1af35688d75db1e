"""DLPack's stream argument and the CUDA array interface: structure, both ways, refusals."""

from typing import Any

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import Stream, array_interface, from_array_interface


class Other:
    """Another library's array: nothing but the interface."""

    def __init__(self, array: nd.NDArray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array_interface(array), **changes}


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float32", "float64"])
def test_the_interface_describes_an_array_as_numpys_does(device: str, dtype: str) -> None:
    x = nd.asarray(np.arange(24).reshape(2, 3, 4).astype(dtype), device=device)
    for view in (x, x[::-1, ::2], x.T, x[1, 2, 3], x[:, :0]):
        described = array_interface(view)
        expected = np.empty(view.shape, dtype).__array_interface__
        assert described["typestr"] == expected["typestr"]
        assert described["shape"] == view.shape
        assert described["data"] == (view.data_pointer if view.size else 0, False)
        assert described["strides"] == (None if view.is_contiguous else view.strides)
        assert (described["version"], described["stream"]) == (3, 1)


def test_an_array_can_be_taken_back(device: str) -> None:
    x = nd.asarray(np.arange(24.0).reshape(4, 6), device=device, copy=True)
    for view in (x, x[::-1, ::2], x.T, x[3, 3], x[:, :0]):
        taken = from_array_interface(Other(view), device=device)
        assert (taken.shape, taken.dtype, taken.device) == (view.shape, view.dtype, view.device)
        assert np.array_equal(taken.numpy(), view.numpy())
    taken = from_array_interface(Other(x), device=device)
    taken[0, 0] = 100.0
    assert x[0, 0].item() == 100.0


def test_what_is_taken_stays_alive(device: str) -> None:
    taken = from_array_interface(Other(nd.full(5000, 3.0, device=device)), device=device)
    other = nd.full(5000, 4.0, device=device)
    assert (taken.numpy() == 3).all() and (other.numpy() == 4).all()


def test_read_only_memory_stays_so(device: str) -> None:
    x = nd.ones(3, device=device)
    taken = from_array_interface(Other(x, data=(x.data_pointer, True)), device=device)
    with pytest.raises(ValueError, match="read-only"):
        taken[0] = 1.0


def test_a_stream_is_named_and_waited_for() -> None:
    stream = Stream("cuda_emulated")
    with stream:
        x = nd.ones(3, device="cuda_emulated") * 5
        other = Other(x)
        assert other.__cuda_array_interface__["stream"] == stream.handle
    with Stream("cuda_emulated") as second:
        y = from_array_interface(other, device="cuda_emulated") * 2
        second.synchronize()
    assert y.tolist() == [10.0] * 3


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"typestr": ">f4"}, nd.DTypeError, "'>f4'"),
        ({"typestr": "<M8"}, nd.DTypeError, "'<M8'"),
        ({"typestr": "<f16"}, nd.DTypeError, "float128"),
        ({"mask": 1}, nd.DTypeError, "mask"),
        ({"data": (0, False)}, nd.ShapeError, "no memory"),
        ({"data": None}, nd.ShapeError, "not complete"),
        ({"strides": (3,)}, nd.ShapeError, "aligned"),
        ({"strides": (4, 4)}, nd.ShapeError, "not complete"),
    ],
)
def test_descriptions_that_are_refused(device: str, changes: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        from_array_interface(Other(nd.ones(4, device=device), **changes), device=device)


def test_only_arrays_on_a_gpu_have_the_attribute() -> None:
    for device in ("cpu", "numpy", "cuda_emulated"):
        assert not hasattr(nd.ones(3, device=device), "__cuda_array_interface__")
    with pytest.raises(nd.DTypeError, match="no __cuda_array_interface__"):
        from_array_interface(object(), device="cuda_emulated")


def test_asarray_asks_the_gpus_backend() -> None:
    other = Other(nd.ones(3, device="cuda_emulated"))
    if treadle.cuda.is_available():
        pytest.skip("the pointer is not of the GPU's memory")
    with pytest.raises(nd.BackendError, match="cuda"):
        nd.asarray(other)


class Backend:
    """Stands for the backend of a GPU where there is none: it notes what DLPack asks of it."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def give_to_stream(self, index: int, handle: int) -> None:
        self.given.append(handle)


def test_dlpacks_stream_argument() -> None:
    from treadle.ndarray import dlpack

    class OnGpu:
        class device:
            type, index, backend = "cuda", 0, Backend()

    for stream in (None, 1, 2, 12345, -1):
        dlpack._settle(OnGpu(), stream)  # type: ignore[arg-type]
    assert OnGpu.device.backend.given == [1, 1, 2, 12345]
    for wrong in (0, -2, "1", 1.0, True):
        with pytest.raises(BufferError, match="legacy default stream"):
            dlpack._settle(OnGpu(), wrong)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="stream is None"):
        nd.ones(3, device="cuda_emulated").__dlpack__(stream=1)


def test_dlpack_gives_the_gpus_device() -> None:
    if not treadle.cuda.is_available():
        assert nd.ones(3, device="cuda_emulated").__dlpack_device__() == (1, 0)
        return
    x = nd.ones(3, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    assert nd.from_dlpack(x).data_pointer == x.data_pointer
