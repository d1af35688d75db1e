"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of ``path`` when the block ends, and never does if it fails.

    It is written beside ``path``, flushed to the disk and renamed, so that a crash at any time leaves either the old
    file or the new one. Folders that are missing are made.
    """
    target = Path(os.path.realpath(path))  # a link is written through, not replaced
    target.parent.mkdir(parents=True, exist_ok=True)
    name = target.parent / f".{target.name}.{secrets.token_hex(4)}.partial"
    mode = target.stat().st_mode & 0o777 if target.exists() else None  # of the file that is replaced
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
