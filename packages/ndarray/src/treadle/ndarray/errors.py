"""The errors of treadle, from the built-in families, so that ``except ValueError`` keeps working.

Every message names the operation, the shapes, dtypes or devices involved, and the way out.
"""

__all__ = [
    "AxisError",
    "BackendError",
    "BufferReadOnlyError",
    "DTypeError",
    "DeviceError",
    "FileFormatError",
    "IndexingError",
    "LinearAlgebraError",
    "ShapeError",
    "TreadleError",
]


class TreadleError(Exception):
    """Base of every error that treadle raises on purpose."""


class ShapeError(TreadleError, ValueError):
    """Shapes that do not fit: an impossible broadcast, a wrong axis, a ragged list."""


class DTypeError(TreadleError, TypeError):
    """A dtype that the operation is not defined on, or data that is no number."""


class DeviceError(TreadleError, ValueError):
    """Arrays of different devices in one operation, or a device that does not exist here."""


class IndexingError(TreadleError, IndexError):
    """An index out of bounds, too many indices, or an index of a wrong kind."""


class BufferReadOnlyError(TreadleError, ValueError):
    """A write into memory that is read-only (a broadcast view, or foreign memory)."""


class BackendError(TreadleError, RuntimeError):
    """A backend that is missing, failed to load, or reported a failure of its device."""


class LinearAlgebraError(TreadleError, ValueError):
    """A matrix that a decomposition does not exist for: singular, not positive definite, or without convergence."""


class AxisError(ShapeError, IndexError):
    """An axis that the array does not have."""


class FileFormatError(TreadleError, ValueError):
    """A file that is damaged, cut short, or not of the format it was taken for."""
