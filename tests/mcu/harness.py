"""Builds an exported program for a Cortex-M7 and runs it on a board that QEMU emulates.

The board is Arm's MPS2 with the AN500 image. ``-icount shift=0`` makes one instruction one nanosecond of the board's
clock, so SysTick counts instructions, in steps of 40: not cycles, and nothing is said of milliseconds.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treadle.autograd.export import CSource

HERE = Path(__file__).parent
TOOLS = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
"""The programs that are needed, and the Debian packages that have them."""

ARCHITECTURE = ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16")
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffp-contract=off")
INSTRUCTIONS_A_TICK = 40
WEIGHTS = """
    .section .rodata.weights, "a"
    .balign 16
    .global weights_begin, weights_end
weights_begin:
    .incbin "{}"
weights_end:
"""
"""The binary of weights as a part of the flash's image, with names for its ends."""


def missing() -> list[str]:
    """The Debian packages to install before anything here can run."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


@dataclass(frozen=True, slots=True)
class Run:
    """What the board printed, and the sizes of the model's own object file in bytes."""

    outputs: list[list[np.ndarray]]  # a list for each call
    states: dict[str, np.ndarray]
    instructions: list[int]
    code: int
    constants: int
    memory: int


def run(
    written: CSource,
    calls: Sequence[tuple[np.ndarray, ...]],
    folder: Path,
    states: bool = False,
    flags: Sequence[str] = WARNINGS,
) -> Run:
    """Call the program once for each tuple of inputs; with ``states`` what it has learned is read out in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{written.name}.c").write_text(written.source)
    (folder / f"{written.name}.h").write_text(written.header)
    (folder / "main.c").write_text(main_source(written, calls, states))
    model = folder / "model.o"
    compiler = ["arm-none-eabi-gcc", "-O2", *ARCHITECTURE, *flags, f"-I{HERE}", f"-I{folder}"]
    subprocess.run([*compiler, "-c", "-o", str(model), str(folder / f"{written.name}.c")], check=True)
    elf = folder / "board.elf"
    linker = ["-nostartfiles", "--specs=nosys.specs", f"-Wl,-T,{HERE / 'board.ld'}", "-Wl,--no-warn-rwx-segments"]
    library = [] if " own_" in written.source else ["-lm"]
    sources = [str(HERE / "board.c"), str(folder / "main.c"), str(model)]
    if written.weights is not None:
        (folder / "weights.bin").write_bytes(written.weights)
        (folder / "weights.S").write_text(WEIGHTS.format(folder / "weights.bin"))
        sources.append(str(folder / "weights.S"))
    subprocess.run([*compiler, "-o", str(elf), *sources, *linker, *library], check=True)
    machine = ["qemu-system-arm", "-M", "mps2-an500", "-display", "none", "-monitor", "none", "-serial", "none"]
    counted = ["-icount", "shift=0", "-semihosting-config", "enable=on,target=native", "-kernel", str(elf)]
    done = subprocess.run([*machine, *counted], capture_output=True, text=True, timeout=300, check=True)
    return _read(written, done.stdout + done.stderr, model)


def _read(written: CSource, text: str, model: Path) -> Run:
    outputs: list[list[np.ndarray]] = []
    states: dict[str, np.ndarray] = {}
    ticks: list[int] = []
    wanted = {f"output{at}": each for at, each in enumerate(written.program.outputs)}
    kept = {each.symbol: each for each in written.program.states}
    for line in text.splitlines():
        name, _, digits = line.partition(" ")
        data = bytes.fromhex(digits) if name != "fault" else b""
        if name == "ticks":
            ticks.append(int.from_bytes(data, "little") * INSTRUCTIONS_A_TICK)
            outputs.append([])
        elif name in wanted:
            outputs[-1].append(np.frombuffer(data, wanted[name].dtype.name).reshape(wanted[name].shape))
        elif name in kept:
            states[name] = np.frombuffer(data, kept[name].dtype.name).reshape(kept[name].shape)
        else:
            raise RuntimeError(f"the board said: {line[:200]}")
    sizes = section_sizes(model)
    code = sum(size for name, size in sizes.items() if name.startswith(".text"))
    constants = sum(size for name, size in sizes.items() if name.startswith((".rodata", ".data")))
    memory = sum(size for name, size in sizes.items() if name.startswith((".data", ".bss")))
    return Run(outputs, states, ticks, code, constants, memory)


def section_sizes(path: Path) -> dict[str, int]:
    """The bytes of each section of an object file."""
    done = subprocess.run(["arm-none-eabi-size", "-A", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(".")]
    return {row[0]: int(row[1]) for row in rows}


def main_source(written: CSource, calls: Sequence[tuple[np.ndarray, ...]], states: bool) -> str:
    """A main that calls the program with every input, prints the results and counts instructions."""
    lines = ['#include "board.h"', f'#include "{written.name}.h"', ""]
    program = written.program
    for number, inputs in enumerate(calls):
        for at, each in enumerate(inputs):
            items = ", ".join(_literal(item) for item in each.reshape(-1).tolist())
            lines.append(f"static const {_c_type(each.dtype)} x{number}_{at}[] = {{{items}}};")
    for at, value in enumerate(program.outputs):
        lines.append(f"static {_c_type(np.dtype(value.dtype.name))} y{at}[{max(value.size, 1)}];")
    apart = written.weights is not None
    lines += ["", *(["extern const unsigned char weights_begin[], weights_end[];", ""] if apart else [])]
    lines += ["int main(void)", "{", "    uint32_t counted;"]
    bind = f"{written.name}_bind(weights_begin, (size_t)(weights_end - weights_begin)) || {written.name}_verify()"
    lines += [f"    if ({bind}) return 2;"] if apart else []
    for number, inputs in enumerate(calls):
        arguments = [f"x{number}_{at}" for at in range(len(inputs))] + [f"y{at}" for at in range(len(program.outputs))]
        lines += [
            "    start_counting();",
            f"    if ({written.name}({', '.join(arguments)})) return 1;",
            "    counted = ticks();",
            '    print_words("ticks", &counted, 4);',
            *(f'    print_words("output{at}", y{at}, sizeof y{at});' for at in range(len(program.outputs))),
        ]
    if states:
        lines += [f'    print_words("{each.symbol}", {each.symbol}, {each.nbytes});' for each in program.states]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _c_type(dtype: np.dtype) -> str:
    names = {"float32": "float", "float64": "double"}
    return names.get(dtype.name, f"{dtype.name}_t")


def _literal(item: float | int) -> str:
    return f"{item!r}f" if isinstance(item, float) else str(item)
