from libc.stdint cimport int64_t

# Calls body(context, block) for each block, from several threads where there are some; returns when all calls have.
cdef void parallel_for(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil,
                       void *context) noexcept nogil
# The same, or one after the other.
cdef void run_blocks(int64_t blocks, void (*body)(void *context, int64_t block) noexcept nogil, void *context,
                     bint parallel) noexcept nogil
cdef int get_thread_count() noexcept nogil
