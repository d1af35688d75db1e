"""How tables of text are set."""

from collections.abc import Sequence

__all__ = ["aligned", "shape_text"]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of cells as columns, the first row as the head over a rule; the columns ``right`` are set flush right."""
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
