from treadle.ndarray._strided cimport Strided

cdef object binary(int op, object left, object right, object out, bint from_operator)
cdef object unary(int op, object value, object out)
cdef int ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, POW
cdef int EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL
cdef int BITWISE_AND, BITWISE_OR, BITWISE_XOR, NEGATIVE, POSITIVE, ABS, BITWISE_INVERT
cdef int BITWISE_LEFT_SHIFT, BITWISE_RIGHT_SHIFT
