from treadle.ndarray._strided cimport Strided

cpdef Strided matmul(Strided x, Strided y, Strided given)
