"""The pool of threads that the families of kernels share."""

from libc.stdint cimport int64_t

cdef extern from "kernels/threadpool.h" nogil:
    void td_parallel_for(int64_t blocks, block_body body, void *context)
    void td_set_num_threads(int threads)
    int td_get_num_threads()


cdef void parallel_for(int64_t blocks, block_body body, void *context) noexcept nogil:
    """body(context, block) for each block; on the caller alone where it is in a job already."""
    td_parallel_for(blocks, body, context)


def get_num_threads():
    """Threads that large work uses, the caller among them."""
    return td_get_num_threads()


def set_num_threads(int count):
    """Set it; 0 asks for the default."""
    td_set_num_threads(count)
