"""The errors that only a device with its own memory can have; the others are those of :mod:`treadle.ndarray.errors`."""

import warnings

from treadle.ndarray.errors import BackendError

__all__ = ["CaptureError", "DeviceMemoryError", "KernelWarning"]


class DeviceMemoryError(MemoryError):
    """A device has too little memory left. Everything that existed before can still be used."""


class CaptureError(BackendError):
    """What cannot be part of a graph was asked for while one was captured, or a graph was used out of turn."""


class KernelWarning(RuntimeWarning):
    """A kernel gave other results than it must when it was checked, and is not used on this device any more."""


def warn_of_kernel(kernel: str, device: str) -> None:
    """Say that a device computes without a kernel that is wrong there."""
    warnings.warn(
        f"matmul: on {device} the results of {kernel} differ from those of matmul_mma_kernel in a product of whole "
        "numbers, which must be equal. Products of halves go by matmul_mma_kernel there from now on. Please report "
        "the GPU and the driver; TREADLE_CUDA_WGMMA=0 leaves the kernel and its check out.",
        KernelWarning,
        stacklevel=3,
    )
