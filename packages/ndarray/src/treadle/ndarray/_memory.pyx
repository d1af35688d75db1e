"""Memory of arrays: the buffer that views share, and its version counter."""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint64_t, uintptr_t

cdef extern from "kernels/checksum.h" nogil:
    uint64_t td_checksum(const char *data, int64_t nbytes)

cdef extern from "kernels/allocator.h" nogil:
    ctypedef struct td_memory_statistics:
        int64_t in_use
        int64_t peak
        int64_t cached
        int64_t blocks
    void td_choose_exact(int wanted)
    int td_is_exact()
    void *td_allocate(int64_t nbytes)
    void td_release(void *block, int64_t nbytes)
    void td_empty_cache()
    td_memory_statistics td_memory()
    void td_reset_peak()
    int64_t td_block_size(int64_t nbytes)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Buffer:
    """A block of memory that arrays are views of.

    ``owner`` is None for memory of the cpu allocator, else the object that keeps the memory alive: a backend's
    allocation, or a foreign exporter. ``version`` counts the in-place writes through any view.

    Writes through a writable view that another library holds (a NumPy array, a memoryview, a DLPack tensor) report
    nothing. They are found by a checksum: taken when a buffer is lent whose version has been asked for, or when the
    version of a lent one is; compared whenever the version is asked for, and when the view is given back. A buffer that
    is not lent, or whose version nobody asks for, pays nothing.
    """

    cdef int64_t settled_version(self) noexcept:
        """The version, raised if a borrower has written since it was last asked for."""
        if self.exports:
            if self.watched:
                self.settle()
            else:
                self.checksum = td_checksum(self.data, self.nbytes)
        self.watched = True
        return self.version

    cdef void lent(self) noexcept:
        """A writable view goes out."""
        if self.borrowed:
            return
        if self.watched and not self.exports:
            self.checksum = td_checksum(self.data, self.nbytes)
        self.exports += 1

    cdef void returned(self) noexcept:
        """A writable view is no more."""
        if self.borrowed:
            return
        if self.watched:
            self.settle()
        self.exports -= 1

    cdef void settle(self) noexcept:
        cdef uint64_t now = td_checksum(self.data, self.nbytes)
        if now != self.checksum:
            self.checksum = now
            self.version += 1

    def __dealloc__(self):
        if self.owner is None and self.data != NULL:
            td_release(self.data, self.nbytes)

    @property
    def pointer(self):
        """The address of the first byte, of the device's memory."""
        return <uintptr_t>self.data


cdef Buffer allocate_host(int64_t nbytes):
    cdef Buffer buffer = Buffer.__new__(Buffer)
    buffer.data = <char *>td_allocate(nbytes)
    if buffer.data == NULL:
        raise MemoryError(f"cannot allocate {nbytes} bytes")
    buffer.nbytes = nbytes
    return buffer


cdef Buffer wrap(void *data, int64_t nbytes, object owner):
    cdef Buffer buffer = Buffer.__new__(Buffer)
    buffer.data = <char *>data
    buffer.nbytes = nbytes
    buffer.owner = owner
    return buffer


cdef class ForeignBuffer:
    """Memory borrowed through the buffer protocol, held until no array needs it."""

    cdef Py_buffer view
    cdef bint held
    cdef readonly tuple shape
    cdef readonly tuple strides

    def __init__(self, object exporter):
        try:
            PyObject_GetBuffer(exporter, &self.view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE)
        except (BufferError, ValueError, TypeError):
            PyObject_GetBuffer(exporter, &self.view, PyBUF_STRIDES | PyBUF_FORMAT)
        self.held = True
        cdef int axis
        cdef Py_ssize_t step = self.view.itemsize
        if self.view.shape == NULL and self.view.ndim > 0:
            self.shape = (self.view.len // max(step, 1),)
        else:
            self.shape = tuple([self.view.shape[axis] for axis in range(self.view.ndim)])
        if self.view.shape != NULL and self.view.strides != NULL:
            self.strides = tuple([self.view.strides[axis] for axis in range(self.view.ndim)])
            return
        strides = []
        for length in reversed(self.shape):  # C-contiguous, says the protocol
            strides.append(step)
            step *= length
        self.strides = tuple(reversed(strides))

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    @property
    def pointer(self):
        return <uintptr_t>self.view.buf

    @property
    def nbytes(self):
        return self.view.len

    @property
    def itemsize(self):
        return self.view.itemsize

    @property
    def readonly(self):
        return bool(self.view.readonly)

    @property
    def format(self):
        return (<bytes>self.view.format).decode() if self.view.format != NULL else "B"


def choose_exact(bint wanted):
    """Whether blocks have just the bytes asked for and are never kept; to be settled before the first array."""
    td_choose_exact(wanted)


def is_exact():
    """Whether :func:`choose_exact` was, or the address sanitizer is compiled in."""
    return bool(td_is_exact())


def memory_statistics():
    """Bytes and blocks of the cpu allocator: in_use, peak, cached, blocks.

    ``peak`` is the most that was in use at once, since the start or the last :func:`reset_peak_memory`.

    >>> import treadle.ndarray as nd
    >>> sorted(nd.memory_statistics())
    ['blocks', 'cached', 'in_use', 'peak']
    """
    return td_memory()


def block_size(int64_t nbytes):
    """How many bytes :func:`memory_statistics` counts for an array of so many."""
    return td_block_size(nbytes)


def reset_peak_memory():
    """Let the ``peak`` of :func:`memory_statistics` begin anew, from what is in use now.

    >>> import treadle.ndarray as nd
    >>> nd.reset_peak_memory()
    >>> before = nd.memory_statistics()["in_use"]
    >>> x = nd.zeros(1024)
    >>> del x
    >>> nd.memory_statistics()["peak"] - before
    4096
    """
    td_reset_peak()


def empty_cache():
    """Give the allocator's unused blocks, and what else the C library holds free, back to the system.

    >>> import treadle.ndarray as nd
    >>> nd.empty_cache()
    >>> nd.memory_statistics()["cached"]
    0
    """
    td_empty_cache()
