from treadle.ndarray._strided cimport Strided

cpdef Strided linear(Strided x, Strided weight, Strided bias=*)
