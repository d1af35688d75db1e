"""A clear error for lists and arrays where functions ask their arguments for what only tensors have."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import treadle.ndarray as nd
from treadle.nn._located import is_of_no_tensor

__all__ = ["guarded"]

Function = TypeVar("Function", bound=Callable[..., Any])


def guarded(function: Function, module: str) -> Function:
    """``function`` as one of ``module``, with a DTypeError where an argument is a list or an array and no Tensor.

    It costs nothing but the call: the arguments are looked at once something went wrong with one of them.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            wrong = next((each for each in (*args, *kwargs.values()) if _is_blamed(each, error)), None)
            if wrong is None or isinstance(error, nd.TreadleError):
                raise
            what = f"it got a {type(wrong).__name__} where a Tensor is needed; write Tensor(...)"
            raise nd.DTypeError(f"{function.__name__}: {what}") from error

    call.__module__ = module
    return call  # type: ignore[return-value]


def _is_blamed(value: Any, error: Exception) -> bool:
    """An array; or a list, which may also be a row of sizes, if the error is of what a list lacks."""
    kind = type(value)
    if kind is list:
        return is_of_no_tensor(error) or any(each in str(error) for each in ("operand", "sequence"))
    return kind is nd.NDArray or (kind.__module__, kind.__name__) == ("numpy", "ndarray")
