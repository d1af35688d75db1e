"""The errors that only a device with its own memory can have; the others are those of :mod:`treadle.ndarray.errors`."""

from treadle.ndarray.errors import BackendError

__all__ = ["CaptureError", "DeviceMemoryError"]


class DeviceMemoryError(MemoryError):
    """A device has too little memory left. Everything that existed before can still be used."""


class CaptureError(BackendError):
    """What cannot be part of a graph was asked for while one was captured, or a graph was used out of turn."""
