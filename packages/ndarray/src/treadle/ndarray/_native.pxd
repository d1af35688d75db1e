from libc.stdint cimport int64_t

cdef object binary(int op, object left, object right)
cdef object unary(int op, object value)
cdef object linear(object x, object weight, object bias)
cdef bint alike(object x, object y) noexcept
cdef int64_t version(object value) noexcept
cdef int inexact_kind(object value) noexcept
cdef int64_t nbytes(object value) noexcept
