"""Modules called with other parameters than their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from treadle.autograd import Tensor
from treadle.nn.errors import StateDictError
from treadle.nn.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with the tensors of a dict in place of its parameters and buffers of those names.

    Gradients go to the tensors that were given, which may be results themselves; afterwards the module has its own
    again. ``args`` may be one value. StateDictError for a name that the module has not, and with ``strict`` also for
    one that is missing.

    >>> import treadle.nn as nn
    >>> layer = nn.Linear(1, 1, bias=False)
    >>> functional_call(layer, {"weight": Tensor([[3.0]])}, Tensor([[2.0]])).tolist()
    [[6.0]]
    """
    given = dict(parameter_and_buffer_dicts)
    with _replaced(module, given, strict):
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


@contextmanager
def _replaced(module: Module, given: Mapping[str, Tensor], strict: bool) -> Iterator[None]:
    places = _places(module)
    unknown = [name for name in given if name not in places]
    covered = {id(places[name]) for name in given if name in places}  # a shared tensor by any of its names
    missing = [name for name, held in places.items() if id(held) not in covered]
    if unknown or (strict and missing):
        what = f"has no {', '.join(unknown)}" if unknown else f"also has {', '.join(missing)}"
        raise StateDictError(f"functional_call: {type(module).__name__} {what}")
    own: list[tuple[Any, Any, Any]] = []
    try:
        for name, tensor in given.items():
            if not places[name]:
                raise StateDictError(f"functional_call: {name} stands in a tuple, which cannot be changed; use a list")
            for holder, key in places[name]:
                own.append((holder, key, holder[key]))
                holder[key] = tensor
        yield
    finally:
        for holder, key, value in reversed(own):
            holder[key] = value


def _places(module: Module) -> dict[str, list[tuple[Any, Any]]]:
    """Where each parameter and buffer stands: the dicts and lists that hold it, all of them where it is shared."""
    held: dict[int, list[tuple[Any, Any]]] = {}
    for each in module.modules():
        _look_into(vars(each), held, set())
    names: dict[str, list[tuple[Any, Any]]] = {}
    for name, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]:
        names[name] = held.get(id(tensor), [])
    return names


def _look_into(holder: Any, held: dict[int, list[tuple[Any, Any]]], seen: set[int]) -> None:
    if id(holder) in seen:
        return
    seen.add(id(holder))
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, Tensor) and not isinstance(holder, tuple):
            held.setdefault(id(value), []).append((holder, key))
        elif isinstance(value, (dict, list, tuple)):
            _look_into(value, held, seen)
