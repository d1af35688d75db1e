"""Write ``elementwise.pyi`` from the op table; with ``--check`` only say whether it is up to date.

Run from anywhere: ``python packages/ndarray/tools/write_stubs.py [--check]``.
"""

import re
import sys
from pathlib import Path

from treadle.ndarray.opset import Family, family

STUB = Path(__file__).parents[1] / "src/treadle/ndarray/elementwise.pyi"


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """The order of ruff's sorted lists: numbers within names by their value, so log2 before log10."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts if part]


def text() -> str:
    """The stub's contents."""
    rows = [*family(Family.UNARY), *family(Family.BINARY)]
    names = sorted(["clip", "where", *(row.name for row in rows)], key=_natural)
    lines = [
        "# Written by tools/write_stubs.py from the op table.",
        "from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction",
        "from treadle.ndarray._dispatch import clip as clip",
        "from treadle.ndarray._dispatch import where as where",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in names),
        "]",
        "functions: dict[str, UnaryFunction | BinaryFunction]",
    ]
    lines += [f"{row.name}: UnaryFunction" for row in family(Family.UNARY)]
    lines += [f"{row.name}: BinaryFunction" for row in family(Family.BINARY)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check; 1 when the stub is stale."""
    if "--check" not in sys.argv:
        STUB.write_text(text())
        return 0
    if STUB.read_text() == text():
        return 0
    print(f"{STUB} does not match the op table; run python packages/ndarray/tools/write_stubs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
