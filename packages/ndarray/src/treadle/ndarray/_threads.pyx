"""The pool of threads, once for all families: work in blocks that the shapes fix, so that no thread count shows."""

from libc.stdint cimport int64_t

cdef extern from "kernels/threadpool.h" nogil:
    void td_parallel_for(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil, void *context)
    void td_set_num_threads(int threads)
    int td_get_num_threads()


cdef void parallel_for(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil,
                       void *context) noexcept nogil:
    td_parallel_for(blocks, body, context)


cdef void run_blocks(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil, void *context,
                     bint parallel) noexcept nogil:
    cdef int64_t block
    if parallel:
        td_parallel_for(blocks, body, context)
        return
    for block in range(blocks):
        body(context, block)


cdef int get_thread_count() noexcept nogil:
    return td_get_num_threads()


def get_num_threads():
    """Threads that large arrays use, the caller among them."""
    return td_get_num_threads()


def set_num_threads(int count):
    """Set it; 0 asks for the default."""
    td_set_num_threads(count)
