"""The errors that only a device with its own memory can have; the others are those of :mod:`treadle.ndarray.errors`."""

import warnings

from treadle.ndarray.errors import BackendError

__all__ = ["CaptureError", "DeviceMemoryError", "KernelWarning"]


class DeviceMemoryError(MemoryError):
    """A device has too little memory left. Everything that existed before can still be used."""


class CaptureError(BackendError):
    """What cannot be part of a graph was asked for while one was captured, or a graph was used out of turn."""


class KernelWarning(RuntimeWarning):
    """A kernel failed when it was checked, or gave other results than it must; the device goes on without it."""


def warn_of_kernel(kernel: str, device: str) -> None:
    """Say that a device computes without a kernel that is wrong there; ``kernel``: its name, and how."""
    warnings.warn(
        f"matmul: on {device}, in a product of whole numbers that is exact, {kernel}. Products of halves go by "
        "matmul_mma_kernel there from now on. Please report the GPU and the driver; TREADLE_CUDA_WGMMA=0 leaves the "
        "kernel and its check out.",
        KernelWarning,
        stacklevel=3,
    )
