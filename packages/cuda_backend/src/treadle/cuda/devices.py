"""The two backends, and what is asked of a device apart from arithmetic."""

from functools import cache
from typing import TYPE_CHECKING

from treadle.ndarray.errors import BackendError, DeviceError

if TYPE_CHECKING:
    from treadle.cuda._cuda import KernelBackend
    from treadle.ndarray import Device

__all__ = [
    "allow_tf32", "backend", "device_count", "device_of", "empty_cache", "emulated_backend", "is_available",
    "memory_statistics", "reset_peak", "synchronize",
]  # fmt: skip

_EMULATION = (
    "The same kernels run on the host as device 'cuda_emulated': name that device, or set "
    "TREADLE_BACKEND=cuda_emulated."
)


@cache
def backend() -> "KernelBackend":
    """The backend of the device type ``cuda``. It exists without a GPU too; only its use raises BackendError.

    Raises BackendError where the package was built for emulation only.
    """
    try:
        from treadle.cuda._cuda import KernelBackend
    except ModuleNotFoundError as error:
        raise BackendError(
            f"cuda: this treadle-cuda was built without nvcc, for emulation only ({error}). {_EMULATION} For a GPU, "
            "build it again without TREADLE_CUDA_EMULATION_ONLY."
        ) from error
    return KernelBackend("cuda", _EMULATION)


@cache
def emulated_backend() -> "KernelBackend":
    """The backend of the device type ``cuda_emulated``: devices whose memory is the host's, one of them unless
    ``TREADLE_EMULATED_DEVICES`` says how many.
    """
    from treadle.cuda._emulated import KernelBackend

    return KernelBackend("cuda_emulated", "")


def device_count() -> int:
    """How many GPUs there are; 0 where there is none, or no driver, or no kernels for one.

    >>> import treadle.cuda
    >>> treadle.cuda.device_count() >= 0
    True
    """
    try:
        return backend().device_count()
    except BackendError:
        return 0


def is_available() -> bool:
    """Whether the device ``cuda`` can be used.

    >>> import treadle.cuda
    >>> treadle.cuda.is_available() == (treadle.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


def device_of(device: "str | Device") -> "tuple[KernelBackend, Device]":
    """The backend of a device of this package, and the device itself; DeviceError for another."""
    from treadle.ndarray import device as find

    found = find(device)
    if found.type == "cuda":
        return backend(), found
    if found.type == "cuda_emulated":
        return emulated_backend(), found
    raise DeviceError(f"{found} is no device of treadle.cuda; there are 'cuda:N' and 'cuda_emulated'")


def memory_statistics(device: "str | Device" = "cuda") -> dict[str, int]:
    """The allocator's state in bytes: ``in_use`` by arrays (``blocks`` of them), its ``peak``, ``cached`` for reuse,
    ``captured`` for graphs; and how often the device was asked for memory, ``obtained``.

    Raises DeviceError for a device of another type, BackendError where there is no GPU.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> x = nd.zeros(1000, device="cuda_emulated")
    >>> treadle.cuda.memory_statistics("cuda_emulated")["in_use"] >= x.nbytes
    True
    """
    kernels, found = device_of(device)
    return kernels.memory_statistics(found.index)


def reset_peak(device: "str | Device" = "cuda") -> None:
    """Let ``peak`` of :func:`memory_statistics` start again from what is in use now.

    >>> import treadle.cuda
    >>> treadle.cuda.reset_peak("cuda_emulated")
    """
    kernels, found = device_of(device)
    kernels.reset_peak(found.index)


def empty_cache(device: "str | Device" = "cuda") -> None:
    """Give the memory that is kept for reuse back to the device.

    >>> import treadle.cuda
    >>> treadle.cuda.empty_cache("cuda_emulated")
    >>> treadle.cuda.memory_statistics("cuda_emulated")["cached"]
    0
    """
    kernels, found = device_of(device)
    kernels.empty_cache(found.index)


def synchronize(device: "str | Device" = "cuda") -> None:
    """Wait until the device has finished all work; an error of a kernel is raised here at the latest.

    >>> import treadle.cuda
    >>> treadle.cuda.synchronize("cuda_emulated")
    """
    kernels, found = device_of(device)
    kernels.synchronize(found.index)


def allow_tf32(allowed: bool = True, device: "str | Device" = "cuda") -> bool:
    """Whether products of float32 matrices with sides of 32 and more may round their operands to TF32, which the matrix
    instruction of compute capability 8.0 and later takes: 10 bits of fraction instead of 23, sums in float32. At first
    they may not. Holds for all devices of the type; gives what held before.

    Source: NVIDIA, "CUDA C++ Programming Guide", "Alternate floating point".

    >>> import treadle.cuda
    >>> before = treadle.cuda.allow_tf32(True, "cuda_emulated")
    >>> treadle.cuda.allow_tf32(before, "cuda_emulated")
    True
    """
    kernels, _ = device_of(device)
    return kernels.allow_tf32(allowed)
