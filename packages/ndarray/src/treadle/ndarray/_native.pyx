"""What compiled packages call without a Python call in between.

Cython exports the functions of ``_native.pxd`` as capsules in this module's ``__pyx_capi__``, each named by its C
signature. A package that takes them from there needs none of this one's sources to be built, binds no layout of a
struct, and is refused by name where a signature has changed.
"""

from libc.stdint cimport int64_t

from treadle.ndarray cimport _dispatch, _linear
from treadle.ndarray._layout cimport same_shape
from treadle.ndarray._operands cimport is_array
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._types cimport is_complex, is_floating

from treadle.ndarray._elementwise import BINARY_NAMES, UNARY_NAMES


def binary_number(str name):
    """The number by which :c:func:`binary` knows an op of the table; -1 for another name."""
    return BINARY_NAMES.index(name) if name in BINARY_NAMES else -1


def unary_number(str name):
    """The number by which :c:func:`unary` knows an op of the table; -1 for another name."""
    return UNARY_NAMES.index(name) if name in UNARY_NAMES else -1


cdef object binary(int op, object left, object right):
    """The public function of this number."""
    return _dispatch.binary(op, left, right, None, False)


cdef object unary(int op, object value):
    """The public function of this number."""
    return _dispatch.unary(op, value, None)


cdef object linear(object x, object weight, object bias):
    """x @ weight.T + bias of arrays, the bias perhaps None; None where the ops it is made of have to serve."""
    if not is_array(x) or not is_array(weight) or not (bias is None or is_array(bias)):
        return None
    return _linear.linear(<Strided>x, <Strided>weight, <Strided>bias)


cdef bint alike(object x, object y) noexcept:
    """Whether both are arrays, of one shape and dtype and on one device."""
    if not is_array(x) or not is_array(y):
        return False
    return ((<Strided>x).dtype is (<Strided>y).dtype and (<Strided>x).device is (<Strided>y).device
            and same_shape(&(<Strided>x).view, &(<Strided>y).view))


cdef int64_t version(object value) noexcept:
    """How often the memory of an array was written in place; 0 for what is no array."""
    return (<Strided>value).buffer.settled_version() if is_array(value) else 0


cdef int inexact_kind(object value) noexcept:
    """The letter of a floating or complex array's kind of dtype (``DType.kind``), as a character's code; else 0."""
    if not is_array(value):
        return 0
    cdef int dtype = (<Strided>value).view.dtype
    return c"f" if is_floating(dtype) else c"c" if is_complex(dtype) else 0


cdef int64_t nbytes(object value) noexcept:
    """The bytes of an array's elements; 0 for what is no array."""
    return (<Strided>value).size * (<Strided>value).dtype.itemsize if is_array(value) else 0
