"""Registers and spills of every kernel, as the assembler reported them when nvcc compiled it.

    python tools/registers.py [-k TEXT]

Reads the logs that a build leaves beside its objects in ``build/kernels/cuda``. Prints a line for each kernel template
of a file and architecture: how many instances, the most registers, stack and spilled bytes of one, and its shared
memory. A spill in matmul, the reductions or the elementwise families is an error.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LOGS = Path(__file__).resolve().parents[1] / "build" / "kernels" / "cuda"
TIGHT = ("matmul", "matmul_mma", "matmul_wgmma", "reduce", "arg_reduce", "unary", "binary", "ternary", "copy")
"""Families whose kernels must not spill."""

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Usage:
    """What one instance of a kernel takes on one architecture."""

    kernel: str
    architecture: str
    registers: int
    stack: int
    spilled: int
    shared: int


def read_log(text: str) -> list[Usage]:
    """The instances in what ``ptxas -v`` printed."""
    found: list[Usage] = []
    kernel = architecture = ""
    stack = spilled = 0
    for line in text.splitlines():
        if entry := ENTRY.search(line):
            kernel, architecture = entry[1], entry[2]
        elif frame := STACK.search(line):
            stack, spilled = int(frame[1]), int(frame[2]) + int(frame[3])
        elif kernel and (used := USED.search(line)):
            shared = SHARED.search(line)
            found.append(Usage(kernel, architecture, int(used[1]), stack, spilled, int(shared[1]) if shared else 0))
            kernel = ""
    return found


def template_of(mangled: str) -> str:
    """The kernel's own name, which ends in _kernel. Mangled names are preceded by their length."""
    names = [mangled]
    for found in re.finditer(r"\d+", mangled):
        for skipped in range(len(found[0])):
            name = mangled[found.end() : found.end() + int(found[0][skipped:])]
            if re.fullmatch(r"[a-zA-Z_]\w*_kernel", name):
                names.append(name)
    return min(names, key=len)


def demangle(mangled: str) -> str:
    """The name as written, where there is c++filt."""
    try:
        return subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return mangled


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only files whose name contains this")
    options = parser.parse_args()
    wrong = []
    instances = 0
    print(f"{'file':12} {'kernel':26} {'arch':8} instances registers stack spilled shared")
    for log in sorted(LOGS.glob("kernels_*.log")):
        family = log.stem.removeprefix("kernels_")
        groups: dict[tuple[str, str], list[Usage]] = defaultdict(list)
        for usage in read_log(log.read_text()) if options.k in family else []:
            groups[template_of(usage.kernel), usage.architecture].append(usage)
            if usage.spilled and family in TIGHT:
                wrong.append(f"{family}: {demangle(usage.kernel)} spills {usage.spilled} bytes on {usage.architecture}")
        for (kernel, architecture), usages in sorted(groups.items()):
            instances += len(usages)
            most = [max(getattr(each, name) for each in usages) for name in ("registers", "stack", "spilled", "shared")]
            numbers = f"{len(usages):9} {most[0]:9} {most[1]:5} {most[2]:7} {most[3]:6}"
            print(f"{family:12} {kernel:26} {architecture:8} {numbers}")
    if not instances:
        print(f"no logs of nvcc: build first, with nvcc ({LOGS.relative_to(LOGS.parents[2])} is empty)")
    print("\n".join(wrong))
    return bool(wrong) or not instances


if __name__ == "__main__":
    sys.exit(main())
