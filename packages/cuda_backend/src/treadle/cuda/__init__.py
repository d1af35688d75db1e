"""treadle.cuda: the backend of treadle.ndarray on a GPU, and the same kernels on the host.

Nothing needs to be imported from here to use it: the device names ``cuda``, ``cuda:1``, ... and ``cuda_emulated`` are
found by :mod:`treadle.ndarray`. This module tells what there is, and of the memory.

>>> import treadle.ndarray as nd
>>> nd.arange(3, device="cuda_emulated") + 1
array([1, 2, 3], device='cuda_emulated')
"""

from treadle.cuda.devices import (
    backend,
    device_count,
    empty_cache,
    emulated_backend,
    is_available,
    memory_statistics,
    synchronize,
)

__all__ = [
    "backend",
    "device_count",
    "empty_cache",
    "emulated_backend",
    "is_available",
    "memory_statistics",
    "synchronize",
]

__version__ = "0.1.0"
