"""State dicts: what a module's is, and how one is compared and loaded."""

from bisect import bisect_left
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import accumulate
from typing import Any, NamedTuple

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn._tree import Branch, join, members, walk
from treadle.nn.errors import StateDictError
from treadle.nn.parameter import Parameter

__all__ = ["IncompatibleKeys", "load", "tensors_of"]

_LISTED = 20
_COUNTER = "num_batches_tracked"
"""The buffer that weights of other tools, and of PyTorch before 0.4.1, lack; without it the counter stays."""


class IncompatibleKeys(NamedTuple):
    """The names that ``load_state_dict(strict=False)`` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def tensors_of(branch: Branch) -> dict[str, Tensor]:
    """Parameters and persistent buffers by dotted name; a shared one under each of its names."""
    tensors: dict[str, Tensor] = {}
    for place, module in walk(branch):
        own = [(name, member) for name, member in members(module) if isinstance(member, Parameter)]
        own += [(name, getattr(module, name)) for name, persistent in module._buffer_names.items() if persistent]
        for name, tensor in own:
            if tensor is None:
                continue
            key = join(place, name)
            if key in tensors:
                raise ValueError(f"two tensors of the module have the name {key!r}; rename an attribute or a dict key")
            tensors[key] = tensor
    return tensors


def load(
    owner: str, targets: dict[str, Tensor], given: Mapping[str, Any], strict: bool, assign: bool = False
) -> IncompatibleKeys:
    """Copy ``given`` into ``targets``; compare everything first, so that an error leaves all as it was."""
    if not isinstance(given, Mapping):
        raise TypeError(f"load_state_dict takes a mapping of names to tensors, not {type(given).__name__}")
    missing = [name for name in targets if name not in given and not name.endswith(_COUNTER)]
    unexpected = [name for name in given if name not in targets]
    values: dict[str, nd.NDArray] = {}
    misfits = []
    for name, target in targets.items():
        if name not in given:
            continue
        try:
            value = array_of(given[name])
        except nd.TreadleError as error:
            misfits.append(f"{name}: {error}")
            continue
        if value.shape != target.shape:
            misfits.append(f"{name}: the module has {target.shape}, the state dict {value.shape}")
        elif value.dtype.kind == "c" != target.dtype.kind:
            misfits.append(f"{name}: the module has {target.dtype.name}, the state dict {value.dtype.name}")
        elif assign:
            values[name] = value
        elif target.data.readonly:
            misfits.append(f"{name}: the module's memory is read-only")
        else:
            values[name] = value.astype(target.dtype, copy=False).to_device(target.device)
    if misfits or (strict and (missing or unexpected)):
        lines = [f"the state dict does not fit {owner}; nothing was loaded"]
        if strict:
            lines += _listed("missing", [f"{name} {targets[name].shape}{_hint(name, unexpected)}" for name in missing])
            lines += _listed("unexpected", [f"{name} {_described(given[name])}" for name in unexpected])
        lines += _listed("does not fit", misfits)
        raise StateDictError("\n".join(lines))
    if assign:
        for name, value in values.items():
            targets[name].data = value
        return IncompatibleKeys(missing, unexpected)
    occupied = _Spans([target.data for target in targets.values()])
    for name, value in values.items():  # all before the first is written
        if value.data_pointer != targets[name].data.data_pointer and occupied.overlap(value):
            values[name] = value.copy()
    for name, value in values.items():
        targets[name].data[...] = value
    return IncompatibleKeys(missing, unexpected)


class _Spans:
    """The memory that some arrays lie in."""

    def __init__(self, arrays: list[nd.NDArray]) -> None:
        spans = sorted(_span(each) for each in arrays)
        self.starts = [first for first, _ in spans]
        self.ends = list(accumulate((last for _, last in spans), max))

    def overlap(self, array: nd.NDArray) -> bool:
        """Whether any of them lies where ``array`` does."""
        first, last = _span(array)
        before = bisect_left(self.starts, last)
        return before > 0 and self.ends[before - 1] > first


def _span(array: nd.NDArray) -> tuple[int, int]:
    """The addresses from an array's first byte to behind its last."""
    if array.size == 0:
        return array.data_pointer, array.data_pointer
    reaches = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    first = array.data_pointer + sum(reach for reach in reaches if reach < 0)
    return first, array.data_pointer + sum(reach for reach in reaches if reach > 0) + array.itemsize


def array_of(value: Any) -> nd.NDArray:
    """The array of a Tensor, or of anything that ``asarray`` takes."""
    if isinstance(value, Tensor):
        return value.data
    return value if isinstance(value, nd.NDArray) else nd.asarray(value, device="cpu")


def _described(value: Any) -> str:
    return str(tuple(value.shape)) if hasattr(value, "shape") else f"({type(value).__name__})"


def _hint(name: str, candidates: list[Any]) -> str:
    close = get_close_matches(name, [each for each in candidates if isinstance(each, str)], n=1, cutoff=0.8)
    return f" (the state dict has {close[0]})" if close else ""


def _listed(title: str, entries: list[str]) -> list[str]:
    more = [f"  ... and {len(entries) - _LISTED} more"] if len(entries) > _LISTED else []
    return [f"{title}:", *(f"  {entry}" for entry in entries[:_LISTED]), *more] if entries else []
