"""treadle.ndarray: strided N-dimensional arrays on own SIMD kernels, after the Python array API standard.

>>> import treadle.ndarray as nd
>>> x = nd.arange(6, dtype="float32").reshape(2, 3)
>>> nd.softmax(x @ x.T).argmax(axis=1).tolist()
[1, 1]
"""

import sys

import treadle.ndarray.config  # first: it chooses the kernels
from treadle.ndarray import _array, _dispatch, random
from treadle.ndarray._array import NDArray
from treadle.ndarray._memory import empty_cache, memory_statistics
from treadle.ndarray._types import Device, DType, result_dtype
from treadle.ndarray._types import dtype_named as dtype
from treadle.ndarray.buffers import frombuffer
from treadle.ndarray.config import get_include, get_num_threads, isa, set_num_threads, show_config
from treadle.ndarray.convolution import conv, conv_input_gradient, conv_weight_gradient
from treadle.ndarray.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    one_hot,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from treadle.ndarray.creation import (
    type_of as _type_of,
)
from treadle.ndarray.devices import default_device, device, device_types, use_device
from treadle.ndarray.dlpack import from_dlpack
from treadle.ndarray.elementwise import *  # noqa: F403 - made from the op table
from treadle.ndarray.elementwise import __all__ as _elementwise_names
from treadle.ndarray.errors import (
    BackendError,
    BufferReadOnlyError,
    DeviceError,
    DTypeError,
    FileFormatError,
    IndexingError,
    ShapeError,
    TreadleError,
)
from treadle.ndarray.files import load, save, savez, savez_compressed
from treadle.ndarray.indexing import (
    get_advanced as get_advanced,
)
from treadle.ndarray.indexing import (
    nonzero,
    put_along_axis,
    scatter_add,
    take,
    take_along_axis,
)
from treadle.ndarray.indexing import (
    set_advanced as set_advanced,
)
from treadle.ndarray.linalg import matmul
from treadle.ndarray.manipulation import (
    astype,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    copy,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
    squeeze,
    stack,
    swapaxes,
)
from treadle.ndarray.pooling import avg_pool, avg_pool_gradient, max_pool, max_pool_gradient
from treadle.ndarray.reductions import (
    all,
    any,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logsumexp,
    max,
    mean,
    min,
    prod,
    softmax,
    std,
    sum,
    var,
)
from treadle.ndarray.updates import adam_step, sgd_step

__version__ = "0.1.0"

bool = _type_of["bool"]
int8, int16, int32, int64 = (_type_of[name] for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_type_of[name] for name in ("uint8", "uint16", "uint32", "uint64"))
float32, float64 = _type_of["float32"], _type_of["float64"]
newaxis = None
e, pi, inf, nan = 2.718281828459045, 3.141592653589793, float("inf"), float("nan")

__all__ = [
    "BackendError",
    "BufferReadOnlyError",
    "DType",
    "DTypeError",
    "Device",
    "DeviceError",
    "IndexingError",
    "NDArray",
    "ShapeError",
    "TreadleError",
    "adam_step",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "astype",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "copy",
    "cumprod",
    "cumsum",
    "default_device",
    "device",
    "device_types",
    "dtype",
    "e",
    "empty",
    "empty_cache",
    "empty_like",
    "expand_dims",
    "eye",
    "flip",
    "float32",
    "float64",
    "full",
    "full_like",
    "get_include",
    "get_num_threads",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isa",
    "linspace",
    "log_softmax",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "memory_statistics",
    "min",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "one_hot",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "prod",
    "put_along_axis",
    "random",
    "reshape",
    "result_dtype",
    "scatter_add",
    "set_num_threads",
    "sgd_step",
    "show_config",
    "softmax",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tril",
    "triu",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_device",
    "var",
    "zeros",
    "zeros_like",
]  # fmt: skip
__all__ += _elementwise_names
__all__ += [
    "FileFormatError", "avg_pool", "avg_pool_gradient", "conv", "conv_input_gradient", "conv_weight_gradient",
    "from_dlpack", "frombuffer", "load", "max_pool", "max_pool_gradient", "save", "savez", "savez_compressed",
]  # fmt: skip

_dispatch.set_asarray(asarray)
_array.set_functions(sys.modules[__name__])
