"""treadle.ndarray: strided N-dimensional arrays on own SIMD kernels, after the Python array API standard.

>>> import treadle.ndarray as nd
>>> x = nd.arange(6, dtype="float32").reshape(2, 3)
>>> nd.softmax(x @ x.T).argmax(axis=1).tolist()
[1, 1]
"""

import sys
from typing import TYPE_CHECKING, Any

import treadle.ndarray.config  # first: it chooses the kernels
from treadle.ndarray import _array, _dispatch, elementwise
from treadle.ndarray._array import NDArray
from treadle.ndarray._edge import guard_all
from treadle.ndarray._memory import empty_cache, memory_statistics, reset_peak_memory
from treadle.ndarray._types import Device, DType, result_dtype
from treadle.ndarray._types import dtype_named as dtype
from treadle.ndarray.config import get_include, get_num_threads, isa, set_num_threads, show_config
from treadle.ndarray.creation import *
from treadle.ndarray.creation import (
    type_of as _type_of,
)
from treadle.ndarray.devices import default_device, device, device_types, use_device
from treadle.ndarray.elementwise import *
from treadle.ndarray.errors import *
from treadle.ndarray.indexing import *
from treadle.ndarray.indexing import (
    get_advanced as get_advanced,
)
from treadle.ndarray.indexing import (
    set_advanced as set_advanced,
)
from treadle.ndarray.manipulation import *
from treadle.ndarray.products import dot, kron, matmul, outer, tensordot, vecdot
from treadle.ndarray.reductions import *

if TYPE_CHECKING:  # loaded when first asked for, see __getattr__ below
    from treadle.ndarray import fft, linalg, random
    from treadle.ndarray.buffers import frombuffer
    from treadle.ndarray.complex_parts import conj, imag, real
    from treadle.ndarray.convolution import conv, conv_input_gradient, conv_weight_gradient
    from treadle.ndarray.data_types import can_cast, finfo, iinfo, isdtype, result_type
    from treadle.ndarray.dlpack import from_dlpack
    from treadle.ndarray.einstein import einsum
    from treadle.ndarray.files import load, save, savez, savez_compressed
    from treadle.ndarray.linalg import trace
    from treadle.ndarray.namespace_info import __array_namespace_info__
    from treadle.ndarray.nan_reductions import *
    from treadle.ndarray.padding import pad, repeat
    from treadle.ndarray.pooling import avg_pool, avg_pool_gradient, max_pool, max_pool_gradient
    from treadle.ndarray.quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
    from treadle.ndarray.searching import count_nonzero, searchsorted
    from treadle.ndarray.sets import isin, unique_all, unique_counts, unique_inverse, unique_values
    from treadle.ndarray.sorting import argsort, sort, topk
    from treadle.ndarray.statistics import cumulative_prod, cumulative_sum, histogram, logcumsumexp
    from treadle.ndarray.updates import adam_step, sgd_step
    from treadle.ndarray.utility import allclose, diff, isclose
    from treadle.ndarray.windows import as_strided, diagonal, sliding_window_view

__version__ = "0.1.0"

bool = _type_of["bool"]
int8, int16, int32, int64 = (_type_of[name] for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_type_of[name] for name in ("uint8", "uint16", "uint32", "uint64"))
float16, bfloat16 = _type_of["float16"], _type_of["bfloat16"]
float32, float64 = _type_of["float32"], _type_of["float64"]
complex64, complex128 = _type_of["complex64"], _type_of["complex128"]
newaxis = None
SUPPORTED_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__ = SUPPORTED_VERSIONS[-1]
e, pi, inf, nan = 2.718281828459045, 3.141592653589793, float("inf"), float("nan")

__all__ = [
    "ArgumentError", "AxisError", "BackendError", "BufferReadOnlyError", "DType", "DTypeError", "Device", "DeviceError",
    "FileFormatError", "IndexingError", "LinearAlgebraError", "NDArray", "RangeError", "ShapeError", "TreadleError",
    "__array_api_version__", "__array_namespace_info__", "adam_step", "all", "allclose", "any", "arange", "argmax",
    "argmin", "argsort", "array_split", "as_strided", "asarray", "astype", "avg_pool", "avg_pool_gradient", "bfloat16",
    "bool", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "complex64", "complex128", "concat",
    "conj", "conv", "conv_input_gradient", "conv_weight_gradient", "copy", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "default_device", "device", "device_types", "diagonal", "diff", "dot", "dtype",
    "e", "einsum", "empty", "empty_cache", "empty_like", "expand_dims", "eye", "fft", "finfo", "flip", "float16",
    "float32", "float64", "from_dlpack", "frombuffer", "full", "full_like", "get_include", "get_num_threads",
    "histogram", "iinfo", "imag", "inf", "int8", "int16", "int32", "int64", "isa", "isclose", "isdtype", "isin", "kron",
    "linalg", "linspace", "load", "log_softmax", "logcumsumexp", "logsumexp", "matmul", "matrix_transpose", "max",
    "max_pool", "max_pool_gradient", "mean", "median", "memory_statistics", "meshgrid", "min", "moveaxis", "nan",
    "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile",
    "nanstd", "nansum", "nanvar", "newaxis", "nonzero", "one_hot", "ones", "ones_like", "outer", "pad", "percentile",
    "permute_dims", "pi", "prod", "put_along_axis", "quantile", "random", "real", "repeat", "reset_peak_memory",
    "reshape", "result_dtype", "result_type", "roll", "rot90", "save", "savez", "savez_compressed", "scatter_add",
    "searchsorted", "set_num_threads", "sgd_step", "show_config", "sliding_window_view", "softmax", "sort", "split",
    "squeeze", "stack", "std", "sum", "swapaxes", "take", "take_along_axis", "tensordot", "tile", "topk", "trace",
    "tril", "triu", "uint8", "uint16", "uint32", "uint64", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unstack", "use_device", "var", "vecdot", "zeros", "zeros_like",
]  # fmt: skip
__all__ += elementwise.__all__

guard_all(globals(), [name for name in __all__ if name in globals() and name not in elementwise.functions], __name__)
_dispatch.set_asarray(asarray)
_array.set_functions(sys.modules[__name__])

_ROOMS = {
    "buffers": "frombuffer",
    "complex_parts": "conj imag real",
    "convolution": "conv conv_input_gradient conv_weight_gradient",
    "data_types": "can_cast finfo iinfo isdtype result_type",
    "dlpack": "from_dlpack",
    "einstein": "einsum",
    "files": "load save savez savez_compressed",
    "linalg": "trace",
    "namespace_info": "__array_namespace_info__",
    "nan_reductions": "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "padding": "pad repeat",
    "pooling": "avg_pool avg_pool_gradient max_pool max_pool_gradient",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "searching": "count_nonzero searchsorted",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort topk",
    "statistics": "cumulative_prod cumulative_sum histogram logcumsumexp",
    "updates": "adam_step sgd_step",
    "utility": "allclose diff isclose",
    "windows": "as_strided diagonal sliding_window_view",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}
_ROOM_OF |= {"fft": "fft", "linalg": "linalg", "random": "random"}


if not TYPE_CHECKING:  # to type checkers it would make every misspelt name a known one

    def __getattr__(name: str) -> Any:
        """Load the module of a function that not everyone needs when it is first asked for: importing stays quick."""
        room = _ROOM_OF.get(name)
        from importlib import import_module

        if room is None:
            raise import_module(f"{__name__}.hints").no_function(__name__, name)

        module = import_module(f"{__name__}.{room}")
        value = module if name == room else getattr(module, name)
        globals()[name] = value
        if name != room:
            guard_all(globals(), (name,), __name__)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOM_OF})
