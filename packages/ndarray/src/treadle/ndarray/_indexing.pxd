from libc.stdint cimport int64_t

from treadle.ndarray._elementwise cimport td_binary_loop
from treadle.ndarray._types cimport td_view

cdef int add_offsets(const td_view *indices, const td_view *offsets, int64_t length, int64_t stride,
                     int64_t *wrong) noexcept nogil
cdef void gather_view(const td_view *x, int indexed, const int64_t *offsets, int64_t count, const td_view *out,
                      int64_t itemsize) noexcept nogil
cdef void scatter_view(const td_view *out, int indexed, const int64_t *offsets, int64_t count, const td_view *values,
                       td_binary_loop add, int64_t itemsize) noexcept nogil
cdef int accumulate_view(const td_view *out, int indexed, const int64_t *offsets, int64_t count, const td_view *values,
                         int wide, int64_t itemsize, int64_t wide_itemsize) noexcept nogil
cdef int64_t count_nonzero(const td_view *mask) noexcept nogil
cdef void nonzero_view(const td_view *mask, int64_t *out) noexcept nogil
