"""What the machine code of a program takes in flash, asked of the compiler that will make it.

Source: System V application binary interface, "Object files", sections (ELF).
"""

import os
import shlex
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_source import CSource
from treadle.autograd.export.compiled import run_compiler

__all__ = ["code_bytes", "flash_bytes"]

_NO_BITS, _ALLOCATED = 8, 2
_UNWINDING = (".eh_frame", ".ARM.exidx", ".ARM.extab")  # tables for exceptions, which C does not have
_NOTE = ".note"


def code_bytes(written: CSource, compiler: str | Sequence[str]) -> int:
    """Bytes of flash beside the program's constants, as ``compiler``, with its options, makes an object file of it.

    Raises ExportError where the compiler is missing, fails, or does not make ELF files with machine code in them.
    """
    command = _command(compiler)
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        source, made = Path(folder, f"{written.name}.c"), Path(folder, f"{written.name}.o")
        source.write_bytes(written.source.encode())
        Path(folder, f"{written.name}.h").write_bytes(written.header.encode())
        run_compiler([*command, "-c", "-o", str(made), str(source)], made)
        apart = 0 if written.weights is None else len(written.weights)
        code = flash_bytes(made.read_bytes()) - (written.constant_bytes - apart)
    if code < 0:
        raise ExportError("the size of the code: the object file has none; leave link-time optimization (-flto) out")
    return code


def _command(compiler: Any) -> list[str]:
    try:
        command = shlex.split(compiler) if isinstance(compiler, str) else [str(os.fspath(each)) for each in compiler]
    except (TypeError, ValueError) as error:
        raise ExportError(f"compiler is {compiler!r}, which is no command line: {error}") from None
    if not command:
        raise ExportError(f"compiler is {compiler!r}, which names no program")
    return command


def flash_bytes(content: bytes) -> int:
    """Bytes that the sections of an object file take in the memory that is kept: code, constants and first values.

    Raises ExportError for what is no ELF file.
    """
    try:
        rows = _sections(content)
        return sum(
            size for name, kind, flags, size in rows if flags & _ALLOCATED and kind != _NO_BITS and _counts(name)
        )
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ExportError(f"the size of the code: the object file is no ELF file: {error}") from None


def _counts(name: str) -> bool:
    return not name.startswith((*_UNWINDING, _NOTE))


def _sections(content: bytes) -> list[tuple[str, int, int, int]]:
    """Name, type, flags and size of every section."""
    if content[:4] != b"\x7fELF" or content[4] not in (1, 2):
        raise ValueError("it begins otherwise")
    order, wide = "<" if content[5] == 1 else ">", content[4] == 2
    (start,) = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", content, 40 if wide else 32)
    step, count, names = struct.unpack_from(f"{order}3H", content, 58 if wide else 46)
    form = f"{order}IIQQQQ" if wide else f"{order}6I"
    heads = [struct.unpack_from(form, content, start + each * step) for each in range(count)]
    texts = content[heads[names][4] :]
    return [(texts[at : texts.index(b"\0", at)].decode(), kind, flags, size) for at, kind, flags, _, _, size in heads]
