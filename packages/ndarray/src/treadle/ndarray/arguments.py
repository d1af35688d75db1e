"""What was wrong with a call that failed: the argument that does not fit its annotation, or the function's own error.

Public functions are wrapped (``_edge.pyx``). A valid call passes untouched. One that raised is looked at here:

- what stands for an array and is none (a list, a NumPy array, a tensor) is converted by ``asarray``, an integer of
  NumPy's becomes an int, and the function is called again;
- an argument of another kind than its annotation says raises :class:`ArgumentError` with its name, value and way out;
- treadle's own errors go on, with the name of the function that was called in front;
- ValueError and OverflowError of Python and NumPy become treadle's.

Anything else is a fault of the function itself and is raised as it is.
"""

import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, SupportsIndex

from treadle.ndarray._array import NDArray
from treadle.ndarray._types import Device, DType
from treadle.ndarray.creation import Shape, asarray
from treadle.ndarray.errors import ArgumentError, RangeError, TreadleError

__all__ = ["explained"]

IN_PLACE = {"adam_step", "put_along_axis", "sgd_step"}
"""Functions that write into an argument: a converted list would take what was written with it."""

_UNANNOTATED: dict[str, dict[str, Any]] = {
    "reshape": {"x": NDArray, "shape": Shape},
    "result_dtype": {"x": DType, "y": DType},
}
"""Arguments of compiled functions, which carry no annotations."""

_WORDS: dict[Any, str] = {
    NDArray: "an array (convert it with asarray)",
    SupportsIndex: "an int",
    int: "an int",
    float: "a real number",
    complex: "a number",
    str: "a string",
    DType: "a dtype",
    Device: "a device",
    type(None): "None",
}


def explained(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], error: Exception) -> Any:
    """The result of the call with converted operands; else raises what the user is to see."""
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        raise error from None
    hints = _hints(function)
    op = function.__name__
    try:
        if not isinstance(error, TreadleError) and op not in IN_PLACE and _convert(bound, hints):
            return function(*bound.args, **bound.kwargs)
    except Exception as again:
        error = again
    if isinstance(error, TreadleError):
        raise _prefixed(error, op) from None
    _check(bound, hints, op)
    if isinstance(error, OverflowError):
        raise RangeError(_named(error, op)) from error
    if isinstance(error, ValueError):
        raise ArgumentError(_named(error, op)) from error
    raise error


@lru_cache(maxsize=512)
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotation of each parameter; of ``*name`` that of each argument."""
    return _UNANNOTATED.get(function.__name__) or typing.get_type_hints(function)


def _named(error: Exception, op: str) -> str:
    text = str(error)
    return text if text.startswith(op) else f"{op}: {text}"


def _prefixed(error: TreadleError, op: str) -> TreadleError:
    error.args = (_named(error, op), *error.args[1:])
    return error


def _each(bound: inspect.BoundArguments, hints: dict[str, Any]) -> Iterable[tuple[str, Any, Any]]:
    """(name, value, annotation) of the arguments, those of ``*name`` one by one."""
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((f"{name}[{at}]", each, hints.get(name, Any)) for at, each in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            yield from ((key, each, hints.get(name, Any)) for key, each in value.items())
        else:
            yield name, value, hints.get(name, Any)


def _convert(bound: inspect.BoundArguments, hints: dict[str, Any]) -> bool:
    """Make arrays of what stands for one; whether there was any."""
    arrays = [value for _, value, _ in _each(bound, hints) if isinstance(value, NDArray)]
    device = arrays[0].device if arrays else None
    changed = False
    for name, value in bound.arguments.items():
        hint, several = hints.get(name, Any), isinstance(value, list | tuple)
        if _is_sequence_of_arrays(hint, bound.signature.parameters[name].kind) and several:
            made = [each if isinstance(each, NDArray) else asarray(each, device=device) for each in value]
            changed = changed or any(new is not old for new, old in zip(made, value, strict=True))
            bound.arguments[name] = type(value)(made) if type(value) in (list, tuple) else made
        elif _wants_array(hint) and not _fits(value, hint):
            bound.arguments[name] = asarray(value, device=device)
            changed = True
        elif not _wants_array(hint) and type(value) is not int and _is_number_of_numpy(value) and _is_index(value):
            bound.arguments[name] = operator.index(value)
            changed = True
    return changed


def _is_number_of_numpy(value: Any) -> bool:
    return getattr(value, "shape", None) == () and hasattr(value, "item")


def _wants_array(hint: Any) -> bool:
    return hint is NDArray or NDArray in typing.get_args(hint)


def _is_sequence_of_arrays(hint: Any, kind: Any) -> bool:
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return hint is NDArray
    return typing.get_origin(hint) is Sequence and typing.get_args(hint) == (NDArray,)


def _check(bound: inspect.BoundArguments, hints: dict[str, Any], op: str) -> None:
    for name, value, hint in _each(bound, hints):
        if not _fits(value, hint):
            shown = repr(value)
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            raise ArgumentError(f"{op}: {name} is {shown} ({type(value).__name__}); pass {_described(hint)}") from None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that an annotation means."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in parts)
    if origin is typing.Literal:
        return any(value is each or (isinstance(value, type(each)) and value == each) for each in parts)
    if origin in (Sequence, list):
        return isinstance(value, list | tuple | range) and all(_fits(each, parts[0]) for each in value)
    if origin is tuple:
        kinds = parts[:1] * len(value) if isinstance(value, tuple | list) and parts[-1:] == (...,) else parts
        if not isinstance(value, tuple | list) or len(value) != len(kinds):
            return False
        return all(_fits(each, kind) for each, kind in zip(value, kinds, strict=True))
    if hint in (int, SupportsIndex):
        return _is_index(value)
    if hint in (float, complex):
        value = value.item() if _is_number_of_numpy(value) else value
        return isinstance(value, (int, float) if hint is float else (int, float, complex))
    if hint in (Any, bool) or not isinstance(hint, type):
        return True
    return isinstance(value, hint)


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except Exception:
        return False
    return True


def _described(hint: Any) -> str:
    """What to pass, in words."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        words = list(dict.fromkeys(_described(each) for each in parts))
        return " or ".join(words)
    if origin is typing.Literal:
        return " or ".join(repr(each) for each in parts)
    if origin is tuple and parts[-1:] != (...,):
        return f"{len(parts)} of them: " + ", ".join(_described(each) for each in parts)
    if origin in (Sequence, list, tuple):
        return f"a sequence, each {_described(parts[0])}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
