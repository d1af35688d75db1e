"""What a worker process of a loader knows about itself."""

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """What :func:`get_worker_info` tells: ``id`` of ``num_workers``, the ``seed``, and this process's ``dataset``.

    >>> WorkerInfo(id=0, num_workers=2, seed=5, dataset="abc").num_workers
    2
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader, which one it is; None in the main process.

    >>> get_worker_info() is None
    True
    """
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Make this process the worker of ``info``."""
    global _info
    _info = info
