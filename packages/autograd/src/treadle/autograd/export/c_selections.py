"""Gathering and scattering: an index of slices, integers and integer arrays, as loops over what it selects.

An element of an index array outside of its axis is a fault: the function then reads element 0 instead and returns 1 in
the end, so that nothing outside of an array is ever touched.
"""

from dataclasses import dataclass, field
from typing import Any

from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_expressions import C_TYPES
from treadle.autograd.export.c_kernels import Kernel, Target, finished, output
from treadle.autograd.export.c_text import Writer, element, index_text, name_of, reads
from treadle.autograd.export.expressions import Access, Expression, Literal, Plan, access
from treadle.autograd.export.program import Call, Value
from treadle.ndarray import NDArray, broadcast_shapes

__all__ = ["KERNELS", "Selection", "select"]

FAULT = "fault = 1;"


@dataclass(slots=True)
class Pick:
    """An axis that an index array picks from: its stride and length, and the array over the selection's axes."""

    stride: int
    length: int
    array: Access | Literal


@dataclass(slots=True)
class Selection:
    """What an index selects: the shape, and each element's place by strides over it and by picks."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    picks: list[Pick] = field(default_factory=list)

    def place(self, writer: Writer, names: list[str]) -> str:
        """Write what finds the place of an element, with its picks' checks; the text of its index."""
        text = index_text(self.offset, self.strides, names)
        for number, pick in enumerate(self.picks):
            name = f"p{number}"
            kind = "int64_t" if pick.array.dtype.name != "uint64" else "uint64_t"
            source = element(pick.array, names) if isinstance(pick.array, Access) else writer.text(pick.array, names)
            if pick.array.dtype.kind == "u":
                writer.line(f"{kind} {name} = {source};")
                writer.line(f"if ({name} >= {pick.length}) {{ {name} = 0; {FAULT} }}")
            else:
                writer.line(f"int64_t {name} = {source};")
                writer.line(f"if ({name} < 0) {name} += {pick.length};")
                writer.line(f"if ({name} < 0 || {name} >= {pick.length}) {{ {name} = 0; {FAULT} }}")
            text += f" + (int){name} * {pick.stride}"
        return text


def select(value: Value, index: Any, call: Call) -> Selection:
    """The selection of ``value[index]``, after NumPy's rules: index arrays broadcast together, and their axes stand
    where the first of them stood if they are neighbours, else in front."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [each.item() if isinstance(each, NDArray) and each.ndim == 0 else each for each in items]
    taken = sum(each is not None and each is not Ellipsis for each in items)
    if not any(each is Ellipsis for each in items):
        items.append(Ellipsis)
    at = next(number for number, each in enumerate(items) if each is Ellipsis)
    items[at : at + 1] = [slice(None)] * (len(value.shape) - taken)
    arrays = [each for each in items if isinstance(each, Value)]
    if any(each.dtype.kind == "b" for each in arrays):
        raise ExportError(f"export to C: {call.origin.label}: a boolean index selects a number of elements that varies")
    together = broadcast_shapes(*[each.shape for each in arrays]) if arrays else ()
    offset, axis = value.offset, 0
    before: list[tuple[int, int]] = []
    behind: list[tuple[int, int]] = []
    picked: list[tuple[int, int, Value]] = []
    places: list[int] = []
    for number, item in enumerate(items):
        if item is None:
            (behind if picked else before).append((1, 0))
            continue
        length, step = value.shape[axis], value.strides[axis]
        axis += 1
        if isinstance(item, slice):
            start, stop, by = item.indices(length)
            (behind if picked else before).append((len(range(start, stop, by)), step * by))
            offset += start * step if range(start, stop, by) else 0
        elif isinstance(item, Value):
            picked.append((step, length, item))
            places.append(number)
        else:
            offset += (int(item) % length) * step
            if arrays:
                places.append(number)
    neighbours = not places or places[-1] - places[0] == len(places) - 1
    if not neighbours:
        before, behind = [], [*before, *behind]
    shape = (*(each for each, _ in before), *together, *(each for each, _ in behind))
    strides = (*(each for _, each in before), *(0,) * len(together), *(each for _, each in behind))
    picks = []
    for step, length, array in picked:
        found = access(array, together)
        if isinstance(found, Access):
            found.strides = (*(0,) * len(before), *found.strides, *(0,) * len(behind))
        picks.append(Pick(step, length, found))
    return Selection(shape, offset, strides, picks)


def along_axis(value: Value, indices: Value, axis: int) -> Selection:
    """The selection of take_along_axis."""
    along = axis % len(value.shape)
    whole = broadcast_shapes(
        tuple(1 if at == along else each for at, each in enumerate(value.shape)),
        tuple(1 if at == along else each for at, each in enumerate(indices.shape)),
    )
    shape = tuple(indices.shape[along] if at == along else each for at, each in enumerate(whole))
    strides = tuple(0 if at == along or value.shape[at] == 1 else step for at, step in enumerate(value.strides))
    return Selection(
        shape, value.offset, strides, [Pick(value.strides[along], value.shape[along], access(indices, shape))]
    )


def _gathered(call: Call, value: Value, chosen: Selection) -> Kernel:
    """A kernel that copies a selection out."""
    written = output(call.results[0])
    writer = Writer()
    source = access(value, value.shape)
    names = [f"i{at}" if length != 1 else "0" for at, length in enumerate(chosen.shape)]
    with writer.loops(names, chosen.shape):
        place = chosen.place(writer, names)
        text = writer.text(source, names) if isinstance(source, Literal) else f"{name_of(value)}[{place}]"
        writer.line(f"{element(written, names)} = {text};")
    return finished(call, writer, [*reads(source), *_arrays(chosen)])


def _arrays(chosen: Selection) -> list[Value]:
    return [pick.array.value for pick in chosen.picks if isinstance(pick.array, Access)]


def _get_item(call: Call, planned: Plan, target: Target) -> Kernel:
    value, index = call.arguments
    return _gathered(call, value, select(value, index, call))


def _take(call: Call, planned: Plan, target: Target) -> Kernel:
    value, indices = call.arguments[:2]
    axis = call.options.get("axis", call.arguments[2] if len(call.arguments) > 2 else None) or 0
    return _gathered(call, value, select(value, (*(slice(None),) * (axis % len(value.shape)), indices), call))


def _take_along_axis(call: Call, planned: Plan, target: Target) -> Kernel:
    value, indices = call.arguments[:2]
    return _gathered(call, value, along_axis(value, indices, call.options.get("axis", -1)))


def _written(call: Call, value: Value, index: Any, values: Any, sign: str) -> Kernel:
    """A kernel that copies a value and then writes, or adds, others at a selection of the copy."""
    result = call.results[0]
    writer, own = Writer(), output(result)
    source = access(value, value.shape)
    names = [f"i{at}" if length != 1 else "0" for at, length in enumerate(result.shape)]
    with writer.loops(names, result.shape):
        writer.line(f"{element(own, names)} = {writer.text(source, names)};")
    plain = Value(result.number, result.role, result.example)
    chosen = select(plain, index, call)
    names = [f"j{at}" if length != 1 else "0" for at, length in enumerate(chosen.shape)]
    given: Expression = Literal(values, result.dtype)
    if isinstance(values, Value):
        shape = values.shape
        while len(shape) > len(chosen.shape):  # leading axes of length 1
            shape = shape[1:]
        given = access(values, values.shape)
        if isinstance(given, Access):
            missing = len(chosen.shape) - len(shape)
            kept = given.strides[len(values.shape) - len(shape) :]
            given.strides = (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(shape, kept, strict=True))
    with writer.loops(names, chosen.shape):
        place = chosen.place(writer, names)
        text = writer.text(given, names)
        if sign and result.dtype.kind != "f":
            kind = C_TYPES[result.dtype.name]
            wide = "uint64_t" if result.dtype.itemsize == 8 else "uint32_t"  # where a sum wraps around
            writer.line(f"{name_of(plain)}[{place}] = ({kind})(({wide}){name_of(plain)}[{place}] + ({wide}){text});")
        else:
            writer.line(f"{name_of(plain)}[{place}] {sign}= {text};")
    return finished(call, writer, [*reads(source), *reads(given), *_arrays(chosen)])


def _set_item(call: Call, planned: Plan, target: Target) -> Kernel:
    value, index, values = call.arguments
    return _written(call, value, index, values, "")


def _scatter_add(call: Call, planned: Plan, target: Target) -> Kernel:
    value, indices, values = call.arguments[:3]
    if not isinstance(indices, tuple):
        axis = call.options.get("axis", 0) % len(value.shape)
        indices = (*(slice(None),) * axis, indices)
    return _written(call, value, indices, values, "+")


KERNELS = {
    "get_item": _get_item, "take": _take, "take_along_axis": _take_along_axis, "set_item": _set_item,
    "scatter_add": _scatter_add,
}  # fmt: skip
