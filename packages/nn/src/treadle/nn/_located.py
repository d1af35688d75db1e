"""Errors that say in which module of a model they came up."""

from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.nn._tree import members

if TYPE_CHECKING:
    from treadle.nn.module import Module

__all__ = ["is_of_no_tensor", "locate"]


def is_of_no_tensor(error: Exception) -> bool:
    """Whether an attribute of tensors was asked for on a list, an array or a number: of an argument, that is."""
    kind = type(getattr(error, "obj", None))
    return kind in (list, tuple, dict, str, int, float, bool, nd.NDArray) or kind.__module__ == "numpy"


def locate(error: Any, module: "Module") -> None:
    """Note the place of an error that leaves ``module``: its path from the outermost module that was called.

    Every module on the way out calls this, the innermost first; the one note grows.
    """
    trail: list[Any] | None = getattr(error, "module_trail", None)
    if trail is None:
        kind = type(module).__name__
        error.module_trail = [module, "", f"{kind}({_one_line(module.extra_repr())})"]
        _note(error, "", error.module_trail[2])
        return
    below, path, shown = trail
    if below is module:
        return
    name = next((name for name, member in members(module) if member is below), f"<{type(below).__name__}>")
    path = f"{name}.{path}" if path else name
    trail[0], trail[1] = module, path
    _note(error, path, shown)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _note(error: Any, path: str, shown: str) -> None:
    notes = getattr(error, "__notes__", [])
    error.__notes__ = [each for each in notes if not each.startswith("in module ")]
    error.add_note(f"in module {path}: {shown}" if path else f"in module {shown}")
