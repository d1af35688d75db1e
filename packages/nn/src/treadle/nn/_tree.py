"""How a module's parts are found: through attributes and the lists, tuples and dicts that attributes hold.

Nothing is registered. Every question walks the attributes again, so what a list holds now is what is found, and a
module may be changed in any way Python allows. Cycles (a module that knows its parent) end where the path meets
itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from treadle.nn.parameter import Parameter

__all__ = ["Branch", "children_first", "join", "members", "put", "walk"]


class Branch:
    """What the walk descends into: the base of every module."""

    def _parts(self) -> Iterable[tuple[str, Any]]:
        """The named values that the walk looks through; containers name theirs differently."""
        return vars(self).items()


def join(prefix: str, name: str) -> str:
    """``prefix.name``, or ``name`` alone under the root."""
    return f"{prefix}.{name}" if prefix else name


def members(branch: Branch) -> Iterator[tuple[str, Any]]:
    """The modules and parameters that belong to ``branch`` itself, with their dotted names, in attribute order."""
    for name, value in branch._parts():
        yield from _inside(name, value, ())


def put(branch: Branch, target: str, value: Branch) -> None:
    """Set ``value`` at the dotted name ``target``. AttributeError if there is no way to it, TypeError in a tuple."""
    *way, last = target.split(".")
    holder: Any = branch
    for key in way:
        parts = dict(_named(holder))
        if not isinstance(parts.get(key), (Branch, list, tuple, dict)):
            raise AttributeError(f"there is no module {target!r}: {key!r} is none, and holds none")
        holder = parts[key]
    if isinstance(holder, tuple):
        raise TypeError(f"{target!r} stands in a tuple, which cannot be changed; use a list")
    if isinstance(holder, list) and last not in dict(_named(holder)):
        raise AttributeError(f"there is no module {target!r}: the list has {len(holder)} elements")
    if isinstance(holder, list):
        holder[int(last)] = value
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        setattr(holder, last, value)


def _named(holder: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(holder, Branch):
        return holder._parts()
    pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
    return ((str(key), value) for key, value in pairs)


def _inside(name: str, value: Any, containers: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (Branch, Parameter)):
        yield name, value
    elif isinstance(value, (list, tuple, dict)):
        if id(value) in containers:
            return
        path = (*containers, id(value))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, (Branch, Parameter, list, tuple, dict, set, frozenset)):
                yield from _inside(f"{name}.{key}", item, path)
    elif isinstance(value, (set, frozenset)) and any(isinstance(item, (Branch, Parameter)) for item in value):
        raise TypeError(
            f"attribute {name!r} keeps modules or parameters in a {type(value).__name__}, which has no order to name "
            "them by; use a list, a tuple or a dict"
        )


def walk(
    branch: Branch, prefix: str = "", seen: set[int] | None = None, path: tuple[int, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """``branch`` and every module below it, parents first, with dotted names.

    A shared module comes at each of its places; with ``seen`` given only at the first, and not at all if its id is in
    ``seen``, which grows.
    """
    if id(branch) in path:
        return
    if seen is not None:
        if id(branch) in seen:
            return
        seen.add(id(branch))
    yield prefix, branch
    path = (*path, id(branch))
    for name, member in members(branch):
        if isinstance(member, Branch):
            yield from walk(member, join(prefix, name), seen, path)


def children_first(branch: Branch, seen: set[int]) -> Iterator[Any]:
    """``branch`` and every module below it, each once and after those below it; ``seen`` grows."""
    if id(branch) in seen:
        return
    seen.add(id(branch))
    for _, member in members(branch):
        if isinstance(member, Branch):
            yield from children_first(member, seen)
    yield branch
