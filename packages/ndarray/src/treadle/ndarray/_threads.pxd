from libc.stdint cimport int64_t

ctypedef void (*block_body)(void *context, int64_t block) noexcept nogil

# kernels/threadpool.h says what is what. The pool is linked into this module only: there is one.
cdef void parallel_for(int64_t blocks, block_body body, void *context) noexcept nogil
