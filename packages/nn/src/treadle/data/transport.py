"""Objects sent between processes, with the memory of their arrays shared instead of pickled.

An object is pickled by protocol 5, which hands out the memory of arrays apart from the stream. Stream and memory are
written one after the other into an anonymous file in memory (memfd_create(2)), whose descriptor goes through a socket
(unix(7), SCM_RIGHTS); the receiver maps the file, and its arrays lie in that mapping. No such file ever has a name, so
that nothing is left behind however the processes end. What is small goes through the socket itself.

Layout, in little-endian 64-bit words: the number of parts, the length of each, then the parts, each from a multiple of
64 bytes on. The first is the pickle's stream.
"""

import ctypes
import mmap
import os
import pickle
import socket
import struct
import weakref
from collections.abc import Sequence
from multiprocessing import reduction
from typing import Any

from treadle.autograd import Tensor
from treadle.data.errors import WorkerError

__all__ = ["Channel", "Shipment", "available", "packed", "unpacked"]

_ALIGNMENT = 64
_INLINE = 16384
_MOST_PARTS = 512  # that one writev takes
_INLINE_MARK, _FILE_MARK = b"\0", b"\1"
_DESCRIPTOR_SPACE = socket.CMSG_SPACE(struct.calcsize("i"))


def available() -> bool:
    """Whether this system has what a channel is made of."""
    return hasattr(os, "memfd_create") and hasattr(socket, "SOCK_SEQPACKET")


# --- objects as parts of memory --------------------------------------------------------------------------------------
class _Pickler(reduction.ForkingPickler):
    """Takes tensors apart too, which are not pickled elsewhere."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return NotImplemented
        if not value.is_leaf:
            raise TypeError(f"the result of {value.op} cannot go to another process with its graph; send its detach()")
        return _rebuilt_tensor, (type(value), value.data, value.requires_grad)


def _rebuilt_tensor(kind: type[Tensor], data: Any, requires_grad: bool) -> Tensor:
    return kind(data, requires_grad=requires_grad)


class _Sink:
    """What a pickler writes into."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def write(self, part: Any) -> int:
        self.written.append(bytes(part))
        return len(self.written[-1])


def packed(value: Any) -> list[Any]:
    """The bytes-like parts of ``value`` with header and padding; they refer to the memory of its arrays."""
    sink, buffers = _Sink(), list[pickle.PickleBuffer]()
    _Pickler(sink, 5, True, buffers.append).dump(value)
    parts: list[Any] = [b"".join(sink.written), *(buffer.raw() for buffer in buffers)]
    lengths = [memoryview(part).nbytes for part in parts]
    header = struct.pack(f"<{len(parts) + 1}Q", len(parts), *lengths)
    chunks: list[Any] = []
    for part, length in zip([header, *parts], [len(header), *lengths], strict=True):
        if length:
            chunks.append(part)
        if length % _ALIGNMENT:
            chunks.append(bytes(-length % _ALIGNMENT))
    return chunks


def unpacked(memory: memoryview) -> Any:
    """The object that :func:`packed` took apart; its arrays lie in ``memory``."""
    (count,) = struct.unpack_from("<Q", memory)
    lengths = struct.unpack_from(f"<{count}Q", memory, 8)
    place = _aligned(8 * (count + 1))
    parts = []
    for length in lengths:
        parts.append(memory[place : place + length])
        place += _aligned(length)
    return pickle.loads(parts[0], buffers=parts[1:])


def _aligned(length: int) -> int:
    return length + -length % _ALIGNMENT


# --- files in memory -------------------------------------------------------------------------------------------------
def _written(chunks: Sequence[Any], size: int) -> int:
    """The descriptor of a new file in memory that holds ``chunks``."""
    descriptor = os.memfd_create("treadle", os.MFD_CLOEXEC)
    try:
        left = [memoryview(chunk).cast("B") for chunk in chunks]
        while left:
            done = os.writev(descriptor, left[:_MOST_PARTS])
            while left and done >= len(left[0]):
                done -= len(left.pop(0))
            if done:
                left[0] = left[0][done:]
    except OSError as error:
        os.close(descriptor)
        raise WorkerError(f"there is no memory to share {size} bytes with another process: {error}") from error
    return descriptor


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


def _mapped(descriptor: int, private: bool) -> memoryview:
    """The memory of a file; closes ``descriptor``. ``private``: writes stay in this process.

    Python's own mmap keeps a descriptor open for each mapping, and batches that are kept would use them all up.
    """
    try:
        size = os.fstat(descriptor).st_size
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED | mmap.MAP_POPULATE
        address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0)
        if address == _FAILED:
            code = ctypes.get_errno()
            raise WorkerError(f"{size} bytes from another process could not be mapped: {os.strerror(code)}")
    finally:
        os.close(descriptor)
    memory = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(memory, _libc.munmap, address, size).atexit = False
    return memoryview(memory).cast("B")


# --- ways to another process -----------------------------------------------------------------------------------------
class Channel:
    """One end of a connection of two processes, which sends and receives objects.

    ``socket`` is a sequenced-packet socket of one end; it travels to a worker when the process is started.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    @staticmethod
    def pair() -> tuple["Channel", "Channel"]:
        """Both ends of a new connection."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return Channel(one), Channel(other)

    def fileno(self) -> int:
        """For waiting until there is something to receive."""
        return self.socket.fileno()

    def send(self, value: Any) -> None:
        """Send an object; it may be changed afterwards. BrokenPipeError if the other end is closed."""
        chunks = packed(value)
        size = sum(memoryview(chunk).nbytes for chunk in chunks)
        if size <= _INLINE:
            self.socket.sendmsg([_INLINE_MARK, b"".join(chunks)])
            return
        descriptor = _written(chunks, size)
        try:
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", descriptor))
            self.socket.sendmsg([_FILE_MARK], [rights])
        finally:
            os.close(descriptor)

    def receive(self) -> Any:
        """The next object. EOFError if the other end is closed."""
        content, ancillary, _, _ = self.socket.recvmsg(_INLINE + 1, _DESCRIPTOR_SPACE)
        if not content:
            raise EOFError
        if content[:1] == _INLINE_MARK:
            return unpacked(memoryview(bytearray(content[1:])))
        if not ancillary:
            raise WorkerError("a descriptor did not arrive: the limit on open files (ulimit -n) may be reached")
        (descriptor,) = struct.unpack("i", ancillary[0][2])
        return unpacked(_mapped(descriptor, private=False))

    def close(self) -> None:
        """Close this end."""
        self.socket.close()


class Shipment:
    """An object for several new processes: a forked one has it already, others map one copy, writing to their own.

    The copy is made when the first process starts, and is opened by :meth:`load` in the new process.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._descriptor = -1

    def load(self) -> Any:
        """The object."""
        return self._value

    def __reduce__(self) -> Any:
        if self._descriptor < 0:
            chunks = packed(self._value)
            self._descriptor = _written(chunks, sum(memoryview(chunk).nbytes for chunk in chunks))
        return _Arrived, (reduction.DupFd(self._descriptor),)

    def close(self) -> None:
        """Forget the copy; the processes that have it keep theirs."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Arrived:
    """A shipment in the new process."""

    def __init__(self, duplicate: Any) -> None:
        self._duplicate = duplicate

    def load(self) -> Any:
        return unpacked(_mapped(self._duplicate.detach(), private=True))
