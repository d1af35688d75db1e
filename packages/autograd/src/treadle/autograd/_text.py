"""How tables of text are set."""

from collections.abc import Sequence

__all__ = ["aligned", "named", "printable", "shape_text", "short"]

_LONGEST = 120


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of cells as columns, the first row as the head over a rule; the columns ``right`` are set flush right.

    Long cells are cut in the middle.
    """
    rows = [[printable(short(cell)) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(len(line) for line in lines), *lines[1:]])


def shape_text(shape: tuple[int, ...], times: str = "") -> str:
    """A shape as Python writes it, or with a sign between the lengths ("scalar" for none)."""
    return (times.join(str(each) for each in shape) or "scalar") if times else str(shape)


def named(numbers: Sequence[int]) -> str:
    """Operands as they are named in tables, the middle of a long list left out."""
    if len(numbers) > 8:
        return f"%{numbers[0]} %{numbers[1]} ... %{numbers[-1]} ({len(numbers):,})"
    return " ".join(f"%{number}" for number in numbers)


def printable(text: str, kept: str = "") -> str:
    """The text with escapes for what would not show, turn the line round, or be no XML; ``kept`` stays as it is."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in kept else each.encode("unicode_escape").decode("ascii") for each in text
    )


def short(text: str, longest: int = _LONGEST) -> str:
    """The text, without its middle if it is too long for a line."""
    return text if len(text) <= longest else f"{text[: longest * 2 // 3]} ... {text[-longest // 4 :]}"
