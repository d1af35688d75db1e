"""What a training run measured, epoch by epoch."""

import csv
import io
import os

from treadle.ndarray.atomic import atomic_write

__all__ = ["History"]


class History:
    """Rows of numbers by name; every row has the epoch.

    >>> history = History()
    >>> history.append(epoch=1, loss=0.5)
    >>> history.append(epoch=2, loss=0.25)
    >>> history["loss"]
    [0.5, 0.25]
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def append(self, **values: float) -> None:
        """Add a row."""
        self.rows.append(values)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[float]:
        """One column; KeyError if no row has it."""
        if name not in self.columns:
            raise KeyError(f"the history has no {name!r}, only {', '.join(self.columns) or 'nothing'}")
        return [row.get(name, float("nan")) for row in self.rows]

    @property
    def columns(self) -> list[str]:
        """The names, in the order in which they first appeared."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV under a line of names, atomically."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        with atomic_write(path, make_folders=True) as file:
            file.write(text.getvalue().encode())

    def save_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the curves of training and validation as a PNG; needs the extra ``treadle-nn[plot]``."""
        from treadle.nn.plotting import save_curves

        save_curves(self, path)
