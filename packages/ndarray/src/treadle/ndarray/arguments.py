"""What was wrong with a call that failed: the argument that does not fit its annotation, or the function's own error.

Public functions are wrapped (``_edge.pyx``). A valid call passes untouched. One that raised is looked at here:

- what stands for an array and is none (a list, a NumPy array, a tensor) is converted by ``asarray``, a 0-d array or
  NumPy's scalar that stands for a number becomes one, and the function is called again;
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


def explained(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], error: Exception
) -> tuple[bool, Any]:
    """(False, the result of the call with converted operands), or (True, the error that the user is to see).

    It raises nothing and forgets the error it tells, so that no frame in an error's traceback, nor one that called such
    a frame, holds that error: the cycle would keep the arguments.
    """
    signature = inspect.signature(function)
    typed: Exception | None = None
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        if type(error) is TypeError:
            error.args = (f"{error}; call it as {function.__name__}{_bare(signature)}",)
        return True, error
    hints, op = _hints(function), function.__name__
    try:
        if op not in IN_PLACE and _convert(bound, hints):
            return False, function(*bound.args, **bound.kwargs)
    except Exception as again:
        error = again.with_traceback(again.__traceback__ and again.__traceback__.tb_next)
    try:
        if isinstance(error, TreadleError):
            error.args = (_named(error, op), *error.args[1:])
            return True, error
        typed = _misfit(bound, hints, op)
        if typed is None and isinstance(error, OverflowError | ValueError):
            typed = (RangeError if isinstance(error, OverflowError) else ArgumentError)(_named(error, op))
            typed.__cause__ = error
        return True, typed or error
    finally:
        del error, typed


def _bare(signature: inspect.Signature) -> inspect.Signature:
    """A signature without annotations, and without the object that a method belongs to."""
    kept = [each.replace(annotation=each.empty) for name, each in signature.parameters.items() if name != "self"]
    return signature.replace(parameters=kept, return_annotation=signature.empty)


@lru_cache(maxsize=512)
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotation of each parameter; of ``*name`` that of each argument."""
    return typing.get_type_hints(function) or _UNANNOTATED.get(function.__name__, {})


def _named(error: Exception, op: str) -> str:
    text = str(error)
    known = text.startswith(op) or text.lower().startswith(op.replace("_", "") + "(")  # of an op: Sum(axis=3)
    return text if known else f"{op}: {text}"


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
        hint, kind = hints.get(name, Any), bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            parts = tuple(value.values())
            arrays_of = _all_converted(parts, hint, device)
            made: Any = value if arrays_of is parts else dict(zip(value, arrays_of, strict=True))
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            made = _all_converted(value, hint, device)
        else:
            made = _converted(value, hint, device)
        changed = changed or made is not value
        bound.arguments[name] = made
    return changed


def _converted(value: Any, hint: Any, device: Device | None) -> Any:
    """The array, number or list of arrays that a value stands for where the annotation asks for one; else the value."""
    if typing.get_origin(hint) is Sequence and typing.get_args(hint) == (NDArray,) and isinstance(value, list | tuple):
        return _all_converted(value, NDArray, device)
    if _wants_array(hint):
        return value if _fits(value, hint) else asarray(value, device=device)
    if _takes(hint, value):
        return value
    if _is_number_of_array(value):
        return value.item()
    return operator.index(value) if _is_foreign_integer(value, hint) else value


def _takes(hint: Any, value: Any) -> bool:
    """Whether the annotation names the value's own class, as that of a tensor does, or anything."""
    return hint is Any or any(each in type(value).__mro__ for each in (hint, *typing.get_args(hint)))


def _all_converted(values: Any, hint: Any, device: Device | None) -> Any:
    """Values of one annotation converted, in a list or tuple; the same object where none had to be."""
    made = [_converted(each, hint, device) for each in values]
    if all(new is old for new, old in zip(made, values, strict=True)):
        return values
    return tuple(made) if isinstance(values, tuple) else made


def _wants_array(hint: Any) -> bool:
    return hint is NDArray or NDArray in typing.get_args(hint)


def _is_number_of_array(value: Any) -> bool:
    """A 0-d array, or NumPy's scalar; no masked array, and no tensor whose gradient would be lost with it."""
    if getattr(value, "shape", None) != () or not hasattr(value, "item") or hasattr(value, "filled"):
        return False
    return not getattr(value, "requires_grad", False)


def _is_foreign_integer(value: Any, hint: Any) -> bool:
    """Whether a value that is no int has ``__index__``, where the annotation names integers or sequences of them."""
    integers = {hint, *typing.get_args(hint)} & {int, SupportsIndex}
    return bool(integers) and not isinstance(value, int | NDArray) and _is_index(value)


def _misfit(bound: inspect.BoundArguments, hints: dict[str, Any], op: str) -> ArgumentError | None:
    """The error about the first argument that is not of the kind its annotation means."""
    for name, value, hint in _each(bound, hints):
        if not _fits(value, hint):
            shown = repr(value)
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            return ArgumentError(f"{op}: {name} is {shown} ({type(value).__name__}); pass {_described(hint)}")
    return None


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
        value = value.item() if _is_number_of_array(value) else value
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
