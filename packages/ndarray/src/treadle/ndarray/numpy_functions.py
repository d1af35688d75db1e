"""NumPy's functions called on arrays: they compute with NumPy on the same memory and give what NumPy gives.

Source: NumPy Enhancement Proposal 18, "A dispatch mechanism for NumPy's high level array functions".
"""

from collections.abc import Callable, Mapping
from typing import Any

from treadle.ndarray._array import NDArray

__all__ = ["call"]

_WRITERS = frozenset(["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"])
"""Functions that write their first argument."""


def _for_numpy(value: Any) -> Any:
    if isinstance(value, NDArray):
        if not (value.device.is_cpu or value.device.type == "numpy"):
            raise TypeError(f"an array on {value.device} is not converted to NumPy implicitly; call its numpy()")
        return value.numpy()
    if type(value) in (list, tuple):
        return type(value)(_for_numpy(each) for each in value)
    if type(value) is dict:
        return {key: _for_numpy(each) for key, each in value.items()}
    return value


def call(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """What ``NDArray.__array_function__`` does. Arrays that are written count it as any write; ``out`` is returned."""
    result = function(*_for_numpy(arguments), **_for_numpy(dict(keywords)))
    out = keywords.get("out")
    written = arguments[0] if function.__name__ in _WRITERS and arguments else out
    if isinstance(written, NDArray):
        written.buffer.version += 1
    return out if isinstance(out, NDArray) else result
