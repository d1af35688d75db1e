"""treadle.cuda: the backend of treadle.ndarray on a GPU, and the same kernels on the host.

Nothing needs to be imported from here to use it: the device names ``cuda``, ``cuda:1``, ... and ``cuda_emulated`` are
found by :mod:`treadle.ndarray`. This module tells what there is and of the memory, and has streams, events, graphs
and page-locked memory for those who want more of a GPU.

>>> import treadle.ndarray as nd
>>> nd.arange(3, device="cuda_emulated") + 1
array([1, 2, 3], device='cuda_emulated')
"""

from treadle.cuda.devices import (
    allow_tf32,
    backend,
    device_count,
    empty_cache,
    emulated_backend,
    is_available,
    memory_statistics,
    reset_peak,
    synchronize,
)
from treadle.cuda.errors import CaptureError, DeviceMemoryError, KernelWarning
from treadle.cuda.graphs import Captured, Graph, capture
from treadle.cuda.interchange import array_interface, from_array_interface
from treadle.cuda.streams import Event, Stream, copy_async, current_stream, pinned_empty

__all__ = [
    "CaptureError", "Captured", "DeviceMemoryError", "Event", "Graph", "KernelWarning", "Stream", "allow_tf32",
    "array_interface", "backend", "capture", "copy_async", "current_stream", "device_count", "empty_cache",
    "emulated_backend", "from_array_interface", "is_available", "memory_statistics", "pinned_empty", "reset_peak",
    "synchronize",
]  # fmt: skip

__version__ = "0.1.0"
