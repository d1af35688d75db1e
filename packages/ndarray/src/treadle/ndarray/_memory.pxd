from libc.stdint cimport int64_t


cdef class Buffer:
    cdef char *data
    cdef readonly int64_t nbytes
    cdef readonly object owner
    cdef public int64_t version


cdef Buffer allocate_host(int64_t nbytes)
cdef Buffer wrap(void *data, int64_t nbytes, object owner)
