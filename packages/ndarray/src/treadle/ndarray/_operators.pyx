"""The operators of arrays: each is a call of the dispatch with the number of its op."""

cimport cython

from treadle.ndarray._dispatch cimport (
    ABS, ADD, BITWISE_AND, BITWISE_INVERT, BITWISE_OR, BITWISE_XOR, DIVIDE, EQUAL, FLOOR_DIVIDE, GREATER, GREATER_EQUAL,
    LESS, LESS_EQUAL, MULTIPLY, NEGATIVE, NOT_EQUAL, POSITIVE, POW, REMAINDER, SUBTRACT, BITWISE_LEFT_SHIFT,
    BITWISE_RIGHT_SHIFT, binary, foreign, unary,
)
from treadle.ndarray._families cimport matmul
from treadle.ndarray._operands cimport is_array
from treadle.ndarray._strided cimport Strided

cdef object _matmul_function = None


def set_matmul(function):
    """The public matmul, which also takes vectors and mixed dtypes."""
    global _matmul_function
    _matmul_function = function


@cython.no_gc
cdef class Operators(Strided):
    """A strided array that can be computed with. NotImplemented stands for a foreign operand, whose turn it is then."""

    def __add__(self, other):
        return binary(ADD, self, other, None, True)

    def __radd__(self, other):
        return binary(ADD, other, self, None, True)

    def __iadd__(self, other):
        return binary(ADD, self, other, self, True)

    def __sub__(self, other):
        return binary(SUBTRACT, self, other, None, True)

    def __rsub__(self, other):
        return binary(SUBTRACT, other, self, None, True)

    def __isub__(self, other):
        return binary(SUBTRACT, self, other, self, True)

    def __mul__(self, other):
        return binary(MULTIPLY, self, other, None, True)

    def __rmul__(self, other):
        return binary(MULTIPLY, other, self, None, True)

    def __imul__(self, other):
        return binary(MULTIPLY, self, other, self, True)

    def __truediv__(self, other):
        return binary(DIVIDE, self, other, None, True)

    def __rtruediv__(self, other):
        return binary(DIVIDE, other, self, None, True)

    def __itruediv__(self, other):
        return binary(DIVIDE, self, other, self, True)

    def __floordiv__(self, other):
        return binary(FLOOR_DIVIDE, self, other, None, True)

    def __rfloordiv__(self, other):
        return binary(FLOOR_DIVIDE, other, self, None, True)

    def __ifloordiv__(self, other):
        return binary(FLOOR_DIVIDE, self, other, self, True)

    def __mod__(self, other):
        return binary(REMAINDER, self, other, None, True)

    def __rmod__(self, other):
        return binary(REMAINDER, other, self, None, True)

    def __imod__(self, other):
        return binary(REMAINDER, self, other, self, True)

    def __pow__(self, other, modulo):
        return NotImplemented if modulo is not None else binary(POW, self, other, None, True)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else binary(POW, other, self, None, True)

    def __ipow__(self, other):
        return binary(POW, self, other, self, True)

    def __and__(self, other):
        return binary(BITWISE_AND, self, other, None, True)

    def __rand__(self, other):
        return binary(BITWISE_AND, other, self, None, True)

    def __iand__(self, other):
        return binary(BITWISE_AND, self, other, self, True)

    def __or__(self, other):
        return binary(BITWISE_OR, self, other, None, True)

    def __ror__(self, other):
        return binary(BITWISE_OR, other, self, None, True)

    def __ior__(self, other):
        return binary(BITWISE_OR, self, other, self, True)

    def __xor__(self, other):
        return binary(BITWISE_XOR, self, other, None, True)

    def __rxor__(self, other):
        return binary(BITWISE_XOR, other, self, None, True)

    def __ixor__(self, other):
        return binary(BITWISE_XOR, self, other, self, True)

    def __lshift__(self, other):
        return binary(BITWISE_LEFT_SHIFT, self, other, None, True)

    def __rlshift__(self, other):
        return binary(BITWISE_LEFT_SHIFT, other, self, None, True)

    def __ilshift__(self, other):
        return binary(BITWISE_LEFT_SHIFT, self, other, self, True)

    def __rshift__(self, other):
        return binary(BITWISE_RIGHT_SHIFT, self, other, None, True)

    def __rrshift__(self, other):
        return binary(BITWISE_RIGHT_SHIFT, other, self, None, True)

    def __irshift__(self, other):
        return binary(BITWISE_RIGHT_SHIFT, self, other, self, True)

    def __eq__(self, other):
        return binary(EQUAL, self, other, None, True)

    def __ne__(self, other):
        return binary(NOT_EQUAL, self, other, None, True)

    def __lt__(self, other):
        return binary(LESS, self, other, None, True)

    def __le__(self, other):
        return binary(LESS_EQUAL, self, other, None, True)

    def __gt__(self, other):
        return binary(GREATER, self, other, None, True)

    def __ge__(self, other):
        return binary(GREATER_EQUAL, self, other, None, True)

    def __neg__(self):
        return unary(NEGATIVE, self, None)

    def __pos__(self):
        return unary(POSITIVE, self, None)

    def __abs__(self):
        return unary(ABS, self, None)

    def __invert__(self):
        return unary(BITWISE_INVERT, self, None)

    def __matmul__(self, other):
        cdef Strided y
        if not is_array(other):
            return foreign("matmul", other)
        y = <Strided>other
        if self.view.ndim > 1 and y.view.ndim > 1 and self.view.dtype == y.view.dtype:
            return matmul(self, y, None)
        return _matmul_function(self, y)

    def __rmatmul__(self, other):
        return _matmul_function(other, self) if is_array(other) else foreign("matmul", other)

    def __imatmul__(self, other):
        return _matmul_function(self, other, out=self) if is_array(other) else foreign("matmul", other)
