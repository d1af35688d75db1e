from libc.stdint cimport int8_t, int32_t, int64_t

cdef extern from "treadle/types.h" nogil:
    enum:
        TD_MAX_NDIM
        TD_DTYPE_COUNT
        TD_bool
        TD_i8
        TD_i16
        TD_i32
        TD_i64
        TD_u8
        TD_u16
        TD_u32
        TD_u64
        TD_f16
        TD_bf16
        TD_f32
        TD_f64
        TD_c64
        TD_c128
    ctypedef struct td_view:
        char *data
        int32_t dtype
        int32_t ndim
        int64_t shape[32]
        int64_t strides[32]


cdef class DType:
    cdef readonly str name
    cdef readonly str kind
    cdef readonly int id
    cdef readonly int itemsize
    cdef readonly str format
    cdef bytes format_bytes
    cdef object lowest
    cdef object largest


cdef class Device:
    cdef readonly str type
    cdef readonly int index
    cdef readonly bint is_cpu
    cdef readonly object backend
    cdef int64_t dtypes  # a bit for each dtype that the device has


cdef DType dtype_from_id(int dtype)
cdef int must_have(Device device, DType dtype) except -1
cdef int promote(int x, int y) noexcept nogil
cdef bint is_floating(int dtype) noexcept nogil
cdef bint is_half(int dtype) noexcept nogil
cdef bint is_complex(int dtype) noexcept nogil
cdef bint is_inexact(int dtype) noexcept nogil
cdef int part_dtype(int dtype) noexcept nogil
cdef bint is_unsigned(int dtype) noexcept nogil
