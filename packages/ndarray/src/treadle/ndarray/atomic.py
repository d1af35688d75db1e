"""Files that appear whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

__all__ = ["atomic_write", "remove_leftovers"]

_ENDING = ".partial"


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, make_folders: bool = False) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of ``path`` when the block ends, and never does if it fails.

    It is written beside ``path``, flushed to the disk and renamed, so that a crash at any time leaves either the old
    file or the new one, and of several processes that write one file the last to end wins. Permissions stay those of
    the file that is replaced. Folders that are missing are made with ``make_folders``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/notes") as file:
    ...         _ = file.write(b"whole")
    ...         os.path.exists(f"{folder}/notes")
    ...     os.listdir(folder)
    False
    ['notes']
    """
    target = os.path.realpath(path)  # a link is written through, not replaced
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileExistsError(errno.EEXIST, "this is no regular file, and is not replaced by one", os.fspath(path))
    parent, last = os.path.split(target)
    if make_folders:
        os.makedirs(parent, exist_ok=True)
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    name = os.path.join(parent, f".{last}.{os.urandom(6).hex()}{_ENDING}")
    try:  # from here on, since an interrupt may come as soon as the file is there
        with open(_locked(name, 0o666 if mode is None else mode), "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    folder = os.open(parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # makes the rename durable
    finally:
        os.close(folder)


def _locked(name: str, mode: int) -> int:
    """A new file, with the lock that tells :func:`remove_leftovers` that it is being written."""
    import fcntl  # loaded where it is used, for the sake of the import's time

    while True:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # it was removed before it was locked


def remove_leftovers(folder: str | os.PathLike[str], ending: str = "") -> None:
    """Remove what killed processes left of the files of that ``ending`` in ``folder``; what is being written stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/notes") as file:
    ...         remove_leftovers(folder)
    ...     os.listdir(folder)
    ['notes']
    """
    import fcntl
    from glob import escape, glob

    for name in glob(os.path.join(escape(os.fspath(folder)), f".*{ending}.*{_ENDING}")):
        with suppress(OSError), open(name, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an OSError while its writer lives
            os.unlink(name)
