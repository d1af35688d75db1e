"""What the elements of arguments must be: whole numbers that name what there is (rows of a table, classes), shares."""

from treadle.ndarray._array import NDArray
from treadle.ndarray.errors import IndexingError
from treadle.ndarray.manipulation import reshape
from treadle.ndarray.reductions import any as any_of

__all__ = ["check_none", "check_range"]


def check_range(numbers: NDArray, stop: int, text: str, *, ignored: int | None = None) -> None:
    """Raises IndexingError unless all integers of an array are in ``range(stop)``, or are ``ignored``.

    In ``text`` a ``{}`` stands for a number that is not. Where the device captures a graph, nothing is known yet: a
    later replay or synchronization raises then.

    >>> import treadle.ndarray as nd
    >>> check_range(nd.asarray([0, 2]), 2, "there is no row {}")
    Traceback (most recent call last):
        ...
    treadle.ndarray.errors.IndexingError: there is no row 2
    """
    check = getattr(numbers.device.backend, "check_range", None)
    wrong = _first_outside(numbers, stop, ignored) if check is None else check(numbers, stop, ignored, text)
    if wrong is not None:
        raise IndexingError(text.replace("{}", str(wrong)))


def check_none(wrong: NDArray, error: Exception) -> None:
    """Raises the error where an array of bool has a True.

    Where the device captures a graph, a later replay or synchronization raises IndexingError with the error's text.

    >>> import treadle.ndarray as nd
    >>> check_none(nd.asarray([1.0, -2.0]) < 0.0, ValueError("a width is negative"))
    Traceback (most recent call last):
        ...
    ValueError: a width is negative
    """
    check = getattr(wrong.device.backend, "check_range", None)
    if bool(any_of(wrong)) if check is None else check(wrong, 1, None, str(error)) is not None:
        raise error


def _first_outside(numbers: NDArray, stop: int, ignored: int | None) -> int | None:
    outside = (numbers < 0) | (numbers >= stop)
    if ignored is not None:
        outside &= numbers != ignored
    if not numbers.size or not bool(any_of(outside)):
        return None
    found: int = reshape(numbers, (-1,))[reshape(outside, (-1,))][0].item()
    return found
