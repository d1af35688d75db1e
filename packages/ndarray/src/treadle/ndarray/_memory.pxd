from libc.stdint cimport int64_t, uint64_t


cdef class Buffer:
    cdef char *data
    cdef readonly int64_t nbytes
    cdef readonly object owner
    cdef public int64_t version
    cdef int exports  # writable views of the memory that others hold
    cdef bint watched  # somebody has asked for the version, and will compare it
    cdef readonly bint borrowed  # the memory of another library, whose own writes nobody reports
    cdef uint64_t checksum  # of the memory when it was last compared, while it is exported and watched

    cdef int64_t settled_version(self) noexcept
    cdef void lent(self) noexcept
    cdef void returned(self) noexcept
    cdef void settle(self) noexcept


cdef Buffer allocate_host(int64_t nbytes)
cdef Buffer wrap(void *data, int64_t nbytes, object owner)
