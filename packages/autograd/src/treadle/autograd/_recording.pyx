"""Whether this thread's ops record a graph: every op call asks, so that it is a variable of the thread in C."""

from libc.stdlib cimport free, malloc

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define TREADLE_THREAD_LOCAL __declspec(thread)
    #else
    #define TREADLE_THREAD_LOCAL __thread
    #endif
    static TREADLE_THREAD_LOCAL int treadle_silent = 0;
    static TREADLE_THREAD_LOCAL int treadle_serving = 0;
    typedef struct treadle_block { int silent, depth; struct treadle_block *outer; } treadle_block;
    static TREADLE_THREAD_LOCAL treadle_block *treadle_innermost = NULL;
    """
    ctypedef struct treadle_block:
        int silent  # outside of the block
        int depth  # 1 for the outermost
        treadle_block *outer
    int treadle_silent
    int treadle_serving
    treadle_block *treadle_innermost  # of the blocks that this thread is in


cpdef bint recording() noexcept:
    return not treadle_silent


cpdef bint serving() noexcept:
    return treadle_serving > 0


cpdef int serve(int step) except -1:
    global treadle_serving
    treadle_serving += step
    return 0


cpdef void record(bint wanted) noexcept:
    global treadle_silent
    treadle_silent = not wanted or treadle_serving > 0


cpdef int depth() noexcept:
    return 0 if treadle_innermost == NULL else treadle_innermost.depth


cdef class RecordingBlock:
    """Base of the context managers: ``_wanted`` says whether ops inside record. Threads may share an object."""

    _wanted = True

    def __init__(self, *arguments):
        if arguments:
            name = type(self).__name__
            raise TypeError(f"{name}() takes no argument; as a decorator it is written @{name}(), with parentheses")

    def __enter__(self):
        global treadle_silent, treadle_innermost
        cdef bint wanted = self._wanted
        cdef treadle_block *block = <treadle_block *>malloc(sizeof(treadle_block))
        if block == NULL:
            raise MemoryError()
        block.silent, block.depth, block.outer = treadle_silent, depth() + 1, treadle_innermost
        treadle_innermost = block
        treadle_silent = not wanted or treadle_serving > 0

    def __exit__(self, kind, error, traceback):
        global treadle_silent, treadle_innermost
        cdef treadle_block *block = treadle_innermost
        if block == NULL:
            raise RuntimeError(f"{type(self).__name__}: this thread leaves a block that it has not entered")
        treadle_silent, treadle_innermost = block.silent, block.outer
        free(block)
