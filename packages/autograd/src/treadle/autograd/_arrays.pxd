cpdef object binary(int op, x, y)
cpdef object unary(int op, x)
cpdef object linear(x, weight, bias)
cpdef bint alike(x, y)
cpdef bint differentiable(x)
cpdef long long total_version(tuple saved) except -1
cpdef long long version(value) except -1
cpdef long long nbytes(value)
cpdef int untrack(value) except -1
