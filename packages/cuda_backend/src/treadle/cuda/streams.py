"""Streams, events, and copies that do not wait.

The work of a thread goes to the device's default stream, or to the stream of the innermost ``with`` block. On one
stream it is done in order. Every stream is ordered against the default stream in both directions, as CUDA's blocking
streams are; two other streams may run side by side, and are ordered only where :meth:`Stream.wait` says so. The memory
of arrays needs no care: what is released while another stream still uses it is not handed out before that is over.

Source: CUDA C++ Programming Guide, "Asynchronous Concurrent Execution".
"""

import math
from types import TracebackType
from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.cuda.devices import backend, device_of, emulated_backend
from treadle.ndarray.errors import DeviceError, DTypeError, ShapeError

if TYPE_CHECKING:
    from treadle.cuda._cuda import StreamHandle
    from treadle.ndarray import Device, NDArray
    from treadle.ndarray.creation import DTypeLike

__all__ = ["Event", "Stream", "copy_async", "current_stream", "pinned_empty"]


class Stream:
    """A queue of work on a device, done in order: ``with stream:`` sends the thread's work on that device to it.

    Raises DeviceError for a device of another type, BackendError where there is no GPU.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> stream = treadle.cuda.Stream("cuda_emulated")
    >>> with stream:
    ...     x = nd.ones(3, device="cuda_emulated") * 2
    >>> stream.synchronize()
    >>> x.tolist()
    [2.0, 2.0, 2.0]
    """

    def __init__(self, device: "str | Device" = "cuda") -> None:
        self._kernels, self.device = device_of(device)
        self._handle: StreamHandle | None = self._kernels.stream(self.device.index)
        self._before: list[StreamHandle | None] = []

    @classmethod
    def _over(cls, device: "Device", handle: "StreamHandle | None") -> "Stream":
        stream = cls.__new__(cls)
        stream._kernels, stream.device = device_of(device)
        stream._handle = handle
        stream._before = []
        return stream

    @property
    def handle(self) -> int:
        """The ``cudaStream_t`` as a number, for other libraries; 0 for the default stream."""
        return 0 if self._handle is None else self._handle.handle

    def __enter__(self) -> "Stream":
        self._before.append(self._kernels.choose_stream(self.device.index, self._handle))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kernels.choose_stream(self.device.index, self._before.pop())

    def synchronize(self) -> None:
        """Wait until all work of the stream is done; an error of a kernel is raised here at the latest."""
        self._kernels.stream_synchronize(self.device.index, self._handle)

    def is_done(self) -> bool:
        """Whether all work of the stream is done."""
        return self._kernels.stream_query(self.device.index, self._handle)

    def wait(self, other: "Stream | Event") -> None:
        """Let work that is put on this stream from now on begin after what is on ``other`` by now.

        >>> import treadle.cuda
        >>> first, second = (treadle.cuda.Stream("cuda_emulated") for _ in range(2))
        >>> second.wait(first)
        """
        if isinstance(other, Event):
            other._handle.wait(self._handle)
        elif other.device is not self.device:
            other.record().wait(self)
        else:
            self._kernels.stream_order(self.device.index, other._handle, self._handle)

    def record(self, event: "Event | None" = None) -> "Event":
        """Put an event on the stream, a new one by default; it is done when all work before it is."""
        event = Event(self.device) if event is None else event
        if event.device is not self.device:
            raise DeviceError(f"record: an event of {event.device} cannot be put on a stream of {self.device}")
        event._handle.record(self._handle)
        return event

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Stream) and self.device is other.device
        return same and self._handle is other._handle  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.device, self.handle))

    def __repr__(self) -> str:
        return f"Stream({str(self.device)!r}, handle={self.handle:#x})"


class Event:
    """A mark on a stream, to be waited for, and to measure time by.

    ``with event:`` does nothing on entry, and puts it on the current stream at the end of the block. Without ``timed``
    it takes less of the device, and measures nothing.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> begin, end = (treadle.cuda.Event("cuda_emulated") for _ in range(2))
    >>> begin.record()
    >>> with end:
    ...     x = nd.ones(3, device="cuda_emulated") * 2
    >>> end.synchronize()
    >>> begin.elapsed_time(end) >= 0
    True
    """

    def __init__(self, device: "str | Device" = "cuda", *, timed: bool = True) -> None:
        self._kernels, self.device = device_of(device)
        self._handle = self._kernels.event(self.device.index, timed)

    def record(self, stream: Stream | None = None) -> None:
        """Put the event on a stream, by default the thread's current one."""
        (current_stream(self.device) if stream is None else stream).record(self)

    def wait(self, stream: Stream) -> None:
        """Let work that is put on the stream from now on begin after the event."""
        stream.wait(self)

    def synchronize(self) -> None:
        """Wait until all work before the event is done. An event that was never put on a stream is done."""
        self._handle.synchronize()

    def is_done(self) -> bool:
        """Whether all work before the event is done."""
        return self._handle.query()

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds from this event to ``end``. Raises BackendError unless both are done and timed."""
        return self._handle.elapsed(end._handle)

    def __enter__(self) -> "Event":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.record()

    def __repr__(self) -> str:
        return f"Event({str(self.device)!r})"


def current_stream(device: "str | Device" = "cuda") -> Stream:
    """The stream that the thread's work on a device goes to.

    >>> import treadle.cuda
    >>> treadle.cuda.current_stream("cuda_emulated").handle
    0
    """
    kernels, found = device_of(device)
    return Stream._over(found, kernels.current_stream(found.index))


def pinned_empty(
    shape: int | tuple[int, ...], *, dtype: "DTypeLike" = "float32", device: "str | Device" = "cuda"
) -> "NDArray":
    """A cpu array in page-locked memory, which the device copies from and to by itself. Its elements are arbitrary.

    Raises DeviceMemoryError when the host has no such memory left, BackendError where there is no GPU.

    >>> import treadle.cuda
    >>> treadle.cuda.pinned_empty((2, 3), device="cuda_emulated").shape
    (2, 3)
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    kernels, _ = device_of(device)
    wanted = nd.dtype(dtype)
    size = math.prod(lengths)
    if size == 0 or min(lengths, default=1) < 0:
        return nd.empty(lengths, dtype=wanted, device="cpu")
    octets = nd.frombuffer(kernels.pinned(size * wanted.itemsize), dtype="uint8")
    octets[...] = 0  # a bool must be one
    return nd.frombuffer(octets, dtype=wanted).reshape(lengths)


def copy_async(source: "NDArray", out: "NDArray") -> "NDArray":
    """Copy elements between the cpu and a device, or within a device, on the device's current stream; gives ``out``.

    Both arrays are C-contiguous, of one shape and dtype. Where the cpu's array lies in page-locked memory
    (:func:`pinned_empty`) this returns at once, and the array must not be written to, nor read when it is ``out``,
    before the stream has come so far; with other memory it waits.

    Raises ShapeError, DTypeError, DeviceError for arrays that do not fit each other.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> x = treadle.cuda.pinned_empty(3, device="cuda_emulated")
    >>> x[...] = 5
    >>> y = treadle.cuda.copy_async(x, nd.empty(3, device="cuda_emulated"))
    >>> y.tolist()
    [5.0, 5.0, 5.0]
    """
    if source.shape != out.shape:
        raise ShapeError(f"copy_async: the shapes are {source.shape} and {out.shape}, and must be the same")
    if source.dtype is not out.dtype:
        raise DTypeError(f"copy_async: the dtypes are {source.dtype.name} and {out.dtype.name}; use astype first")
    if out.readonly:
        raise ValueError("copy_async: out is read-only")
    if not (source.is_contiguous and out.is_contiguous):
        raise ShapeError("copy_async: both arrays must be C-contiguous; use copy() first")
    types = {source.device.type, out.device.type} - {"cpu"}
    if len(types) != 1 or not types <= {"cuda", "cuda_emulated"} or _between_devices(source, out):
        raise DeviceError(
            f"copy_async: from {source.device} to {out.device}; it copies between the cpu and a device, or within one"
        )
    if source.size:
        (backend() if types == {"cuda"} else emulated_backend()).start_copy(source, out)
        out.buffer.version += 1
    return out


def _between_devices(source: Any, out: Any) -> bool:
    return source.device is not out.device and "cpu" not in (source.device.type, out.device.type)
