"""Weights in a binary of their own, which a device maps into its memory, instead of arrays in the C file.

The binary, all numbers little-endian:

=======  =====================================================================
bytes    what
=======  =====================================================================
0-7      ``treadle`` and the version of the format, 1
8-11     the CRC-32 of the C file without comments: which program it belongs to
12-15    the size of the binary in bytes
16-19    the CRC-32 of what follows byte 31 (ISO 3309, as in zlib)
20-31    zeros
32-      the arrays, each at a multiple of 16 bytes, with zeros between
=======  =====================================================================

So the weights of a model that was trained further go to the device alone. If what is written into the code has changed
too, like the scales of a quantised model, the program refuses them.
"""

import re
import struct
import zlib
from collections.abc import Mapping, Sequence

import treadle.ndarray as nd
from treadle.autograd.export.c_expressions import C_TYPES
from treadle.autograd.export.c_text import name_of
from treadle.autograd.export.program import Value

__all__ = ["Weights"]

_MAGIC, _HEAD, _ALIGNMENT = b"treadle\1", 32, 16
_LAYOUT = "0xFEEDC0DEu"
"""Stands for the checksum of the program, until that is known."""


class Weights:
    """The constants of a program and the first values of its states, laid out in a binary."""

    def __init__(self, name: str, constants: Mapping[str, Value], states: Sequence[Value]) -> None:
        self.name = name
        self.states = states
        self.offsets: dict[str, int] = {}
        self.content = bytearray()
        given = {name_of(each): each for each in states if bool(nd.any(each.example != 0))}
        self.constants = {each: value for each, value in constants.items() if value.size}
        for symbol, value in {**self.constants, **given}.items():
            self.content += bytes(-len(self.content) % _ALIGNMENT)
            self.offsets[symbol] = _HEAD + len(self.content)
            array = value.example.numpy()
            self.content += array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()

    @property
    def size(self) -> int:
        return _HEAD + len(self.content)

    def arrays(self) -> list[str]:
        """The definitions that stand for those of the constants and states."""
        lines = [f"static const unsigned char *weights; /* what {self.name}_bind() was given */"]
        for symbol, value in self.constants.items():
            place = f"((const {C_TYPES[value.dtype.name]} *)(const void *)(weights + {self.offsets[symbol]}))"
            lines.append(f"#define {symbol} {place} /* shape {value.shape} */")
        for state in self.states:
            lines.append(f"{C_TYPES[state.dtype.name]} {name_of(state)}[{max(state.size, 1)}];")
        return ["\n".join([*lines, ""])]

    def functions(self) -> str:
        """The functions that the header declares."""
        first = []
        for state in self.states:
            symbol = name_of(state)
            if symbol in self.offsets:
                first.append(f"    memcpy({symbol}, given + {self.offsets[symbol]}, {state.nbytes});")
            elif state.size:
                first.append(f"    memset({symbol}, 0, {state.nbytes});")
        return "\n".join(
            [
                "static uint32_t word_at(const unsigned char *bytes)",
                "{",
                "    uint32_t word;",
                "    memcpy(&word, bytes, 4);",
                "    return word;",
                "}",
                "",
                f"int {self.name}_bind(const void *binary, size_t bytes)",
                "{",
                "    const unsigned char *const given = (const unsigned char *)binary;",
                f'    if (given == NULL || bytes < {_HEAD} || memcmp(given, "treadle\\1", 8) != 0) return 1;',
                f"    if (word_at(given + 8) != {_LAYOUT} || word_at(given + 12) != {self.size}u) return 2;",
                f"    if (bytes < {self.size}u) return 3;",
                "    if ((uintptr_t)binary % 8 != 0) return 4;",
                *first,
                "    weights = given;",
                "    return 0;",
                "}",
                "",
                f"int {self.name}_verify(void)",
                "{",
                "    uint32_t sum = 0xFFFFFFFFu;",
                "    if (weights == NULL) return 2;",
                f"    for (uint32_t at = {_HEAD}; at < {self.size}u; at++) {{",
                "        sum ^= (uint32_t)weights[at];",
                "        for (int bit = 0; bit < 8; bit++)",
                "            sum = sum >> 1 ^ ((sum & 1u) != 0u ? 0xEDB88320u : 0u);",
                "    }",
                "    return (sum ^ 0xFFFFFFFFu) != word_at(weights + 16);",
                "}",
                "",
            ]
        )

    def declarations(self) -> list[str]:
        """What the header says of them."""
        return [
            "",
            f"/* Have the program read its {self.size} bytes of weights where they are, which must stay as they are.",
            " * Returns 0; 1 for what is no such binary, 2 for one of another program, 3 for a part of one, 4 for an",
            " * address that is no multiple of 8: then what was bound before stays. States get their first values. */",
            f"int {self.name}_bind(const void *binary, size_t bytes);",
            "/* Reads all weights: 0, or 1 where their checksum is another, or 2 where none are bound. */",
            f"int {self.name}_verify(void);",
        ]

    def finished(self, source: str) -> tuple[str, bytes]:
        """The C file, which knows the binary that it belongs to, and the binary."""
        layout = zlib.crc32(re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL).encode())
        head = _MAGIC + struct.pack("<III", layout, self.size, zlib.crc32(self.content)) + bytes(12)
        return source.replace(_LAYOUT, f"0x{layout:08X}u"), head + bytes(self.content)
