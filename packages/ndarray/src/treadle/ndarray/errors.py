"""The errors of treadle, from the built-in families, so that ``except ValueError`` keeps working.

Every message names the operation, the shapes, dtypes or devices involved, and the way out.
"""

__all__ = [
    "ArgumentError", "AxisError", "BackendError", "BufferReadOnlyError", "DTypeError", "DeviceError", "FileFormatError",
    "IndexingError", "LinearAlgebraError", "RangeError", "ShapeError", "TreadleError",
]  # fmt: skip


class TreadleError(Exception):
    """Base of every error that treadle raises on purpose.

    >>> import treadle.ndarray as nd
    >>> try:
    ...     nd.zeros(2) + nd.zeros(3)
    ... except nd.TreadleError as error:
    ...     print(type(error).__name__)
    ShapeError
    """


class ShapeError(TreadleError, ValueError):
    """Shapes that do not fit: an impossible broadcast, a wrong axis, a ragged list.

    >>> import treadle.ndarray as nd
    >>> nd.zeros(2) + nd.zeros(3)
    Traceback (most recent call last):
    treadle.ndarray.errors.ShapeError: ...
    """


class DTypeError(TreadleError, TypeError):
    """A dtype that the operation is not defined on, or data that is no number.

    >>> import treadle.ndarray as nd
    >>> nd.asarray(["a"])
    Traceback (most recent call last):
    treadle.ndarray.errors.DTypeError: ...
    """


class DeviceError(TreadleError, ValueError):
    """Arrays of different devices in one operation, or a device that does not exist here.

    >>> import treadle.ndarray as nd
    >>> nd.zeros(2) + nd.zeros(2, device="numpy")
    Traceback (most recent call last):
    treadle.ndarray.errors.DeviceError: ...
    """


class IndexingError(TreadleError, IndexError):
    """An index out of bounds, too many indices, or an index of a wrong kind.

    >>> import treadle.ndarray as nd
    >>> nd.zeros(2)[5]
    Traceback (most recent call last):
    treadle.ndarray.errors.IndexingError: ...
    """


class BufferReadOnlyError(TreadleError, ValueError):
    """A write into memory that is read-only (a broadcast view, or foreign memory).

    >>> import treadle.ndarray as nd
    >>> nd.broadcast_to(nd.zeros(1), (3,))[0] = 1
    Traceback (most recent call last):
    treadle.ndarray.errors.BufferReadOnlyError: ...
    """


class BackendError(TreadleError, RuntimeError):
    """A backend that is missing, failed to load, or reported a failure of its device.

    >>> import treadle.ndarray as nd
    >>> issubclass(nd.BackendError, RuntimeError)
    True
    """


class LinearAlgebraError(TreadleError, ValueError):
    """A matrix that a decomposition does not exist for: singular, not positive definite, or without convergence.

    >>> import treadle.ndarray as nd
    >>> nd.linalg.inv(nd.zeros((2, 2)))
    Traceback (most recent call last):
    treadle.ndarray.errors.LinearAlgebraError: ...
    """


class AxisError(ShapeError, IndexError):
    """An axis that the array does not have.

    >>> import treadle.ndarray as nd
    >>> nd.sum(nd.zeros(2), axis=1)
    Traceback (most recent call last):
    treadle.ndarray.errors.AxisError: ...
    """


class FileFormatError(TreadleError, ValueError):
    """A file that is damaged, cut short, or not of the format it was taken for.

    >>> import treadle.ndarray as nd
    >>> import io
    >>> nd.load(io.BytesIO(b"not an array"))
    Traceback (most recent call last):
    treadle.ndarray.errors.FileFormatError: ...
    """


class ArgumentError(TreadleError, TypeError, ValueError):
    """An argument of a wrong kind, or a value that means nothing here.

    >>> import treadle.ndarray as nd
    >>> nd.eye("2")
    Traceback (most recent call last):
    treadle.ndarray.errors.ArgumentError: ...
    """


class RangeError(TreadleError, OverflowError):
    """A number beyond what its dtype, or any memory, can hold.

    >>> import treadle.ndarray as nd
    >>> nd.full(2, 300, dtype="uint8")
    Traceback (most recent call last):
    treadle.ndarray.errors.RangeError: ...
    """
