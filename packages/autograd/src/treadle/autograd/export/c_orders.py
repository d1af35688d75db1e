"""Scans, sorting, and the largest of windows."""

from treadle.autograd.export.c_expressions import C_TYPES, literal
from treadle.autograd.export.c_kernels import Kernel, Target, finished, output
from treadle.autograd.export.c_text import Writer, element, index_text, reads
from treadle.autograd.export.expressions import Access, Plan, build
from treadle.autograd.export.program import Call, dense_strides
from treadle.ndarray.pooling import _geometry, _lowest

__all__ = ["KERNELS"]


def _scan(call: Call, planned: Plan, target: Target) -> Kernel:
    """A running sum or product along an axis."""
    operand, result = call.arguments[0], call.results[0]
    axis = call.options.get("axis", call.arguments[1] if len(call.arguments) > 1 else None)
    axis = (axis or 0) % max(len(operand.shape), 1)
    source, own = build(operand, operand.shape, planned), output(result)
    sign, start = ("+", 0) if call.function == "cumsum" else ("*", 1)
    carried = "double" if result.dtype.kind == "f" and target.wide_sums else C_TYPES[result.dtype.name]
    if result.dtype.kind == "i":
        carried = f"u{carried}"
    writer = Writer()
    names = [f"i{at}" if length != 1 else "0" for at, length in enumerate(operand.shape)]
    outer = [at for at in range(len(names)) if at != axis]
    with writer.loops([names[at] for at in outer], [operand.shape[at] for at in outer]), writer.block(""):
        writer.line(f"{carried} total = {start};")
        with writer.loops(names[axis : axis + 1], operand.shape[axis : axis + 1]):
            writer.line(f"total {sign}= ({carried}){writer.text(source, names)};")
            writer.line(f"{element(own, names)} = ({C_TYPES[result.dtype.name]})total;")
    return finished(call, writer, reads(source))


def _argsort(call: Call, planned: Plan, target: Target) -> Kernel:
    """The order of each line by insertion, which is stable and needs no memory; NaN comes last."""
    operand, result = call.arguments[0], call.results[0]
    axis = call.options.get("axis", -1) % len(operand.shape)
    descending = call.options.get("descending", False)
    source, own = build(operand, operand.shape, planned), output(result)
    writer = Writer()
    names = [f"i{at}" if length != 1 else "0" for at, length in enumerate(operand.shape)]
    outer = [at for at in range(len(names)) if at != axis]
    kind, length = C_TYPES[operand.dtype.name], operand.shape[axis]
    here = [*names]
    lines = writer.loops([names[at] for at in outer], [operand.shape[at] for at in outer])
    with lines, writer.block(f"for (int n = 0; n < {length}; ++n)"):
        here[axis] = "n"
        writer.line(f"const {kind} x = {writer.text(source, here)};")
        writer.line("int m = n;")
        with writer.block("while (m > 0)"):
            here[axis] = "(m - 1)"
            before = f"(int){element(own, here)}"
            here[axis] = before
            writer.line(f"const {kind} y = {writer.text(source, here)};")
            test = "y < x" if descending else "y > x"
            if operand.dtype.kind == "f":
                test = f"({test} || (y != y && x == x))"
            writer.line(f"if (!({test})) break;")
            here[axis] = "(m - 1)"
            previous = element(own, here)
            here[axis] = "m"
            writer.line(f"{element(own, here)} = {previous};")
            writer.line("--m;")
        here[axis] = "m"
        writer.line(f"{element(own, here)} = n;")
    return finished(call, writer, reads(source))


def _max_pool(call: Call, planned: Plan, target: Target) -> Kernel:
    """The largest element of every window, and where it is if that is used."""
    x, kernel = call.arguments[:2]
    options = call.options
    lengths = x.shape[2:]
    geometry, _ = _geometry(
        "max_pool", lengths, kernel, options.get("stride"), options.get("padding", 0), options.get("dilation", 1),
        options.get("ceil_mode", False),
    )  # fmt: skip
    values, indices = call.results
    places, count = values.shape[2:], len(lengths)
    shape = (*values.shape[:2], *places)
    names = [f"i{at}" if length != 1 else "0" for at, length in enumerate(shape)]
    own, other = output(values), output(indices)
    source = Access(x.base, x.offset, x.strides)
    indexed = id(indices) in planned.used
    writer, kind = Writer(), C_TYPES[x.dtype.name]
    floating = x.dtype.kind == "f"
    with writer.loops(names, shape), writer.block(""):
        writer.line(f"{kind} best = {literal(_lowest(x.dtype), x.dtype)};")
        if indexed:
            writer.line("int place = -1;")
        taps = [f"k{axis}" for axis in range(count)]
        with writer.loops(taps, geometry.kernel):
            for axis, tap in enumerate(taps):
                before = geometry.padding[axis][0]
                strides = (geometry.stride[axis], geometry.dilation[axis])
                writer.line(f"const int at{axis} = {index_text(-before, strides, (names[2 + axis], tap))};")
                last = (places[axis] - 1) * strides[0] + (geometry.kernel[axis] - 1) * strides[1] - before
                if before or last >= lengths[axis]:
                    writer.line(f"if (at{axis} < 0 || at{axis} >= {lengths[axis]}) continue;")
            ats = [f"at{axis}" for axis in range(count)]
            writer.line(f"const {kind} x = {element(source, [*names[:2], *ats])};")
            if indexed:
                nan = " || (x != x && best == best)" if floating else ""
                flat = index_text(0, dense_strides(lengths), ats)
                writer.line(f"if (place < 0 || x > best{nan}) {{ best = x; place = {flat}; }}")
            else:
                writer.line(f"if (x > best{' || x != x' if floating else ''}) best = x;")
        writer.line(f"{element(own, names)} = best;")
        if indexed:
            writer.line(f"{element(other, names)} = place;")
    kernel_found = finished(call, writer, [x])
    kernel_found.writes = [values, indices] if indexed else [values]
    return kernel_found


KERNELS = {"cumsum": _scan, "cumprod": _scan, "argsort": _argsort, "max_pool": _max_pool}
