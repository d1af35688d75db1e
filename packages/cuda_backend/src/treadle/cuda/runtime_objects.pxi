# Memory, streams, events and graphs of one build; included by _cuda.pyx and _emulated.pyx before kernel_backend.pxi.
#
# What makes several streams safe: every array's memory remembers its home, the stream whose pool it came from, and the
# other streams where it was used; when it is given back, the home waits for those. A graph keeps what it reads alive.
# Nothing of this is done, or costs anything, until the first stream or graph is made.

cimport cython
from libc.stdint cimport int64_t, uint64_t, uintptr_t

from threading import local

from treadle.ndarray.errors import BackendError, DeviceError, IndexingError
from treadle.ndarray.random import default_generator

from treadle.cuda._runtime_api cimport *

from treadle.cuda.errors import CaptureError, DeviceMemoryError, warn_of_kernel

cdef int handles = 0  # streams and graphs that exist
cdef object current = local()  # of each thread: streams, by device, and the graph that is captured


cdef int check(int status, str op) except -1:
    if status == TD_OK:
        return 0
    text = f"{op}: {td_cuda_error().decode()}"
    if status == TD_CAPTURING:
        raise CaptureError(text)
    if status == TD_WRONG_INDEX:
        raise IndexingError(text)
    raise DeviceMemoryError(text) if status == TD_NO_MEMORY else BackendError(text)


@cython.no_gc
cdef class StreamHandle:
    """A stream of a device, destroyed with the object, after its work."""

    cdef td_cuda_stream *stream
    cdef readonly int device

    def __cinit__(self, int device):
        global handles
        self.device = device
        check(td_cuda_stream_create(device, &self.stream), "making a stream")
        handles += 1

    def __dealloc__(self):
        global handles
        if self.stream != NULL:
            handles -= 1
            td_cuda_stream_destroy(self.stream)

    @property
    def handle(self):
        return td_cuda_stream_handle(self.stream)


cdef td_cuda_stream *stream_of(StreamHandle handle) noexcept:
    if handle is None:
        return NULL
    return handle.stream


@cython.no_gc
cdef class GraphHandle:
    """A captured graph with its memory, and what it reads. What a replay draws at random are the next numbers of the
    default generator, which stands after the capture where it stood before."""

    cdef td_cuda_graph *graph
    cdef readonly int device
    cdef readonly dict kept
    cdef readonly uint64_t seed
    cdef uint64_t counter  # of the generator, at the capture
    cdef uint64_t drawn    # the same, at its last draw
    cdef uint64_t blocks  # that a replay draws

    def __cinit__(self, int device):
        global handles
        self.device = device
        self.kept = {}
        check(td_cuda_graph_create(device, &self.graph), "making a graph")
        handles += 1

    def __dealloc__(self):
        global handles
        if self.graph != NULL:
            handles -= 1
            td_cuda_graph_destroy(self.graph)

    @property
    def nodes(self):
        return td_cuda_graph_nodes(self.graph)

    def begin(self):
        if td_cuda_capturing():
            raise CaptureError("capture: this thread is capturing another graph")
        check(td_cuda_graph_begin(self.graph), "capture")
        current.graph = self
        self.seed, self.counter = default_generator.seed, default_generator.counter
        self.drawn = self.counter

    cdef bint draws(self, uint64_t key, uint64_t counter):
        """Whether a draw is the default generator's next one: it stood there, and has moved on for it."""
        if key != self.seed or counter != self.drawn or <uint64_t>default_generator.counter == counter:
            return False
        self.drawn = default_generator.counter
        return True

    def end(self, bint keep):
        current.graph = None
        self.blocks = <uint64_t>default_generator.counter - self.counter
        if default_generator.seed == self.seed:
            default_generator.counter = self.counter
        check(td_cuda_graph_end(self.graph, keep), "capture")

    def replay(self):
        if td_cuda_capturing():
            raise CaptureError("replay: a graph cannot be replayed while another is captured")
        state = default_generator.state()
        moved = <uint64_t>state["counter"] - self.counter
        check(td_cuda_graph_replay(self.graph, stream_of(chosen(self.device)), state["seed"], moved), "replay")
        if self.blocks:
            default_generator.set_state({"seed": state["seed"], "counter": state["counter"] + self.blocks})


cdef StreamHandle chosen(int device):
    """The thread's current stream of a device; None for the default stream."""
    streams = getattr(current, "streams", None)
    return None if streams is None else streams.get(device)


@cython.no_gc
cdef class Memory:
    """Memory of a device, given back when the object is released."""

    cdef td_cuda_block block
    cdef readonly int64_t nbytes
    cdef object home  # the stream or graph whose pool it came from; None for the default stream's
    cdef list used  # the other streams where it was used

    def __cinit__(self, int64_t nbytes, int device):
        self.block.memory = NULL
        if handles:
            self.home = getattr(current, "graph", None) or chosen(device)
        check(td_cuda_allocate(device, nbytes, &self.block), f"allocation of {nbytes} bytes")
        self.nbytes = nbytes

    def __dealloc__(self):
        if self.block.memory == NULL:
            return
        if self.used is not None and not isinstance(self.home, GraphHandle):
            for stream in self.used:
                td_cuda_stream_order(self.block.device, stream_of(stream), stream_of(self.home))
        td_cuda_release(&self.block)

    @property
    def pointer(self):
        return <uintptr_t>self.block.memory

    @property
    def device(self):
        return self.block.device


cdef int note(object array) except -1:
    """Remember that the thread's current work uses an array. Only called where there are streams or graphs."""
    owner = array.buffer.owner
    graph = getattr(current, "graph", None)
    if graph is not None and (not isinstance(owner, Memory) or (<Memory>owner).home is not graph):
        (<GraphHandle>graph).kept[id(owner)] = owner
    if isinstance(owner, Memory) and graph is None:
        stream = chosen((<Memory>owner).block.device)
        if stream is not (<Memory>owner).home:
            if (<Memory>owner).used is None:
                (<Memory>owner).used = []
            if stream not in (<Memory>owner).used:
                (<Memory>owner).used.append(stream)
    return 0


@cython.no_gc
cdef class EventHandle:
    """An event of a device."""

    cdef td_cuda_event *event
    cdef readonly int device

    def __cinit__(self, int device, bint timed):
        self.device = device
        check(td_cuda_event_create(device, timed, &self.event), "making an event")

    def __dealloc__(self):
        if self.event != NULL:
            td_cuda_event_destroy(self.event)

    def record(self, StreamHandle stream):
        check(td_cuda_event_record(self.event, stream_of(stream)), "event record")

    def wait(self, StreamHandle stream):
        check(td_cuda_event_wait(self.event, stream_of(stream)), "event wait")

    def synchronize(self):
        cdef int status
        with nogil:
            status = td_cuda_event_synchronize(self.event)
        check(status, "event synchronize")

    def query(self):
        cdef int done = 0
        check(td_cuda_event_query(self.event, &done), "event query")
        return bool(done)

    def elapsed(self, EventHandle end):
        cdef float milliseconds = 0
        check(td_cuda_event_elapsed(self.event, end.event, &milliseconds), "elapsed time")
        return milliseconds


cdef class PinnedMemory:
    """Page-locked memory of the host, as a buffer of bytes."""

    cdef void *memory
    cdef readonly int64_t nbytes
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]

    def __cinit__(self, int64_t nbytes):
        check(td_cuda_pinned_allocate(nbytes, &self.memory), f"allocation of {nbytes} bytes of page-locked memory")
        self.nbytes = self.shape[0] = nbytes
        self.strides[0] = 1

    def __dealloc__(self):
        if self.memory != NULL:
            td_cuda_pinned_release(self.memory)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self.memory
        buffer.obj = self
        buffer.len = self.nbytes
        buffer.itemsize = 1
        buffer.readonly = 0
        buffer.format = b"B"
        buffer.ndim = 1
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL


cdef class Runtime:
    """What a backend offers apart from the protocol: devices, memory, streams, events, graphs."""

    cdef readonly str name
    cdef str absence
    cdef int count

    def __init__(self, str name, str absence):
        self.name = name
        self.absence = absence
        self.count = 0

    def device_count(self):
        cdef int count = 0
        if td_cuda_device_count(&count) != TD_OK:
            raise BackendError(f"{self.name}: no GPU was found: {td_cuda_error().decode()}. {self.absence}")
        self.count = count
        return count

    cdef int check_index(self, int index) except -1:
        if index < 0 or index >= (self.count or self.device_count()):
            raise DeviceError(f"{self.name}:{index}: there are {self.count} devices of type {self.name}")
        return 0

    # memory --------------------------------------------------------------------------------------------------------
    def allocate(self, int64_t nbytes, int index):
        self.check_index(index)
        return Memory(nbytes, index)

    def pinned(self, int64_t nbytes):
        self.check_index(0)
        return PinnedMemory(nbytes)

    def memory_statistics(self, int index):
        self.check_index(index)
        return dict(td_cuda_memory(index))

    def reset_peak(self, int index):
        self.check_index(index)
        td_cuda_reset_peak(index)

    def empty_cache(self, int index):
        self.check_index(index)
        check(td_cuda_empty_cache(index), "empty_cache")

    # order ---------------------------------------------------------------------------------------------------------
    def synchronize(self, int index):
        cdef int status
        self.check_index(index)
        if td_cuda_capturing():
            raise CaptureError("synchronize: nothing can be waited for while a graph is captured")
        check(td_cuda_use(index), self.name)
        with nogil:
            status = td_cuda_synchronize()
        check(status, "synchronize")

    def stream(self, int index):
        self.check_index(index)
        return StreamHandle(index)

    def event(self, int index, bint timed):
        self.check_index(index)
        return EventHandle(index, timed)

    def graph(self, int index):
        self.check_index(index)
        return GraphHandle(index)

    def current_stream(self, int index):
        return chosen(index)

    def choose_stream(self, int index, StreamHandle stream):
        """Make a stream the thread's current one of its device; gives the one before."""
        self.check_index(index)
        if td_cuda_capturing():
            raise CaptureError("stream: the stream cannot be changed while a graph is captured")
        before = chosen(index)
        if not hasattr(current, "streams"):
            current.streams = {}
        current.streams[index] = stream
        td_cuda_stream_choose(index, stream_of(stream))
        return before

    def stream_synchronize(self, int index, StreamHandle stream):
        cdef td_cuda_stream *chosen_stream = stream_of(stream)
        cdef int status
        self.check_index(index)
        with nogil:
            status = td_cuda_stream_synchronize(index, chosen_stream)
        check(status, "stream synchronize")

    def stream_query(self, int index, StreamHandle stream):
        cdef int done = 0
        self.check_index(index)
        check(td_cuda_stream_query(index, stream_of(stream), &done), "stream query")
        return bool(done)

    def stream_order(self, int index, StreamHandle earlier, StreamHandle later):
        check(td_cuda_stream_order(index, stream_of(earlier), stream_of(later)), "stream wait")

    def give_to_stream(self, int index, uintptr_t handle):
        """Let a stream of another library wait for the thread's current one."""
        check(td_cuda_stream_order_foreign(index, handle, stream_of(chosen(index)), 0), "stream wait")

    def take_from_stream(self, int index, uintptr_t handle):
        """Let the thread's current stream wait for one of another library."""
        check(td_cuda_stream_order_foreign(index, handle, stream_of(chosen(index)), 1), "stream wait")

    def stream_number(self, int index):
        """The thread's current stream as DLPack counts: 1 for the default stream, else its handle."""
        stream = chosen(index)
        return 1 if stream is None else stream.handle

    def array_interface(self, x):
        from treadle.cuda.interchange import array_interface
        return array_interface(x)

    def from_array_interface(self, x):
        from treadle.cuda.interchange import from_array_interface
        return from_array_interface(x, device=self.name)

    def capturing(self):
        return bool(td_cuda_capturing())
