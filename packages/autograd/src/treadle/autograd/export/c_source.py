"""A program as one C99 file and its header: weights, arena, a static function a kernel, and the one that calls them."""

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import treadle.ndarray as nd
from treadle.autograd.errors import ExportError
from treadle.autograd.export import c_moves
from treadle.autograd.export.arena import Arena, lay_out, written_to_states
from treadle.autograd.export.c_expressions import C_TYPES, literals
from treadle.autograd.export.c_kernels import Kernel, Target, elementwise_kernel, reduce_kernel
from treadle.autograd.export.c_math import with_own_math
from treadle.autograd.export.c_names import check_name, check_unused, name_states
from treadle.autograd.export.c_panels import gather_columns
from treadle.autograd.export.c_products import product_kernel
from treadle.autograd.export.c_selections import FAULT
from treadle.autograd.export.c_text import Writer, index_text, merge, name_of
from treadle.autograd.export.c_weights import Weights
from treadle.autograd.export.expressions import Access, Plan, is_elementwise, plan
from treadle.autograd.export.products import PRODUCTS
from treadle.autograd.export.program import Call, Origin, Program, Role, Value, dense_strides
from treadle.autograd.modules import ModuleNames
from treadle.ndarray.opset import OPS, Family

__all__ = ["CSource", "write_c"]

_CODE = 48
"""Bytes of machine code that no statement exceeds on the average: at most 43 were seen on a Cortex-M7 at -O2."""

_REDUCTIONS = {name for name, row in OPS.items() if row.family in (Family.REDUCE, Family.ARG_REDUCE)}


@dataclass(frozen=True, slots=True)
class CSource:
    """The text of the file and of its header, and what they cost.

    ``constant_bytes``, with the first values of states, go to flash, ``arena_bytes`` and ``state_bytes`` to RAM;
    ``weights`` is the binary that holds them where they are apart, else None;
    ``code_bytes`` are more than the machine code takes, whose size is the compiler's matter;
    ``products`` are the multiply-accumulates of a run.
    """

    name: str
    source: str
    header: str
    constant_bytes: int
    arena_bytes: int
    state_bytes: int
    code_bytes: int
    products: int
    steps: int
    arena: Arena
    program: Program
    weights: bytes | None = None


def kernel_of(root: Call, planned: Plan, target: Target) -> Kernel:
    """The kernel of a call and of those that are part of it."""
    heavy = planned.heavy.get(id(root), root)
    if heavy.function in PRODUCTS:
        return product_kernel(root, heavy, planned, target)
    if heavy.function in _REDUCTIONS:
        return reduce_kernel(root, heavy, planned, target)
    if is_elementwise(root):
        return elementwise_kernel(root, planned)
    return c_moves.kernel(root, planned, target)


def write_c(program: Program, name: str = "model", target: Target | None = None, apart: bool = False) -> CSource:
    """The C of a program. ``name`` is that of the function; ``apart``: the weights in a binary of their own."""
    target = Target() if target is None else target
    if not isinstance(target, Target):
        raise ExportError(f"export to C: target is {target!r}; give a treadle.autograd.export.Target")
    check_name(name)
    _check(program)
    name_states(program, name)
    _separate(program)
    program.share_constants()
    if target.block is not None:
        gather_columns(program)
    _number(program)
    planned = plan(program)
    kernels = [kernel_of(root, planned, target) for root in planned.kernels]
    for kernel in kernels:
        if not any(each.size for each in kernel.writes):
            kernel.lines = []
    check_unused(name, {helper for each in kernels for helper in each.helpers}, apart, target.math == "own")
    outside = {id(each) for each in program.outputs if each.role is Role.COMPUTED and _direct(each, program)}
    kept = {id(each.base) for each in (*program.outputs, *(new for _, new in program.updates))}
    states = written_to_states(program, kernels)
    arena = lay_out(kernels, outside | set(states), kept)
    writer = _File(program, name, kernels, arena, outside, states, apart, target.math == "own")
    return writer.source()


def _number(program: Program) -> None:
    """Number the values in the order in which the program meets them, constants among them."""
    met: dict[int, Value] = {id(each): each for each in program.inputs}
    for call in program.calls:
        for value in (*call.operands, *call.results):
            met.setdefault(id(value.base), value.base)
            met.setdefault(id(value), value)
    for value in (*program.outputs, *(new for _, new in program.updates)):
        met.setdefault(id(value.base), value.base)
        met.setdefault(id(value), value)
    for number, value in enumerate(met.values(), 1):
        value.number = number


def _direct(value: Value, program: Program) -> bool:
    """Whether a kernel may write an output where the caller wants it."""
    return not value.is_view and sum(each is value for each in program.outputs) == 1


def _separate(program: Program) -> None:
    """Let no state's new value lie in another state, which may be written first; drop updates by the state itself."""
    updates = []
    for state, new in program.updates:
        if new is state or not state.size:
            continue
        if new.base.role is Role.STATE:
            fresh = Value(0, Role.COMPUTED, new.example.copy())
            fresh.call = Call("copy", (new,), {}, [fresh], Origin("the new value of a parameter"))
            program.calls.append(fresh.call)
            new = fresh
        updates.append((state, new))
    program.updates = updates


def _check(program: Program) -> None:
    values = [
        *program.inputs,
        *program.outputs,
        *program.constants,
        *(each for call in program.calls for each in call.results),
    ]
    for value in values:
        if value.dtype.name not in C_TYPES:
            where = value.call.origin.label if value.call is not None else value.role.value
            raise ExportError(
                f"export to C: {where} is of dtype {value.dtype.name}, which C99 lacks; convert with astype"
            )
        if value.nbytes >= 2**31:
            raise ExportError(f"export to C: a value of shape {value.shape} has 2^31 bytes or more")


class _File:
    """Puts the file together."""

    def __init__(
        self, program: Program, name: str, kernels: list[Kernel], arena: Arena, outside: set[int],
        states: dict[int, Value], apart: bool, own_math: bool,
    ) -> None:  # fmt: skip
        self.program = program
        self.modules = ModuleNames(call.origin.scope for call in program.calls)
        self.name = name
        self.kernels = kernels
        self.arena = arena
        self.outside = outside
        self.states = states  # by id of their new values, which are written in place
        self.apart = apart
        self.own_math = own_math
        self.weights: Weights | None = None
        self.faults = any(FAULT in line for kernel in kernels for line in kernel.lines)
        self.output_names = {id(value): f"output{at}" for at, value in enumerate(program.outputs)}
        self.starts: dict[tuple[int, int], int] = {}  # by kernel and id of a value: the first element that is read
        self.steps: dict[int, int] = {}  # by number of a kernel: the first one that has the same code

    def source(self) -> CSource:
        constants = {
            name_of(each): each for kernel in self.kernels for each in kernel.reads if each.role is Role.CONSTANT
        }
        lines = "\n".join(line for kernel in self.kernels for line in kernel.lines)
        constants = {name: each for name, each in constants.items() if f"{name}[" in lines}
        for each in (*self.program.outputs, *(new for _, new in self.program.updates)):
            if each.base.role is Role.CONSTANT and each.size:
                constants[name_of(each)] = each.base
        helpers: dict[str, str] = {}
        for kernel in self.kernels:
            helpers.update(kernel.helpers)
        if self.apart:
            self.weights = Weights(self.name, constants, self.program.states)
        parts = [self._head(), *self._arrays(constants)]
        functions = [*helpers.values(), *self._functions(), self._main()]
        functions += [self.weights.functions()] if self.weights is not None else []
        code, binary = "\n".join(functions), None
        code, definitions = with_own_math(code) if self.own_math else (code, "")
        source = "\n".join([parts[0], definitions, *parts[1:], code])
        statements = code.count(";") + definitions.count(";")
        states = sum(each.nbytes for each in self.program.states)
        first = sum(each.nbytes for each in self.program.states if bool(nd.any(each.example != 0)))
        flash = sum(each.nbytes for each in constants.values()) + first
        if self.weights is not None:
            source, binary = self.weights.finished(source)
            states += 8  # where the weights are: a pointer, aligned
            flash = len(binary)
        return CSource(
            self.name, source, self._header(), flash, self.arena.size, states, _CODE * statements,
            sum(each.products for each in self.kernels), len(self.kernels), self.arena, self.program, binary,
        )  # fmt: skip

    # --- the parts --------------------------------------------------------------------------------------------------
    def _signature(self) -> str:
        inputs = [f"const {C_TYPES[each.dtype.name]} *{each.symbol}" for each in self.program.inputs]
        outputs = [f"{C_TYPES[each.dtype.name]} *output{at}" for at, each in enumerate(self.program.outputs)]
        return f"int {self.name}({', '.join([*inputs, *outputs])})"

    def _head(self) -> str:
        library = [] if self.own_math else ["#include <math.h>"]
        lines = [f'#include "{self.name}.h"', "", "#include <limits.h>", *library, "#include <string.h>", ""]
        lines += ["#if INT_MAX < 2147483647", '#error "indices and sums need an int of 32 bits"', "#endif", ""]
        lines += ["#ifdef __cplusplus", "#define restrict __restrict", "#endif", ""]
        if self.arena.size:
            lines += [
                "/* One block of memory for all values on the way. */",
                f"static union {{ double align; unsigned char bytes[{self.arena.size}]; }} arena;",
                "",
            ]
        if self.faults:
            lines += ["static int fault; /* 1 after an index outside of its array */", ""]
        return "\n".join(lines)

    def _header(self) -> str:
        guard = f"TREADLE_{self.name}_H"  # in the name's own case, and no one else's
        stddef = ["#include <stddef.h>"] if self.apart else []
        lines = [f"#ifndef {guard}", f"#define {guard}", "", *stddef, "#include <stdint.h>", "", "/*"]
        for each, shown in [
            *((each, each.symbol) for each in self.program.inputs),
            *((each, f"output{at}") for at, each in enumerate(self.program.outputs)),
        ]:
            lines.append(f" * {shown}: {each.dtype.name}, shape {each.shape}, C order")
        states = [
            f"extern {C_TYPES[each.dtype.name]} {each.symbol}[{max(each.size, 1)}]; /* shape {each.shape} */"
            for each in self.program.states
        ]
        unbound = f" 2 before {self.name}_bind() has returned 0." if self.apart else ""
        lines.append(
            f" * Returns 0, or 1 where an index lay outside of its array.{unbound} The arrays must not overlap."
        )
        opened = ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
        closed = ["#ifdef __cplusplus", "}", "#endif"]
        bound = self.weights.declarations() if self.weights is not None else []
        return "\n".join([*lines, " */", *opened, f"{self._signature()};", *states, *bound, *closed, "", "#endif", ""])

    def _arrays(self, constants: dict[str, Value]) -> list[str]:
        if self.weights is not None:
            return self.weights.arrays()
        parts = []
        for name, value in constants.items():
            parts.append(array_source(f"static const {C_TYPES[value.dtype.name]} {name}", value))
        for value in self.program.states:
            parts.append(array_source(f"{C_TYPES[value.dtype.name]} {name_of(value)}", value))
        return parts

    def _pointer(self, value: Value, start: int = 0) -> str:
        """Where the element ``start`` of a value that a kernel reads or writes lies, for the function that calls it."""
        base = value.base
        name = name_of(base) if base.role is not Role.COMPUTED else self.output_names.get(id(base), "")
        if id(base) in self.states:
            name = name_of(self.states[id(base)])
        if base.role is not Role.COMPUTED or id(base) in self.states or id(base) in self.outside:
            return f"{name} + {start}" if start else name
        offset = self.arena.offsets[id(base)] + start * base.dtype.itemsize
        return f"({C_TYPES[base.dtype.name]} *)(void *)(arena.bytes + {offset})"

    def _parameters(self, kernel: Kernel) -> list[Value]:
        own = {id(each) for each in kernel.writes}
        return [each for each in kernel.reads if each.role in (Role.INPUT, Role.COMPUTED) and id(each) not in own]

    def _functions(self) -> list[str]:
        """A function for each kernel; one for all that differ in nothing but what they are called with, as loops do."""
        first: dict[str, int] = {}
        texts: dict[int, str] = {}
        for at, kernel in enumerate(self.kernels):
            parameters, body = self._function(at, kernel)
            text = f"({parameters})\n{{\n{body}\n}}\n"
            names = [name_of(each) for each in (*self._parameters(kernel), *kernel.writes)]
            self.steps[at] = first.setdefault(_numbered(text, names), at)
            texts.setdefault(self.steps[at], text)
        often = Counter(self.steps.values())
        return [
            f"{self._comment(self.kernels[at], often[at])}\nstatic void {self._step(at, self.kernels[at])}{text}"
            for at, text in texts.items()
        ]

    def _function(self, at: int, kernel: Kernel) -> tuple[str, str]:
        """The parameters and the body of a kernel's function."""
        shared = {id(self.arena.overwritten[id(each)]) for each in kernel.writes if id(each) in self.arena.overwritten}
        parameters = []
        for each in self._parameters(kernel):
            restrict = "" if id(each) in shared else "restrict "
            parameters.append(f"const {C_TYPES[each.dtype.name]} *{restrict}{name_of(each)}")
        for each in kernel.writes:
            restrict = "" if shared or id(each) in self.states else "restrict "
            parameters.append(f"{C_TYPES[each.dtype.name]} *{restrict}{name_of(each)}")
        body = "\n".join(kernel.lines)
        for each in self._parameters(kernel):
            body, start = _from_first(body, name_of(each))
            self.starts[at, id(each)] = start
        given = [*self._parameters(kernel), *kernel.writes]
        unread = [name_of(each) for each in given if f"{name_of(each)}[" not in body]
        body = "\n".join([*(f"    (void){each};" for each in unread), body])
        return ", ".join(parameters), body

    def _step(self, at: int, kernel: Kernel) -> str:
        parts = dict.fromkeys(each.function for each in (kernel.heavy, kernel.call) if each is not None)
        return f"step{at}_{'_'.join(parts).replace('.', '_')}"

    def _comment(self, kernel: Kernel, times: int) -> str:
        """What a step computes, of what shapes, and the lines that it comes from."""
        calls = [each for each in (kernel.heavy, kernel.call) if each is not None]
        origins = list(dict.fromkeys(self._origin(each.origin) for each in calls))
        result = kernel.writes[0]
        shapes = ", ".join(str(each.shape) for each in calls[0].operands)
        lines = [f"{', then '.join(origins)}: {shapes} -> {result.shape} {result.dtype.name}"]
        for place in dict.fromkeys(each.origin.location for each in calls):
            if place is not None:
                lines.append(f"{Path(place.file).name}:{place.line}  {place.text}".rstrip())
        lines += [f"Called {times} times."] if times > 1 else []
        return comment(*lines)

    def _origin(self, origin: Origin) -> str:
        """The op, and the module that it is in where that has a name in another."""
        scope = origin.scope
        if scope is None or scope.outer is None:
            return origin.label
        return f"{origin.label} in module {self.modules.name(scope)}"

    def _main(self) -> str:
        lines = [self._signature(), "{"]
        lines += ["    if (weights == NULL) return 2;"] if self.apart else []
        lines += ["    fault = 0;"] if self.faults else []
        used = "\n".join(line for kernel in self.kernels for line in kernel.lines)
        for each in self.program.inputs:
            lines += [f"    (void){each.symbol};"] if f"{each.symbol}[" not in used else []
        lines += [f"    (void)output{at};" for at, value in enumerate(self.program.outputs) if not value.size]
        for at, kernel in enumerate(self.kernels):
            values = [*self._parameters(kernel), *kernel.writes]
            pointers = [self._pointer(each, self.starts.get((at, id(each)), 0)) for each in values]
            step = self.steps[at]
            lines.append(f"    {self._step(step, self.kernels[step])}({', '.join(pointers)});")
        for at, value in enumerate(self.program.outputs):
            if id(value) not in self.outside:
                lines += self._copied(value, f"output{at}")
        for state, new in self.program.updates:
            if id(new) in self.states:
                continue
            if new.is_dense:
                lines.append(f"    memcpy({name_of(state)}, {self._pointer(new)}, {new.nbytes});")
            else:
                lines += self._copied(new, name_of(state))
        return "\n".join([*lines, f"    return {'fault' if self.faults else 0};", "}", ""])

    def _copied(self, value: Value, name: str) -> list[str]:
        """Lines that copy an output that no kernel writes where it belongs."""
        if not value.size:
            return []
        source, target = Access(value.base, value.offset, value.strides), Access(value, 0, dense_strides(value.shape))
        lengths, _ = merge(value.shape, [source, target])
        writer, names = Writer(), [f"i{at}" for at in range(len(lengths))]
        kind = C_TYPES[value.dtype.name]
        with writer.block(""):
            writer.line(f"const {kind} *const from = {self._pointer(value)};")
            with writer.loops(names, lengths):
                here = index_text(0, target.strides, names)
                writer.line(f"{name}[{here}] = from[{index_text(source.offset, source.strides, names)}];")
        return writer.lines


def _from_first(body: str, name: str) -> tuple[str, int]:
    """The body with the indices of an array counted from the first element that is read, and which that is."""
    pattern = re.compile(rf"\b{name}\[(\d+)(?= \+ |\])")
    starts = [int(each) for each in pattern.findall(body)]
    if not starts or not min(starts) or len(starts) != len(re.findall(rf"\b{name}\b", body)):
        return body, 0
    least = min(starts)

    def moved(found: re.Match[str]) -> str:
        return f"{name}[{int(found[1]) - least}"

    return pattern.sub(moved, body).replace(f"{name}[0 + ", f"{name}["), least


def _numbered(text: str, names: list[str]) -> str:
    """The text with the names' numbers in their place."""
    numbers = {name: f"#{number}" for number, name in enumerate(names)}
    return re.sub(r"\b[a-z]+\d+\b", lambda found: numbers.get(found[0], found[0]), text)


def comment(*texts: str) -> str:
    """A comment of any texts, a line each: without what would end it, and without characters that compilers warn of."""
    lines: list[str] = []
    for text in texts:
        shown = "".join(each if each.isprintable() else " " for each in text)
        for mark, instead in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?")):
            while mark in shown:
                shown = shown.replace(mark, instead)
        lines += textwrap.wrap(shown, 112)
    return "/* " + "\n * ".join(lines) + " */"


def array_source(declaration: str, value: Value) -> str:
    """The definition of an array with its elements."""
    items = literals(value.example) or ["0"]
    if set(items) <= {"0", "0.0", "0.0f"}:
        items = ["0"]
    row = max(1, 114 // (max(map(len, items)) + 2))
    rows = [", ".join(items[at : at + row]) for at in range(0, len(items), row)]
    text = ",\n    ".join(rows)
    return f"{declaration}[{max(value.size, 1)}] = {{\n    {text}\n}};\n"
