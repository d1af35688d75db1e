"""A clear error for lists and arrays where functions ask their arguments for what only tensors have."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn._located import is_of_no_tensor

__all__ = ["guarded", "telling"]

Function = TypeVar("Function", bound=Callable[..., Any])


def guarded(function: Function) -> Function:
    """``function`` with a DTypeError where an argument is a list, an array or something else and no Tensor.

    In its module the guarded one takes the function's place, so that it can be pickled by its name.
    """
    call = telling(function, function.__name__)
    setattr(sys.modules[function.__module__], function.__name__, call)
    return call


def telling(function: Function, name: str = "") -> Function:
    """``function`` with that DTypeError, which says ``name``, or the class of a method's object.

    Arguments are looked at once something went wrong.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            wrong = [each for each in (*args, *kwargs.values()) if _is_blamed(each, error)]
            if not wrong or (isinstance(error, nd.TreadleError) and not isinstance(error, nd.ArgumentError)):
                raise
            what = f"it got a {type(wrong[0]).__name__} where a Tensor is needed; write Tensor(...)"
            raise nd.DTypeError(f"{name or type(args[0]).__name__}: {what}") from error

    return call  # type: ignore[return-value]


def _is_blamed(value: Any, error: Exception) -> bool:
    """An array; what the error found without an attribute of tensors; or a list, which may also be a row of sizes, if
    the error is of what a list lacks."""
    kind = type(value)
    if isinstance(error, AttributeError) and error.obj is value and not isinstance(value, Tensor):
        return value is not None or error.name is not None
    if kind is list:
        return is_of_no_tensor(error) or any(each in str(error) for each in ("operand", "sequence", "pass Tensor"))
    return kind is nd.NDArray or (kind.__module__, kind.__name__) == ("numpy", "ndarray")
