from treadle.ndarray._strided cimport Strided
from treadle.ndarray._types cimport DType

cpdef Strided part(Strided x, int which)
cpdef Strided pairs(Strided x)
cpdef Strided bits(Strided x)
cpdef Strided from_bytes(Strided x, DType dtype)
cdef int product(Strided x, tuple axes, Strided out) except -1
cdef int matmul_by_way(Strided x, Strided y, Strided out) except -1
