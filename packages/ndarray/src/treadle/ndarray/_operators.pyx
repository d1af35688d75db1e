"""The operators of arrays, each a call of the dispatch with the number of its op; views, and functions as methods."""

cimport cython

from treadle.ndarray._dispatch cimport (
    ABS, ADD, BITWISE_AND, BITWISE_INVERT, BITWISE_OR, BITWISE_XOR, DIVIDE, EQUAL, FLOOR_DIVIDE, GREATER, GREATER_EQUAL,
    LESS, LESS_EQUAL, MULTIPLY, NEGATIVE, NOT_EQUAL, POSITIVE, POW, REMAINDER, SUBTRACT, BITWISE_LEFT_SHIFT,
    BITWISE_RIGHT_SHIFT, binary, unary,
)
from treadle.ndarray._families cimport matmul
from treadle.ndarray._operands cimport copied, foreign, is_array
from treadle.ndarray._strided cimport Strided

cdef object _package = None
cdef object _matmul_function = None


def set_package(module):
    """The package, whose functions the methods of the same names are; its matmul takes vectors too."""
    global _package, _matmul_function
    _package = module
    _matmul_function = module.matmul


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
        if self.view.ndim > 0 and y.view.ndim > 0 and self.view.dtype == y.view.dtype:
            return matmul(self, y, None)
        return _matmul_function(self, y)

    def __rmatmul__(self, other):
        return _matmul_function(other, self) if is_array(other) else foreign("matmul", other)

    def __imatmul__(self, other):
        return _matmul_function(self, other, out=self) if is_array(other) else foreign("matmul", other)

    # --- views and copies -------------------------------------------------------------------------------------------
    @property
    def T(self):
        """The axes in reverse order, a view.

        >>> import treadle.ndarray as nd
        >>> nd.zeros((2, 3)).T.shape
        (3, 2)
        """
        return self.transposed()

    @property
    def mT(self):
        """The last two axes exchanged, a view; ShapeError below two axes.

        >>> import treadle.ndarray as nd
        >>> nd.zeros((4, 2, 3)).mT.shape
        (4, 3, 2)
        """
        return self.view_matrix_transposed()

    def reshape(self, shape=(), *lengths, copy=None):
        """:func:`treadle.ndarray.reshape`; the shape may be given as separate ints.

        >>> import treadle.ndarray as nd
        >>> nd.arange(6).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        return self.in_shape(shape, lengths, copy is not False, copy is not None and copy)

    def transpose(self, axes=None, *more):
        """The axes in another order, a view; without arguments in reverse. ShapeError unless each is named once.

        >>> import treadle.ndarray as nd
        >>> nd.zeros((2, 3, 4)).transpose(1, 2, 0).shape
        (3, 4, 2)
        """
        if axes is None and not more:
            return self.transposed()
        return self.view_permuted((axes,) + more if more or not hasattr(axes, "__iter__") else axes)

    def squeeze(self, axis=None):
        """Without axes of length 1, all or those named, a view. ShapeError where a named one is longer.

        >>> import treadle.ndarray as nd
        >>> nd.zeros((1, 3, 1)).squeeze(0).shape
        (3, 1)
        """
        return self.view_squeezed(axis)

    def flatten(self):
        """A 1-D copy in C order.

        >>> import treadle.ndarray as nd
        >>> nd.eye(2).flatten().tolist()
        [1.0, 0.0, 0.0, 1.0]
        """
        return copied(self).in_shape(-1, (), True, False)

    def ravel(self):
        """1-D in C order, a view where possible.

        >>> import treadle.ndarray as nd
        >>> x = nd.zeros((2, 2))
        >>> x.ravel()[0] = 5
        >>> x.tolist()
        [[5.0, 0.0], [0.0, 0.0]]
        """
        return self.in_shape(-1, (), True, False)

    def copy(self):
        """A fresh C-contiguous array with the same elements.

        >>> import treadle.ndarray as nd
        >>> x = nd.zeros(2)
        >>> y = x.copy()
        >>> y[0] = 1
        >>> x.tolist()
        [0.0, 0.0]
        """
        return copied(self)

    def fill(self, value):
        """Set every element to a scalar, in place. BufferReadOnlyError where the array is read-only.

        >>> import treadle.ndarray as nd
        >>> x = nd.zeros(2)
        >>> x.fill(3)
        >>> x.tolist()
        [3.0, 3.0]
        """
        self[...] = value

    # --- functions as methods: the docstrings of the functions tell shapes, dtypes and errors ---------------------
    def sum(self, axis=None, *, dtype=None, keepdims=False):
        """:func:`treadle.ndarray.sum`.

        >>> import treadle.ndarray as nd
        >>> nd.ones((2, 3)).sum(axis=0).tolist()
        [2.0, 2.0, 2.0]
        """
        return _package.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis=None, *, dtype=None, keepdims=False):
        """:func:`treadle.ndarray.prod`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([2, 3, 4]).prod().item()
        24
        """
        return _package.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.mean`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([1.0, 2.0, 6.0]).mean().item()
        3.0
        """
        return _package.mean(self, axis=axis, keepdims=keepdims)

    def var(self, axis=None, *, correction=0.0, keepdims=False):
        """:func:`treadle.ndarray.var`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([1.0, 3.0]).var(correction=1).item()
        2.0
        """
        return _package.var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(self, axis=None, *, correction=0.0, keepdims=False):
        """:func:`treadle.ndarray.std`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([1.0, 3.0]).std().item()
        1.0
        """
        return _package.std(self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.max`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([[1, 5], [7, 2]]).max(axis=1).tolist()
        [5, 7]
        """
        return _package.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.min`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([[1, 5], [7, 2]]).min(axis=1, keepdims=True).tolist()
        [[1], [2]]
        """
        return _package.min(self, axis=axis, keepdims=keepdims)

    def any(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.any`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([[0, 1], [0, 0]]).any(axis=1).tolist()
        [True, False]
        """
        return _package.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.all`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([True, False]).all().item()
        False
        """
        return _package.all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.argmax`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([[1, 5], [7, 2]]).argmax(axis=1).tolist()
        [1, 0]
        """
        return _package.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis=None, *, keepdims=False):
        """:func:`treadle.ndarray.argmin`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([3.0, 1.0, 2.0]).argmin().item()
        1
        """
        return _package.argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis=None):
        """:func:`treadle.ndarray.cumsum`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([1, 2, 3]).cumsum().tolist()
        [1, 3, 6]
        """
        return _package.cumsum(self, axis=axis)

    def clip(self, min=None, max=None):
        """:func:`treadle.ndarray.clip`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([-2, 0, 9]).clip(0, 5).tolist()
        [0, 0, 5]
        """
        return _package.clip(self, min, max)

    def sort(self, axis=-1, *, descending=False, stable=True):
        """:func:`treadle.ndarray.sort`: a sorted copy, not in place.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([3, 1, 2]).sort(descending=True).tolist()
        [3, 2, 1]
        """
        return _package.sort(self, axis=axis, descending=descending, stable=stable)

    def argsort(self, axis=-1, *, descending=False, stable=True):
        """:func:`treadle.ndarray.argsort`.

        >>> import treadle.ndarray as nd
        >>> nd.asarray([3, 1, 2]).argsort().tolist()
        [1, 2, 0]
        """
        return _package.argsort(self, axis=axis, descending=descending, stable=stable)

    def swapaxes(self, axis1, axis2):
        """:func:`treadle.ndarray.swapaxes`.

        >>> import treadle.ndarray as nd
        >>> nd.zeros((2, 3, 4)).swapaxes(0, 2).shape
        (4, 3, 2)
        """
        return _package.swapaxes(self, axis1, axis2)
