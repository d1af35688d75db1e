"""What this installation runs on: instruction set, threads, backends, headers."""

import operator
import os

from treadle.ndarray import _memory, _runtime, _threads
from treadle.ndarray.devices import default_device, device_types
from treadle.ndarray.errors import BackendError

__all__ = ["get_include", "get_num_threads", "isa", "set_num_threads", "show_config"]


def _choose_isa() -> int:
    best: int = _runtime.detect()
    name = os.environ.get("TREADLE_ISA")
    if name is None:
        return best
    wanted: int = _runtime.from_name(name)
    if wanted < 0:
        raise BackendError(f"TREADLE_ISA={name}: it is baseline, avx2 or avx512")
    if wanted > best:
        raise BackendError(f"TREADLE_ISA={name}: this processor has only {_runtime.name_of(best)}")
    return wanted


def _check_threads() -> None:
    count = os.environ.get("TREADLE_NUM_THREADS")
    if count is not None and not (count.strip().isdecimal() and int(count) > 0):
        raise BackendError(f"TREADLE_NUM_THREADS={count}: it is a number of threads, 1 or more")


def _choose_allocator() -> None:
    name = os.environ.get("TREADLE_ALLOCATOR", "exact" if _memory.is_exact() else "cached")
    if name not in ("cached", "exact"):
        raise BackendError(f"TREADLE_ALLOCATOR={name}: it is cached, or exact to find overruns with a sanitizer")
    _memory.choose_exact(name == "exact")


_check_threads()
_choose_allocator()
_isa = _choose_isa()
_runtime.select(_isa)


def isa() -> str:
    """The instruction set the kernels use: ``baseline``, ``avx2`` or ``avx512``; ``TREADLE_ISA`` forces a lower one.

    >>> import treadle.ndarray as nd
    >>> nd.isa() in ("baseline", "avx2", "avx512")
    True
    """
    name: str = _runtime.name_of(_isa)
    return name


def get_num_threads() -> int:
    """How many threads large arrays use, in every family of ops.

    >>> import treadle.ndarray as nd
    >>> nd.get_num_threads() >= 1
    True
    """
    count: int = _threads.get_num_threads()
    return count


def set_num_threads(count: int) -> None:
    """Set how many threads large arrays use; results do not depend on it.

    At import ``TREADLE_NUM_THREADS`` sets it. Raises ValueError below 1.

    >>> import treadle.ndarray as nd
    >>> before = nd.get_num_threads()
    >>> nd.set_num_threads(1)
    >>> nd.get_num_threads()
    1
    >>> nd.set_num_threads(before)
    """
    if operator.index(count) < 1:
        raise ValueError(f"set_num_threads: {count} threads; at least 1 is needed")
    _threads.set_num_threads(count)


def get_include() -> str:
    """The folder of the C headers with the scalar bodies, for backends: ``#include "treadle/elementwise.h"``.

    >>> import os, treadle.ndarray as nd
    >>> os.path.exists(os.path.join(nd.get_include(), "treadle", "types.h"))
    True
    """
    return os.path.join(os.path.dirname(__file__), "include")


def show_config() -> None:
    """Print the instruction set, the number of threads, the default device and the devices that packages provide.

    >>> import treadle.ndarray as nd
    >>> nd.show_config()  # doctest: +ELLIPSIS
    isa: ...
    threads: ...
    default device: ...
    device types: cpu, numpy...
    """
    print(f"isa: {isa()}")
    print(f"threads: {get_num_threads()}")
    print(f"default device: {default_device()}")
    print(f"device types: {', '.join(device_types())}")
