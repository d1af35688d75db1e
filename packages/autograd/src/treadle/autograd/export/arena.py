"""Where the values of a program lie in one block of memory: those that live at the same time never overlap.

A value lives from the kernel that writes it to the last one that reads it. Values are placed by falling size, each at
the lowest gap that is free during its life (greedy by size: Y. Pisarchyk, J. Lee, "Efficient memory management for deep
neural net inference", 2020, section 4.2). An elementwise kernel writes over an operand of the same size that it is the
last to read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.autograd.export.c_kernels import Kernel
from treadle.autograd.export.program import Program, Role, Value

__all__ = ["Arena", "Life", "lay_out", "written_to_states"]

ALIGNMENT = 16


@dataclass(slots=True)
class Life:
    """The kernels between which a value's memory is taken."""

    value: Value
    first: int
    last: int
    size: int
    offset: int = -1


@dataclass(slots=True)
class Arena:
    """Offsets in bytes by id of value, and the size of the whole."""

    offsets: dict[int, int]
    size: int
    lives: list[Life]
    overwritten: dict[int, Value]  # by id of a value: the operand in whose memory it lies


def lay_out(kernels: Sequence[Kernel], outside: set[int], kept: set[int]) -> Arena:
    """Place what the kernels compute.

    Values in ``outside`` (by id) have memory of their own; those in ``kept`` live on to the end.
    """
    lives: dict[int, Life] = {}
    host: dict[int, Value] = {}
    for at, kernel in enumerate(kernels):
        for value in kernel.reads:
            if id(value) in lives:
                lives[id(value)].last = at
        for value in kernel.writes:
            if id(value) not in outside and not value.is_view:
                size = -(-max(value.nbytes, 1) // ALIGNMENT) * ALIGNMENT
                lives[id(value)] = Life(value, at, at, size)
    for number in kept:
        if number in lives:
            lives[number].last = len(kernels)
    for at, kernel in enumerate(kernels):
        _overwrite(at, kernel, lives, host, kept)
    placed: list[Life] = []
    for life in sorted((each for each in lives.values() if id(each.value) not in host), key=lambda each: -each.size):
        life.offset = _lowest_gap(life, placed)
        placed.append(life)
    offsets = {id(each.value): each.offset for each in placed}
    for number in host:
        owner = host[number]
        while id(owner) in host:
            owner = host[id(owner)]
        offsets[number] = offsets[id(owner)]
    size = max((each.offset + each.size for each in placed), default=0)
    return Arena(offsets, size, placed, host)


def written_to_states(program: Program, kernels: Sequence[Kernel]) -> dict[int, Value]:
    """The states by id of their new values, of those that a kernel may write where the state lies.

    It may where no later kernel reads what the state was before, and the kernel itself at the written element only.
    """
    found: dict[int, Value] = {}
    shown = {id(each.base) for each in program.outputs}
    taken = [id(new.base) for _, new in program.updates]
    for state, new in program.updates:
        at = next((at for at, kernel in enumerate(kernels) if any(each is new for each in kernel.writes)), None)
        if at is None or not new.is_dense or new.dtype is not state.dtype or new.shape != state.shape:
            continue
        if id(state) in shown or id(new) in shown or taken.count(id(new)) > 1:
            continue
        readers = [at for at, kernel in enumerate(kernels) if any(each is state for each in kernel.reads)]
        here = any(each is state for each in kernels[at].in_place)
        if all(each < at or (each == at and here) for each in readers):
            found[id(new)] = state
    return found


def _overwrite(at: int, kernel: Kernel, lives: dict[int, Life], host: dict[int, Value], kept: set[int]) -> None:
    """Let a kernel's result lie in the memory of an operand that dies there."""
    if len(kernel.writes) != 1 or id(kernel.writes[0]) not in lives:
        return
    own = lives[id(kernel.writes[0])]
    for operand in kernel.in_place:
        owner = operand
        while id(owner) in host:
            owner = host[id(owner)]
        life = lives.get(id(owner))
        if life is None or id(owner) in kept or life.last != at or life.size != own.size:
            continue
        if operand.role is Role.COMPUTED and operand.dtype.itemsize == own.value.dtype.itemsize:
            host[id(own.value)] = operand
            life.last = own.last
            return


def _lowest_gap(life: Life, placed: list[Life]) -> int:
    """The lowest offset where the life fits between those that it overlaps in time."""
    offset = 0
    rivals = [each for each in placed if each.first <= life.last and life.first <= each.last]
    for each in sorted(rivals, key=lambda rival: rival.offset):
        if offset + life.size <= each.offset:
            break
        offset = max(offset, each.offset + each.size)
    return offset
