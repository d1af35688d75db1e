"""Whether whole numbers name what there is: rows of a table, classes."""

from treadle.ndarray._array import NDArray
from treadle.ndarray.errors import IndexingError
from treadle.ndarray.manipulation import reshape
from treadle.ndarray.reductions import any as any_of

__all__ = ["check_range"]


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


def _first_outside(numbers: NDArray, stop: int, ignored: int | None) -> int | None:
    outside = (numbers < 0) | (numbers >= stop)
    if ignored is not None:
        outside &= numbers != ignored
    if not numbers.size or not bool(any_of(outside)):
        return None
    found: int = reshape(numbers, (-1,))[reshape(outside, (-1,))][0].item()
    return found
