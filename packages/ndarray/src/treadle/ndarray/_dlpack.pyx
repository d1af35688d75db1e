"""DLPack capsules out of arrays and arrays out of capsules; who may ask for what is decided in ``dlpack.py``.

An export holds a reference to its array until its deleter runs: called by the consumer when it is done, or by the
capsule's destructor when nobody consumed it. An import owns the exporter's structure through :class:`Imported`, which
calls the exporter's deleter once, when the last array over the memory is gone.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport (
    PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memset

from treadle.ndarray._layout cimport dense_strides, is_dense
from treadle.ndarray._memory cimport wrap
from treadle.ndarray._operands cimport copied
from treadle.ndarray._strided cimport Strided, blank
from treadle.ndarray._types cimport TD_MAX_NDIM, TD_u8, Device, DType, dtype_from_id, must_have

from treadle.ndarray._types import all_dtypes

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef extern from "treadle/dlpack.h" nogil:
    enum:
        TD_DL_INT
        TD_DL_UINT
        TD_DL_FLOAT
        TD_DL_BFLOAT
        TD_DL_COMPLEX
        TD_DL_BOOL
        TD_DL_READ_ONLY
        TD_DL_IS_COPIED
    ctypedef struct td_dl_device:
        int32_t device_type
        int32_t device_id
    ctypedef struct td_dl_dtype:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct td_dl_tensor:
        void *data
        td_dl_device device
        int32_t ndim
        td_dl_dtype dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset
    ctypedef struct td_dl_managed:
        td_dl_tensor tensor
        void *context
        void (*deleter)(td_dl_managed *self) noexcept
    ctypedef struct td_dl_versioned:
        uint32_t major
        uint32_t minor
        void *context
        void (*deleter)(td_dl_versioned *self) noexcept
        uint64_t flags
        td_dl_tensor tensor

cdef const char *LEGACY = "dltensor"
cdef const char *LEGACY_USED = "used_dltensor"
cdef const char *VERSIONED = "dltensor_versioned"
cdef const char *VERSIONED_USED = "used_dltensor_versioned"

VERSION = (1, 0)

cdef dict _KINDS = {"b": TD_DL_BOOL, "i": TD_DL_INT, "u": TD_DL_UINT, "f": TD_DL_FLOAT, "c": TD_DL_COMPLEX}


cdef int _code(DType dtype):
    return TD_DL_BFLOAT if dtype.name == "bfloat16" else _KINDS[dtype.kind]


cdef dict _BY_CODE = {(_code(each), 8 * each.itemsize): each for each in all_dtypes()}


# --- out ------------------------------------------------------------------------------------------------------------
cdef bint _is_lent(Strided x) noexcept:
    """Whether an export lets others write into memory that the processor can read."""
    return x.writable and x.device.type != "cuda"


cdef void _hold(Strided x):
    Py_INCREF(x)
    if _is_lent(x):
        x.buffer.lent()


cdef void _release(void *context) noexcept with gil:
    cdef Strided x = <Strided>context
    if _is_lent(x):
        x.buffer.returned()
    Py_DECREF(x)


cdef void _delete_legacy(td_dl_managed *self) noexcept nogil:
    """Consumers call this from any thread, with the GIL or without it, even after the interpreter is gone."""
    if Py_IsInitialized():
        _release(self.context)
    PyMem_RawFree(self)


cdef void _delete_versioned(td_dl_versioned *self) noexcept nogil:
    if Py_IsInitialized():
        _release(self.context)
    PyMem_RawFree(self)


cdef void _destroy_legacy(object capsule) noexcept:
    cdef td_dl_managed *managed
    if PyCapsule_IsValid(capsule, LEGACY):
        managed = <td_dl_managed *>PyCapsule_GetPointer(capsule, LEGACY)
        managed.deleter(managed)


cdef void _destroy_versioned(object capsule) noexcept:
    cdef td_dl_versioned *managed
    if PyCapsule_IsValid(capsule, VERSIONED):
        managed = <td_dl_versioned *>PyCapsule_GetPointer(capsule, VERSIONED)
        managed.deleter(managed)


cdef void _describe(Strided x, int device_type, int device_id, int64_t *lengths, td_dl_tensor *tensor):
    cdef int axis
    tensor.data = x.view.data if x.size else NULL
    tensor.device.device_type = device_type
    tensor.device.device_id = device_id
    tensor.ndim = x.view.ndim
    tensor.dtype.code = _code(x.dtype)
    tensor.dtype.bits = 8 * x.dtype.itemsize
    tensor.dtype.lanes = 1
    tensor.shape = lengths
    tensor.strides = lengths + x.view.ndim
    tensor.byte_offset = 0
    for axis in range(x.view.ndim):
        tensor.shape[axis] = x.view.shape[axis]
        tensor.strides[axis] = x.view.strides[axis] // x.dtype.itemsize


cdef void *_block(size_t structure, int ndim) except NULL:
    """Zeroed memory for a structure with the lengths and strides behind it."""
    cdef size_t nbytes = structure + 2 * ndim * sizeof(int64_t)
    cdef void *block = PyMem_RawMalloc(nbytes)
    if block == NULL:
        raise MemoryError()
    memset(block, 0, nbytes)
    return block


def to_capsule(Strided x, int device_type, int device_id, bint versioned, bint is_copy):
    """A capsule over the memory of x, which it keeps alive."""
    cdef td_dl_managed *legacy
    cdef td_dl_versioned *managed
    if versioned:
        managed = <td_dl_versioned *>_block(sizeof(td_dl_versioned), x.view.ndim)
        managed.major, managed.minor = VERSION
        managed.flags = (0 if x.writable else TD_DL_READ_ONLY) | (TD_DL_IS_COPIED if is_copy else 0)
        managed.deleter = _delete_versioned
        managed.context = <void *>x
        _describe(x, device_type, device_id, <int64_t *>(managed + 1), &managed.tensor)
        _hold(x)
        return PyCapsule_New(managed, VERSIONED, _destroy_versioned)
    legacy = <td_dl_managed *>_block(sizeof(td_dl_managed), x.view.ndim)
    legacy.deleter = _delete_legacy
    legacy.context = <void *>x
    _describe(x, device_type, device_id, <int64_t *>(legacy + 1), &legacy.tensor)
    _hold(x)
    return PyCapsule_New(legacy, LEGACY, _destroy_legacy)


# --- in -------------------------------------------------------------------------------------------------------------
cdef class Imported:
    """A consumed capsule's structure, and with it the exporter's memory."""

    cdef td_dl_managed *legacy
    cdef td_dl_versioned *versioned
    cdef td_dl_tensor *tensor
    cdef readonly bint readonly
    cdef readonly bint is_copy

    def __init__(self, capsule):
        if PyCapsule_IsValid(capsule, VERSIONED):
            self.versioned = <td_dl_versioned *>PyCapsule_GetPointer(capsule, VERSIONED)
            PyCapsule_SetName(capsule, VERSIONED_USED)
            if self.versioned.major != <uint32_t>VERSION[0]:
                raise BufferError(f"from_dlpack: the exporter speaks DLPack {self.versioned.major}."
                                  f"{self.versioned.minor}; version {VERSION[0]} is understood")
            self.tensor = &self.versioned.tensor
            self.readonly = self.versioned.flags & TD_DL_READ_ONLY
            self.is_copy = self.versioned.flags & TD_DL_IS_COPIED
        elif PyCapsule_IsValid(capsule, LEGACY):
            self.legacy = <td_dl_managed *>PyCapsule_GetPointer(capsule, LEGACY)
            PyCapsule_SetName(capsule, LEGACY_USED)
            self.tensor = &self.legacy.tensor
        elif PyCapsule_IsValid(capsule, LEGACY_USED) or PyCapsule_IsValid(capsule, VERSIONED_USED):
            raise BufferError("from_dlpack: the capsule was consumed before; ask for a new one")
        else:
            raise BufferError(f"from_dlpack: __dlpack__ gave {type(capsule).__name__}, not a DLPack capsule")

    def __dealloc__(self):
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)
        elif self.legacy != NULL and self.legacy.deleter != NULL:
            self.legacy.deleter(self.legacy)

    @property
    def device(self):
        """DLPack's pair of device type and number."""
        return self.tensor.device.device_type, self.tensor.device.device_id


cdef DType _dtype(td_dl_dtype dtype):
    cdef object found = _BY_CODE.get((<int>dtype.code, <int>dtype.bits))
    if found is None or dtype.lanes != 1:
        raise BufferError(f"from_dlpack: no dtype here for DLPack's code {dtype.code} of {dtype.bits} bits and "
                          f"{dtype.lanes} lanes")
    return found


cdef int _read_layout(const td_dl_tensor *tensor, Strided out) except -1:
    """Lengths, strides and size; overflow and nonsense are refused."""
    cdef int axis
    cdef int64_t itemsize = out.dtype.itemsize
    cdef int64_t limit = (<int64_t>1 << 62) // itemsize
    if tensor.ndim < 0 or tensor.ndim > TD_MAX_NDIM:
        raise BufferError(f"from_dlpack: {tensor.ndim} dimensions; at most {TD_MAX_NDIM} are possible")
    out.view.ndim = tensor.ndim
    out.size = 1
    for axis in range(tensor.ndim):
        if tensor.shape[axis] < 0:
            raise BufferError(f"from_dlpack: a length of {tensor.shape[axis]}")
        if tensor.shape[axis] and out.size > limit // tensor.shape[axis]:
            raise BufferError("from_dlpack: the shape is beyond any memory")
        out.view.shape[axis] = tensor.shape[axis]
        out.size *= tensor.shape[axis]
    dense_strides(&out.view, itemsize)
    if tensor.strides != NULL:
        for axis in range(tensor.ndim):
            if tensor.shape[axis] > 1 and out.size:
                if not -limit < tensor.strides[axis] < limit:
                    raise BufferError(f"from_dlpack: a stride of {tensor.strides[axis]}")
                out.view.strides[axis] = tensor.strides[axis] * itemsize
                out.writable = out.writable and tensor.strides[axis] != 0
    return 0


def to_array(Imported owner, Device device):
    """The array over an import's memory, on the device that stands for the exporter's; the second result says whether
    the elements had to be copied, because they are not aligned."""
    cdef td_dl_tensor *tensor = owner.tensor
    cdef Strided out = blank()
    cdef char *data = <char *>tensor.data + tensor.byte_offset
    out.dtype = _dtype(tensor.dtype)
    out.device = device
    must_have(device, out.dtype)
    out.writable = not owner.readonly
    _read_layout(tensor, out)
    if out.size and tensor.data == NULL:
        raise BufferError("from_dlpack: the exporter gave no memory")
    out.buffer = wrap(data, out.size * out.dtype.itemsize, owner)
    out.buffer.borrowed = True
    out.view.data = data
    out.view.dtype = out.dtype.id
    out.dense = is_dense(&out.view, out.dtype.itemsize)
    if out.size and <uintptr_t>data % <uintptr_t>out.dtype.itemsize:
        return _realigned(out), True
    return out, False


cdef Strided _realigned(Strided x):
    """A dense copy of an array whose elements do not lie at multiples of their size: copied byte by byte."""
    cdef DType dtype = x.dtype
    cdef Strided out = x.alias()
    if x.view.ndim == TD_MAX_NDIM:
        raise BufferError("from_dlpack: the memory is not aligned; copy it first")
    out.dtype = dtype_from_id(TD_u8)
    out.view.dtype = TD_u8
    out.view.shape[x.view.ndim] = dtype.itemsize
    out.view.strides[x.view.ndim] = 1
    out.view.ndim += 1
    out.size *= dtype.itemsize
    out.dense = False
    out = copied(out)
    out.view.ndim -= 1
    out.size = x.size
    out.dtype = dtype
    out.view.dtype = dtype.id
    return out
