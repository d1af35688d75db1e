"""Many exported programs in one shared library, built by one run of the machine's C compiler, and called."""

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treadle.autograd.export import CSource, Program, write_c

__all__ = ["WARNINGS", "Library", "compiler"]

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffp-contract=off")


SANITIZERS = "address,undefined,float-cast-overflow"
MAIN = """
#include <stdio.h>
#include <stdlib.h>

static FILE *inputs;

static void *block(size_t size, int read)
{
    void *made = malloc(size ? size : 1);
    if (read && fread(made, 1, size, inputs) != size) exit(3);
    return made;
}

int main(void)
{
    FILE *results = fopen("results", "wb");
    inputs = fopen("inputs", "rb");
{"""


def compiler() -> list[str]:
    """The machine's C compiler; the test is skipped where there is none."""
    for each in (os.environ.get("CC", ""), "gcc", "clang", "cc"):
        words = shlex.split(each)
        if words and shutil.which(words[0]):
            return words
    pytest.skip("no C compiler")


class Library:
    """Programs by name; built when the first of them is called."""

    def __init__(self, folder: Path, flags: Sequence[str] = ("-O1",)) -> None:
        self.folder = folder
        self.flags = flags
        self.programs: dict[str, CSource] = {}
        self._loaded: ctypes.CDLL | None = None

    def add(self, name: str, program: Program, **options: Any) -> CSource:
        """Write a program beside the others."""
        written = write_c(program, name, **options)
        (self.folder / f"{name}.c").write_text(written.source)
        (self.folder / f"{name}.h").write_text(written.header)
        self.programs[name] = written
        return written

    def load(self) -> ctypes.CDLL:
        """The shared library, built at the first call."""
        if self._loaded is None:
            path = self.folder / "programs.so"
            sources = [f"{name}.c" for name in self.programs]
            command = [*compiler(), *WARNINGS, *self.flags, "-shared", "-fPIC", "-o", path.name, *sources, "-lm"]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[:4000]
            self._loaded = ctypes.CDLL(str(path))
        return self._loaded

    def call(self, name: str, inputs: Sequence[np.ndarray], status: int = 0) -> list[np.ndarray]:
        """The outputs of a program; every array lies between guards that must stay as they are."""
        written = self.programs[name]
        program = written.program
        given = [_Guarded(np.array(each)) for each in inputs]
        for value, each in zip(program.inputs, given, strict=True):
            assert (value.shape, value.dtype.name) == (each.array.shape, each.array.dtype.name)
        results = [_Guarded(np.full(each.shape, 77, each.dtype.name)) for each in program.outputs]
        before = [each.array.copy() for each in given]
        pointers = [ctypes.c_void_p(each.array.ctypes.data) for each in (*given, *results)]
        assert getattr(self.load(), name)(*pointers) == status
        for each in (*given, *results):
            each.check()
        for each, kept in zip(given, before, strict=True):
            assert each.array.tobytes() == kept.tobytes(), "an input was written"
        return [each.array for each in results]

    def states(self, name: str) -> dict[str, np.ndarray]:
        """Copies of what the program keeps, by the names of its C arrays."""
        found = {}
        for value in self.programs[name].program.states:
            kind = np.ctypeslib.as_ctypes_type(np.dtype(value.dtype.name))
            array = (kind * max(value.size, 1)).in_dll(self.load(), value.symbol)
            found[value.symbol] = np.array(array)[: value.size].reshape(value.shape)
        return found

    def call_sanitized(self, inputs: Mapping[str, Sequence[np.ndarray]]) -> dict[str, list[bytes]]:
        """The outputs of programs, run once each in an executable with the address and undefined-behaviour sanitizers.

        Inputs and outputs lie in blocks of exactly their size.
        """
        lines = [*(f'#include "{name}.h"' for name in inputs), MAIN]
        for name, given in inputs.items():
            sizes = [each.nbytes for each in self.programs[name].program.outputs]
            lines += [*(f"    void *x{at} = block({each.nbytes}, 1);" for at, each in enumerate(given)),
                      *(f"    void *y{at} = block({size}, 0);" for at, size in enumerate(sizes))]  # fmt: skip
            names = [*(f"x{at}" for at in range(len(given))), *(f"y{at}" for at in range(len(sizes)))]
            lines.append(f"    if ({name}({', '.join(names)})) return 1;")
            lines += [f"    fwrite(y{at}, 1, {size}, results);" for at, size in enumerate(sizes)]
            lines += [*(f"    free({each});" for each in names), "}", "{"]
        (self.folder / "main.c").write_text("\n".join([*lines, "}", "    return fclose(results);", "}", ""]))
        (self.folder / "inputs").write_bytes(b"".join(each.tobytes() for given in inputs.values() for each in given))
        flags = [f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all", "-g0", "-O1", *WARNINGS]
        command = [*compiler(), *flags, "-o", "checked", "main.c", *(f"{name}.c" for name in inputs), "-lm"]
        subprocess.run(command, cwd=self.folder, check=True)
        subprocess.run(["./checked"], cwd=self.folder, check=True)
        data, at, found = (self.folder / "results").read_bytes(), 0, {}
        for name in inputs:
            found[name] = []
            for each in self.programs[name].program.outputs:
                found[name].append(data[at : at + each.nbytes])
                at += each.nbytes
        assert at == len(data)
        return found


class _Guarded:
    """An array in the middle of a larger block."""

    MARGIN = 64

    def __init__(self, array: np.ndarray) -> None:
        self.block = np.full(array.nbytes + 2 * self.MARGIN, 0xA5, np.uint8)
        inner = self.block[self.MARGIN : self.MARGIN + array.nbytes]
        self.array = inner.view(array.dtype).reshape(array.shape) if array.size else np.empty(array.shape, array.dtype)
        self.array[...] = array

    def check(self) -> None:
        margins = np.concatenate([self.block[: self.MARGIN], self.block[-self.MARGIN :]])
        assert (margins == 0xA5).all(), "memory around an array was written"


def by_name(states: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """States without the program's name before theirs."""
    return {name.removeprefix(f"{prefix}_"): each for name, each in states.items()}
